"""Exports and files in parts, in memory."""

from collections.abc import Sequence
from hashlib import md5
from itertools import count

from shared.domain.exports import Export
from shared.ports import FileChanged
from tests.fakes.faults import Tap
from tests.fakes.files import FakeFiles


class FakeExports:
    """`ports.Exports` in memory. `items`: by the id of campaign or job."""

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: dict[str, Export] = {}
        self._tap = tap or Tap()

    def get(self, export: str) -> Export | None:
        return self._tap("exports.get", lambda: self.items.get(export))

    def save(self, old: Export | None, new: Export) -> bool:
        def swap() -> bool:
            stored = self.items.get(new.id)
            if (stored.version if stored else None) != (old.version if old else None):
                return stored == new  # our own write, whose answer was lost
            self.items[new.id] = new
            return True

        return self._tap("exports.save", swap)


class FakeMultipart:
    """`ports.Multipart` in memory; completed files are among those of `files`.

    Attributes:
        begun: upload → name; `parts`: upload → number → bytes.
    """

    def __init__(self, files: FakeFiles, tap: Tap | None = None) -> None:
        self.begun: dict[str, str] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self._files = files
        self._numbers = count(1)
        self._tap = tap or Tap()

    def begin(self, name: str) -> str:
        def made() -> str:
            upload = f"upload-{next(self._numbers)}"
            self.begun[upload], self.parts[upload] = name, {}
            return upload

        return self._tap("multipart.begin", made)

    def put(self, name: str, upload: str, number: int, data: bytes) -> str:
        def made() -> str:
            if self.begun.get(upload) != name:
                raise FileChanged(name)
            self.parts[upload][number] = data
            return _etag(data)

        return self._tap("multipart.put", made)

    def complete(self, name: str, upload: str, etags: Sequence[str]) -> None:
        def made() -> None:
            there = self.parts.get(upload, {})
            if upload not in self.begun and name in self._files.items:
                return
            if [_etag(there.get(n, b"")) for n in range(1, len(etags) + 1)] != list(etags):
                raise FileChanged(name)
            self._files.items[name] = b"".join(there[n] for n in range(1, len(etags) + 1))
            del self.begun[upload], self.parts[upload]

        self._tap("multipart.complete", made)


def _etag(data: bytes) -> str:
    return f'"{md5(data, usedforsecurity=False).hexdigest()}"'
