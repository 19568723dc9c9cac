"""The effect of an uploaded record on a notice, as a pure function. Source: docs/adr/0111, and `tests/model`."""

from dataclasses import replace
from typing import Final

from shared.domain.jobs.labels import NO_LABELS
from shared.domain.notices.codes import CANCELED_IN_DOUBT, SAYS, Failure, Rejection
from shared.domain.notices.notice import Kept, Notice, NoticeChange, NoticeData, NoticeDraft, NoticeStatus, Phase, Verb
from shared.domain.notices.records import NoticeAction, RejectedRecord
from shared.domain.notices.times import Hours, first_attempt, resumed
from shared.domain.notices.updates import UpdateEntry
from shared.domain.times import Millis
from shared.frozen import dataclass

ERASED_MESSAGE: Final = "The person's data were erased."


@dataclass(frozen=True, slots=True)
class NoticeOwner:
    """Whose notice it is, and what it is called. `uuid`: its key; `id`: its notifier's name for it."""

    notifier: str
    account: str
    uuid: str
    id: str


def take(
    stored: Notice | None, asked: NoticeAction | RejectedRecord, owner: NoticeOwner, hours: Hours, now: Millis
) -> NoticeChange | None:
    """Return what a record changes; None: nothing.

    Args:
        stored: the notice as read, None if there is none.
        hours: the notifier's reasonable hours.
    """
    notice = None if stored is None or stored.gone(now) else stored
    if isinstance(asked, RejectedRecord):
        return _reject(notice, asked, owner, now)
    if notice is None:
        if asked.data is None:
            return _reject(None, RejectedRecord(Rejection.MESSAGE_NOT_FOUND, asked.sent), owner, now)
        return NoticeChange(replace(_made(stored, asked.data, owner, hours, now), labels=asked.labels))
    draft = NoticeDraft(notice, now)
    if asked.verb is Verb.NEW:
        _new(draft, asked)
    elif asked.verb is Verb.UPDATE and asked.data is not None:
        _update(draft, asked, asked.data, hours)
    else:
        _cancel(draft, asked, hours)
    return draft.changed() if draft.notice != notice else None


def rejected(stored: Notice | None, asked: RejectedRecord, owner: NoticeOwner, now: Millis) -> NoticeChange:
    """Return the entry of a rejected record, with the stored notice's status, or PERM_FAIL if none is stored.

    Args:
        stored: the notice as read, None if there is none.
    """
    return _reject(None if stored is None or stored.gone(now) else stored, asked, owner, now)


def erased(notice: Notice, now: Millis) -> NoticeChange:
    """Return a notice without its person's data; one that has not ended is cancelled."""
    draft = NoticeDraft(notice, now)
    draft.set(data=replace(notice.data, first_name="", phone=""), labels=NO_LABELS, kept=None, tries=0)
    if notice.phase is not Phase.ENDED:
        draft.end(NoticeStatus.CANCELED, "", ERASED_MESSAGE)
    return draft.changed()


def carry(draft: NoticeDraft, kept: Kept, hours: Hours, *, in_doubt: bool = False) -> None:
    """Carry an update or a cancellation out, with an entry if the status changes.

    Args:
        draft: of the notice that it is about.
        hours: the notifier's reasonable hours.
        in_doubt: a message of the present data may have gone out.
    """
    if kept.data is None:
        said = (Failure.UNKNOWN, CANCELED_IN_DOUBT) if in_doubt else ()
        draft.end(NoticeStatus.CANCELED, *said)
        return
    before = draft.notice
    draft.set(
        phase=Phase.WAITING,
        status=NoticeStatus.NEW,
        data=kept.data,
        gen=before.gen + 1,
        run=None,
        kept=None,
        tries=0,
        next_at=_first(hours, kept.data, draft.now, tried=bool(before.runs)),
        expires_at=kept.data.expires_at(hours),
        ttl=0,
    )
    if before.status is not NoticeStatus.NEW:
        draft.tell()


def _first(hours: Hours, data: NoticeData, now: Millis, *, tried: bool = False) -> int:
    """Return when there is something to do first: an attempt, or the expiry if none is possible before.

    Args:
        hours: the notifier's reasonable hours.
        data: what is to be delivered.
        tried: it was tried before with other data, so the hours are those of a further attempt.
    """
    expires = data.expires_at(hours)
    find = resumed if tried else first_attempt
    at = find(hours, data.preferred(hours), now, expires, data.delivery)
    return max(now, expires if at is None else at)


def _made(stored: Notice | None, data: NoticeData, owner: NoticeOwner, hours: Hours, now: int) -> Notice:
    """Return a new notice; `stored`: one under the same key that counts as absent."""
    return Notice(
        uuid=owner.uuid,
        notifier=owner.notifier,
        account=owner.account,
        id=owner.id,
        data=data,
        created_at=now,
        next_at=_first(hours, data, now),
        expires_at=data.expires_at(hours),
        gen=stored.gen + 1 if stored else 1,
        stamp=stored.stamp if stored else 0,
        version=stored.version + 1 if stored else 1,
    )


def _new(draft: NoticeDraft, asked: NoticeAction) -> None:
    """A repeated upload after a lost answer changes nothing."""
    notice = draft.notice
    same = (notice.data, notice.labels) == (asked.data, asked.labels) and notice.status is not NoticeStatus.CANCELED
    if not same:
        draft.reject(asked.sent, Rejection.ALREADY_EXISTS)


def _update(draft: NoticeDraft, asked: NoticeAction, data: NoticeData, hours: Hours) -> None:
    notice = draft.notice
    if notice.data == data and notice.status is not NoticeStatus.CANCELED:
        _drop(draft)
        draft.set(labels=asked.labels)  # another name alone sends nothing again
    elif notice.status is NoticeStatus.SUCCESS:
        draft.reject(asked.sent, Rejection.ALREADY_DELIVERED)
    else:
        draft.set(labels=asked.labels)
        _keep_or_carry(draft, Kept(Verb.UPDATE, asked.sent, data), hours)


def _cancel(draft: NoticeDraft, asked: NoticeAction, hours: Hours) -> None:
    if draft.notice.status is NoticeStatus.CANCELED:
        return
    if draft.notice.status is NoticeStatus.SUCCESS:
        draft.reject(asked.sent, Rejection.ALREADY_DELIVERED)
    else:
        _keep_or_carry(draft, Kept(Verb.CANCEL, asked.sent), hours)


def _keep_or_carry(draft: NoticeDraft, kept: Kept, hours: Hours) -> None:
    """Keep an action while a run is under way; the same action again does not start the count of tries anew."""
    notice = draft.notice
    if notice.phase is not Phase.ACTIVE:
        carry(draft, kept, hours, in_doubt=notice.doubtful)
    elif notice.kept is None or not notice.kept.same(kept):
        draft.set(kept=kept, tries=0, next_at=draft.now)


def _drop(draft: NoticeDraft) -> None:
    """Drop a kept action."""
    if draft.notice.kept is not None:
        draft.set(kept=None, tries=0, next_at=0)


def _reject(notice: Notice | None, asked: RejectedRecord, owner: NoticeOwner, now: int) -> NoticeChange:
    if notice is not None:
        draft = NoticeDraft(notice, now)
        draft.reject(asked.sent, asked.code, asked.message)
        return draft.changed()
    text = asked.message or SAYS[asked.code]
    status = NoticeStatus.PERM_FAIL.value
    entry = UpdateEntry(owner.notifier, owner.uuid, owner.id, now, status, asked.sent, asked.code.value, text)
    return NoticeChange(None, (entry,))
