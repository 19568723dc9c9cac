"""The attempts of messages, put together from details, and the code that explains a message's state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from shared.domain.jobs.details import LOST, Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.feedback import HARD, SOFT, ProviderEventKind
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import ERASED, NOT_A_GUEST, RECIPIENT, Entry, Kind
from shared.domain.jobs.states import MAX_ATTEMPTS, Cell
from shared.domain.recipients.suppressions import CODES
from shared.domain.spending.limits import BARRED
from shared.domain.times import Millis
from shared.frozen import dataclass


class AttemptFate(StrEnum):
    """The result of an attempt, as the figures of its credential count it."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    FAILED = "failed"


LEFT_OUT: Final = frozenset({*CODES.values(), NOT_A_GUEST, BARRED, ERASED})
"""The codes of recipients that were skipped before a claim."""
_ERRORS: Final[Mapping[Cell, str | None]] = {
    Cell.WITHDRAWN: "withdrawn",
    Cell.EXPIRED: "expired",
    **dict.fromkeys(
        (Cell.DELIVERED, Cell.SENT, Cell.SENT_CLOSED, Cell.RELAYED, Cell.QUEUED, Cell.RETRY, Cell.CLAIMED), None
    ),
}
"""States that need no error code."""
_OUTCOME: Final = {
    Kind.ACCEPTED: "accepted",
    Kind.RELAYED: "accepted",
    Kind.REFUSED: "refused",
    Kind.INVALID: "invalid",
    Kind.NOT_SENT: "not_sent",
    Kind.UNKNOWN: "unknown",
    Kind.RISKED: "unknown",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to deliver a message; `at_ms` in Unix milliseconds."""

    n: int
    credential_id: str
    at_ms: int
    outcome: str
    code: str = ""
    provider_message_id: str = ""
    words: tuple[FeedbackEntry, ...] = ()
    detail: str = ""
    """The provider's text when it refused."""

    @property
    def fates(self) -> frozenset[AttemptFate]:
        """Its results. A provider that reports on it later has accepted it."""
        words = {ProviderEventKind(w.word) for w in self.words if not w.secondary}
        told = words & (HARD | SOFT)
        found = {
            AttemptFate.ACCEPTED: self.outcome == "accepted"
            or words & {ProviderEventKind.ACCEPTED, ProviderEventKind.DELIVERED}
            or told,
            AttemptFate.DELIVERED: ProviderEventKind.DELIVERED in words,
            AttemptFate.FAILED: self.outcome == "refused" or told,
        }
        return frozenset(fate for fate, holds in found.items() if holds)

    def heard(self, word: FeedbackEntry) -> Millis:
        """When a word about it counts. It has whole seconds, of the provider's clock: none is before the attempt."""
        return max(word.at * 1000, self.at_ms)


def skipped_early(entry: Entry) -> bool:
    """Tell whether an entry says why a recipient was skipped before a claim, and so is no attempt."""
    return entry.kind is Kind.INVALID and entry.code in LEFT_OUT


def attempts_of(
    windows: Iterable[Detail], words: Iterable[FeedbackDetail], wanted: frozenset[int]
) -> dict[int, dict[int, Attempt]]:
    """Return index → attempt number → attempt. A later window's word about the same attempt replaces an earlier one.

    Args:
        windows: of a chunk, in the order of time.
    """
    out: dict[int, dict[int, Attempt]] = {}
    for w in windows:
        for e in w.entries:
            if e.index in wanted and not skipped_early(e):
                out.setdefault(e.index, {})[e.attempt] = Attempt(
                    e.attempt, w.credential, w.at, _OUTCOME[e.kind], e.code, e.id, (), e.detail
                )
    said: dict[tuple[int, int], tuple[str, list[FeedbackEntry]]] = {}
    for f in words:
        for entry in f.entries:
            if entry.index in wanted:
                said.setdefault((entry.index, entry.attempt), (f.credential, []))[1].append(entry)
    for (index, number), (credential, entries) in said.items():
        ordered = tuple(sorted(set(entries), key=lambda e: (e.at, e.word)))
        by_number = out.setdefault(index, {})
        known = by_number.get(number)
        if known is None:
            at_ms = ordered[0].at * 1000
            by_number[number] = Attempt(number, credential, at_ms, "unknown", "", _first_id(ordered), ordered)
        else:
            by_number[number] = _with_words(known, ordered)
    return out


def _with_words(known: Attempt, words: tuple[FeedbackEntry, ...]) -> Attempt:
    """Return an attempt with its provider's later events, in order of time."""
    absent = known.outcome == "unknown" and all(e.word == ProviderEventKind.ABSENT for e in words)
    return replace(
        known,
        outcome="not_sent" if absent else known.outcome,
        provider_message_id=known.provider_message_id or _first_id(words),
        words=words,
    )


def _first_id(words: tuple[FeedbackEntry, ...]) -> str:
    return next((e.id for e in words if e.id), "")


def doubtful(attempt: Attempt) -> bool:
    """Tell whether the attempt may have arrived, or yet arrive: no event says that it failed.

    Its fate is not known, or it was accepted and only deferred for long, and its owner wanted it tried elsewhere then.

    An attempt that no detail names is doubtful as well. Its worker was lost, and so was the detail of the worker that
    took over. Or the first worker woke and replaced that detail by one without the recipients of a throttled call.
    """
    return attempt.outcome in ("unknown", "accepted") and not any(
        ProviderEventKind(w.word) in SOFT for w in attempt.words
    )


# change: the reason that is shown why a message failed or is unknown
def error_of(job: Job, ledger: Ledger, index: int, attempts: Sequence[Attempt], skip: str) -> str | None:
    """Return the code that explains the state: of the skip, the feedback, the last attempt, or why there is no more.

    Args:
        job: for its policy and route.
        ledger: for the state and the limit of attempts.
        index: the recipient.
        skip: why it was skipped before a claim, or empty.
    """
    state, number = ledger.cell(index)
    if state is Cell.SKIPPED:
        return skip or _code_at_claim(attempts)
    if state in _ERRORS:
        return _ERRORS[state]
    last = attempts[-1] if attempts and attempts[-1].n == number else None
    if state in (Cell.UNKNOWN, Cell.UNKNOWN_CLOSED) and last is None:
        return LOST
    if state is Cell.DROPPED:
        return _code_of_dropped(job, ledger, attempts, last)
    return _last_code(attempts) or None


def _code_at_claim(attempts: Sequence[Attempt]) -> str:
    """Return why a claim skipped a message, as its window's detail says."""
    return next((a.code for a in reversed(attempts) if a.outcome == "invalid" and a.code), "skipped")


def _code_of_dropped(job: Job, ledger: Ledger, attempts: Sequence[Attempt], last: Attempt | None) -> str:
    """Return why a message was given up."""
    tried = {a.credential_id for a in attempts}
    return _exhausted(job, ledger, last, tried) or _last_code(attempts) or "dropped"


def _last_code(attempts: Sequence[Attempt]) -> str:
    """Return the latest code of what a provider answered, or said later, of a message's attempts; empty if none is."""
    return last_refusal(attempts)[0]


def last_refusal(attempts: Sequence[Attempt]) -> tuple[str, str]:
    """Return the latest code that a provider answered, or sent later, with the provider's text; empty if none is.

    `attempts`: of one message, in their order.
    """
    for attempt in reversed(attempts):
        for word in reversed(attempt.words):
            if ProviderEventKind(word.word) in HARD | SOFT and not word.secondary:
                return word.code or word.word, word.detail
        if attempt.code:
            return attempt.code, attempt.detail
    return "", ""


def detail_of(attempts: Sequence[Attempt], address: str) -> str:
    """Return the provider's text of `last_refusal`, for someone who knows the recipient.

    Args:
        attempts: of one message, in their order.
    """
    return last_refusal(attempts)[1].replace(RECIPIENT, f"<{address}>")


def _may_pass(word: FeedbackEntry) -> bool:
    """Tell whether a word about our recipient is one that another attempt may change."""
    return not word.secondary and ProviderEventKind(word.word) in SOFT | {ProviderEventKind.DEFERRED}


def _exhausted(job: Job, ledger: Ledger, last: Attempt | None, tried: set[str]) -> str:
    """Return what a message that was given up ran out of; empty if it was something else that ended it."""
    if last is None:
        return "" if tried else "providers_exhausted"  # never tried: no credential of its route took it
    words = {w.word for w in last.words if _may_pass(w)}
    if words:
        return "providers_exhausted" if words & set(job.policy.retry_on) and tried >= set(job.route) else ""
    spent = last.outcome == "not_sent" and last.n >= min(ledger.limit, MAX_ATTEMPTS)
    return "attempts_exhausted" if spent else ""
