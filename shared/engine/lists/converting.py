"""Uploaded workbooks are made into CSV once, in one invocation, so that reading the list resumes as that of any other.

The workbook is copied to a file, for its parts are read in an order of their own. The CSV goes straight into the
bucket, in parts; what never ends is removed with the other unfinished files. Source: docs/adr/0155.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Final

from shared.domain.campaigns.campaign import Upload
from shared.domain.times import Seconds
from shared.domain.workbooks.bounds import MAGIC, too_large
from shared.domain.workbooks.table import csv_of, is_workbook
from shared.ports import Clock, FileChanged, Files, Multipart

MAX_PACKED: Final = 150 * 1024**2
"""Bytes of a workbook. With its shared texts it stays within the 512 MB of disk that a function has."""
PART: Final = 8 * 1024**2
"""Bytes of CSV that are put at once."""


@dataclass(frozen=True, slots=True)
class MadeCsv:
    """The CSV of a workbook: its name in the bucket, ETag and size in bytes."""

    name: str
    etag: str
    size: int


@dataclass(frozen=True, slots=True)
class Converter:
    """Makes CSV of workbooks."""

    files: Files
    multipart: Multipart
    clock: Clock

    def convert(self, upload: Upload, *, owner: str, stop: Seconds) -> MadeCsv | None:
        """Make CSV of an upload's file; None if it is no workbook.

        Args:
            upload: as held.
            owner: of the invocation: each makes a file of its own, so that a late one replaces nothing.
            stop: Unix seconds; what takes longer is too large.

        Raises:
            WorkbookError: the workbook cannot be used.
            FileChanged: the file was replaced or removed.
        """
        if upload.size > MAX_PACKED:
            raise too_large(f"has more than {MAX_PACKED // 1024**2} MB")
        with TemporaryFile() as file:
            for block in self.files.read(upload.blob, etag=upload.etag, start=0):
                file.write(block)
            return self._convert(file, upload, f"{upload.blob}.csv/{owner}", stop) if is_workbook(file) else None

    def _convert(self, file: IO[bytes], upload: Upload, name: str, stop: Seconds) -> MadeCsv:
        made = self.multipart.begin(name)
        etags = [
            self.multipart.put(name, made, number, part)
            for number, part in enumerate(self._parts(file, upload.sheet, stop), 1)
        ]
        self.multipart.complete(name, made, etags)
        facts = self.files.facts(name)
        if facts is None:
            raise FileChanged(name)
        return MadeCsv(name, facts.etag, facts.size)

    def _parts(self, file: IO[bytes], sheet: str, stop: Seconds) -> Iterator[bytes]:
        """Yield the CSV in parts, at least one."""
        part = bytearray()
        for lines in csv_of(file, sheet):
            part += lines.encode(errors="replace")
            if self.clock.now() > stop:
                raise too_large("takes too long to read")
            if len(part) >= PART:
                yield bytes(part)
                part.clear()
        yield bytes(part or b"\r\n")


def may_be_workbook(upload: Upload, block: bytes) -> bool:
    """Return whether a file, by its first block, may be a workbook that is not made into CSV yet."""
    return upload.checkpoint is None and not upload.csv and block.startswith(MAGIC)
