"""A provider whose calls are made step by step, and the wire that makes them, in a fake clock's time."""

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from types import TracebackType
from typing import Self

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Outcome
from shared.ports import AnswerLost, NoTime, Response, Steps, Target, WireRequest
from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider

Done = Callable[[Response | AnswerLost], None]


class SteppedProvider(FakeProvider):
    """`ports.Stepwise` over a `FakeProvider`: its far side takes the call when the request arrives.

    Attributes:
        spoil: raises what should go wrong before the request.
    """

    def __init__(self, like: FakeProvider) -> None:
        super().__init__(like._clock, like._oracle, name=like.name, per_call=like.per_call, tap=like._tap)
        self.spoil: Callable[[Sequence[Target]], None] = lambda _targets: None
        self._asked: dict[str, Sequence[Target]] = {}
        self._outcomes: dict[str, list[Outcome | Exception]] = {}

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: float) -> Steps[list[Outcome]]:
        self.spoil(targets)
        name = targets[0].ref
        self._asked[name] = targets
        yield WireRequest("POST", name, {}, b"", deadline)
        outcomes = self._outcomes.pop(name)
        fault = next((o for o in outcomes if isinstance(o, Exception)), None)
        if fault is not None:
            raise fault
        return [o for o in outcomes if not isinstance(o, Exception)]

    def arrive(self, request: WireRequest) -> None:
        """Take a request."""
        self._outcomes[request.url] = self._take(self._asked.pop(request.url), self._clock.now())


class FakeWire:
    """`ports.Wire`.

    Attributes:
        cold: every so many requests finds no connection; 0: none.
        begun, refused: how many requests were written, and how many found no connection.
        joined: leases that ended.
        nap: seconds by which a wait is too long.
    """

    def __init__(self, clock: FakeClock, provider: SteppedProvider, *, cold: int = 0) -> None:
        self.cold = cold
        self.begun = self.refused = self.joined = 0
        self.nap: Callable[[], float] = lambda: 0.0
        self._clock = clock
        self._provider = provider
        self._open: list[tuple[float, int, Done]] = []
        self._order = count()

    def begin(self, request: WireRequest, done: Done) -> bool:
        if self.cold and (self.begun + self.refused) % self.cold == 0:
            self.refused += 1
            return False
        if self._clock.now() >= request.deadline:
            raise NoTime("deadline")
        self.begun += 1
        self._provider.arrive(request)
        heapq.heappush(self._open, (self._clock.now() + self._provider.latency, next(self._order), done))
        return True

    def rest(self, until: float) -> None:
        self._answer(until)
        self._clock.sleep(until - self._clock.now() + self.nap())

    def join(self) -> None:
        self._answer(float("inf"))

    def _answer(self, until: float) -> None:
        while self._open and self._open[0][0] <= until:
            at, _, done = heapq.heappop(self._open)
            self._clock.sleep(at - self._clock.now())
            done(Response(202, {}, b""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.join()
        self.joined += 1
