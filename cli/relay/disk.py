"""The steps that the queue makes on the disk: each is one system call, or one file written and synced."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shared.ports import Retriable


@contextmanager
def faults() -> Iterator[None]:
    """Raise Retriable for what the disk refuses: it is full, or fails."""
    try:
        yield
    except OSError as error:
        raise Retriable(f"the spool's disk: {error.strerror or error}") from error


class Disk:
    """A POSIX file system. Its renames within one file system are atomic; `sync_folder` makes changes durable."""

    def names(self, folder: Path) -> list[str]:
        """Return the names of a folder's entries, sorted; raises FileNotFoundError if it does not exist any more."""
        return sorted(x.name for x in folder.iterdir())

    def make_folder(self, folder: Path) -> None:
        """Make a folder that only its owner can read."""
        folder.mkdir(mode=0o700)

    def create(self, file: Path) -> BinaryIO:
        """Create a file that only its owner can read, and open it for writing, unbuffered."""
        return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0)

    def write(self, file: BinaryIO, block: bytes) -> None:
        """Write all of a block."""
        rest = memoryview(block)
        while rest:
            rest = rest[file.write(rest) :]

    def sync(self, file: BinaryIO) -> None:
        """Return when the content of a file is durable."""
        os.fsync(file.fileno())

    def sync_folder(self, folder: Path) -> None:
        """Return when the entries of a folder are durable."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, link: Path, target: str) -> None:
        """Make a symbolic link."""
        link.symlink_to(target)

    def rename(self, old: Path, new: Path) -> None:
        """Move an entry; raises FileNotFoundError if it does not exist any more."""
        os.rename(old, new)  # noqa: PTH104 - `Path.rename` returns a new path on every call

    def remove(self, file: Path) -> None:
        """Remove a file or a link, if it is there."""
        file.unlink(missing_ok=True)

    def remove_folder(self, folder: Path) -> None:
        """Remove an empty folder; raises FileNotFoundError if it does not exist any more."""
        folder.rmdir()
