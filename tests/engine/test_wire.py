"""A lease whose calls are made by its own thread, on a wire."""

from collections.abc import Sequence

import pytest

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Outcome, Rejected, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import pace
from shared.engine.lane.calls import Calls
from shared.engine.lane.send import Sender
from shared.engine.lane.slots import LEAD
from shared.engine.lane.start import PointerResult
from shared.ports import Steps, Target, WireRequest
from tests.engine.measuring import worst_second
from tests.fakes.clock import FakePool
from tests.fakes.faults import Crash
from tests.fakes.wire import Done, FakeWire, SteppedProvider
from tests.fakes.world import World, credential
from tests.providers.contract import CONTENT, target

REFUSED = Rejected("invalid_url", permanent=True)


class Wired:
    """A world with one lane whose provider is stepwise."""

    def __init__(self, rate: float = 100, *, per_call: int = 1, cold: int = 0) -> None:
        self.world = World(credential("one", rate), provider_limit=per_call)
        self.provider = SteppedProvider(self.world.providers["one"])
        self.world.providers["one"] = self.provider
        self.wire = FakeWire(self.world.clock, self.provider, cold=cold)
        self.sender: Sender = self.world.sender("one", wire=lambda: self.wire)

    def run(self) -> None:
        while self.world.send("one", self.sender) is PointerResult.SENT:
            continue
        self.world.run()
        self.world.check()


@pytest.mark.promise(1)
@pytest.mark.parametrize("cold", [0, 1, 3])
def test_a_call_that_finds_no_connection_is_made_in_a_thread_once(cold: int) -> None:
    wired = Wired(cold=cold)
    job = wired.world.accept(250)
    wired.run()
    assert wired.world.counts(job.id) == {"sent": 250}
    assert wired.world.oracle.times(job.id) == {(0, i): 1 for i in range(250)}
    assert wired.wire.refused == {0: 0, 1: 250, 3: 84}[cold]
    assert wired.wire.begun + wired.wire.refused == 250
    assert wired.wire.joined == 1, "the lease left its wire"


@pytest.mark.slow
def test_a_call_of_several_goes_over_the_wire() -> None:
    wired = Wired(1000, per_call=1000)
    job = wired.world.accept(500)
    wired.run()
    assert wired.world.counts(job.id) == {"sent": 500}
    assert wired.wire.begun == len(wired.world.oracle.calls) < 20


def test_a_fault_of_the_adapter_touches_its_own_recipients_only() -> None:
    wired = Wired()

    def spoil(targets: Sequence[Target]) -> None:
        if targets[0].recipient.address == "r1@example.com":
            raise ValueError("before the request")

    wired.provider.spoil = spoil
    wired.provider.script("r2@example.com", [RuntimeError("after the answer")])
    job = wired.world.accept(4)
    wired.run()
    assert wired.world.states(job.id) == [Cell.SENT, Cell.UNKNOWN, Cell.UNKNOWN, Cell.SENT]


@pytest.mark.promise(2)
def test_a_worker_that_oversleeps_burns_its_slots() -> None:
    wired = Wired(150)
    wired.provider.latency = 0.05
    naps = iter([0.0] * 20 + [0.03, 0.0, 0.009, 0.2] + [0.0] * 10_000)
    wired.wire.nap = lambda: next(naps)
    job = wired.world.accept(450)
    wired.run()
    assert wired.world.oracle.times(job.id) == {(0, i): 1 for i in range(450)}
    times = [(at, n) for at, _, n in wired.world.oracle.calls]
    assert worst_second(times) <= 150
    waits = 450 / pace(150, 1).window * (0.05 + 2 * LEAD)
    assert times[-1][0] - times[0][0] <= 449 / (0.97 * 150) + waits + 0.24, "one lease waits, and oversleeps"


@pytest.mark.promise(2)
def test_a_slot_that_was_missed_is_not_used() -> None:
    wired = Wired(10)
    naps = iter([0.0, 0.0, 0.5])
    wired.wire.nap = lambda: next(naps, 0.0)
    wired.world.accept(9)
    wired.run()
    times = [(at, n) for at, _, n in wired.world.oracle.calls]
    assert worst_second(times) <= 10
    assert sum(n for _, n in times) == 9


def test_without_time_nothing_is_begun() -> None:
    wired = Wired()
    job = wired.world.accept(3)
    did = wired.sender.work(job.id, 0, owner="late", deadline=wired.world.clock.now() + 1)
    assert did is PointerResult.SENT
    assert wired.wire.begun == 0
    assert wired.world.states(job.id) == [Cell.QUEUED] * 3


# A call by itself


class Twice(SteppedProvider):
    """Asks for a second request."""

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: float) -> Steps[list[Outcome]]:
        yield from super().steps(content, targets, deadline=deadline)
        yield WireRequest("POST", "again", {}, b"", deadline)
        return []


class Unwritable(FakeWire):
    def begin(self, request: WireRequest, done: Done) -> bool:
        raise ValueError("not a URL")


class Judge(SteppedProvider):
    """Says what a request that could not be written means."""

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: float) -> Steps[list[Outcome]]:
        try:
            yield WireRequest("POST", "bad url", {}, b"", deadline)
        except ValueError:
            return [REFUSED]
        return []


def outcomes(provider: SteppedProvider, wire: FakeWire, world: World, *, latest: float = 1) -> tuple[object, object]:
    """Make one call and return its result, and what it was said to have ended with."""
    said: list[object] = []
    now = world.clock.now()
    with Calls(provider, world.clock, 10, FakePool, lambda: wire).lease(1) as turn:
        call = turn.begin(CONTENT, [target(0)], latest=now + latest, deadline=now + 60, ended=said.append)
        result = call.result()
    assert len(said) == 1, "told once"
    return result, said[0]


def test_a_request_that_cannot_be_written_is_the_providers_to_judge() -> None:
    wired = Wired()
    provider = Judge(wired.provider)
    assert outcomes(provider, Unwritable(wired.world.clock, provider), wired.world) == ([REFUSED], [REFUSED])


def test_a_call_makes_one_request() -> None:
    wired = Wired()
    provider = Twice(wired.provider)
    wire = FakeWire(wired.world.clock, provider)
    assert outcomes(provider, wire, wired.world) == ([Unknown("internal_fault")], ())
    assert wire.begun == 1


@pytest.mark.parametrize("cold", [0, 1])
def test_a_call_whose_slot_has_passed_is_not_begun(cold: int) -> None:
    wired = Wired(cold=cold)
    assert outcomes(wired.provider, wired.wire, wired.world, latest=-0.001) == (None, ())
    assert wired.world.oracle.calls == []


@pytest.mark.parametrize("cold", [0, 1])
def test_a_waiter_gets_the_exception_of_its_call(cold: int) -> None:
    wired = Wired(cold=cold)
    now = wired.world.clock.now()

    def ended(_outcomes: object) -> None:
        raise Crash

    with (
        Calls(wired.provider, wired.world.clock, 10, FakePool, lambda: wired.wire).lease(1) as turn,
        pytest.raises(Crash),
    ):
        turn.begin(CONTENT, [target(0)], latest=now, deadline=now + 60, ended=ended).result()
