"""Waking after a resume: by messages with a place in the index of open jobs, whatever there is to wake."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from shared.adapters.dynamo import indices
from shared.contracts import ResumeTask
from shared.domain.jobs.job import SHARDS
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.engine.jobs import wake
from shared.ports import OpenJob, Retriable
from tests.fakes.faults import Crash, When
from tests.fakes.lists import send_list
from tests.fakes.queues import FakeLane
from tests.fakes.records import FakeRecords
from tests.fakes.stores import FakeStores
from tests.fakes.world import ACCOUNT, World, credential

CALL = 0.006
JOBS = 30_000


class Slow(FakeLane):
    """A lane to which ten messages are a call, as on SQS."""

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "", express: bool = False) -> None:
        assert len(bodies) <= 10
        super().send(bodies, delay=delay, group=group, express=express)


@pytest.fixture
def world() -> World:
    return World(credential("one", 100))


def paused(world: World, jobs: int) -> None:
    """Store many jobs of one message, over all shards, whose pointers are gone."""
    stores = world.stores
    assert isinstance(stores, FakeStores)
    assert isinstance(world.records, FakeRecords)
    job = world.accept(1)
    (ledger,) = world.ledgers.read_all(job.id)
    for i in range(jobs - 1):
        name = f"{i:026d}"
        world.records.jobs[name] = replace(job, id=name)
        stores.ledgers.items[name, 0] = replace(ledger, job=name)
    world.records._open = cache(world.records._open)  # type: ignore[method-assign]  # nothing of it changes here
    world.lanes["one"] = Slow(world.clock, world.tap)


def pointed(world: World) -> Counter[tuple[str, int]]:
    """Return how often each chunk was pointed to."""
    bodies = [json.loads(m.body) for lane in world.lanes.values() for m in lane.sent]
    return Counter((x["job"], x["chunk"]) for x in bodies)


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_resume_of_everything_wakes_all_by_a_chain_of_messages(world: World) -> None:
    paused(world, JOBS)  # a hundred thousand: `make bench`
    world.tap.delay = lambda: world.clock.advance(CALL)
    began = world.clock.now()
    world.waker.begin(EVERYTHING)
    assert world.clock.now() - began < 1, "this alone is done in the stream's function"
    sent = []
    for woken in world.waken(seconds=wake.SECONDS):
        sent.append(woken)
        assert world.clock.now() - began <= len(sent) * (wake.SECONDS + 1)
    assert (len(sent), sum(sent)) == (2, JOBS)
    assert (len(pointed(world)), max(pointed(world).values())) == (JOBS, 1)
    assert world.clock.now() - began <= JOBS / 1_000


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", list(When))
def test_a_crash_anywhere_loses_nothing_and_repeats_what_its_message_has_done(world: World, when: When) -> None:
    paused(world, 700)
    world.waker.begin(EVERYTHING)
    for nth in range(0, 120, 7):
        world.tap.arm(nth, when)
        try:
            list(world.waken(seconds=0))  # one page a message
        except Crash:
            world.reboot()
    world.tap.disarm()
    list(world.waken(seconds=0))
    assert world.due_queue.is_empty()
    assert len(pointed(world)) == 700


def test_a_fault_repeats_its_own_page_and_what_always_fails_is_a_dead_letter(world: World) -> None:
    paused(world, 900)
    way = ResumeTask(at=world.clock.ms)
    world.tap.arm(40, error=lambda: Retriable("busy"))
    assert 0 < world.waker.go_on(way, until=world.clock.now() + 20) < 900
    assert sum(world.waken(seconds=20)) < 900
    assert len(pointed(world)) == 900
    assert sum(pointed(world).values()) <= 900 + wake.PAGE
    world.tap.arm(2, error=lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        world.waker.go_on(way, until=world.clock.now() + 20)
    assert world.due_queue.is_empty()


def test_a_credentials_resume_reads_the_slots_where_jobs_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(credential("one"), credential("two"), credential("three"))
    mine, other = send_list(world, "spring", 2, credential="one"), send_list(world, "autumn", 2, credential="two")
    assert len(world.planner.react(mine.id)) == len(world.planner.react(other.id)) == 1
    batch = world.accept(2, route=("one",))
    read: list[str] = []
    walk = world.records.open_jobs

    def seen(slots: Sequence[str], *, after: str = "") -> object:
        read.extend(slots)
        return walk(slots, after=after)

    monkeypatch.setattr(world.records, "open_jobs", seen)
    for lane in world.lanes.values():
        lane.lose()
    before = pointed(world)
    assert world.wake(Switch(credential="one")) == 2
    assert {job for job, _ in pointed(world) - before} == {mine.id, batch.id}
    shared = [indices.open_slot(None, n, running=True) for n in range(SHARDS)]
    assert sorted(read) == sorted([*shared, indices.open_slot("one", 0, running=True)])
    read.clear()
    world.wake(Switch(account=ACCOUNT))
    assert len(set(read)) == 2 * SHARDS + 6


def test_a_large_job_is_gone_on_with_in_its_middle(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "LEDGERS", 2)
    jobs = [world.accept(n) for n in (1, 2500, 1, 1500)]
    world.lanes["one"].lose()
    before = pointed(world)
    world.waker.begin(EVERYTHING)
    assert list(world.waken(seconds=-1)).count(2) >= 2
    assert pointed(world) - before == Counter((job.id, n) for job in jobs for n in range(job.chunks))


def test_jobs_that_came_after_the_resume_are_left_alone(world: World) -> None:
    first = world.accept(1)
    way = ResumeTask(at=world.clock.ms)
    world.clock.advance(wake.SLACK_MS / 1000 + 1)
    world.accept(1)
    before = pointed(world)
    assert world.waker.go_on(way, until=world.clock.now() + 20) == 1
    assert pointed(world) - before == Counter({(first.id, 0): 1})


def test_what_is_ready_starts_and_costs_nothing_before_its_time(world: World) -> None:
    later = world.accept(1, not_before=world.clock.ms + 60_000)
    waiting = []
    for name in ("spring", "summer", "autumn"):
        waiting.append(send_list(world, name, 2))
        world.clock.advance(1)
    assert world.wake(EVERYTHING) == 1
    assert world.tap.calls.count("records.read_jobs") == 1, "whose campaigns wait; no job is read for its time"
    assert [world.job(x.id).planned_at > 0 for x in (*waiting, later)] == [True, False, False, False]


def test_a_way_is_bounded_and_says_where_it_ends(world: World, caplog: pytest.LogCaptureFixture) -> None:
    paused(world, (wake.LINKS + 3) * SHARDS)
    world.waker.begin(EVERYTHING)
    with caplog.at_level(logging.WARNING, logger=wake.__name__):
        assert len(list(world.waken(seconds=-1))) == wake.LINKS
    assert "the sweeper does the rest" in caplog.text


def test_the_message_is_read_whichever_version_wrote_it() -> None:
    way = ResumeTask(credential="one", at=5, slot="one#RUN", after="1#x", job="x", chunk=3, link=2)
    raw = json.loads(way.dumps())
    assert ResumeTask.loads(json.dumps({"wake": {**raw["wake"], "later": 1}, "later": 1})) == way
    assert ResumeTask.loads('{"wake":{}}') == ResumeTask()
    assert ResumeTask.loads('{"job":"x"}') is None
    for poison in ('{"wake":7}', '{"wake":{"at":"x"}}', '{"wake":{"chunk":true}}', "x"):
        with pytest.raises((ValueError, TypeError)):
            ResumeTask.loads(poison)


def test_an_entry_of_a_job_that_has_gone_is_passed_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = world.accept(1)
    stale = OpenJob("0" * 26, running=True, not_before=0, created_at=job.created_at)
    monkeypatch.setattr(world.records, "open_jobs", lambda _slots, after="": [x for x in [stale] if x.key > after])
    assert world.wake(EVERYTHING) == 0
