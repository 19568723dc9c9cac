"""The meaning of a provider's feedback event (`ProviderEvent`) about an attempt for its message."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.details import Detail
from shared.domain.jobs.feedback import SOFT, ProviderEventKind, leaves
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import MAX_ATTEMPTS, RANK, Cell

Said = tuple[Ref, ProviderEventKind, ProviderEvent]
Try = tuple[int, int]
"""A recipient and an attempt."""
State = tuple[int, int, Cell]
"""A recipient, an attempt, and the state that a word gives it."""
FINAL: Final = frozenset({ProviderEventKind.DELIVERED, ProviderEventKind.BOUNCED, *SOFT})
_IDENTIFIED: Final = frozenset({Cell.SENT, Cell.RELAYED})
KINDS: Final = {k.value: k for k in ProviderEventKind}


def is_wish(kind: ProviderEventKind, word: ProviderEvent) -> bool:
    """Tell whether a word unsubscribes a recipient, or takes that back."""
    return kind is ProviderEventKind.RESUBSCRIBED or leaves(kind, word.code)


def names_id(ledger: Ledger, ref: Ref) -> bool:
    """Tell whether the provider's id of an attempt is on record, so that a word need not repeat it (60 bytes each).

    Its window's detail or an earlier word about the same attempt made a cell SENT, and both carry the id.
    """
    state, attempt = ledger.cell(ref.index)
    return attempt == ref.attempt and state in _IDENTIFIED


def may_retry(job: Job, ledger: Ledger, said: Said) -> bool:
    """Tell whether a message may be tried again after a word about its last attempt: by policy, or as it was absent.

    Args:
        ledger: the ledger of its chunk.
        said: reference, kind and time of the word.
    """
    ref, kind, _ = said
    if kind is not ProviderEventKind.ABSENT and kind.value not in job.policy.retry_on:
        return False
    state, attempt = ledger.cell(ref.index)
    if job.stopped or not ref.attempt == attempt < min(ledger.limit, MAX_ATTEMPTS):
        return False
    return state is Cell.UNKNOWN if kind is ProviderEventKind.ABSENT else RANK[state] < RANK[Cell.RETRY]


def is_early(ledger: Ledger, said: Said) -> bool:
    """Tell whether a word says that an attempt failed whose window's results are not written yet: it has to wait."""
    ref, kind, _ = said
    return kind in SOFT and ledger.cell(ref.index) == (Cell.CLAIMED, ref.attempt)


def is_overdue(job: Job, ref: Ref, word: ProviderEvent, begun: Mapping[tuple[int, int], int]) -> bool:
    """Tell whether a message has been deferred for as long as its job allows.

    Args:
        ref: the attempt that was deferred.
        word: the event that says so.
        begun: (recipient, attempt) → Unix seconds, as `begun_at` returns it.
    """
    return word.at - begun.get((ref.index, ref.attempt), word.at) >= job.policy.deferred_after


def begun_at(windows: Sequence[Detail]) -> dict[tuple[int, int], int]:
    """Return (recipient, attempt) → Unix seconds when its window was over."""
    return {(e.index, e.attempt): w.at // 1000 for w in windows for e in w.entries}


def by_time(ledger: Ledger | None, about: Sequence[Said]) -> tuple[list[Said], list[ProviderEvent]]:
    """Return the words of a chunk to be joined now, and those about calls under way; without those of no recipient."""
    if ledger is None:
        return list(about), []
    known = [said for said in about if said[0].index < len(ledger.cells)]
    later = [said[2] for said in known if is_early(ledger, said)]
    return [said for said in known if not is_early(ledger, said)], later


def is_retried(joined: Ledger, again: Collection[Try]) -> bool:
    """Check whether one of some attempts has another after it."""
    return any(joined.cell(i) == (Cell.RETRY, a) for i, a in again)


def joined_with(
    ledger: Ledger,
    states: Sequence[State],
    again: set[Try],
    absent: set[Try],
    route: Sequence[str],
    credential: str,
) -> Ledger:
    """Return a ledger with words joined, and with the attempts of `again` waiting for the next one.

    Args:
        again: attempts that have another after them; if there are none, the ledger stays as it is.
        absent: attempts that were proved absent.
        credential: that the words came by.
    """
    if not again:
        return ledger
    retries = [(i, a, Cell.RETRY) for i, a in sorted(again - absent)]
    joined = rules.join_words(ledger, [*retries, *states], route=route, credential=credential) or ledger
    return rules.disprove(joined, again & absent, Cell.RETRY) or joined
