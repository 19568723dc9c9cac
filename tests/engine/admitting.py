"""A credential with its stored breaker, and calls of a sender that its admission lets through."""

import random
from collections.abc import Callable, Sequence

from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from shared.domain.lanes.breaker import Breaker
from shared.engine.lane.admission import FULL, SHUT, Admission
from shared.engine.lane.breaker_cache import BreakerCache
from tests.fakes.breakers import FakeBreakers
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.provider import AskedProvider, Oracle

TAKEN = [Accepted("id")]


DOWN: list[Outcome] = [Rejected("http_503", permanent=False)]


REFUSED: list[Outcome] = [Rejected("unauthorized", permanent=False, provider_down=True)]


SAID: list[Outcome] = [Rejected("relay_denied", permanent=False, provider_down=True, by_text=True)]


class Lane:
    """A credential with its stored breaker, and as many processes as a test likes."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.tap = Tap()
        self.breakers = FakeBreakers(self.tap)

    def breaker_cache(self) -> BreakerCache:
        return BreakerCache(breakers=self.breakers, clock=self.clock, rng=random.Random(0))  # noqa: S311 - jitter

    def gate(self, provider: object = None, *, works: bool = False) -> Admission:
        return Admission("one", self.breaker_cache(), self.clock, provider=lambda: provider, works=lambda: works)

    def asked(self, silence: Callable[[], str]) -> AskedProvider:
        """Return a provider that answers questions, or says why not."""
        provider = AskedProvider(self.clock, Oracle())
        provider.silence = silence
        return provider

    def rest(self, until: float) -> None:
        """Wait for a moment, Unix seconds."""
        self.clock.sleep(until - self.clock.now())

    @property
    def stored(self) -> Breaker:
        return self.breakers.of("one")

    def state(self) -> str:
        """Return the stored state."""
        return self.stored.state.value

    def due(self) -> None:
        """Let the time come when the breaker is to be probed."""
        self.clock.advance(self.stored.probe_at / 1000 - self.clock.now() + 0.001)


def room(gate: Admission, owner: str = "me", most: int = 1000) -> list[int]:
    """Begin calls until no more may begin; returns their tickets."""
    tickets = []
    for _ in range(most):
        ticket = gate.enter(owner)
        if ticket in (FULL, SHUT):
            break
        tickets.append(ticket)
    return tickets


def end(gate: Admission, tickets: list[int], outcomes: Sequence[Outcome], owner: str = "me") -> None:
    for ticket in tickets:
        gate.leave(ticket, owner, outcomes)


def call(gate: Admission, outcomes: Sequence[Outcome], owner: str = "me", account: str = "") -> None:
    ticket = gate.enter(owner)
    assert ticket > 0
    gate.leave(ticket, owner, outcomes, account=account)
