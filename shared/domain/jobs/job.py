"""Jobs and their counts."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from shared.domain.hours.hours import OpenHours
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import COUNT_KEYS, SHOWN_AS, Cell, JobState, MessageState
from shared.domain.namespaces import KeyKind, kind_of, namespace
from shared.domain.times import Millis
from shared.frozen import dataclass

SHARDS: Final = 16
"""Shards of the index of open jobs without reservation, and of a day's stats: spreads the writes of many jobs."""

EXPRESS: Final = 10
"""Messages of a job that goes by the express queue: more would keep the next one there waiting."""

DEFERRED_AFTER: Final = 4 * 3600
"""Seconds, by default, after which a message that a provider still tries to deliver may move to another provider. By
then a greylisting server has long accepted the message."""


class StopReason(StrEnum):
    """Why a job was stopped."""

    USER = "user"
    BOUNCE_GUARD = "bounce_guard"
    OPERATOR = "operator"
    EXPIRED = "expired"
    """It has waited for a year."""
    KEY_REVOKED = "key_revoked"
    """The API key that made it, or resumed it, had been revoked when it was to start."""
    SENDER_REMOVED = "sender_removed"
    """Its account was no longer allowed its sender when it was to start."""
    RESTORED = "restored"
    """It came back from a copy of the past, and waits for operators to release it."""


class OnAmbiguous(StrEnum):
    """How to treat a message with an unknown outcome: wait for proof, or risk a duplicate."""

    HOLD = "hold"
    FAIL_OVER = "fail_over"


@dataclass(frozen=True, slots=True)
class Policy:
    """How hard a job tries.

    Attributes:
        max_attempts: attempts a message may have.
        retry_on: feedback words after which another provider is tried.
        on_ambiguous: what to do with a message whose fate is not known.
        deferred_after: seconds after an attempt from which a `deferred` counts, if `retry_on` names it.
    """

    max_attempts: int = 6
    retry_on: tuple[str, ...] = ("dropped", "blocked", "failed_temporarily")
    on_ambiguous: OnAmbiguous = OnAmbiguous.HOLD
    deferred_after: int = DEFERRED_AFTER


BATCH: Final = "batch"
"""The kind of a job that a client posts with its recipients."""

NOTICE: Final = "notice"
"""The kind of a job that is a run of notices: they decide themselves what is sent again, so no owner stops it."""

DIGEST: Final = "digest"
"""The kind of a job that carries the events of one window."""

MAIL: Final = "mail"
"""The kind of a job that carries a mail to its destinations, one in each chunk. The mail decides itself what is sent
again, so no owner stops it."""

_OWNED: Final = frozenset({NOTICE, MAIL})


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """An owner's retry of a job with many chunks, while it is carried out.

    Attributes:
        states: cells that it queues again.
        asked_at: Unix milliseconds.
        next: the first chunk that it has not come to.
        charge: what the job holds of its account's limits once it runs, as of `Job.charge`.
    """

    states: tuple[Cell, ...]
    asked_at: int
    next: int
    charge: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A unit of sending. Times are Unix milliseconds, 0 where a thing has not happened.

    Attributes:
        route: credentials, the next one of a failover after the one before; frozen at acceptance.
        total: messages; `chunks`: ledgers.
        created_at: its age, never changed, so also its priority.
        counts: by COUNT_KEYS, as folded; they add up to `total`.
        by: credential → its four numbers of BY_KEYS.
        rests_until: once it gave way to another campaign: when its next try is due (Unix ms). While it waits for its
            hours, when they open, as `not_before` then is.
        pointed_at: when chunks were last pointed to again, by rule S.6 or E.5 (Unix ms).
        stopped: set on stop, removed by the planner; feedback does not reopen a stopped job.
        guard_off: its owner has overridden the bounce guard.
        approved: another person has approved its list, with its time.
        shared: a campaign's job that reserves nothing: campaigns shared its credential when it was made, or a team key
            made it.
        retry: a retry on its way; as long as there is one the job is LOGGED, and open to the sweeper.
        hours: when its messages may be sent; None: at any time.
        urgent: its account's quiet hours do not hold it up.
        labels: what its owner calls it; each of its messages has them.
        template: id of the stored template that a batch was made of; empty: of none. `template_version`: its
            version then.
        created_by: the actor who made it, as the audit log names them; empty if that is not known.
        resumed_by: the actor who last resumed, retried or rescheduled it, likewise.
        charge: what a campaign's job holds of its account's limits (`spending.reserved`); empty: nothing.
        marks: of a small job, what searches find it by (`searching.marks`); its first fold puts them into a page.
        unsearched: its account keeps no pages for searches.
        ttl: Unix seconds when the stored items may be removed.
    """

    id: str
    account: str
    kind: str
    channel: str
    test: bool
    route: tuple[str, ...]
    providers: tuple[str, ...]
    total: int
    chunks: int
    created_at: int
    ttl: int
    state: JobState
    counts: Mapping[str, int]
    by: Mapping[str, tuple[int, ...]]
    policy: Policy = field(default_factory=Policy)
    name: str = ""
    sender: str = ""
    subject: str = ""
    duplicates: int = 0
    rate: float | None = None
    campaign: str = ""
    not_before: int = 0
    rests_until: int = 0
    planned_at: int = 0
    pointed_at: int = 0
    stopped: bool = False
    stopped_at: int = 0
    stop_reason: str = ""
    finished_at: int = 0
    guard_off: bool = False
    approved: bool = False
    shared: bool = False
    retry: RetryRequest | None = None
    hours: OpenHours | None = None
    urgent: bool = False
    labels: Labels = NO_LABELS
    template: str = ""
    template_version: int = 0
    created_by: str = ""
    resumed_by: str = ""
    charge: str = ""
    marks: bytes = b""
    unsearched: bool = False
    version: int = 1

    @property
    def shard(self) -> int:
        """The shard of the open index and of the day's stats."""
        return shard_of(self.id)

    @property
    def day(self) -> str:
        """The UTC day of its acceptance, whose stats count it: `2026-09-22`."""
        return datetime.fromtimestamp(self.created_at / 1000, UTC).date().isoformat()

    @property
    def namespace(self) -> str:
        """The namespace whose suppressions apply to its messages: of the account's live keys, or of its test keys."""
        return namespace(self.account, test=self.test)

    @property
    def keys(self) -> KeyKind:
        """The kind of the keys that made it."""
        return kind_of(self.account, test=self.test)

    @property
    def due_at(self) -> int:
        """When it may be planned (Unix ms)."""
        return max(self.not_before, self.rests_until)

    @property
    def closed(self) -> bool:
        """Whether it waits for its hours to open: it is planned when they do."""
        return 0 < self.rests_until == self.not_before

    def opens(self, now: Millis) -> Millis:
        """Return when its hours are next open for some of its messages (Unix ms); `now` if they are."""
        return self.hours.first(now) if self.hours is not None else now

    @property
    def exclusive(self) -> bool:
        """Tell whether the job reserves its one credential.

        Campaigns' jobs do, but not on the lane that all tests share, nor where campaigns share the credential.
        """
        return bool(self.campaign) and not self.test and not self.shared

    @property
    def owned(self) -> bool:
        """Tell whether notices or a mail own it: it cannot be stopped, resumed or retried."""
        return self.kind in _OWNED

    @property
    def ended_at(self) -> int:
        """When it ended (Unix ms); 0 while it is open, also if it ended before and was resumed or retried."""
        return self.finished_at if self.state is JobState.LOGGED else 0

    @property
    def asked_by(self) -> str:
        """The actor who last asked for it to be sent."""
        return self.resumed_by or self.created_by

    @property
    def express(self) -> bool:
        """Tell whether its pointers go by a lane's express queue, past those of larger jobs."""
        return self.total <= EXPRESS

    @property
    def quiet(self) -> bool:
        """True when the folded counts show nothing queued or sending: a hint to look whether it is finished."""
        return self.counts["queued"] + self.counts["sending"] == 0


def shard_of(job_id: str) -> int:
    """Return the shard of a job."""
    return zlib.crc32(job_id.encode()) % SHARDS


def first_credential(job_id: str, chunk: int, route: Sequence[str]) -> str:
    """Return the credential that a chunk starts with: round robin over the route, from a place that differs by job.

    Args:
        route: the job's credentials, in their order.
    """
    return route[(zlib.crc32(job_id.encode()) + chunk) % len(route)]


def public_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts as clients see them: relayed is sent, bounced is failed."""
    out = {state.value: counts.get(state.value, 0) for state in MessageState}
    for key, shown in SHOWN_AS.items():
        out[shown] += counts.get(key, 0)
    return out


def add_figures(
    counts: Mapping[str, int], by: Mapping[str, tuple[int, ...]], route: Sequence[str], delta: Sequence[int]
) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Add a ledger's delta to a job's counts and per-credential numbers.

    Args:
        counts: name → the job's count.
        by: each credential's numbers, as `BY_KEYS` orders them.
        route: the job's credentials, in their order.
    """
    n = len(COUNT_KEYS)
    new_counts = {k: counts[k] + d for k, d in zip(COUNT_KEYS, delta[:n], strict=True)}
    new_by = {}
    for i, credential in enumerate(route):
        part = delta[n + i * len(BY_KEYS) : n + (i + 1) * len(BY_KEYS)]
        new_by[credential] = tuple(a + b for a, b in zip(by[credential], part, strict=True))
    return new_counts, new_by


def stats_of(delta: Sequence[int]) -> dict[str, int]:
    """Return what a histogram's delta means for the daily stats; the keys with zero are left out."""
    d = dict(zip(COUNT_KEYS, delta[: len(COUNT_KEYS)], strict=True))
    out = {
        "success": d["delivered"] + d["relayed"],
        "failure": d["failed"] + d["bounced"],
        "queued": d["queued"] + d["sending"] + d["sent"] + d["unknown"],
        "skipped": d["skipped"],
    }
    return {k: v for k, v in out.items() if v}
