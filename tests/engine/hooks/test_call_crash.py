"""A process that dies at any call, while deliveries are added or posted, loses none; each keeps its id."""

from collections import Counter
from collections.abc import Callable

import pytest

from shared.domain.hooks.delivery import DeliveryState
from shared.ports import HookAnswer
from tests.contracts.hook_stores import HookStores
from tests.domain.hooks.examples import HOOK
from tests.engine.hooks.calling import Caller
from tests.fakes.clock import FakeClock
from tests.fakes.crashes import dying
from tests.fakes.faults import Crash, Tap, When
from tests.fakes.hooks.outside import HookPost
from tests.fakes.stores import FakeStores
from tests.fakes.tables import MotoStores

EVENTS = 11


class Mortal(Caller):
    """A caller whose receiver refuses some deliveries once. A process that dies is followed by another.

    Attributes:
        taken: the ids that the receiver answered with 2xx.
    """

    def __init__(self, dynamo: object = None) -> None:
        super().__init__(Tap())
        stores = FakeStores(self.clock, self.tap) if dynamo is None else MotoStores(dynamo, FakeClock(), self.tap)
        self.stores = HookStores(stores, self.clock)
        self.stores.endpoints.create(self.endpoint, None, event=None)
        self.taken: Counter[str] = Counter()
        self.refused: set[str] = set()
        self.client.answer = self._answer
        self.reboot()

    def reboot(self) -> None:
        """Start the worker anew."""
        self.call = self.worker(self.stores)

    def _answer(self, post: HookPost) -> HookAnswer:
        name = post.headers["webhook-id"]
        if name.endswith(("3", "4")) and name not in self.refused:
            self.refused.add(name)
            return HookAnswer(500, 5)
        self.taken[name] += 1
        return HookAnswer(204, 5)

    def again(self, step: Callable[[], object]) -> None:
        """Take a step; the queue of a process that dies hands it to another."""
        while True:
            try:
                step()
            except Crash:
                self.reboot()
                self.clock.advance(1)
            else:
                return

    def steps(self) -> None:
        """Add deliveries, and serve hints and walks until everything has ended."""
        some = self.new(EVENTS)
        self.again(lambda: self.store(self.stores.queue, some))
        walks = 0
        while walks < 3 if self.tap.fired else len(self.taken) < EVENTS:
            for hint in [*self.hints.calls]:
                self.again(lambda hint=hint: self.serve(hint.endpoint, apart=hint.apart))  # type: ignore[misc]
                self.hints.calls.remove(hint)
            if self.hints.calls:
                self.clock.advance(6)
            else:
                self.clock.advance(61)
                self.again(self.walk)
                walks += 1

    def walk(self) -> None:
        """Do what is done every minute."""
        self.call.wake(stop_at=self.clock.now() + 45)

    def serve(self, endpoint: str, *, apart: bool) -> None:
        """Serve a hint."""
        self.call.work(endpoint, apart=apart, stop_at=self.clock.now() + 50)


def proven(world: Mortal) -> None:
    """Check that every delivery arrived, and that nothing waits."""
    ids = {f"evt_{i:05d}" for i in range(EVENTS)}
    over, _ = world.stores.queue.ended(HOOK, limit=100)
    waiting, _ = world.stores.queue.pending(HOOK, limit=100)
    work = world.stores.works.get(HOOK)
    assert set(world.taken) == ids
    assert {x.id for x in over if x.state is DeliveryState.DELIVERED} == ids
    assert list(waiting) == []
    assert work is not None
    assert (work.wake, work.until, work.fails) == (0, 0, 0)
    assert max(world.taken.values()) <= 2, "one crash repeats what was posted, once"


def test_without_a_crash_each_is_posted_once() -> None:
    world = Mortal()
    world.steps()
    proven(world)
    assert max(world.taken.values()) == 1


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", list(When))
def test_a_crash_at_any_call_loses_no_delivery(when: When) -> None:
    for world in dying(Mortal, Mortal.steps, when, least=41):
        proven(world)


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_crash_at_a_call_of_the_database_loses_no_delivery(moto_dynamo: object) -> None:
    for world in dying(lambda: Mortal(moto_dynamo), Mortal.steps, When.AFTER, least=31, every=3):
        proven(world)
