"""An uploaded list made into chunks as its bytes come, interruptible anywhere with the same chunks in the end.

`Ingest.feed` takes blocks and returns an `UploadStep`: chunks to store, problems and marks to append, and then the
checkpoint to save, in that order. An ingest may begin at a saved checkpoint. It needs the bytes from the checkpoint's
offset on and the marks stored so far. It then makes the very chunks that the interrupted one would have made.
docs/uploads.md has the rules of acceptance, docs/adr/0024 their reasons.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from shared.domain.channels.lookup import channel_of
from shared.domain.content.templates import RECIPIENT
from shared.domain.hours.zones import is_zone
from shared.domain.jobs import chunks
from shared.domain.jobs.chunks import MAX_RAW_BYTES, MAX_RECIPIENTS
from shared.domain.lists import gaps, row_numbers
from shared.domain.lists.csv_rows import RowReader
from shared.domain.lists.header import FileCode, FileFault, RecipientColumn, placeholder_name
from shared.domain.lists.rows import Position, Row
from shared.domain.lists.uploads import (
    DUPLICATE,
    MAX_VALUE,
    BadRow,
    Checkpoint,
    ListCounts,
    Options,
    PackedChunk,
    UploadStep,
)
from shared.domain.recipients.hashes import WIDTH, Seen, marks_of
from shared.domain.recipients.number_zones import NumberZones
from shared.domain.recipients.phones import country_of
from shared.domain.recipients.reader import Found, Landline, Read, RecipientFault

ADDRESS: Final = ""
"""A chunk's column of addresses. It is used if the file's own column has another name than `recipient`, and so is also
a value.

No column of a file has this name.
"""
MAX_KEPT: Final = 1000
"""Problems kept of each sort, invalid rows and duplicates; all are counted."""
MAX_CHUNKS: Final = 100_000
"""A ref has five digits for the chunk."""
MAX_LISTED: Final = 10_000_000
"""Recipients of a list: their marks take up to 200 MB while the table grows."""
MAX_SPAN: Final = 8 * 1024 * 1024
"""Bytes of the file that a chunk spans, so that checkpoints move on in a file of invalid rows."""
PART: Final = 256 * 1024
"""Bytes made into rows at a time: rows of a few bytes take fifty times their memory."""
MAX_PENDING: Final = 1024 * 1024
"""Bytes of rows after which a chunk is weighed before it has all its recipients."""
TIME_ZONE: Final = "time_zone"
"""The column that names each recipient's zone."""
GATHERED: Final = 20
"""Chunks whose recipients are gathered before they are put together by their zones."""
_NO_ZONE: Final = RecipientFault("invalid_time_zone", "The time zone is unknown. Write an IANA name, as Europe/Paris.")
_TOO_MANY: Final = (
    f"The list has more than {MAX_LISTED:,} recipients, or makes more than {MAX_CHUNKS:,} chunks; please split it."
)


class Skips(Protocol):
    """Says who of a list is not to be sent to."""

    def suspects(self, keys: Sequence[str]) -> Collection[int]:
        """Return the places, from 0, of those who may be among them, by their normalised addresses."""

    def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
        """Return for the suspects of a chunk which of them are not to be sent to: place to code, `unsubscribed`."""


class Nobody:
    """Leaves out no recipient."""

    def suspects(self, keys: Sequence[str]) -> Collection[int]:
        """Return none."""
        del keys
        return ()

    def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
        """Return none."""
        del keys
        return {}


_Pending = tuple[Row, int, int, bool, bool, str]
"""A recipient that waits for its chunk:

1. its row, whose cells are those of a `chunks.table`
2. how many invalid rows there were before it
3. how many duplicates there were before it
4. whether it is a suspect
5. whether it is a `Landline`
6. the country of its number; empty of an address
"""


class Ingest:
    """Makes one list into chunks. Not for several threads."""

    def __init__(
        self,
        options: Options,
        checkpoint: Checkpoint | None = None,
        marks: Iterable[bytes] = (),
        *,
        skips: Skips | None = None,
        all_utf8: bool = True,
    ) -> None:
        """Begin a list, or continue where a checkpoint was saved.

        Args:
            checkpoint: the last one saved; the next byte fed is then the one at `checkpoint.position.offset`.
            marks: the steps' marks in order, from the first step on, in pieces of any number of marks. Marks of a step
                whose checkpoint was not saved do no harm.
            skips: the recipients to leave out; by default none. Its answers change no chunk's bounds.
            all_utf8: as `RowReader` takes it; the same for all of the list.

        Raises:
            ValueError: unknown channel or region, a size out of bounds, other options than the checkpoint's, or fewer
                marks than the checkpoint counts.
        """
        if not 1 <= options.size <= MAX_RECIPIENTS:
            raise ValueError(f"a chunk has 1 to {MAX_RECIPIENTS} recipients")
        self._mark = checkpoint or Checkpoint(Position(), 0, ListCounts(), 0, options)
        if self._mark.options != options:
            raise ValueError("the list was begun with other options")
        self._options = options
        channel = channel_of(options.channel)
        self._read: Read = channel.reader(options.region)
        self._has_countries = channel.numbers
        self._skips = skips or Nobody()
        self._seen = _loaded(marks, self._mark.marks)
        column = RecipientColumn(options.column, channel.recipient_columns)
        self._numbers = NumberZones() if options.zones and channel.numbers else None
        self._zones = self._mark.zones
        self._zone_at: int | None = None  # the place of the column TIME_ZONE, -1 if there is none
        self._rows = RowReader(self._mark.position, column, all_utf8=all_utf8, header_row=options.header_row)
        self._fault: FileFault | None = None
        self._number = self._mark.chunk
        self._accepted = self._mark.counts.accepted
        self._invalid = self._mark.counts.invalid
        self._duplicates = self._mark.counts.duplicates
        self._gaps = self._mark.gaps
        self._pending: list[_Pending] = []
        self._weigh_at = 0  # offset at which to see again whether the pending recipients still make one chunk
        self._problems: list[BadRow] = []  # those of rows past the checkpoint, and so are the marks
        self._marks = bytearray()

    @property
    def _at(self) -> int:
        """Index of the column that holds the recipients."""
        return self._rows.recipient

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of the cells in a chunk's rows: those of the file, and `ADDRESS` if it is needed."""
        header = self._rows.header
        return header if header[self._at] == RECIPIENT else (*header, ADDRESS)

    @property
    def fault(self) -> FileFault | None:
        """Why the file cannot be used; the chunks made until then are void."""
        return self._fault or self._rows.fault

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names, as placeholders mean them; empty until they are read."""
        return self._rows.header

    @property
    def seen(self) -> tuple[int, int]:
        """The rows read so far, blank ones included, and those that are recipients, in chunks or not.

        Both run ahead of the checkpoint, which waits for a whole chunk.
        """
        here = self._rows.position
        return here.row + here.blanks, self._accepted + len(self._pending)

    def feed(self, block: bytes) -> UploadStep:
        """Take the next bytes of the file, any number of them; 64 KB to 1 MB are best. Never raises on any bytes."""
        before = self._mark
        made: list[PackedChunk] = []
        for at in range(0, len(block), PART):
            made += self._take_all(self._rows.fed(block[at : at + PART]))
            if self._fault:
                break
        if not self._pending and self.fault is None:
            self._save(self._rows.position, self._invalid, self._duplicates)
        return self._step(before, made)

    def finish(self) -> UploadStep:
        """End the file; the last chunk, which may be short. `fault` is set if the file has no rows at all."""
        before = self._mark
        made = self._take_all(self._rows.finished())
        if self.fault is None:
            made += self._cut(self._rows.position, everything=True)
        if self.fault is None:
            self._save(self._rows.position, self._invalid, self._duplicates)
        return self._step(before, made)

    def _take_all(self, batches: Iterable[list[Row]]) -> list[PackedChunk]:
        made: list[PackedChunk] = []
        for rows in batches:
            made += self._take(rows)
            if self._fault:
                break
        return made

    def _take(self, rows: list[Row]) -> list[PackedChunk]:
        made: list[PackedChunk] = []
        if not rows:
            return made
        here = self._rows.start
        read, at, drop = self._read, self._at, self._options.drop_duplicates
        valued = ADDRESS in self._columns
        pending, size = self._pending, self._options.size
        found = [read(row.cells[at]) if row.cells else RecipientFault(row.code, row.detail) for row in rows]
        if self._options.zones:
            found = [x if self._has_zone(row) else _NO_ZONE for x, row in zip(found, rows, strict=True)]
            size *= GATHERED
        repeated, suspects = self._known(found)
        valid = -1
        for row, recipient in zip(rows, found, strict=True):
            if isinstance(recipient, RecipientFault):
                self._report(row, recipient)
                if self._fault:
                    break
            else:
                valid += 1
                new = valid not in repeated
                shown = "" if new else self._shown(row)  # before the cell is replaced
                if new or not drop:
                    _fill(row.cells, at, recipient, valued=valued)
                    mute = isinstance(recipient, Landline)
                    country = country_of(recipient[1]) if self._has_countries else ""
                    pending.append((row, self._invalid, self._duplicates, valid in suspects, mute, country))
                if not new:
                    self._repeat(row, shown)
            if pending and (row.endless or len(pending) == size or row.end >= self._weigh_at):
                made += self._due(here.after(row), endless=row.endless)
                if self._fault:
                    break
        return made

    def _zone_cell(self, cells: Sequence[str]) -> str:
        """Return what a row says of its zone; empty if nothing."""
        if self._zone_at is None:
            names = [placeholder_name(x) for x in self._rows.header]
            self._zone_at = names.index(TIME_ZONE) if TIME_ZONE in names else -1
        return cells[self._zone_at].strip() if self._zone_at >= 0 else ""

    def _has_zone(self, row: Row) -> bool:
        """Tell whether a row names a zone that there is, or none."""
        name = self._zone_cell(row.cells) if row.cells else ""
        return not name or is_zone(name)

    def _zone_of(self, row: Row) -> str:
        """Return the zones of an accepted row, as of `Chunk.zone`."""
        named = self._zone_cell(row.cells)
        return named or (self._numbers.of(row.cells[self._at]) if self._numbers is not None else "")

    def _known(self, found: list[Found | RecipientFault]) -> tuple[frozenset[int], frozenset[int]]:
        """Return which of the valid recipients, counted from 0, an earlier row had, and which are suspects.

        The marks of those that no earlier row had are kept.
        """
        keys = [x[1] for x in found if not isinstance(x, RecipientFault)]
        marks = marks_of(keys)
        repeated = self._seen.add(marks)
        start = 0
        for place in repeated:
            self._marks += marks[start : place * WIDTH]
            start = (place + 1) * WIDTH
        self._marks += marks[start:]
        return frozenset(repeated), frozenset(self._skips.suspects(keys))

    def _due(self, here: Position, *, endless: bool) -> list[PackedChunk]:
        """Cut what is complete; all, if the row before `here` is endless or the pending span too much of the file."""
        made = [] if endless else self._cut(here, everything=False)
        if self._pending and (endless or here.offset - self._pending[0][0].start > MAX_SPAN):
            made += self._cut(here, everything=True)
        return made

    def _report(self, row: Row, fault: RecipientFault) -> None:
        if self._options.strict:
            self._fault = FileFault(FileCode.INVALID_ROW, f"Row {row.sheet_row} cannot be used: {fault.detail}")
            return
        if self._invalid < MAX_KEPT:
            self._problems.append(BadRow(row.number, *fault, row.sheet_row, self._shown(row)))
        self._invalid += 1

    def _repeat(self, row: Row, shown: str) -> None:
        if self._duplicates < MAX_KEPT:
            detail = "An earlier row has the same recipient."
            self._problems.append(BadRow(row.number, DUPLICATE, detail, row.sheet_row, shown))
        self._duplicates += 1

    def _shown(self, row: Row) -> str:
        """Return the cell of the recipient, as a report of the row shows it."""
        value = row.cells[self._at] if row.cells else ""
        return value if len(value) <= MAX_VALUE else ""

    def _cut(self, after: Position, *, everything: bool) -> list[PackedChunk]:
        """Make the chunks that are complete, or of all that is pending; `after`: where the row read last ends.

        The moment of the call changes only the last chunk of `everything`: only the recipients decide how many of them
        fit.
        """
        if self._options.zones:
            return self._cut_by_zone(after, everything=everything)
        made: list[PackedChunk] = []
        pending = self._pending
        while pending:
            rows = [row.cells for row, *_ in pending]
            raw = self._table(rows)
            n = len(rows) if len(raw) <= MAX_RAW_BYTES else _fitting(rows)
            if n == len(rows) < self._options.size and not everything:
                start = pending[0][0].start
                self._weigh_at = min(after.offset + MAX_PENDING, start + MAX_SPAN + 1)
                return made
            if self._number == MAX_CHUNKS or self._accepted + n > MAX_LISTED:
                self._fault = FileFault(FileCode.TOO_MANY_ROWS, _TOO_MANY)
                return made
            suspects = [i for i, (_, _, _, asked, *_) in enumerate(pending[:n]) if asked]
            packed = self._packed(rows[:n], raw if n == len(rows) else self._table(rows[:n]), suspects)
            made.append(replace(packed, rows=_numbers(pending[:n])))
            self._look_for_gaps(pending[:n], made[-1].skipped)
            del pending[:n]
            self._weigh_at = 0
            if pending:
                row, invalid, duplicates, *_ = pending[0]
                self._save(after.before(row), invalid, duplicates)
            else:
                self._save(after, self._invalid, self._duplicates)
        return made

    def _cut_by_zone(self, after: Position, *, everything: bool) -> list[PackedChunk]:
        """Make chunks of all that is pending, each of one zone, once enough is gathered; as `_cut`."""
        pending, size = self._pending, self._options.size
        if not everything and len(pending) < size * GATHERED:
            self._weigh_at = pending[0][0].start + MAX_SPAN + 1
            return []
        by_zone: dict[str, list[_Pending]] = {}
        for one in pending:
            by_zone.setdefault(self._zone_of(one[0]), []).append(one)
        made: list[PackedChunk] = []
        for zone, mine in by_zone.items():
            while mine:
                chunk = self._chunk_of(mine, zone)
                if chunk is None:
                    return made
                made.append(chunk)
        self._zones = tuple(sorted({*self._zones, *by_zone}))
        pending.clear()
        self._weigh_at = 0
        self._save(after, self._invalid, self._duplicates)
        return made

    def _chunk_of(self, pending: list[_Pending], zone: str) -> PackedChunk | None:
        """Make a chunk of the first recipients, all of one zone, and take them away; None if the list is too large."""
        rows = [row.cells for row, *_ in pending[: self._options.size]]
        n = _fitting(rows)
        if self._number == MAX_CHUNKS or self._accepted + n > MAX_LISTED:
            self._fault = FileFault(FileCode.TOO_MANY_ROWS, _TOO_MANY)
            return None
        suspects = [i for i, (_, _, _, asked, *_) in enumerate(pending[:n]) if asked]
        packed = self._packed(rows[:n], self._table(rows[:n]), suspects)
        made = replace(packed, zone=zone, rows=_numbers(pending[:n]))
        self._look_for_gaps(pending[:n], made.skipped)
        del pending[:n]
        return made

    def _table(self, rows: list[list[str]]) -> bytes:
        columns = self._columns
        return chunks.table(columns, columns.index(ADDRESS) if ADDRESS in columns else self._at, rows)

    def _packed(self, rows: list[list[str]], raw: bytes, suspects: list[int]) -> PackedChunk:
        columns, at = len(self._columns), self._at
        each = tuple(row[at] if len(row) == columns else row[columns] or row[at] for row in rows)
        keys = [each[i] for i in suspects]
        skips = {suspects[place]: code for place, code in self._skips.codes(keys).items()} if keys else {}
        if skips:
            ends = (_trimmed(*[*row[columns:], "", ""][:2], skips.get(i, "")) for i, row in enumerate(rows))
            raw = self._table([[*row[:columns], *end] for row, end in zip(rows, ends, strict=True)])
        made = PackedChunk(self._number, len(rows), chunks.pack_table(raw), tuple(sorted(skips)), keys=each)
        self._number += 1
        self._accepted += len(rows)
        return made

    def _look_for_gaps(self, chunk: list[_Pending], skipped: Collection[int]) -> None:
        """Count the values that a chunk's rows lack, landlines and countries, without rows that are sent nothing."""
        if self._gaps is not None:
            sent = [x for i, x in enumerate(chunk) if i not in skipped]
            cells = [(row.sheet_row, row.cells) for row, *_ in sent]
            mute = [row.sheet_row for row, *_, landline, _ in sent if landline]
            found = gaps.with_landlines(gaps.with_rows(self._gaps, self._columns, cells), mute)
            self._gaps = tuple(gaps.with_countries(found, (country for *_, country in sent if self._has_countries)))

    def _save(self, position: Position, invalid: int, duplicates: int) -> None:
        counts = ListCounts(position.row, self._accepted, invalid, duplicates)
        marks = position.row - invalid - duplicates
        self._mark = Checkpoint(position, self._number, counts, marks, self._options, self._gaps, self._zones)

    def _step(self, before: Checkpoint, made: list[PackedChunk]) -> UploadStep:
        problems = _kept(self._mark) - _kept(before)
        marks = (self._mark.marks - before.marks) * WIDTH
        step = UploadStep(tuple(made), tuple(self._problems[:problems]), bytes(self._marks[:marks]), self._mark)
        del self._problems[:problems]
        del self._marks[:marks]
        return step


def _numbers(pending: list[_Pending]) -> bytes:
    """Return the numbers of rows in their file, as of `row_numbers.pack`."""
    return row_numbers.pack([row.sheet_row for row, *_ in pending])


def _fill(cells: list[str], at: int, found: Found, *, valued: bool) -> None:
    """Make a row of the file one of a `chunks.table`: `at` is the cell of the recipient, `valued` if it is a value."""
    address, key, display = found
    cells[at] = address
    if valued:
        cells.append(address)
    if key != address or display:
        cells += _trimmed("" if key == address else key, display)


def _kept(at: Checkpoint) -> int:
    return min(at.counts.invalid, MAX_KEPT) + min(at.counts.duplicates, MAX_KEPT)


def _trimmed(*cells: str) -> list[str]:
    """Return cells as far as the last that is not empty."""
    out = list(cells)
    while out and not out[-1]:
        out.pop()
    return out


def _fitting(rows: list[list[str]]) -> int:
    """Return how many of the first rows make a chunk by weight, at least one."""
    weight = 0
    for n, row in enumerate(rows):
        weight += chunks.row_weight(row)
        if n and weight > MAX_RAW_BYTES:
            return n
    return len(rows)


def _loaded(pieces: Iterable[bytes], wanted: int) -> Seen:
    seen = Seen()
    for piece in pieces:
        seen.add(piece[: (wanted - len(seen)) * WIDTH])
        if len(seen) == wanted:
            break
    if len(seen) != wanted:
        raise ValueError("marks of the checkpoint are missing")
    return seen
