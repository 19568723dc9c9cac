"""Exports: every message of one or several jobs as a row of a CSV file. Source: docs/exports.md."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

LINK_SECONDS: Final = 900
"""How long a file can be begun to be fetched; asking again gives another link."""
AGAIN_MS: Final = 3_600_000
"""Milliseconds after which an export that was given up is begun anew on request."""
USABLE_MS: Final = 6 * DAY_MS
"""Milliseconds for which an export is given out; the bucket keeps it a day longer, for who is still fetching it."""
SETTLED_MS: Final = 120_000
"""Milliseconds for which an export is given out although its jobs have moved on. A running job moves on all the time:
who asked for its export must get it once it is there."""
COLUMNS: Final = (
    "job",
    "message",
    "recipient",
    "state",
    "status",
    "error",
    "attempts",
    "providers",
    "provider_message_id",
    "updated_at",
)
# change: a new column of an export
LATER: Final = ("sent_at", "delivered_at", "error_detail")
"""Columns behind the list's own, so that the others keep their places."""
LAST: Final = ("error_meaning", "reference", "tags", "metadata")
"""Columns behind those, which came after them."""
NEWEST: Final = ("row",)
"""The column behind these, which came last: the row in the list's file, as a spreadsheet numbers it."""
PREFIX: Final = "list."
"""The prefix of a list's own columns, so that their names never clash with COLUMNS or with later ones."""
_SIGNS: Final = "=+@\t\uff1d\uff0b\uff0d\uff20-"
_STARTS: Final = "\r\n" + _SIGNS
"""The first characters of formulas. Some spreadsheets also accept the full-width forms of the first four."""
_GUARDED: Final = frozenset(_STARTS + "'\"")
_FORMULA: Final = re.compile(f"['\"]*[{_STARTS}]")
_DIGITS: Final = r"[+-]?\d+(?:\.\d+)?"
_NUMBER: Final = re.compile(_DIGITS)
_LATER: Final = re.compile(f"(?<=[\r\n\t])(?!{_DIGITS}(?:[\r\n\t]|$))(?=['\"]*[{_SIGNS}])")
"""Where a later line, or what follows a tab, begins like a formula."""
_ENDS: Final = re.compile("[\r\n\t]")


class ExportState(StrEnum):
    """The state of an export."""

    PREPARING = "preparing"
    READY = "ready"
    FAILED = "failed"
    """Its recipients are no longer kept, or it was given up; `code` says which."""


GIVEN_UP: Final = "given_up"
"""The code of an export that was begun again and again, and came no further."""


@dataclass(frozen=True, slots=True)
class Export:
    """The export of a campaign or a job. Times are Unix milliseconds.

    Attributes:
        id: of the campaign or job, or of a job's archive.
        run: names its file; each run has its own.
        jobs: the jobs in it, in the order of its rows; `versions`: of these jobs when it was begun.
        begun_at: every row is at least as new.
        chunks: how many there are in all; `done`: how many of those are in `parts`.
        job: where it continues: the index of the job; `chunk`: the number of the chunk there.
        columns: the lists' own, in the order of their first appearance; known as soon as there is an `upload`.
        upload: of its file, in parts; `parts`: the ETags of those that count.
        owner: invocation that makes it, empty while none has begun; `until`: when another may.
        starts: leases taken since it came further.
        code: of one that was given up; empty for one whose recipients are no longer kept.
        ttl: Unix seconds when the item may be removed.
        file: the name of its file, if that is not one of the run's own.
        later: its rows have LATER; one that an earlier version has begun is ended as it began.
        last: its rows have LAST; the same.
        numbered: its rows have NEWEST; the same.
        waits: another export of its account is made first.
    """

    id: str
    account: str
    run: str
    jobs: tuple[str, ...]
    versions: tuple[int, ...]
    begun_at: int
    chunks: int
    ttl: int
    until: Millis
    state: ExportState = ExportState.PREPARING
    job: int = 0
    chunk: int = 0
    done: int = 0
    rows: int = 0
    columns: tuple[str, ...] = ()
    upload: str = ""
    parts: tuple[str, ...] = ()
    owner: str = ""
    starts: int = 0
    code: str = ""
    finished_at: int = 0
    file: str = ""
    later: bool = False
    last: bool = False
    numbered: bool = False
    waits: bool = False
    version: int = 1

    @property
    def blob(self) -> str:
        """The name of its file in the bucket."""
        return self.file or f"exports/{self.account}/{self.id}/{self.run}.csv"

    def filename(self, kind: str) -> str:
        """Return the name under which a browser saves its file. `kind`: batch, job or campaign."""
        as_of = datetime.fromtimestamp(self.begun_at / 1000, UTC)
        return f"{kind}-{self.id}-{as_of:%Y%m%dT%H%M%SZ}.csv"

    @property
    def progress(self) -> float:
        """Share of its chunks that are in the file, 0 to 1."""
        return self.done / self.chunks if self.chunks else 0.0

    def of(self, jobs: Sequence[tuple[str, int]]) -> bool:
        """Tell whether it is of these jobs in these versions, `(id, version)`."""
        return tuple(jobs) == tuple(zip(self.jobs, self.versions, strict=True))

    def usable(self, jobs: Sequence[tuple[str, int]], now: Millis) -> bool:
        """Tell whether it is what somebody gets who asks for the export of these jobs now (Unix ms)."""
        if self.state is not ExportState.READY or now - self.finished_at > USABLE_MS:
            return False
        return self.of(jobs) or now - self.finished_at <= SETTLED_MS

    def changed(self, **changes: Any) -> "Export":
        """Return it with changes, one version on."""
        return replace(self, version=self.version + 1, **changes)


def guard(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe before a text that begins like one.

    Each part behind a semicolon or a tab, and each line in it, is guarded the same way:

    - A spreadsheet of a country that writes `1,5` splits cells at semicolons, in any file.
    - A spreadsheet that takes the text from the clipboard splits cells at tabs.
    - If a spreadsheet splits cells elsewhere than we do, no quote keeps a cell's lines together.

    A spreadsheet splits at no other character, such as `|`, unless its user asks for that.

    Quotes do not hide the beginning of a formula, since a spreadsheet removes them. A plain number, and so a phone
    number, stays as it is. A text that begins with apostrophes and would then look guarded gets one more. So removing
    one from every text that looks guarded gives the original. Source: OWASP, "CSV Injection".
    """
    return ";".join(map(_guarded, cell.split(";"))) if ";" in cell else _guarded(cell)


def _guarded(part: str) -> str:
    lines = _LATER.sub("'", part) if _ENDS.search(part) else part
    if not part or part[0] not in _GUARDED or not _FORMULA.match(part) or _NUMBER.fullmatch(part):
        return lines
    return f"'{lines}"


def rows(lines: Iterable[Sequence[str | int]]) -> bytes:
    """Return rows of a CSV file (RFC 4180) in UTF-8. The caller has guarded the cells."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows(lines)
    return out.getvalue().encode()


def header(columns: Sequence[str], *, later: bool = True, last: bool = True, numbered: bool = True) -> bytes:
    """Return the first row, behind the mark by which spreadsheets know UTF-8."""
    behind = (*(LATER if later else ()), *(LAST if last else ()), *(NEWEST if numbered else ()))
    return b"\xef\xbb\xbf" + rows([[*COLUMNS, *(guard(PREFIX + c) for c in columns), *behind]])
