"""The form in which each item of a copy comes back: as it was, or so that none of its work is done again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.digests import keys as digest_keys
from shared.adapters.dynamo.digests import window_codec
from shared.adapters.dynamo.notices import notice_codec
from shared.adapters.dynamo.notices.updates import entry_item
from shared.domain.campaigns.campaign import UNREAD, UploadState
from shared.domain.digests.window import WindowState
from shared.domain.ids import is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.job import Job, add_figures
from shared.domain.jobs.ledger import BY_KEYS, Ledger
from shared.domain.jobs.states import COUNT_KEYS
from shared.domain.notices.codes import Failure
from shared.domain.notices.notice import NoticeDraft, NoticeStatus, Phase
from shared.domain.restoring import past as restoring
from shared.domain.times import Millis
from shared.frozen import dataclass

RESTORED: Final = "restored"
"""The code of a list whose reading the loss has cut off."""
RESTORED_DETAIL: Final = "The list was being read at the moment to which the deployment was restored: upload it again."
_UNHEARD: Final[Item] = {"unheard": {"BOOL": True}}
_PASSING: Final = frozenset({"BREAKER", "HOLDER"})
"""Sort keys of `ops`: what is about the present only. Without them a breaker is closed and a credential is free."""
_PROGRESS: Final = frozenset({"SWEEP", "CONTROL"})
"""Sort keys in the partition `SYS`: where the sweeper is, and the pause of everything, which the restore itself set."""
_LISTENERS: Final = keys.listeners("")["pk"]["S"].rstrip("0123456789")
RUN: Final = "RESTORE"
"""Begins the sort keys of what restores keep about themselves, in the partition `SYS`."""

Told = Callable[[str, int], tuple[Sequence[Detail], Sequence[FeedbackDetail]]]
"""Returns what the stored details of a chunk of a job say."""


@dataclass(frozen=True, slots=True)
class Past:
    """The copy that items come from.

    Attributes:
        now: when they come back, Unix milliseconds.
        exact: the copy is of the very moment of the loss, so that nothing was sent since.
        living: returns a job as it is stored beside a copy of `ops`; None: it is not, or comes from a copy itself.
        told: returns the details that are stored.
    """

    now: Millis
    exact: bool
    living: Callable[[str], Job | None]
    told: Told


def is_listener(item: Item) -> bool:
    """Tell whether an item says who hears of events: without it, no endpoint takes items that come back for news."""
    pk: str = item["pk"]["S"]
    return pk.startswith(_LISTENERS)


def restored(item: Item, past: Past) -> list[Item]:
    """Return what is stored of an item of a copy; nothing of what is about the past's own moment only."""
    if _is_passing(item) or _is_over(item, past):
        return []
    return _maker(item)(item, past)


def _is_passing(item: Item) -> bool:
    """Tell whether an item is about the present of its own moment only."""
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    return sk in _PASSING or (pk == "SYS" and (sk in _PROGRESS or sk.startswith(RUN)))


def _maker(item: Item) -> "_Make":
    """Return the function that makes the stored items of one."""
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    return _MADE.get(sk) or next((of for prefix, of in _BEGINNING if _begins(pk, sk, prefix)), _as_it_was)


def _as_it_was(item: Item, _: Past) -> list[Item]:
    """Return an item unchanged, except that webhooks do not hear again that somebody is suppressed."""
    return [item | _UNHEARD if "address" in item and "reason" in item else item]


def _begins(pk: str, sk: str, prefix: tuple[str, str]) -> bool:
    return pk.startswith(prefix[0]) and sk.startswith(prefix[1])


def _is_over(item: Item, past: Past) -> bool:
    """Tell whether DynamoDB would delete an item at once."""
    return 0 < codec.number(item, "ttl") < past.now // 1000


def _changed(item: Item, before: Item, after: Item) -> Item:
    """Return an item with what differs between two writings of what it holds; what a newer version added stays."""
    gone = before.keys() - after.keys()
    return {k: v for k, v in item.items() if k not in gone} | {k: v for k, v in after.items() if before.get(k) != v}


def _job(item: Item, past: Past) -> list[Item]:
    """Return a job, held; of a small one also with its ledger in doubt."""
    if "state" not in item:
        return [item]
    job = codec.job(item)
    out = _changed(item, codec.job_item(job), codec.job_item(restoring.held(job, past.now)))
    out = {k: v for k, v in out.items() if k != "freed"}
    if is_small(job.id):
        ledger = codec.ledger(item)
        new = codec.ledger_fields(_ledger_of(ledger, past))
        of = codec.of_ledger(job.id)
        old = {of + k: v for k, v in codec.ledger_fields(ledger).items() if k != "ttl"}
        out = _changed(out, old, {of + k: v for k, v in new.items() if k != "ttl"})
    return [out | _UNHEARD] if job.ended_at else [out]


def _ledger_of(ledger: Ledger, past: Past) -> Ledger:
    if past.exact:
        return restoring.unheld(ledger)
    living = None if is_small(ledger.job) else past.living(ledger.job)
    if living is not None and restoring.never_began(living):
        return restoring.unheld(ledger)
    new = restoring.doubted(ledger, *past.told(ledger.job, ledger.chunk))
    # What the days' stats count is newer than the copy, if they were not lost: a fold adds nothing to them again.
    return new if living is None else replace(new, folded=rules.figures(new), dirty=True, uncounted=())


def _ledger(item: Item, past: Past) -> list[Item]:
    ledger = codec.ledger(item)
    return [_changed(item, codec.ledger_item(ledger), codec.ledger_item(_ledger_of(ledger, past)))]


def _window(item: Item, past: Past) -> list[Item]:
    """Return a window of events; one that was not processed is cancelled, as its digest may have been sent since."""
    window = window_codec.window(item)
    if past.exact or window.state in window_codec.ENDED:
        return [item]
    ended = replace(window, state=WindowState.CANCELLED, closed_at=past.now, due_at=past.now + KEPT_MS)
    return [_changed(item, window_codec.window_item(window), window_codec.window_item(ended))]


KEPT_MS: Final = 30 * 86_400_000
"""For which a window that a restore has cancelled is kept, so that its events can be read."""


def _notice(item: Item, past: Past) -> list[Item]:
    """Return a notice; one whose turn had come ends, as its run may have begun since, and its notifier is informed."""
    notice = notice_codec.notice(item)
    if past.exact or notice.phase is not Phase.WAITING or notice.next_at > past.now:
        return [item]
    draft = NoticeDraft(notice, past.now)
    draft.end(NoticeStatus.PERM_FAIL, Failure.UNKNOWN)
    change = draft.changed()
    assert change.notice is not None  # noqa: S101 - of a draft
    ended = _changed(item, notice_codec.notice_item(notice), notice_codec.notice_item(change.notice))
    return [*map(entry_item, change.entries), ended]


def _upload(item: Item, past: Past) -> list[Item]:
    """Return a list; one that was being read is given up, since a reader would put its chunks over those in use."""
    upload = campaign_codec.upload(item)
    if upload.state not in UNREAD:
        return [item]
    failed = replace(
        upload,
        state=UploadState.FAILED,
        code=RESTORED,
        detail=RESTORED_DETAIL,
        owner="",
        until=0,
        waits=False,
        finished_at=past.now,
        version=upload.version + restoring.VERSIONS,
    )
    return [_changed(item, campaign_codec.upload_item(upload), campaign_codec.upload_item(failed))]


def _campaign(item: Item, _: Past) -> list[Item]:
    """Return a campaign, open for edits: none of its lists is read any more."""
    return [{k: v for k, v in item.items() if k != "uploading"}]


_Make = Callable[[Item, Past], list[Item]]
_MADE: Final[dict[str, _Make]] = {keys.JOB: _job, "NOTICE": _notice, "CAMPAIGN": _campaign}
"""Sort key → what makes the item that is stored."""
_BEGINNING: Final[Sequence[tuple[tuple[str, str], _Make]]] = (
    ((keys.job_pk(""), keys.LEDGER_PREFIX), _ledger),
    ((keys.campaign_pk(""), keys.UPLOAD_PREFIX), _upload),
    (("Q#", digest_keys.WINDOW_PREFIX), _window),
    (("Q#", digest_keys.URGENT_PREFIX), _window),
)
"""The beginnings of partition and sort keys → the same."""


def counts_of(ledgers: Sequence[Ledger], job: Job) -> Item:
    """Return the attributes of a job's figures as the sum of what its ledgers say that they have added to it."""
    sums = [sum(column) for column in zip(*(x.folded for x in ledgers), strict=True)]
    nothing = dict.fromkeys(COUNT_KEYS, 0), {c: (0,) * len(BY_KEYS) for c in job.route}
    counts, by = add_figures(*nothing, job.route, sums)
    item = codec.job_item(replace(job, counts=counts, by=by))
    return {name: item[name] for name in ("counts", "by")}
