"""Jobs and ledgers of copies of the past. Source: docs/protocol.md, "Copies of the past".

Since the moment of the copy, workers may have sent any message that waits in a ledger, under any attempt. So each such
message is as one that a dead worker claimed last: of unknown fate, with no attempt left.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.feedback import ProviderEventKind, join, state_of
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Kind
from shared.domain.jobs.states import MAX_ATTEMPTS, OPEN, Cell, JobState
from shared.domain.times import Millis

LEAP: Final = 1_000
"""Leases that no worker took: no process that lived before the loss knows one of these numbers."""
VERSIONS: Final = 1_000_000
"""Writes that no process made: no process that lived before the loss wins a compare-and-swap."""

_DOUBTFUL: Final = OPEN | {Cell.UNKNOWN}
_SHOWN: Final = {
    Kind.ACCEPTED: Cell.SENT,
    Kind.RELAYED: Cell.RELAYED,
    Kind.REFUSED: Cell.FAILED,
    Kind.INVALID: Cell.SKIPPED,
}


def doubted(ledger: Ledger, windows: Sequence[Detail] = (), words: Sequence[FeedbackDetail] = ()) -> Ledger:
    """Return a copy's ledger with what may have been sent since as UNKNOWN, or as what details show.

    No event and no proof sends one of its messages again: no attempt is left. Only the owner's explicit retry does.

    Args:
        windows: details of the chunk that are stored, in the order of their leases, also later ones than the copy.
        words: the same of what providers said.
    """
    told = _told(windows, words)
    last = min(ledger.limit, MAX_ATTEMPTS - 1)
    cells = bytearray(ledger.cells)
    for i, cell in enumerate(cells):
        if Cell(cell & 15) in _DOUBTFUL:
            state, attempt = told.get(i, (Cell.UNKNOWN, 0))
            shown = state not in _DOUBTFUL and state is not Cell.DROPPED and attempt >= cell >> 4
            cells[i] = attempt << 4 | state if shown else max(last, cell >> 4) << 4 | Cell.UNKNOWN
    out = replace(ledger, cells=bytes(cells), status=LedgerStatus.DONE, limit=0, not_before=0)
    return _ownerless(replace(out, dirty=ledger.dirty or out.cells != ledger.cells))


def unheld(ledger: Ledger) -> Ledger:
    """Return the ledger of a copy of the very moment of the loss: L5 judges its lease, and no old owner knows it."""
    return replace(ledger, version=ledger.version + VERSIONS)


def _ownerless(ledger: Ledger) -> Ledger:
    """Return a ledger without an owner, which no process of before the loss can write."""
    epoch, version = ledger.epoch + LEAP, ledger.version + VERSIONS
    return replace(ledger, owner="", seq=0, until=0, epoch=epoch, version=version)


def _told(windows: Sequence[Detail], words: Sequence[FeedbackDetail]) -> dict[int, tuple[Cell, int]]:
    """Return by recipient what the details show of the last attempt that they name.

    UNKNOWN where a later attempt may have followed: one that was surely not sent, or that its provider gave up.
    """
    told: dict[int, tuple[Cell, int]] = {}
    for window in windows:
        for x in window.entries:
            if x.attempt >= told.get(x.index, (Cell.UNKNOWN, 0))[1]:
                told[x.index] = _SHOWN.get(x.kind, Cell.UNKNOWN), x.attempt
    for said in words:
        for word in said.entries:
            state = state_of(ProviderEventKind(word.word)) if word.word in set(ProviderEventKind) else None
            if state is None:
                continue
            known, attempt = told.get(word.index, (Cell.UNKNOWN, word.attempt))
            told[word.index] = join(known, attempt, state, word.attempt), max(attempt, word.attempt)
    return told


def never_began(job: Job) -> bool:
    """Tell whether a job as it is stored now was never planned: none of its messages was ever claimed."""
    return job.state is JobState.READY and not job.planned_at


def held(job: Job, now: Millis) -> Job:
    """Return a copy's job as it comes back: stopped if it was under way, so that it waits for its release.

    Runs of notices and mails cannot be stopped; only their ledgers decide.
    """
    out = replace(job, version=job.version + VERSIONS, retry=None)
    if job.owned or (job.state in (JobState.LOGGED, JobState.STOPPED) and job.retry is None):
        return out
    reason = StopReason.RESTORED.value
    return replace(out, state=JobState.STOPPED, stopped=True, stopped_at=now, stop_reason=reason, rests_until=0)
