"""Files in memory."""

from collections.abc import Iterator, Mapping
from hashlib import md5

from shared.ports import FileChanged, FileFacts
from tests.fakes.faults import Tap


class FakeFiles:
    """`ports.Files` in memory.

    Attributes:
        items: what is stored.
        block: bytes that `read` yields at a time.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: dict[str, bytes] = {}
        self.block = 1 << 20
        self._tap = tap or Tap()

    def place(self, name: str, *, content_type: str, seconds: int, size: int = 0) -> tuple[str, Mapping[str, str]]:
        signed = f"&size={size}" if size else ""
        headers = {"Content-Type": content_type, "If-None-Match": "*"}
        return f"https://files.example/{name}?put&seconds={seconds}{signed}", headers

    def link(self, name: str, *, filename: str, seconds: int) -> str:
        return f"https://files.example/{name}?get={filename}&seconds={seconds}"

    def facts(self, name: str) -> FileFacts | None:
        return self._tap("files.facts", lambda: self._facts(name))

    def _facts(self, name: str) -> FileFacts | None:
        data = self.items.get(name)
        return None if data is None else FileFacts(len(data), md5(data, usedforsecurity=False).hexdigest())

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        at = start
        while block := self._tap("files.read", lambda at=at: self._block(name, etag, at)):  # type: ignore[misc]
            yield block
            at += len(block)

    def _block(self, name: str, etag: str, at: int) -> bytes:
        facts = self._facts(name)
        if facts is None or facts.etag != etag:
            raise FileChanged(name)
        return self.items[name][at : at + self.block]

    def put(self, name: str, data: bytes) -> None:
        self._tap("files.put", lambda: self.items.__setitem__(name, data))

    def get(self, name: str) -> bytes | None:
        return self._tap("files.get", lambda: self.items.get(name))

    def remove(self, name: str) -> None:
        self._tap("files.remove", lambda: self.items.pop(name, None))
