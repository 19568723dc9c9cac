"""Changes that are handed on again say the same under the same id, whoever hands them on."""

from contextlib import suppress
from functools import partial

import pytest

from shared.domain.hooks.delivery import HookDelivery
from shared.domain.hooks.kinds import LATER_S, HookPace
from shared.engine.hooks import gather
from shared.engine.hooks.adding import HookAdder
from shared.engine.hooks.gather import Gatherer
from shared.engine.hooks.outbox import HookOutbox
from shared.engine.outcome import announcer
from shared.ports import Retriable
from tests.engine.hooks.hook_world import HookWorld
from tests.fakes.clock import FakePool
from tests.fakes.faults import Crash, When
from tests.fakes.hooks.outside import GatherHint
from tests.fakes.world import ACCOUNT, credential


@pytest.fixture
def world() -> HookWorld:
    return HookWorld(credential("one", 10))


def sent(world: HookWorld, n: int = 3) -> str:
    """Send messages, whose changes nothing has gathered."""
    job = world.accept(n).id
    world.settle()
    world.hook_hints.gathers.clear()
    return job


def bodies(deliveries: list[HookDelivery]) -> dict[str, set[tuple[object, ...]]]:
    """Return what bodies are made of, by `webhook-id`."""
    out: dict[str, set[tuple[object, ...]]] = {}
    for x in deliveries:
        made = tuple((c.job, c.chunk, c.cells, tuple(c.notes.items())) for c in x.cells)
        out.setdefault(x.id, set()).add((x.kind, x.created_at, made))
    return out


def another(world: HookWorld) -> Gatherer:
    """Return the gatherer of another process."""
    adder = HookAdder(queue=world.queue, hints=world.hook_hints, clock=world.clock)
    outbox = HookOutbox(endpoints=world.endpoints, adder=adder, clock=world.clock)
    return Gatherer(
        records=world.records, ledgers=world.ledgers, told=world.told, outbox=outbox, clock=world.clock, pool=FakePool
    )


@pytest.mark.slow
@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_an_id_stands_for_one_body_wherever_a_gatherer_dies(when: When) -> None:
    fired = repeated = 0
    for nth in range(40):
        world = HookWorld(credential("one", 10))
        endpoint, batched = world.endpoint(), world.endpoint(batch=True)
        job = sent(world)
        places = [(job, n) for n in range(world.job(job).chunks)]
        world.tap.arm(nth, when)
        with suppress(Crash):
            for pace in HookPace:
                world.gatherer.gather(ACCOUNT, places, pace)
        fired += world.tap.fired
        world.tap.disarm()
        world.clock.sleep(1)
        world.track("one", world.word(job, 0, "delivered"))
        for pace in HookPace:
            another(world).gather(ACCOUNT, places, pace)
        for x in (endpoint, batched):
            found = world.deliveries(x)
            assert world.due(job) <= set(world.ids(x))
            assert all(len(said) == 1 for said in bodies(found).values()), (nth, when)
            repeated += len(world.ids(x)) > len(set(world.ids(x)))
    assert fired > 8
    assert repeated > 0


@pytest.mark.promise(7)
@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize("pace", HookPace)
def test_two_gatherers_at_once_say_the_same(
    world: HookWorld, monkeypatch: pytest.MonkeyPatch, pace: HookPace, *, patient: bool
) -> None:
    """Impatient: each takes over what the other has begun. Then batches are made again, with the same events."""
    if not patient:
        monkeypatch.setattr(gather, "AT_WORK_MS", 0)
    endpoint = world.endpoint(batch=pace is HookPace.LATER)
    job = sent(world)
    places = [(job, n) for n in range(world.job(job).chunks)]

    def look(after: float) -> None:
        world.clock.sleep(after)
        another(world).gather(ACCOUNT, places, pace)

    def change() -> None:  # when the first has read the ledger, and the second has not
        world.clock.sleep(0.042)
        world.tap.delay, slow = lambda: None, world.tap.delay
        world.track("one", world.word(job, 0, "delivered"))
        world.tap.delay = slow

    world.tap.delay = lambda: world.clock.sleep(0.01)
    world.clock.run(lambda: look(0), lambda: look(0.015), change)
    world.gatherer.gather(ACCOUNT, places, pace)
    assert world.due(job) <= set(world.ids(endpoint))
    assert all(len(said) == 1 for said in bodies(world.deliveries(endpoint)).values())
    if patient or pace is HookPace.NOW:
        assert len(world.ids(endpoint)) == len(set(world.ids(endpoint))), "the same deliveries replace one another"
    assert all(not x.begun_at for x in world.told.cells.values())


def later(world: HookWorld) -> list[GatherHint]:
    """Return the hints for endpoints with batches that wait, and remove all."""
    found = [x for x in world.hook_hints.gathers if x.pace is HookPace.LATER]
    world.hook_hints.gathers.clear()
    return found


def heard_of(world: HookWorld, job: str, index: int) -> None:
    """Have the provider say that a message was delivered, and fold that."""
    world.track("one", world.word(job, index, "delivered"))
    world.run()


def test_changes_of_a_chunk_within_moments_are_handed_on_once_in_batches(world: HookWorld) -> None:
    endpoint = world.endpoint(batch=True)
    job = world.accept(3).id
    world.settle()
    for n in range(3):
        world.clock.sleep(0.5)
        heard_of(world, job, n)
    assert sum(x.pace is HookPace.NOW for x in world.hook_hints.gathers) > 3
    hints = later(world)
    assert len(hints) == 1
    world.clock.sleep(LATER_S)

    def look(nth: int) -> None:
        world.clock.sleep(nth * 0.015)
        places = [(name, n) for name, chunks in hints[nth].places.items() for n in chunks]
        another(world).gather(ACCOUNT, places, HookPace.LATER)

    world.tap.delay = lambda: world.clock.sleep(0.01)
    world.clock.run(*[partial(look, nth) for nth in range(len(hints))])
    assert world.due(job) <= set(world.ids(endpoint))
    assert len(world.ids(endpoint)) == len(set(world.ids(endpoint))), "each event is in one batch"


@pytest.mark.promise(3)
@pytest.mark.parametrize("seconds", [announcer.SPARES_S, LATER_S, -1])
def test_a_hint_that_may_be_delivered_spares_no_other(world: HookWorld, seconds: float) -> None:
    """-1: the clock was set back."""
    world.endpoint(batch=True)
    job = world.accept(1).id
    world.settle()
    assert [x.places for x in later(world)] == [{job: (0,)}]
    world.announcer.waiting[job, 0] = world.clock.now() - seconds
    heard_of(world, job, 0)
    assert [x.places for x in later(world)] == [{job: (0,)}]


@pytest.mark.promise(3)
def test_a_hint_that_was_not_queued_spares_no_other(world: HookWorld) -> None:
    world.endpoint(batch=True)
    job = world.accept(1).id
    while any(world.send(lane) for lane in list(world.senders)):
        pass
    world.tap.arm(1, error=lambda: Retriable("no queue"), where=lambda name: name == "hook_hints.gather")
    with pytest.raises(Retriable):
        world.log()
    assert later(world) == []
    world.settle()
    assert [x.places for x in later(world)] == [{job: (0,)}]


def test_a_process_remembers_few_hints(world: HookWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcer, "KNOWN", 2)
    world.endpoint(batch=True)
    jobs = [world.accept(1).id for _ in range(4)]
    world.settle()
    assert {name for x in later(world) for name in x.places} == set(jobs)
    assert len(world.announcer.waiting) <= announcer.KNOWN
