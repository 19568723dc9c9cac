"""Messages whose provider never says what became of them."""

import pytest

from shared.domain.jobs.states import Cell, Status
from shared.engine.reports import message_log
from shared.engine.reports.message_log import Filter, MessageLog
from tests.fakes.world import ACCOUNT, World, credential

TIMEOUT = 3600


@pytest.fixture
def world() -> World:
    world = World(credential("one"))
    world.logs = MessageLog(records=world.records, ledgers=world.ledgers, clock=world.clock, feedback_timeout=TIMEOUT)
    return world


def marked(world: World, job: str) -> list[bool]:
    return [line.unacknowledged for line in world.logs.lines(world.job(job), Filter())[0]]


def counted(world: World, job: str) -> int | None:
    return world.logs.counts(world.job(job)).unacknowledged


def test_what_is_only_sent_is_unacknowledged_after_the_timeout(world: World) -> None:
    job = world.accept(3).id
    assert (marked(world, job), counted(world, job)) == ([False] * 3, 0)
    world.settle()
    released = world.ledgers.read_all(job)[0].released_at
    world.track("one", world.word(job, 1, "delivered"), world.word(job, 2, "deferred"))
    world.clock.advance(released / 1000 + TIMEOUT - world.clock.now())
    assert (marked(world, job), counted(world, job)) == ([False] * 3, 0)
    world.clock.advance(0.01)
    assert (marked(world, job), counted(world, job)) == ([True, False, True], 2)
    world.track("one", world.word(job, 0, "delivered"))
    assert (marked(world, job), counted(world, job)) == ([False, False, True], 1)
    assert world.counts(job) == {"sent": 1, "delivered": 2}


def test_a_provider_without_feedback_owes_none_and_its_sent_is_success(world: World) -> None:
    world.providers["one"].has_feedback = False
    job = world.accept(2).id
    world.settle()
    world.clock.advance(10 * TIMEOUT)
    assert world.states(job) == [Cell.RELAYED] * 2
    assert (marked(world, job), counted(world, job)) == ([False] * 2, 0)
    line = world.logs.lines(world.job(job), Filter())[0][0]
    assert (line.state.value, line.status, line.error) == ("sent", Status.SUCCESS, None)
    assert world.counts(job) == {"sent": 2}
    assert world.stores.stats(ACCOUNT)["success"] == 2


def test_work_on_the_chunk_gives_feedback_its_time_again(world: World) -> None:
    job = world.accept(20).id
    world.control.stop(job, ACCOUNT)
    world.settle()
    world.clock.advance(10 * TIMEOUT)
    world.control.resume(job, ACCOUNT)
    seen: list[tuple[int | None, int]] = []
    world.providers["one"].before = lambda _targets: seen.append((counted(world, job), sum(marked(world, job))))
    world.settle()
    assert set(seen) == {(0, 0)}
    assert counted(world, job) == 0
    world.clock.advance(TIMEOUT + 1)
    assert counted(world, job) == sum(marked(world, job)) == 20


def test_a_large_job_does_not_say(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_log, "LIVE_CHUNKS", 0)
    job = world.accept(1).id
    world.settle()
    world.clock.advance(2 * TIMEOUT)
    assert counted(world, job) is None
    assert marked(world, job) == [True]
