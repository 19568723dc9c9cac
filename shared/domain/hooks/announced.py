"""Which changes of a chunk's messages were handed on to endpoints, and which are to be.

For each pace an item keeps the cells of a chunk as they were when their changes were last handed on. It also keeps the
cells whose changes are being handed on, and since when. So two processes at once hand on a change once. If a process
dies, what it has begun is handed on again, under the same ids and with the same times.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from shared.domain.hooks.kinds import HookKind, kind_of
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.job import MAIL, Job
from shared.domain.jobs.states import Cell
from shared.domain.times import Millis
from shared.frozen import dataclass

EXPLAINED: Final = frozenset(
    {
        HookKind.MESSAGE_FAILED,
        HookKind.MESSAGE_SKIPPED,
        HookKind.MESSAGE_UNKNOWN,
        HookKind.MESSAGE_BOUNCED,
        HookKind.MESSAGE_COMPLAINED,
        HookKind.MAIL_FAILED,
    }
)
"""Kinds whose events need the details of the chunk."""
_FAILS: Final = frozenset({Cell.FAILED, Cell.DROPPED, Cell.BOUNCED, Cell.EXPIRED, Cell.SKIPPED, Cell.UNKNOWN_CLOSED})
"""Ends of a mail's destination of which its sender is notified."""


@dataclass(frozen=True, slots=True)
class AnnouncedStates:
    """The cells of a chunk as they were last handed on at one pace.

    Attributes:
        job: the job's id.
        chunk: the chunk's number.
        cells: one byte per recipient, as `Ledger.cells`.
        at: when they were handed on, Unix milliseconds; 0: never.
        ttl: Unix seconds when it may be removed: that of the ledger.
        begun: the cells whose changes are being handed on; empty: none are.
        begun_at: since when they are, Unix milliseconds.
    """

    job: str
    chunk: int
    cells: bytes
    at: Millis
    ttl: int
    begun: bytes = b""
    begun_at: Millis = 0


@dataclass(frozen=True, slots=True)
class CellChange:
    """A message whose state is an event that was not handed on.

    Attributes:
        index: the recipient's place in the chunk.
        byte: its cell, as the ledger has it.
        kind: of the event.
    """

    index: int
    byte: int
    kind: HookKind

    @property
    def attempt(self) -> int:
        """Return the attempt that the event is about."""
        return self.byte >> 4


def untold(told: bytes, cells: bytes) -> list[CellChange]:
    """Return the changes that are to be handed on: one for each message with another attempt or kind than before.

    Args:
        told: what was handed on; empty: nothing.
        cells: as the ledger has them.
    """
    if told == cells:
        return []
    before = told or bytes(len(cells))
    changes = []
    for index, (old, new) in enumerate(zip(before, cells, strict=True)):
        kind = _kind(new) if old != new else None
        if kind is not None and (old >> 4 != new >> 4 or _kind(old) is not kind):
            changes.append(CellChange(index, new, kind))
    return changes


def _kind(byte: int) -> HookKind | None:
    return kind_of(Cell(byte & 15))


def is_older(job: Job, told: AnnouncedStates | None, since: Millis) -> bool:
    """Tell whether changes from before there was an endpoint may be among those that were not handed on.

    Args:
        told: what was handed on, if anything was.
        since: when the oldest endpoint was made, Unix milliseconds.
    """
    return job.created_at < since and (told is None or told.at < since)


def happened_since(
    changes: Iterable[CellChange], since: Millis, windows: Iterable[Detail], words: Iterable[FeedbackDetail]
) -> list[CellChange]:
    """Return the changes that details date after a moment, without changes that no detail dates.

    Providers date their events to the second, so events of the second before also count.
    """
    recent = {(e.index, e.attempt) for w in windows if w.at >= since for e in w.entries}
    recent |= {(e.index, e.attempt) for f in words for e in f.entries if (e.at + 1) * 1000 > since}
    return [x for x in changes if (x.index, x.attempt) in recent]


def with_complaints(changes: Iterable[CellChange], words: Iterable[FeedbackDetail]) -> list[CellChange]:
    """Return changes with the complaints among the bounces named: a cell has one state for both."""
    said: dict[tuple[int, int], set[str]] = {}
    for f in words:
        for e in f.entries:
            if not e.secondary:
                said.setdefault((e.index, e.attempt), set()).add(e.word)
    out: list[CellChange] = []
    for x in changes:
        about = said.get((x.index, x.attempt), set())
        if x.kind is not HookKind.MESSAGE_BOUNCED or ProviderEventKind.COMPLAINED not in about:
            out.append(x)
            continue
        if ProviderEventKind.BOUNCED in about:
            out.append(x)
        out.append(CellChange(x.index, x.byte, HookKind.MESSAGE_COMPLAINED))
    return out


def with_mails(job: Job, changes: Sequence[CellChange]) -> Sequence[CellChange]:
    """Return changes with one more for each failed destination of a mail."""
    if job.kind != MAIL:
        return changes
    failed = dict.fromkeys((x.index, x.byte) for x in changes if Cell(x.byte & 15) in _FAILS)
    return [*changes, *(CellChange(index, byte, HookKind.MAIL_FAILED) for index, byte in failed)]


def possible(job: Job, changes: Sequence[CellChange]) -> set[HookKind]:
    """Return the kinds of events that changes of messages may be, before their details are read."""
    kinds = {x.kind for x in with_mails(job, changes)}
    return kinds | ({HookKind.MESSAGE_COMPLAINED} if HookKind.MESSAGE_BOUNCED in kinds else set())


def needs_details(changes: Iterable[CellChange], wanted: Collection[HookKind]) -> bool:
    """Tell whether the chunk's details explain an event that is wanted."""
    kinds = {x.kind for x in changes}
    bounced = HookKind.MESSAGE_BOUNCED in kinds and HookKind.MESSAGE_COMPLAINED in wanted
    return bounced or bool(kinds & EXPLAINED & set(wanted))
