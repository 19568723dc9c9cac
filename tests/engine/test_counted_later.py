"""A small job's messages are in the day's stats after its first fold: soon, whatever becomes of it, and once."""

import pytest

from shared.domain.jobs.outcomes import Rejected, Throttled, Unknown
from shared.domain.jobs.states import JobState
from shared.engine.walks.jobs import YOUNG_MS
from shared.ports import ENDS
from tests.fakes.crashes import dying
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential, recipients

AGE = YOUNG_MS / 1000
ANSWERS = (None, Rejected("bad", permanent=True), Unknown("silence"), Throttled(2))


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def sums(world: World) -> dict[str, int]:
    """Return the account's messages by their ends."""
    return {k: v for k, v in world.stores.stats(ACCOUNT).items() if "." not in k}


@pytest.mark.parametrize(
    ("messages", "changes", "later"),
    [
        (1, {}, True),
        (10, {}, True),
        (11, {}, False),
        (1, {"not_before": 4_000_000_000_000}, False),
        (1, {"kind": "mail"}, False),
        (1, {"kind": "digest"}, False),
        (1, {"kind": "notice"}, False),
    ],
)
def test_only_small_batches_that_are_due_are_counted_later(
    world: World, messages: int, changes: dict[str, object], *, later: bool
) -> None:
    job = world.accept(messages, **changes)
    (ledger,) = world.ledgers.read_all(job.id)
    assert bool(ledger.uncounted) is later
    assert sums(world) == ({} if later else {"queued": messages})
    assert world.counts(job.id) == {"queued": messages}


def test_a_batch_of_several_chunks_is_counted_at_once() -> None:
    world = World(credential("one", 1000), credential("two", 1000))
    job = world.accept(2)
    assert [x.uncounted for x in world.ledgers.read_all(job.id)] == [(), ()]
    assert sums(world) == {"queued": 2}


def test_a_test_job_is_in_no_stats(world: World) -> None:
    job = world.accept(1, test=True)
    assert world.ledgers.read_all(job.id)[0].uncounted == ()
    world.run()
    assert sums(world) == {}


@pytest.mark.promise(7)
def test_it_is_counted_when_it_ends(world: World) -> None:
    job = world.accept(recipients(3, skip=[0]))
    assert sums(world) == {}
    world.run()
    assert world.job(job.id).state is JobState.LOGGED
    assert sums(world) == {"queued": 2, "skipped": 1}
    world.track("one", world.word(job.id, 1, "delivered"))
    world.run()
    assert sums(world) == {"queued": 1, "success": 1, "skipped": 1}


@pytest.mark.promise(7)
def test_one_that_waits_is_counted_by_the_sweeper_once(world: World) -> None:
    world.stores.pause(ACCOUNT)
    job = world.accept(1)
    world.clock.advance(AGE)
    assert world.sweep().folded == 1
    assert sums(world) == {"queued": 1}
    assert world.job(job.id).state is JobState.ENQUEUED
    assert world.sweep().folded == 0
    world.stores.unpause(ACCOUNT)
    world.settle()
    assert sums(world) == {"queued": 1}
    assert world.counts(job.id) == {"sent": 1}


@pytest.mark.promise(7)
def test_many_that_wait_are_counted_together(world: World) -> None:
    world.stores.pause(ACCOUNT)
    for _ in range(ENDS + 3):
        world.accept(1)
    world.clock.advance(AGE)
    before = len(world.tap.calls)
    assert world.sweep().folded == ENDS + 3
    calls = world.tap.calls[before:]
    assert (calls.count("records.fold_jobs"), calls.count("records.fold_all"), calls.count("records.job")) == (2, 0, 0)
    assert sums(world) == {"queued": ENDS + 3}
    world.stores.unpause(ACCOUNT)
    world.settle()
    assert sums(world) == {"queued": ENDS + 3}


@pytest.mark.promise(7)
def test_one_that_is_throttled_is_counted_by_its_release(world: World) -> None:
    world.providers["one"].script("r0@example.com", [Throttled(20)])
    job = world.accept(1)
    world.run(seconds=1)
    assert world.job(job.id).counts["queued"] == 1
    assert sums(world) == {"queued": 1}


@pytest.mark.promise(7)
@pytest.mark.parametrize("swept", [False, True])
def test_one_that_is_stopped_before_its_first_lease_is_counted_before_it_is_logged(
    world: World, *, swept: bool
) -> None:
    job = world.accept(1)
    world.control.stop(job.id, ACCOUNT)
    world.clock.advance(AGE)
    if swept:
        world.sweep()
    else:
        world.logger.finalise(job.id)
    assert world.job(job.id).state is JobState.LOGGED
    assert sums(world) == {"queued": 1}


def _single() -> World:
    world = World(credential("one", 10))
    for i, end in enumerate(ANSWERS):
        if end is not None:
            world.providers["one"].script(f"r{i}@example.com", [end])
    for i in range(len(ANSWERS)):
        world.accept(recipients(len(ANSWERS))[i : i + 1])
    return world


@pytest.mark.slow
@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_at_any_call_counts_each_message_once(when: When) -> None:
    for world in dying(_single, World.run, when, least=40):
        assert sum(sums(world).values()) <= len(ANSWERS)
        world.settle()
        world.check()
        assert sum(sums(world).values()) == len(ANSWERS)
        assert sums(world) == _expected(world)


def _expected(world: World) -> dict[str, int]:
    out: dict[str, int] = {}
    for name in world.jobs:
        counts = world.job(name).counts
        for key, amount in (("failure", counts["failed"]), ("queued", counts["sent"] + counts["unknown"])):
            out[key] = out.get(key, 0) + amount
    return {k: v for k, v in out.items() if v}
