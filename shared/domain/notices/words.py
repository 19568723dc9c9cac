"""The effects on a notice of time, and of the end of a run's message, as pure functions.

Source: docs/adr/0111, and the model in `tests/model`.
"""

from typing import Final

from shared.domain.jobs.states import Cell
from shared.domain.notices.actions import carry
from shared.domain.notices.codes import IN_DOUBT, NO_RECEIPT, NOT_AGAIN, Failure, Rejection
from shared.domain.notices.notice import (
    DeliveryMethod,
    Notice,
    NoticeChange,
    NoticeDraft,
    NoticeRun,
    NoticeStatus,
    Phase,
    Verb,
    with_run,
)
from shared.domain.notices.times import Hours, first_in, next_attempt, resumed
from shared.domain.times import Millis

TRY_AGAIN_MS: Final = 60_000
"""After which a kept action is tried again, if no word comes before."""

_SUCCESS: Final = {Cell.DELIVERED: "", Cell.RELAYED: NO_RECEIPT, Cell.SENT_CLOSED: NO_RECEIPT}
"""Cell to what its entry says."""
_FAILED: Final = {
    Cell.FAILED: Failure.PERMANENT,
    Cell.BOUNCED: Failure.PERMANENT,
    Cell.SKIPPED: Failure.PERMANENT,
    Cell.UNKNOWN_CLOSED: Failure.UNKNOWN,
}
_AGAIN: Final = frozenset({Cell.DROPPED, Cell.WITHDRAWN, Cell.EXPIRED})
_HELD: Final = {
    Cell.UNKNOWN: IN_DOUBT,
    Cell.SENT: "The provider has taken the message, and its receipt is awaited.",
}
"""Cell of a message that is no longer being delivered and has no word yet → why it cannot be withdrawn."""
_LEFT: Final = {Verb.UPDATE: "The update was not carried out.", Verb.CANCEL: "The cancellation was not carried out."}
_WORDS: Final = frozenset({*_SUCCESS, *_FAILED, *_AGAIN, Cell.UNKNOWN})
"""Cells that have a word."""
_NOT_DELIVERED: Final = frozenset({NoticeStatus.NEW, NoticeStatus.TEMP_FAIL, NoticeStatus.PERM_FAIL})
_OTHER: Final = {DeliveryMethod.SMS: "sent as a text message", DeliveryMethod.IVR: "sent as a call"}


def word(
    notice: Notice, job: str, index: int, cell: Cell, hours: Hours, now: Millis, pressed: str = ""
) -> NoticeChange | None:
    """Return what the state of a run's message changes; None: nothing.

    Args:
        index: of its recipient, from 0.
        cell: the state of its message.
        hours: the notifier's reasonable hours.
        pressed: what the recipient chose in the call; empty: nothing.
    """
    if cell not in _WORDS:
        return None
    if notice.of_run(job, index):
        if cell is Cell.UNKNOWN and notice.doubtful:
            return None
        return _of_present(notice, cell, hours, now, pressed)
    return _late(notice, job, index, now, pressed) if cell is Cell.DELIVERED else None


def _of_present(notice: Notice, cell: Cell, hours: Hours, now: int, pressed: str) -> NoticeChange:
    draft = NoticeDraft(notice, now)
    if cell in _SUCCESS:
        _succeed(draft, _SUCCESS[cell], pressed)
    elif cell is Cell.UNKNOWN:
        draft.set(status=NoticeStatus.TEMP_FAIL)
        draft.tell(Failure.UNKNOWN, NOT_AGAIN)
    elif notice.kept is not None:
        carry(draft, notice.kept, hours, in_doubt=cell is Cell.UNKNOWN_CLOSED)
    elif cell in _FAILED:
        draft.end(NoticeStatus.PERM_FAIL, _FAILED[cell], _said(notice))
    else:
        _wait(draft, cell, hours)
    return draft.changed()


def _late(notice: Notice, job: str, index: int, now: int, pressed: str) -> NoticeChange | None:
    """An earlier run has delivered: that counts if it was the same data."""
    run = next((r for r in notice.runs if (r.job, r.index) == (job, index)), None)
    if run is None or run.gen != notice.gen or notice.status not in _NOT_DELIVERED:
        return None
    draft = NoticeDraft(notice, now)
    _succeed(draft, pressed)
    return draft.changed(withdraw=notice.run)


def _succeed(draft: NoticeDraft, *messages: str) -> None:
    """End with success; an action that was kept is rejected after it. `messages`: of its entry, if not empty."""
    kept = draft.notice.kept
    other = _said(draft.notice)
    draft.end(NoticeStatus.SUCCESS, "", ", ".join(x for x in (other, *messages) if x))
    if kept is not None:
        draft.reject(kept.sent, Rejection.ALREADY_DELIVERED)


def _wait(draft: NoticeDraft, cell: Cell, hours: Hours) -> None:
    """Have it wait: for the next attempt after a failure, or for the next hours, or for nothing if it was withdrawn."""
    notice, now = draft.notice, draft.now
    preferred = notice.data.preferred(hours)
    if cell is Cell.EXPIRED and now >= notice.expires_at:
        draft.end(NoticeStatus.PERM_FAIL, Failure.EXPIRED)
        return
    at: int | None
    if cell is Cell.DROPPED:
        at = next_attempt(hours, preferred, now, notice.expires_at)
    elif cell is Cell.EXPIRED:
        at = resumed(hours, preferred, now, notice.expires_at)
    else:
        at = first_in(hours.timezone, hours.window, now)
    at = notice.expires_at if at is None else min(at, notice.expires_at)
    draft.set(phase=Phase.WAITING, run=None, next_at=max(now, at))
    if cell is Cell.DROPPED or notice.doubtful:
        draft.set(status=NoticeStatus.TEMP_FAIL)
        draft.tell(Failure.TEMPORARY, _said(notice))


def _said(notice: Notice) -> str:
    """Return that the present run uses another channel than the requested one, or empty."""
    run = notice.run
    return _OTHER[run.method] if run is not None and run.method is not notice.data.method else ""


def tried(notice: Notice, limit: int, now: Millis, cell: Cell | None = None, until: int = 0) -> NoticeChange | None:
    """Return what a failed try to carry a kept action out changes; None if there is none.

    Args:
        notice: ACTIVE, its run's message can no longer be withdrawn.
        limit: the try after which the action is rejected.
        cell: the state of its run's message; None: unknown.
        until: Unix milliseconds before which no try counts; 0: this one does.
    """
    kept = notice.kept
    if kept is None:
        return None
    draft = NoticeDraft(notice, now)
    if until > now:
        draft.set(next_at=min(until, now + TRY_AGAIN_MS))
    elif notice.tries + 1 < limit:
        draft.set(tries=notice.tries + 1, next_at=now + TRY_AGAIN_MS)
    else:
        draft.set(kept=None, tries=0, next_at=0)
        code = Rejection.CANCEL_CONFLICT if kept.verb is Verb.CANCEL else Rejection.UPDATE_CONFLICT
        draft.reject(kept.sent, code, f"{_HELD[cell]} {_LEFT[kept.verb]}" if cell in _HELD else "")
    return draft.changed()


def begun(notice: Notice, job: str, index: int, method: DeliveryMethod) -> NoticeChange:
    """Return a notice that waits as ACTIVE in a run.

    Args:
        index: of its recipient, from 0.
        method: the channel that the run uses.
    """
    run = NoticeRun(job, index, notice.gen, method)
    draft = NoticeDraft(notice, 0)
    draft.set(phase=Phase.ACTIVE, run=run, runs=with_run(notice.runs, run), next_at=0)
    return draft.changed()


def expired(notice: Notice, now: int) -> NoticeChange:
    """Return a notice that waits as ended by its expiry."""
    return failed(notice, Failure.EXPIRED, now)


def failed(notice: Notice, failure: Failure, now: Millis) -> NoticeChange:
    """Return a notice that waits as ended by a failure without a run."""
    draft = NoticeDraft(notice, now)
    draft.end(NoticeStatus.PERM_FAIL, failure)
    return draft.changed()


def held(notice: Notice, until: Millis, now: Millis) -> NoticeChange:
    """Return a notice that a limit of the day keeps back as waiting for the next day, or for its end."""
    draft = NoticeDraft(notice, now)
    draft.set(next_at=min(until, notice.expires_at))
    return draft.changed()


def postponed(notice: Notice, hours: Hours, now: Millis) -> NoticeChange | None:
    """Return a notice that may not be sent now as waiting for its next hours; None if it may be sent.

    It is due outside of the reasonable hours, or before its date, since its notifier has another time zone now.

    Args:
        hours: the notifier's reasonable hours.
    """
    data = notice.data
    if first_in(hours.timezone, hours.window, now, data.delivery) == now:
        return None
    at = resumed(hours, data.preferred(hours), now, notice.expires_at, data.delivery)
    draft = NoticeDraft(notice, now)
    draft.set(next_at=notice.expires_at if at is None else at)
    return draft.changed()
