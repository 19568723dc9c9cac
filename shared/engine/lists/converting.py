"""Uploaded workbooks are made into CSV once, in one invocation, so that reading the list resumes as that of any other.

So is a file in another encoding than UTF-8, if its owner has named it. A workbook is copied to a file, for its parts
are read in an order of their own. The CSV goes straight into the bucket, in parts; what never ends is removed with the
other unfinished files. Source: docs/adr/0155.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from tempfile import TemporaryFile
from typing import Final

from shared.domain.campaigns.campaign import Upload
from shared.domain.lists.encodings import TRANSCODED, EncodingError, as_utf8
from shared.domain.times import Seconds
from shared.domain.workbooks.bounds import MAGIC, too_large
from shared.domain.workbooks.table import Sheets, csv_of, is_workbook
from shared.frozen import dataclass
from shared.ports import Clock, FileChanged, Files, Multipart

MAX_PACKED: Final = 150 * 1024**2
"""Bytes of a workbook. With its shared texts it stays within the 512 MB of disk that a function has."""
PART: Final = 8 * 1024**2
"""Bytes of CSV that are put at once."""


@dataclass(frozen=True, slots=True)
class ConvertedCsv:
    """The CSV of a workbook: its name in the bucket, ETag and size in bytes. `hidden`: its rows that no user sees."""

    name: str
    etag: str
    size: int
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Converter:
    """Makes CSV of workbooks, and UTF-8 of other encodings."""

    files: Files
    multipart: Multipart
    clock: Clock

    def convert(self, upload: Upload, *, owner: str, stop: Seconds) -> ConvertedCsv | None:
        """Make CSV of an upload's file; None if it is no workbook.

        Args:
            owner: of the invocation: each makes a file of its own, so that a late one replaces nothing.
            stop: Unix seconds; what takes longer is too large.

        Raises:
            WorkbookError: the workbook cannot be used.
            FileChanged: the file was replaced or removed.
        """
        if upload.size > MAX_PACKED:
            raise too_large(f"has more than {MAX_PACKED // 1024**2} MB")
        with TemporaryFile() as file:
            for block in self.files.read(upload.file, etag=upload.etag, start=0):
                file.write(block)
            if not is_workbook(file):
                return None
            sheets = Sheets()
            texts = csv_of(file, upload.sheet, sheets, keep_hidden=upload.keep_hidden)
            lines = (text.encode(errors="replace") for text in texts)
            late = too_large("takes too long to read")
            made = self._put(upload, owner, self._parts(lines, late, stop))
            return replace(made, hidden=sheets.hidden)

    def transcode(self, upload: Upload, *, owner: str, stop: Seconds) -> ConvertedCsv:
        """Make CSV in UTF-8 of an upload's file in its encoding.

        Args:
            owner: as `convert` takes it.
            stop: as `convert` takes it.

        Raises:
            EncodingError: the file is not in this encoding, or it takes too long.
            FileChanged: the file was replaced or removed.
        """
        blocks = as_utf8(self.files.read(upload.file, etag=upload.etag, start=0), upload.encoding)
        late = EncodingError("The file takes too long to be made UTF-8. Save it as CSV in UTF-8.")
        return self._put(upload, owner, self._parts(blocks, late, stop))

    def _put(self, upload: Upload, owner: str, parts: Iterator[bytes]) -> ConvertedCsv:
        name = f"{upload.blob}.csv/{owner}"
        made = self.multipart.begin(name)
        etags = [self.multipart.put(name, made, number, part) for number, part in enumerate(parts, 1)]
        self.multipart.complete(name, made, etags)
        facts = self.files.facts(name)
        if facts is None:
            raise FileChanged(name)
        return ConvertedCsv(name, facts.etag, facts.size)

    def _parts(self, blocks: Iterable[bytes], late: Exception, stop: Seconds) -> Iterator[bytes]:
        """Yield a file in parts, at least one; raise `late` if that takes too long."""
        part = bytearray()
        for block in blocks:
            part += block
            if self.clock.now() > stop:
                raise late
            if len(part) >= PART:
                yield bytes(part)
                part.clear()
        yield bytes(part or b"\r\n")


def in_other_encoding(upload: Upload) -> bool:
    """Return whether a file is to be made UTF-8, and is not yet."""
    return upload.checkpoint is None and not upload.csv and upload.encoding in TRANSCODED


def may_be_workbook(upload: Upload, block: bytes) -> bool:
    """Return whether a file, by its first block, may be a workbook that is not made into CSV yet."""
    return upload.checkpoint is None and not upload.csv and block.startswith(MAGIC)
