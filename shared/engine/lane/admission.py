"""The gate before a provider: every call of a worker passes it, for all of the worker's leases.

While nothing shows that the provider is alive, the gate holds few calls in flight. Once its calls show that the
provider is dead (`health`), it opens the shared breaker, and begins no call while that is open. So a dead provider
costs a worker a handful of calls. A provider that fails now and then is called more slowly.

A provider that can be asked without a message (`ports.Pingable`) is asked after the first call that fails, and before
messages probe it. Then a dead one costs a worker the calls that were in flight at that moment, and no more.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from shared.domain.jobs.outcomes import Outcome
from shared.domain.lanes.backoff import Chance
from shared.domain.lanes.breaker import ENOUGH, PROBES, Breaker, BreakerState, Verdict, verdict
from shared.domain.lanes.health import IDLE, Health
from shared.domain.lanes.pacing import Pace
from shared.domain.times import Seconds
from shared.engine.lane.breaker_cache import BreakerCache
from shared.ports import Clock, Pingable, Retriable

CAREFUL: Final = 4
"""Calls in flight while the provider must show that it is alive. A worker that finds it dead at the start fails
`health.FIRST` + `CAREFUL` - 1 calls at the most. If it can be asked, there is only one call until it has answered."""
BOUND: Final = 50
"""Calls in flight after a success. The bound doubles with each success while more are needed. So a provider that stops
answering at full speed is sent at most twice what it was used to."""
POLL: Final = 0.010
"""Seconds between two looks for room."""
QUESTION_TIME: Final = 2.0
"""Seconds that an answer to a question may take: a window waits for it, and keeps 5 s for its claim."""
SILENCE: Final = 5
"""Questions in a row without an answer that show the provider dead, after a call that failed. Where a quarter of
everything fails, five in a row happen by chance once in a thousand times. Three did once in 64."""
BETWEEN: Final = 0.5
"""Seconds between two of them."""
SLOW: Final = 1.0
"""Seconds after which a first call without an answer is reason enough to ask."""
FULL: Final = 0
SHUT: Final = -1
"""Returned by `enter` instead of a ticket: no call may begin at this moment (FULL), or none any more (SHUT)."""
_LOG: Final = logging.getLogger(__name__)


class _Move(Enum):
    OPEN = "open"
    CLOSE = "close"
    REOPEN = "reopen"
    HAND_ON = "hand on"
    LEAVE = "leave"


class Admission:
    """One credential's gate in one process; safe for threads.

    Args:
        breaker_cache: what this process knows of breakers.
        renew: asked when the account is refused, before the breaker opens: True if calls are made with another key now.
        provider: returns the service under its present key; asked only if it is `ports.Pingable`.
        works: whether the calls of all processes, of late, show the provider alive.
    """

    def __init__(
        self,
        credential: str,
        breaker_cache: BreakerCache,
        clock: Clock,
        renew: Callable[[], bool] = lambda: False,
        provider: Callable[[], object] = lambda: None,
        works: Callable[[], bool] = lambda: False,
    ) -> None:
        self._credential = credential
        self._breaker_cache = breaker_cache
        self._clock = clock
        self._renew = renew
        self._provider = provider
        self._works = works
        self._can_ask = isinstance(provider(), Pingable)
        self._asking = threading.Lock()
        self._renewing = threading.Lock()
        self._lock = threading.Lock()
        self._breaker = Breaker(credential)
        self._in_flight = 0
        self._calls = 0
        """Begun so far: a call's ticket is its number."""
        self._begun_at = 0.0
        """When the latest call began, Unix seconds."""
        self._doubted = False
        """A call has failed, and the provider has not answered a question since."""
        self._silence = 0
        """Questions in a row that had no answer."""
        self._answered_at = 0.0
        """When it last answered one, Unix seconds."""
        self._since = 0
        """Calls up to this one are of an earlier state of the breaker, or of another key: what they say is not news."""
        self._health = Health()
        self._bound = BOUND
        self._wanted = False
        """Whether more calls were wanted than the bound allows, since it was raised."""
        self._failures = 0
        self._reason = ""
        self._tripped = False
        self._probes = 0
        self._score = 0
        self._said: dict[str, int] = {}
        """Accounts whose messages met words that refuse our account, with the ticket of the latest such call."""
        self._heard = True
        """Whether one of this window's probes has said something, or none was made."""

    # Leases

    def see(self, breaker: Breaker | None) -> None:
        """Take in the shared breaker as a lease read it."""
        if breaker is not None:
            self._know(self._breaker_cache.learn(breaker))

    def bars(self, owner: str) -> bool:
        """Tell whether a lease should leave: calls are not made now, and it is not the time for probes.

        If opening the breaker could not be written when the gate shut, this call writes it.
        """
        if self._tripped:
            self._do(_Move.OPEN, "")
        return self.shut(owner) and not (self._due() and not self._tripped)

    def admit(self, owner: str) -> bool:
        """Tell whether a lease may begin calls; if the breaker is due, that takes getting its probes first.

        Before they are messages the provider is asked. Without an answer the breaker is left open.

        Raises:
            Retriable: the store did not answer; nothing was begun.
        """
        if self.shut(owner) and not self._tripped and self._due():
            self._know(self._breaker_cache.probe(self._credential, owner))
            if self._breaker.probed_by(owner) and self._breaker.asks_first(int(self._clock.now() * 1000)):
                reason = self._ask()
                if reason:
                    self._do(_Move.LEAVE, owner, reason)
                    return False
        return not self.shut(owner)

    def narrow(self, pace: Pace) -> Pace:
        """Return the pace of a lease's next window.

        The pace is unchanged in general, and slower if the provider fails at times. For probes it is a few calls of one
        recipient each.
        """
        if not self._breaker.closed:
            return replace(pace, per_call=1, window=min(PROBES, pace.window))
        with self._lock:
            ease = self._health.ease(self._clock.now())
        return pace if ease == 1 else replace(pace, slots=pace.slots * ease, window=max(1, int(pace.window * ease)))

    def hand_on(self, owner: str) -> None:
        """End a lease's window. The next lease takes over its probes if they decided nothing."""
        if self._breaker.probed_by(owner) and self._heard:
            self._do(_Move.HAND_ON, owner)

    @property
    def closed(self) -> bool:
        """Whether calls may begin side by side: the breaker is closed."""
        with self._lock:
            return self._breaker.closed and not self._tripped

    def chance(self) -> Chance:
        """Return the chance of another try soon, as this process knows the provider."""
        with self._lock:
            closed = self._breaker.closed and not self._tripped
            return self._health.chance(self._clock.now()) if closed else Chance.POOR

    # Calls

    def enter(self, owner: str) -> int:
        """Begin a call: returns its ticket, or FULL or SHUT if it may not begin."""
        with self._lock:
            if self._shut(owner):
                return SHUT
            if self._full():
                self._wanted = self._in_flight >= self._bound
                return FULL
            self._in_flight += 1
            self._begun_at = self._clock.now()
            self._calls += 1
            if not self._breaker.closed:
                self._probes -= 1
                self._heard = False
            return self._calls

    def leave(self, ticket: int, owner: str, outcomes: Sequence[Outcome], *, account: str = "") -> None:
        """End a call with its outcomes. It may open or close the shared breaker.

        An error text refuses the account only if messages of two accounts met it, because a provider may quote what one
        client wrote. Until then such a call counts as any other failure.

        Args:
            ticket: what `enter` returned.
            owner: the lease that made the call.
            outcomes: one per recipient; none if the call was not made.
            account: the account that owns the messages.
        """
        said, reason = verdict(outcomes)
        if said is Verdict.SAID:
            said = self._heard_twice(ticket, account)
        if said is Verdict.FATAL and self._renewed(ticket):
            said = Verdict.NOTHING
        with self._lock:
            self._in_flight -= 1
            move = self._judge(ticket, said, reason) if ticket > self._since and said is not Verdict.NOTHING else None
        if move is not None:
            self._do(move, owner)

    def _heard_twice(self, ticket: int, account: str) -> Verdict:
        with self._lock:
            if ticket > self._since:
                self._said[account] = max(ticket, self._said.get(account, 0))
            return Verdict.FATAL if len(self._said) > 1 else Verdict.FAILED

    def shut(self, owner: str) -> bool:
        """Tell whether a lease may begin no call."""
        with self._lock:
            return self._shut(owner)

    def wait(self, owner: str, rest: Callable[[float], None]) -> None:
        """Wait until a call may begin, or none may any more. If the provider is in doubt, ask it.

        `rest` waits for a moment, Unix seconds.
        """
        while True:
            with self._lock:
                if self._shut(owner) or not self._full():
                    return
                doubted = self._doubted or self._is_slow()
            if doubted and self._asking.acquire(blocking=False):
                try:
                    self._settle_doubt(owner)
                finally:
                    self._asking.release()
                rest(self._clock.now())  # the lease lasts on
            else:
                rest(self._clock.now() + POLL)

    def _full(self) -> bool:
        if self._renewing.locked():
            return True
        if not self._breaker.closed:
            return self._in_flight >= 1  # a probe that fails is the last one
        if self._doubted:
            return True
        now = self._clock.now()
        if self._in_flight < (1 if self._can_ask and not self._answered(now) else CAREFUL):
            return False
        return self._in_flight >= self._bound or self._health.unproven(now)

    # Questions

    def _answered(self, now: Seconds) -> bool:
        """Tell whether the provider has answered a question of late."""
        return now - self._answered_at <= IDLE

    def _doubt(self, now: Seconds) -> None:
        """Doubt a provider whose latest calls fail, unless it cannot be asked or has answered lately."""
        if not self._health.failing:
            self._doubted, self._silence = False, 0
        elif self._can_ask and not self._answered(now):
            self._doubted = True

    def _is_slow(self) -> bool:
        """Tell whether calls wait for the answer of a first one that takes long."""
        now = self._clock.now()
        unasked = self._can_ask and self._breaker.closed and not self._answered(now)
        return unasked and self._in_flight > 0 and self._health.unproven(now) and now - self._begun_at >= SLOW

    def _settle_doubt(self, owner: str) -> None:
        """Ask the provider once: an answer ends the doubt, and too many questions without one open the breaker."""
        reason = self._ask()
        with self._lock:
            self._silence = self._silence + 1 if reason else 0
            self._doubted &= bool(reason)
            opens = self._silence >= SILENCE and self._breaker.closed and not self._tripped
            if opens:
                self._tripped, self._failures = True, max(1, self._failures)
                self._reason = self._reason if self._health.failing else reason
        if opens:
            self._do(_Move.OPEN, owner, reason)
        elif reason:
            self._clock.sleep(BETWEEN)

    def _ask(self) -> str:
        """Return why the provider is not there; empty if it is, if it cannot be asked, or its adapter has a fault."""
        provider = self._provider()
        if not isinstance(provider, Pingable):
            return ""
        try:
            reason = provider.ping(deadline=self._clock.now() + QUESTION_TIME)
        except Exception as fault:  # noqa: BLE001 - an adapter's fault says nothing of the provider
            _LOG.error("provider fault", extra={"credential": self._credential, "fault": type(fault).__name__})
            return ""
        if not reason:
            self._answered_at = self._clock.now()
        return reason

    def _shut(self, owner: str) -> bool:
        if self._tripped:
            return True
        return not self._breaker.closed and not (self._breaker.probed_by(owner) and self._probes > 0)

    def _due(self) -> bool:
        return self._breaker.usable(int(self._clock.now() * 1000))

    def _renewed(self, ticket: int) -> bool:
        """Tell whether a call that was refused says nothing about those to come: they are made with another key."""
        with self._renewing:
            if ticket <= self._since:
                return True
            if not self._renew():
                return False
            with self._lock:
                self._since = self._calls
                self._said.clear()
                self._heard = True
        _LOG.warning("key replaced", extra={"credential": self._credential})
        return True

    def _judge(self, ticket: int, said: Verdict, reason: str) -> _Move | None:
        """Count a call; returns the move that this one call decides."""
        now = self._clock.now()
        if said is Verdict.ALIVE:
            self._health.succeeded(ticket, now)
            self._said = {account: call for account, call in self._said.items() if call > ticket}
        else:
            self._health.failed(ticket, now)
            self._reason = reason
        if self._breaker.state is BreakerState.HALF_OPEN:
            return self._score_probe(said)
        self._doubt(now)
        if said is Verdict.ALIVE:
            if self._wanted:
                self._bound *= 2
                self._wanted = False
            return None
        self._failures = self._health.dead(now, works=self._works()) or int(said is Verdict.FATAL)
        if self._tripped or not self._failures:
            return None
        self._tripped = True
        return _Move.OPEN

    def _score_probe(self, said: Verdict) -> _Move | None:
        self._heard = True
        if said is Verdict.ALIVE:
            self._score += 1
            return _Move.CLOSE if self._score == ENOUGH else None
        self._score = -1 if said is Verdict.FATAL else self._score - 1
        if self._score >= 0:
            return None
        self._probes = 0
        return _Move.REOPEN

    def _know(self, breaker: Breaker) -> None:
        with self._lock:
            if breaker.version <= self._breaker.version:
                return
            self._breaker = breaker
            self._since = self._calls
            self._health = Health()
            self._said = {}
            self._bound = BOUND
            self._tripped = self._doubted = False
            self._silence = 0
            self._probes = breaker.probes
            self._score = breaker.successes
            self._heard = True

    def _do(self, move: _Move, owner: str, reason: str = "") -> None:
        """Write a move. If that fails the gate stays as it is: shut. The next caller tries again."""
        breaker_cache, name = self._breaker_cache, self._credential
        try:
            if move is _Move.OPEN:
                self._know(breaker_cache.open(name, self._reason, self._failures, alive=self._health.alive))
            elif move is _Move.LEAVE:
                self._know(breaker_cache.unanswered(name, owner, reason))
            elif move is _Move.CLOSE:
                self._know(breaker_cache.close(name, owner))
            elif move is _Move.HAND_ON:
                self._know(breaker_cache.hand_on(name, owner, self._score))
            else:
                self._know(breaker_cache.reopen(name, owner, self._reason))
        except Retriable:
            _LOG.warning("breaker not written", extra={"credential": name, "move": move.value})
