"""The circuit breaker of a credential: one state that all its workers share, and what their calls say about it.

- CLOSED: calls are made.
- OPEN: no calls until `probe_at`.
- HALF_OPEN: one worker asks the provider whether it is there, if that costs no message. If it is, the worker makes a
  few calls, the probes.

The breaker counts the score of the probes over all leases. Two more successes than failures close it. One more failure
than successes opens it for twice as long.

Everything here is a pure function from one breaker to the next, or to None if nothing is to be changed. The store
writes the result if `version` is still the same. `health` has the rules for opening one. Source: docs/protocol.md,
"Breaker".
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum, StrEnum
from typing import Final

from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected, Unknown
from shared.domain.times import Millis
from shared.frozen import dataclass

# change: when a provider that failed gets its first test messages
FIRST_DELAY: Final = 10_000
"""Milliseconds before the first probes; a blip is over by then."""
MAX_DELAY: Final = 300_000
SPREAD: Final = 0.2
"""± share of a delay, so that credentials that failed together are not probed together."""
STEADY: Final = MAX_DELAY
"""Milliseconds that a breaker must stay closed for its delays to start anew if no call has succeeded since."""
PROBES: Final = 3
"""Calls that a worker may make to a provider while its breaker is HALF_OPEN."""
ENOUGH: Final = 2
"""Score that closes the breaker."""
ASK_AGAIN: Final = 15_000
"""Milliseconds from a question without an answer to the next one. It costs no message, so the delay does not grow."""
TRY_ANYWAY: Final = 3_600_000
"""Milliseconds since a message last failed after which a worker probes, even if its question has a bad answer. The part
of the provider that answers may be out of order while messages are taken. In a longer outage the wait is the time from
its beginning to that failure."""
PROBE_TIME: Final = 30_000
"""Milliseconds after which another worker gets the probes of one that reports nothing, for example because it died. The
time covers the question, one window of probes, two of which take their longest, and the write. It does not depend on
the rate: the probes are requested when the window's slots have come, and handed on when it ends."""


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
        since: when it was last opened, or closed after that; 0 if it never opened.
        failures: failed calls that opened it.
        probe_at: when probes are handed out (again), unless it is CLOSED.
        delay: milliseconds before the latest probes, without the jitter; kept when it closes.
        probes: calls that were handed out, in HALF_OPEN.
        prober: who may make them: the owner of a lease; empty in HALF_OPEN: the next lease that asks.
        successes: the score of the probes since it opened, of all leases: successes less failures.
        failed_at: when a message last failed so that it opened, or opened again; 0: not known.
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
    successes: int = 0
    failed_at: int = 0
    version: int = 0

    @property
    def closed(self) -> bool:
        """Tell whether calls are made as usual."""
        return self.state is BreakerState.CLOSED

    def usable(self, now: Millis) -> bool:
        """Tell whether work may be sent this way: the breaker is closed, or waits for somebody to probe."""
        return self.closed or self.probe_at <= now

    def probed_by(self, owner: str) -> bool:
        """Tell whether these probes are that lease's."""
        return self.state is BreakerState.HALF_OPEN and self.prober == owner != ""

    def asks_first(self, now: Millis) -> bool:
        """Tell whether the provider is asked before a message probes it: none was taken since, one failed lately."""
        return self.successes <= 0 and now - self.failed_at < max(TRY_ANYWAY, self.failed_at - self.since)


def opened(
    breaker: Breaker, *, reason: str, failures: int, now: Millis, jitter: float, alive: bool = False
) -> Breaker | None:
    """Open a closed breaker; None if it is not closed: others were faster.

    Calls that all fail right after the breaker closed are like probes that fail: the delay doubles.

    Args:
        reason: code of the last failure.
        failures: how many there were.
        jitter: -1 to 1.
        alive: a call has succeeded since the breaker was closed, besides the probes.
    """
    if not breaker.closed:
        return None
    flaps = breaker.delay > 0 and not alive and now - breaker.since < STEADY
    delay = min(2 * breaker.delay, MAX_DELAY) if flaps else FIRST_DELAY
    out = replace(breaker, reason=reason, since=now, failures=failures, failed_at=now, version=breaker.version + 1)
    return _left_alone(replace(out, delay=delay), delay, now, jitter)


def probing(breaker: Breaker, *, owner: str, now: Millis) -> Breaker | None:
    """Hand the probes to a lease. None: it is not the time, or nothing is to be probed."""
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


def handed_on(breaker: Breaker, *, owner: str, successes: int, now: Millis) -> Breaker | None:
    """Let the next lease continue the probes, after a window decided nothing. None: they are not its owner's.

    A chunk of one recipient can give one probe only, and a slow credential one in minutes.

    Args:
        successes: probes that have succeeded so far.
    """
    if not breaker.probed_by(owner):
        return None
    return replace(breaker, successes=successes, probe_at=now, probes=0, prober="", version=breaker.version + 1)


def reopened(breaker: Breaker, *, owner: str, reason: str, now: Millis, jitter: float) -> Breaker | None:
    """Open the breaker again after a probe failed, for twice as long. None: the probes are not the owner's.

    Args:
        jitter: -1 to 1.
    """
    if not breaker.probed_by(owner):
        return None
    delay = min(2 * breaker.delay, MAX_DELAY)
    out = replace(breaker, reason=reason, delay=delay, failed_at=now, version=breaker.version + 1)
    return _left_alone(out, delay, now, jitter)


def unanswered(breaker: Breaker, *, owner: str, reason: str, now: Millis, jitter: float) -> Breaker | None:
    """Open the breaker again since the provider did not answer a question. None: the probes are not the owner's.

    Args:
        reason: why there was no answer.
        jitter: -1 to 1.
    """
    if not breaker.probed_by(owner):
        return None
    return _left_alone(replace(breaker, reason=reason, version=breaker.version + 1), ASK_AGAIN, now, jitter)


def closed(breaker: Breaker, *, owner: str, now: Millis) -> Breaker | None:
    """Close the breaker after its probes succeeded. None: the probes are not the owner's."""
    if not breaker.probed_by(owner):
        return None
    return replace(
        breaker,
        state=BreakerState.CLOSED,
        since=now,
        probe_at=0,
        probes=0,
        prober="",
        successes=0,
        version=breaker.version + 1,
    )


def _left_alone(breaker: Breaker, delay: int, now: Millis, jitter: float) -> Breaker:
    wait = round(delay * (1 + SPREAD * jitter))
    return replace(breaker, state=BreakerState.OPEN, probe_at=now + wait, probes=0, prober="", successes=0)


# What a call says


class Verdict(Enum):
    """The meaning of a call's outcome for its provider."""

    ALIVE = "alive"
    FAILED = "failed"
    FATAL = "fatal"
    """The provider refuses the account: any other call would also fail."""
    SAID = "said"
    """Only the text of the answer refuses the account. It is fatal once another account's message also meets it."""
    NOTHING = "nothing"


_WORSE_THAN: Final = {
    Verdict.NOTHING: frozenset({Verdict.FAILED, Verdict.SAID, Verdict.FATAL}),
    Verdict.FAILED: frozenset({Verdict.SAID, Verdict.FATAL}),
    Verdict.SAID: frozenset({Verdict.SAID, Verdict.FATAL}),
    Verdict.FATAL: frozenset[Verdict](),
}
"""Which verdicts of further outcomes take the place of one."""


def verdict(outcomes: Sequence[Outcome]) -> tuple[Verdict, str]:
    """Return what the outcomes of one call say, and the code of a failure.

    A message that is accepted, or refused for good, shows that the provider works. Throttled, not started and not
    together say nothing, and neither does a refusal for the moment that is about the message.
    """
    found, code = Verdict.NOTHING, ""
    for o in outcomes:
        if isinstance(o, Accepted) or (isinstance(o, Rejected) and o.permanent):
            return Verdict.ALIVE, ""
        its, its_code = _failure(o)
        if its in _WORSE_THAN[found]:
            found, code = its, its_code
    return found, code


def fails(outcomes: Sequence[Outcome]) -> bool:
    """Tell whether a call with these outcomes has failed."""
    return verdict(outcomes)[0] not in (Verdict.ALIVE, Verdict.NOTHING)


def _failure(o: Outcome) -> tuple[Verdict, str]:
    """Return what an outcome that is no success says of the provider, and its code."""
    if isinstance(o, Unknown):
        return Verdict.FAILED, o.reason
    if not isinstance(o, Rejected) or o.about_message:
        return Verdict.NOTHING, ""
    if not o.provider_down:
        return Verdict.FAILED, o.code
    return (Verdict.SAID if o.by_text else Verdict.FATAL), o.code
