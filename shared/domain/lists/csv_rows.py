"""Rows of a CSV file that comes in blocks: bounded memory, a byte offset for every row, no row that stops the others.

This module decides on bytes where a row ends. The standard csv module decides what the row's cells are (RFC 4180, read
as liberally as that module does). The rows are the same for any blocks, and from any `Position` on. docs/uploads.md
lists what is accepted and the codes; docs/adr/0024 has the reasons.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, repeat
from typing import Final

from shared.domain.lists.encodings import kind_of
from shared.domain.lists.header import (
    MAX_COLUMNS,
    SEPARATORS,
    FileCode,
    FileFault,
    Header,
    RecipientColumn,
    recipient_at,
    short,
    usable,
)
from shared.domain.lists.heading import HeaderSearch
from shared.domain.lists.rows import Position, Row, RowCode, is_blank, largest
from shared.domain.workbooks.broken import ERRORS, why_broken

# change: the longest cell of an uploaded list
MAX_CELL: Final = 8 * 1024
"""Bytes of one cell."""
MAX_ROW: Final = 32 * 1024
"""Bytes of one row without its line end."""
MAX_LOOK: Final = 256 * 1024
"""Bytes in which a row must end for its quotes to count: more than any cell that a spreadsheet can write."""
MAX_HELD: Final = 1024 * 1024
"""Cells of rows that are made at once: a row of a byte has as many as the header."""
FEW: Final = 8
"""Rows up to which reading them at once saves nothing."""

_BOM: Final = b"\xef\xbb\xbf"
_OTHERWISE: Final = "Save it as CSV in UTF-8, or upload it again and name its encoding."


_RETURNS: Final = "The lines end in carriage returns only, as on old Macs. Save the file as CSV in UTF-8."
_SEPARATOR_LINE: Final = re.compile(rb'"?sep=[,;\t]"?', re.IGNORECASE)
"""The line by which Excel says what separates the cells; the header shows it anyway."""


def _record(separator: bytes) -> re.Pattern[bytes]:
    field = rb'(?: *+"(?:[^"]++|"")*+"[^' + separator + rb'\n]*+|(?! *+")[^' + separator + rb"\n]*+)"
    return re.compile(rb'[^"\n]*+\n|' + field + rb"(?:" + separator + field + rb")*+\n")


_RECORDS: Final = {separator: _record(separator.encode()) for separator in SEPARATORS}
"""One row with its line end. Possessive throughout, so that no input takes more than one pass per branch."""


class RowReader:
    """Reads one file, or the rest of it from a position. Not for several threads.

    `fault` says why the file cannot be used; from then on there are no rows. No bytes make it raise.
    """

    def __init__(
        self,
        position: Position | None = None,
        wanted: RecipientColumn | None = None,
        *,
        all_utf8: bool = False,
        header_row: int = 0,
    ) -> None:
        """Begin a file, or continue at a position.

        Args:
            position: where the first byte fed lies; None for the begin of the file.
            wanted: which column holds the recipients; by default `recipient`.
            all_utf8: whether a row that is not UTF-8 makes the file one that cannot be used.
            header_row: the row with the names of columns, as a spreadsheet numbers it; 0: it is found out.
        """
        at = position or Position()
        self.fault: FileFault | None = None
        self._wanted = wanted or RecipientColumn()
        self._all_utf8 = all_utf8
        self._header = at.header
        self._header_row, self._named = at.header_row, at.named
        self._search = HeaderSearch(self._wanted, header_row)
        self._searched: Position | None = None  # where a search begins anew that is not at its end
        self._recipient = -1
        self._separator = at.separator
        self._blanks = at.blanks
        self._offset = at.offset  # of the buffer's first byte
        self._row = at.row
        self._skipping = at.skipping
        self._lines_until = at.lines_until
        self._buffer = b""

    @property
    def position(self) -> Position:
        """Where the first row begins that was not returned yet."""
        if self._searched is not None and not self._header:
            return self._searched
        until = self._lines_until if self._lines_until > self._offset else 0
        here = replace(self.start, offset=self._offset, row=self._row, skipping=self._skipping)
        return replace(here, lines_until=until, blanks=self._blanks)

    @property
    def start(self) -> Position:
        """The start of the file, with what the header showed."""
        header = Position(header=self._header, separator=self._separator)
        return replace(header, header_row=self._header_row, named=self._named)

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names, as placeholders mean them; empty until they are read."""
        return self._header

    @property
    def recipient(self) -> int:
        """Index of the column that holds the recipients; 0 until the header is read."""
        if self._recipient < 0 and self._header:
            found = recipient_at(self._header, self._wanted)
            self._recipient = found if isinstance(found, int) else 0
        return max(0, self._recipient)

    def feed(self, block: bytes) -> list[Row]:
        """Take the next bytes of the file, any number of them; returns the rows that are complete by now."""
        return [row for rows in self.fed(block) for row in rows]

    def finish(self) -> list[Row]:
        """Return the rows that only the end of the file completes; sets `fault` if the file has none at all."""
        return [row for rows in self.finished() for row in rows]

    def fed(self, block: bytes) -> Iterator[list[Row]]:
        """Do what `feed` does, but yield some rows at a time. To be read to its end, unless there is a fault."""
        if self.fault or not block:
            return
        self._buffer += block
        if b"\n" not in block and len(self._buffer) <= MAX_LOOK and not self._skipping:
            return  # what was incomplete still is
        yield from self._take(final=False)

    def finished(self) -> Iterator[list[Row]]:
        """Do what `finish` does, but yield some rows at a time. To be read to its end."""
        if not self.fault:
            yield from self._take(final=True)
        if self.fault is None and not self._header:
            self.fault = self._search.ended(self._blanks)
        elif self.fault is None and self._row == 0:
            self.fault = FileFault(FileCode.NO_ROWS, "The file has no row below its header.")

    def _judged(self, rows: list[Row]) -> list[Row]:
        """Return rows; of those that miss a value, only why."""
        return [row if ERRORS.isdisjoint(row.cells) else self._broken(row) for row in rows]

    def _broken(self, row: Row) -> Row:
        for i, (name, cell) in enumerate(zip(self._header, row.cells, strict=True)):
            if cell in ERRORS and (usable(name) or i == self.recipient):
                return row._replace(cells=[], code=RowCode.ERROR_CELL, detail=why_broken(short(name), cell))
        return row

    def _take(self, *, final: bool) -> Iterator[list[Row]]:
        """Yield the rows that are complete, at most `MAX_HELD` cells and a block of quick ones at a time."""
        held: list[Row] = []
        for rows in self._found(final=final):
            held += self._judged(rows)
            if len(held) * len(self._header) >= MAX_HELD:
                yield held
                held = []
        yield held

    def _found(self, *, final: bool) -> Iterator[list[Row]]:
        data = self._buffer
        size = len(data)
        if final and data and not data.endswith(b"\n"):
            data += b"\n"
        pos = self._bom(data, final=final)
        while 0 <= pos < size and self.fault is None:
            if self._skipping:
                at = data.find(b"\n", pos, size)
                self._skipping = at < 0
                pos = size if at < 0 else at + 1
                continue
            in_lines = self._lines_until > self._offset + pos
            raws = _line(data, pos) if in_lines else self._records(data, pos)
            if raws:
                end = pos + sum(map(len, raws)) + len(raws)
                yield from self._rows(raws, self._offset + pos, self._offset + size)
                pos = min(end, size)
            elif not final and size - pos <= MAX_LOOK:
                break
            elif in_lines:
                yield self._endless(self._offset + pos, data[pos : pos + MAX_LOOK])
                pos += MAX_LOOK + 1
            else:  # no end of a row within the limit: a quote that is never closed, or too much data
                self._lines_until = self._offset + pos + MAX_LOOK + 1
        self._buffer = self._buffer[max(pos, 0) :]
        self._offset += max(pos, 0)

    def _records(self, data: bytes, pos: int) -> list[bytes]:
        if self._header:
            return _records(data, pos, _RECORDS[self._separator])
        return _records(data, pos, _RECORDS[","])[:1]  # the header, which shows what separates the cells

    def _bom(self, data: bytes, *, final: bool) -> int:
        """Return where reading begins in the buffer; -1 if that is not known yet."""
        if self._offset or not _BOM.startswith(data[:3]):
            return 0
        if len(data) < len(_BOM):
            return 0 if final else -1
        return len(_BOM)

    def _endless(self, start: int, head: bytes = b"") -> list[Row]:
        self._skipping = True
        if not self._header:
            detail = _RETURNS if b"\r" in head else f"The header is longer than {MAX_ROW} bytes."
            self.fault = FileFault(FileCode.INVALID_HEADER, detail)
            return []
        self._row += 1
        detail = f"The row is longer than {MAX_ROW} bytes."
        return [Row(self._row, start, start + MAX_LOOK + 1, [], RowCode.ROW_TOO_LARGE, detail, True, 0, self._blanks)]

    def _rows(self, raws: list[bytes], start: int, limit: int) -> Iterator[list[Row]]:
        """Yield complete rows, given without line feeds, of which the first begins at `start`; `limit`: end of data."""
        while not self._header and raws and self.fault is None:
            self._to_header(raws[0], start)
            start += len(raws.pop(0)) + 1
        if not raws or self.fault:
            return
        ends = list(accumulate(map(len, raws), lambda end, n: end + n + 1, initial=start))
        ends[-1] = min(ends[-1], limit)
        size = max(FEW + 1, MAX_HELD // len(self._header))
        for i in range(0, len(raws), size):
            read = self._careful if self._lines_until > ends[i] else self._quick
            yield read(raws[i : i + size], ends[i : i + size + 1])
            if self.fault:
                return

    def _to_header(self, raw: bytes, start: int) -> None:
        """Look whether a row is the header. `start`: the offset at which it begins."""
        number = self._blanks + 1
        if self._search.passes(number):
            self._blanks += 1
        elif len(raw) <= MAX_LOOK and (not raw.strip(b" \t\r,;") or _SEPARATOR_LINE.fullmatch(raw.strip(b" \r"))):
            self.fault = self._search.blank(number)
            self._blanks += 1
        else:
            self._read_header(raw, start)

    def _quick(self, raws: list[bytes], ends: list[int]) -> list[Row]:
        """Read many rows at once, at a tenth of the cost; doubtful rows are read separately."""
        columns = len(self._header)
        cells = _split(raws, self._separator) if len(raws) > FEW else None
        if cells is None:
            if len(raws) <= FEW:
                return self._careful(raws, ends)
            half = len(raws) // 2  # one of them is bad: its neighbours soon are not
            return self._quick(raws[:half], ends[: half + 1]) + self._quick(raws[half:], ends[half:])
        out: list[Row] = []
        at = 0
        for i, found in enumerate(cells):
            if len(found) != columns or (not found[0].strip() and is_blank(found)):
                out += self._made(cells[at:i], ends[at : i + 1])
                out += self._careful(raws[i : i + 1], ends[i : i + 2])
                at = i + 1
        return out + self._made(cells[at:], ends[at:])

    def _made(self, cells: list[list[str]], ends: list[int]) -> list[Row]:
        """Return good rows; all in C."""
        numbers = range(self._row + 1, self._row + 1 + len(cells))
        self._row += len(cells)
        rest = repeat(""), repeat(""), repeat(False), repeat(0), repeat(self._blanks)
        return list(map(tuple.__new__, repeat(Row), zip(numbers, ends, ends[1:], cells, *rest)))  # noqa: B905 - endless

    def _careful(self, raws: list[bytes], ends: list[int]) -> list[Row]:
        """Read rows of any form, each separately; the results of `_quick` must agree with this."""
        out = []
        for raw, start, end in zip(raws, ends, ends[1:], strict=False):
            if len(raw) > MAX_LOOK:
                out += self._endless(start)
                self._skipping = False  # its end is here
                continue
            found = self._one(raw)
            if found == []:
                self._blanks += 1
                continue
            self._row += 1
            until = self._lines_until if self._lines_until > start else 0
            cells, fault = (found, ("", "")) if isinstance(found, list) else ([], found)
            if self._all_utf8 and fault[0] == RowCode.INVALID_UTF8:
                self.fault = self.fault or _not_utf8(f"Row {self._row + self._blanks + 1}")
                return []
            out.append(Row(self._row, start, end, cells, *fault, lines_until=until, blanks=self._blanks))
        return out

    def _one(self, raw: bytes) -> list[str] | tuple[RowCode, str]:
        """Return a row's cells, none of a blank row; or what is wrong with it."""
        found = _cells(raw, len(self._header), self._separator) if raw.strip(b" \t\r") else []
        return [] if isinstance(found, list) and is_blank(found) else found

    def _read_header(self, raw: bytes, start: int) -> None:
        kind = kind_of(raw)
        if kind:
            self.fault = FileFault(FileCode.INVALID_HEADER, f"The file is {kind}. Save it as CSV in UTF-8.")
            return
        if self._searched is None:
            self._searched = Position(offset=start, blanks=self._blanks)
        number = self._blanks + 1
        found = self._search.take(number, lambda separator: _header_cells(raw, separator))
        if isinstance(found, Header):
            self._header, self._separator = found.names, found.separator
            self._header_row, self._named = number, found.named
        elif found is None:
            self._blanks += 1
        else:
            self.fault = found


def first_rows(data: bytes, most: int) -> list[list[str]]:
    """Return the cells of a file's first rows, blank ones too, with the separator that gives most cells.

    A row that is not CSV in UTF-8 has none, and neither has a file that is no text.

    Args:
        data: the begin of the file.
    """
    if kind_of(data):
        return []
    begin = len(_BOM) if data.startswith(_BOM) else 0
    raws = _records(data + b"\n", begin, _RECORDS[","])[:most]
    tables = [[found if isinstance(found := _cells(raw, None, x), list) else [] for raw in raws] for x in SEPARATORS]
    return max(tables, key=lambda table: sum(map(len, table)))


def _not_utf8(what: str) -> FileFault:
    detail = f"{what} is not valid UTF-8; the file has another encoding. {_OTHERWISE}"
    return FileFault(FileCode.INVALID_ENCODING, detail)


def _header_cells(raw: bytes, separator: str) -> list[str] | FileFault:
    found = _cells(raw, None, separator)
    if isinstance(found, list):
        return found
    code, detail = found
    if code is RowCode.INVALID_UTF8:
        return _not_utf8("The header")
    if code in (RowCode.STRAY_CARRIAGE_RETURN, RowCode.ROW_TOO_LARGE) and b"\r" in raw.removesuffix(b"\r"):
        return FileFault(FileCode.INVALID_HEADER, _RETURNS)
    hint = " It is probably UTF-16: save it as CSV in UTF-8." if code is RowCode.NUL_BYTE else ""
    return FileFault(FileCode.INVALID_HEADER, detail.replace("row", "header") + hint)


def _records(data: bytes, pos: int, record: re.Pattern[bytes]) -> list[bytes]:
    """Return the complete rows from `pos` on, without line feeds, to the first that does not end within MAX_LOOK."""
    out: list[bytes] = []
    while True:
        quote = data.find(b'"', pos)
        end = data.rfind(b"\n", pos, len(data) if quote < 0 else quote) + 1
        if end:  # no quote before it: lines
            out += data[pos : end - 1].split(b"\n")
            pos = end
        found = record.match(data, pos, pos + MAX_LOOK + 1) if quote >= 0 else None
        if found is None:
            return out
        out.append(data[pos : found.end() - 1])
        pos = found.end()


def _line(data: bytes, pos: int) -> list[bytes]:
    """Return the line at `pos` without its line feed, if that is in sight."""
    end = data.find(b"\n", pos, pos + MAX_LOOK + 1)
    return [] if end < 0 else [data[pos:end]]


def _split(raws: list[bytes], separator: str) -> list[list[str]] | None:
    """Return the cells of many rows; None if one is too large or no text, which one `_cells` says.

    Rows without a quote and a carriage return are split at their separators, in half the time that csv takes.
    """
    if max(map(len, raws)) > MAX_CELL:
        return None
    whole = b"\n".join(raws)
    if b"\0" in whole:
        return None
    try:
        if b'"' not in whole:
            lines = whole.decode().replace("\r\n", "\n").removesuffix("\r").split("\n")
        else:  # and perhaps line feeds within quotes
            lines = [raw.decode().removesuffix("\r") for raw in raws]
        space = separator + " "
        easy = [not ('"' in x or "\r" in x or space in x or x.startswith(" ")) for x in lines]
        hard = _parsed((line for line, plain in zip(lines, easy, strict=True) if not plain), separator)
        return [line.split(separator) if plain else next(hard) for line, plain in zip(lines, easy, strict=True)]
    except (UnicodeDecodeError, csv.Error):
        return None


def _cells(raw: bytes, columns: int | None, separator: str) -> list[str] | tuple[RowCode, str]:
    """Return a row's cells, or its fault. Without `columns` any number of cells is valid."""
    line = raw.removesuffix(b"\r")
    if len(line) > MAX_ROW:
        return RowCode.ROW_TOO_LARGE, f"The row is longer than {MAX_ROW} bytes."
    if b"\0" in line:
        return RowCode.NUL_BYTE, "The row contains a NUL byte."
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return RowCode.INVALID_UTF8, "The row is not valid UTF-8."
    if not _RECORDS[separator].fullmatch(raw + b"\n"):
        return RowCode.UNCLOSED_QUOTE, "The row opens a quote that is not closed."
    try:
        (cells,) = _parsed([text], separator)
    except csv.Error:
        return RowCode.STRAY_CARRIAGE_RETURN, "The row contains a carriage return outside quotes."
    if columns is None:
        return cells
    cells = _filled(cells, columns)
    if len(cells) > MAX_COLUMNS or largest(cells) > MAX_CELL:
        return RowCode.ROW_TOO_LARGE, f"The row has over {MAX_COLUMNS} cells, or one of over {MAX_CELL} bytes."
    if len(cells) != columns:
        return RowCode.WRONG_FIELD_COUNT, f"The row has {len(cells)} fields; the header has {columns}."
    return cells


def _parsed(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Return the cells of each line. Spaces before a cell are no part of it, so a quote may follow them."""
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _filled(cells: list[str], columns: int) -> list[str]:
    """Return cells with those that are missing at the end, and without empty ones behind the header's last."""
    while len(cells) > columns and not cells[-1].strip():
        cells.pop()
    return cells + [""] * (columns - len(cells))
