"""What a provider's word about an attempt means for its message."""

from collections.abc import Mapping, Sequence
from typing import Final

from shared.contracts import Word
from shared.domain.ids import Ref
from shared.domain.jobs.details import Detail
from shared.domain.jobs.feedback import SOFT, WordKind, leaves
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import MAX_ATTEMPTS, RANK, Cell

Said = tuple[Ref, WordKind, Word]
FINAL: Final = frozenset({WordKind.DELIVERED, WordKind.BOUNCED, *SOFT})
_IDENTIFIED: Final = frozenset({Cell.SENT, Cell.RELAYED})
KINDS: Final = {k.value: k for k in WordKind}


def is_wish(kind: WordKind, word: Word) -> bool:
    """Tell whether a word unsubscribes a recipient, or takes that back."""
    return kind is WordKind.RESUBSCRIBED or leaves(kind, word.code)


def names_id(ledger: Ledger, ref: Ref) -> bool:
    """Tell whether the provider's id of an attempt is on record, so that a word need not repeat it (60 bytes each).

    A cell is SENT by its window's detail or by an earlier word about the same attempt, and both carry the id.
    """
    state, attempt = ledger.cell(ref.index)
    return attempt == ref.attempt and state in _IDENTIFIED


def may_retry(job: Job, ledger: Ledger, said: Said) -> bool:
    """Tell whether a message may be tried again after a word about its last attempt: by policy, or as it was absent.

    Args:
        job: the message's job.
        ledger: the ledger of its chunk.
        said: reference, kind and time of the word.
    """
    ref, kind, _ = said
    if kind is not WordKind.ABSENT and kind.value not in job.policy.retry_on:
        return False
    state, attempt = ledger.cell(ref.index)
    if job.stopped or not ref.attempt == attempt < min(ledger.limit, MAX_ATTEMPTS):
        return False
    return state is Cell.UNKNOWN if kind is WordKind.ABSENT else RANK[state] < RANK[Cell.RETRY]


def is_early(ledger: Ledger, said: Said) -> bool:
    """Tell whether a word says that an attempt failed whose window's results are not written yet: it has to wait."""
    ref, kind, _ = said
    return kind in SOFT and ledger.cell(ref.index) == (Cell.CLAIMED, ref.attempt)


def is_overdue(job: Job, ref: Ref, word: Word, begun: Mapping[tuple[int, int], int]) -> bool:
    """Tell whether a message has been deferred for as long as its job allows.

    Args:
        job: the message's job.
        ref: the attempt that was deferred.
        word: the provider's word that it is deferred.
        begun: (recipient, attempt) → Unix seconds, as `begun_at` returns it.
    """
    return word.at - begun.get((ref.index, ref.attempt), word.at) >= job.policy.deferred_after


def begun_at(windows: Sequence[Detail]) -> dict[tuple[int, int], int]:
    """Return (recipient, attempt) → Unix seconds when its window was over."""
    return {(e.index, e.attempt): w.at // 1000 for w in windows for e in w.entries}
