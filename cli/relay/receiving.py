"""The content of a mail of any size as SMTP's DATA carries it: read line by line into a file."""

import asyncio
import tempfile
from contextlib import ExitStack
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO, Final, cast

IN_MEMORY: Final = 256 * 1024
"""Bytes of a mail that are in memory; a larger one is in a file that has no name."""
BLOCK: Final = 64 * 1024
LONGEST_LINE: Final = 1001
"""Bytes of a line with its dot and its end (RFC 5321, 4.5.3.1.6)."""
END: Final = b".\r\n"


class DataFault(Enum):
    """Why a content was not kept. It was read to its end all the same."""

    LINE_TOO_LONG = auto()
    TOO_LARGE = auto()
    NO_ROOM = auto()
    """The disk is full, or fails."""


class _Content:
    """A content that is written, until something is wrong with it."""

    def __init__(self, most: int, folder: Path | None) -> None:
        place = str(folder) if folder else None
        made = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=place)  # noqa: SIM115 - its reader closes it
        self.file = cast("BinaryIO", made)  # it has these methods, which the library's types do not say
        self.fault: DataFault | None = None
        self._most = most
        self._size = 0
        self._block = bytearray()

    def add(self, line: bytes) -> None:
        """Take a line with its end, its dot removed already."""
        self._block += line
        if len(self._block) >= BLOCK:
            self.flush()

    def count(self, size: int) -> None:
        """Count bytes that came."""
        self._size += size
        if self._size > self._most:
            self.fail(DataFault.TOO_LARGE)

    def flush(self) -> None:
        """Write what was taken."""
        if self.fault is None:
            try:
                self.file.write(self._block)
            except OSError:
                self.fail(DataFault.NO_ROOM)
        self._block.clear()

    def fail(self, fault: DataFault) -> None:
        """Keep nothing; the first fault counts."""
        if self.fault is None:
            self.fault = fault
            self._block.clear()
            self.file.close()


async def received(reader: asyncio.StreamReader, most: int, folder: Path | None) -> BinaryIO | DataFault:
    """Read a content up to the line that is a dot.

    Args:
        most: bytes that are kept, counted as they come.
        folder: of the file; None: the system's for temporary files.

    Returns:
        The content without the dots of SMTP, for the caller to close; or why it is not kept.
    """
    content = _Content(most, folder)
    with ExitStack() as stack:
        stack.callback(content.file.close)
        await _read(reader, content)
        content.flush()
        if content.fault is None:
            stack.pop_all()
    return content.fault or content.file


async def _read(reader: asyncio.StreamReader, content: _Content) -> None:
    whole = True  # the last line that was read had its end
    while True:
        try:
            line = await reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError as error:
            content.fail(DataFault.LINE_TOO_LONG)
            content.count(len(await reader.read(error.consumed)))
            whole = False
            continue
        if whole and line == END:
            return
        content.count(len(line))
        if len(line) > LONGEST_LINE:
            content.fail(DataFault.LINE_TOO_LONG)
        if content.fault is None:
            content.add(line.removeprefix(b"."))
        whole = True
