"""Finished messages from the bucket, on this machine's disk while they are sent.

A message is read from the bucket once and then sent to each of its destinations. Memory holds one block at a time. A
stream of the bucket that breaks does so before a provider is called, never in the middle of a call.
"""

import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

from shared.domain.content.content import Finished
from shared.domain.content.streams import Stream
from shared.ports import FileChanged, Files, FinishedMessages

BLOCK: Final = 1024 * 1024
"""Bytes read at a time."""
KEPT: Final = 120 * 1024 * 1024
"""Bytes on disk of messages that no call needs: a function has 512 MB, and its calls need some of it."""


class _Spooled:
    """A message's bytes in a file without a name, which ends with this object. `users`: calls that need it."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self.size = size
        self.users = 0
        self.close = weakref.finalize(self, file.close)

    def __iter__(self) -> Iterator[bytes]:
        at = 0
        while at < self.size and (block := os.pread(self._file.fileno(), BLOCK, at)):
            yield block
            at += len(block)


class SpooledMessages(FinishedMessages):
    """`ports.FinishedMessages` of a bucket. Safe for threads; two that want the same message read it once.

    Args:
        kept: the most bytes on disk of messages that no call needs.
    """

    def __init__(self, files: Files, *, kept: int = KEPT) -> None:
        self._files = files
        self._most = kept
        self._lock = threading.Lock()
        self._reading: dict[tuple[str, str], threading.Lock] = {}
        self._kept: dict[tuple[str, str], _Spooled] = {}

    @contextmanager
    def open(self, finished: Finished) -> Iterator[Stream]:
        key = (finished.name, finished.etag)
        with self._lock:
            reading = self._reading.setdefault(key, threading.Lock())
        with reading:
            spooled = self._taken(key) or self._read(key, finished)
        try:
            yield spooled
        finally:
            self._give_back(spooled)

    def _taken(self, key: tuple[str, str]) -> _Spooled | None:
        with self._lock:
            spooled = self._kept.pop(key, None)
            if spooled is not None:
                self._kept[key] = spooled  # the latest one is last
                spooled.users += 1
            return spooled

    def _read(self, key: tuple[str, str], finished: Finished) -> _Spooled:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when no call needs it
        spooled = _Spooled(file, finished.size)
        size = 0
        for block in self._files.read(finished.name, etag=finished.etag, start=0):
            file.write(block)
            size += len(block)
        file.flush()
        if size != finished.size:
            raise FileChanged(finished.name)
        spooled.users = 1
        with self._lock:
            self._kept[key] = spooled
        return spooled

    def _give_back(self, spooled: _Spooled) -> None:
        """Let a message go; the oldest ones that no call needs make room."""
        with self._lock:
            spooled.users -= 1
            idle = {k: s for k, s in self._kept.items() if not s.users}
            over = sum(s.size for s in idle.values()) - self._most
            for k, s in idle.items():
                if over <= 0:
                    break
                over -= s.size
                del self._kept[k]
                self._reading.pop(k, None)
                s.close()
