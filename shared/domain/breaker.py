"""The circuit breaker of a credential: one state that all its workers share, and what their calls say about it.

CLOSED: calls are made. OPEN: nobody calls until `probe_at`. HALF_OPEN: one worker makes a few calls, the probes; two
that succeed close the breaker, one that fails opens it for twice as long. Everything here is a pure function from one
breaker to the next, None where nothing is to be changed; the store writes the result if `version` is still the same.
Source: docs/protocol.md, "Breaker".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Final

from shared.domain.outcomes import Accepted, Outcome, Rejected, Unknown

THRESHOLD: Final = 5
"""Failed calls in a row, within one process, that open the breaker."""
FIRST_DELAY: Final = 10_000
"""Milliseconds before the first probes; a blip is over by then."""
MAX_DELAY: Final = 300_000
SPREAD: Final = 0.2
"""± share of a delay, so that credentials that failed together are not probed together."""
STEADY: Final = MAX_DELAY
"""Milliseconds that a breaker must stay closed for its delays to start anew: one that flaps goes on doubling them."""
PROBES: Final = 3
"""Calls that a worker may make to a provider that was left alone."""
ENOUGH: Final = 2
"""Probes that must succeed."""
PROBE_TIME: Final = 30_000
"""Milliseconds after which the probes of a worker that says nothing (it died, say) are handed to another: a wait for
slots, two calls that take their longest, and the write."""


class BreakerState(StrEnum):
    """Whether a credential is used."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


@dataclass(frozen=True, slots=True)
class Breaker:
    """One credential's breaker. Times are Unix milliseconds.

    Attributes:
        credential: whose.
        state: see the module.
        reason: code of the failure that opened it, in snake_case; kept until it opens again.
        since: when it was opened; once it is closed again, when that was; 0 if it never opened.
        failures: failed calls in a row that opened it.
        probe_at: when probes are handed out (again), unless it is CLOSED.
        delay: milliseconds before the latest probes, without the jitter; kept when it closes.
        probes: calls that were handed out, in HALF_OPEN.
        prober: who may make them: the owner of a lease.
        version: counts the writes; 0: never written.
    """

    credential: str
    state: BreakerState = BreakerState.CLOSED
    reason: str = ""
    since: int = 0
    failures: int = 0
    probe_at: int = 0
    delay: int = 0
    probes: int = 0
    prober: str = ""
    version: int = 0

    @property
    def closed(self) -> bool:
        """Tell whether calls are made as usual."""
        return self.state is BreakerState.CLOSED

    def usable(self, now: int) -> bool:
        """Tell whether work may be sent this way: the breaker is closed, or waits for somebody to probe."""
        return self.closed or self.probe_at <= now

    def probed_by(self, owner: str) -> bool:
        """Tell whether these probes are that lease's."""
        return self.state is BreakerState.HALF_OPEN and self.prober == owner


def opened(breaker: Breaker, *, reason: str, failures: int, now: int, jitter: float) -> Breaker | None:
    """Open a closed breaker; None if it is not closed: others were faster.

    Args:
        breaker: as it is now.
        reason: code of the last failure.
        failures: how many there were in a row.
        now: Unix milliseconds.
        jitter: -1 to 1.
    """
    if not breaker.closed:
        return None
    flaps = breaker.delay > 0 and now - breaker.since < STEADY
    delay = min(2 * breaker.delay, MAX_DELAY) if flaps else FIRST_DELAY
    out = replace(breaker, reason=reason, since=now, failures=failures, version=breaker.version + 1)
    return _left_alone(out, delay, now, jitter)


def probing(breaker: Breaker, *, owner: str, now: int) -> Breaker | None:
    """Hand the probes to the lease of `owner`; None if it is not the time, or there is nothing to be probed."""
    if breaker.closed or breaker.probe_at > now:
        return None
    return replace(
        breaker,
        state=BreakerState.HALF_OPEN,
        prober=owner,
        probes=PROBES,
        probe_at=now + PROBE_TIME,
        version=breaker.version + 1,
    )


def reopened(breaker: Breaker, *, owner: str, reason: str, now: int, jitter: float) -> Breaker | None:
    """Open the breaker again after a probe failed, for twice as long; None if they are not (any more) its probes."""
    if not breaker.probed_by(owner):
        return None
    out = replace(breaker, reason=reason, version=breaker.version + 1)
    return _left_alone(out, min(2 * breaker.delay, MAX_DELAY), now, jitter)


def closed(breaker: Breaker, *, owner: str, now: int) -> Breaker | None:
    """Close the breaker after the probes of `owner` succeeded; None if they are not (any more) its probes."""
    if not breaker.probed_by(owner):
        return None
    return replace(
        breaker, state=BreakerState.CLOSED, since=now, probe_at=0, probes=0, prober="", version=breaker.version + 1
    )


def _left_alone(breaker: Breaker, delay: int, now: int, jitter: float) -> Breaker:
    wait = round(delay * (1 + SPREAD * jitter))
    return replace(breaker, state=BreakerState.OPEN, delay=delay, probe_at=now + wait, probes=0, prober="")


# What a call says


class Verdict(Enum):
    """What a call says of the provider."""

    ALIVE = "alive"
    FAILED = "failed"
    FATAL = "fatal"
    """The account is refused: no other call will fare better."""
    NOTHING = "nothing"


def verdict(outcomes: Sequence[Outcome]) -> tuple[Verdict, str]:
    """Return what the outcomes of one call say, and the code of a failure.

    A message that is accepted, or refused for good, shows that the provider works. Throttled, not started and not
    together say nothing, and neither does a refusal for the moment that is about the message.
    """
    found, code = Verdict.NOTHING, ""
    for o in outcomes:
        if isinstance(o, Accepted) or (isinstance(o, Rejected) and o.permanent):
            return Verdict.ALIVE, ""
        if isinstance(o, Rejected) and o.about_message:
            continue
        if isinstance(o, Rejected) and o.provider_down:
            found, code = Verdict.FATAL, o.code
        elif isinstance(o, Rejected | Unknown) and found is Verdict.NOTHING:
            found, code = Verdict.FAILED, o.code if isinstance(o, Rejected) else o.reason
    return found, code
