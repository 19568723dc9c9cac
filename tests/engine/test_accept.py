import json
from dataclasses import replace

import pytest

from shared.contracts import pointer
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import JobState
from shared.domain.times import DAY_MS
from shared.engine.intake.accept import AcceptedJob
from shared.ports import Mismatch, Replay, Retriable
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential, recipients


@pytest.fixture
def world() -> World:
    return World(credential("one", 1000), credential("two", 1000))


def test_a_batch_is_spread_over_the_route(world: World) -> None:
    job = world.accept(70)
    ledgers = world.ledgers.read_all(job.id)
    assert (job.state, job.total, job.chunks, job.providers) == (JobState.ENQUEUED, 70, 2, ("one", "two"))
    assert [len(x.cells) for x in ledgers] == [35, 35]
    assert {x.lane for x in ledgers} == {"one", "two"}
    assert {lane: len(q.sent) for lane, q in world.lanes.items()} == {"one": 1, "two": 1}
    assert [q.sent[0].group for q in world.lanes.values()] == [ACCOUNT, ACCOUNT]
    assert world.counts(job.id) == {"queued": 70}


def test_a_slow_credential_makes_small_chunks() -> None:
    world = World(credential("slow", 2))
    job = world.accept(130)
    assert [len(x.cells) for x in world.ledgers.read_all(job.id)] == [60, 60, 10]


def test_skipped_recipients_are_messages_too(world: World) -> None:
    job = world.accept(recipients(4, skip=[0, 3]))
    assert world.counts(job.id) == {"queued": 2, "skipped": 2}
    world.run()
    assert world.counts(job.id) == {"sent": 2, "skipped": 2}
    assert {t.address for t in world.oracle.taken} == {"r1@example.com", "r2@example.com"}


def test_a_chunk_of_skipped_recipients_gets_no_pointer(world: World) -> None:
    job = world.accept(recipients(4, skip=[0, 1]))
    assert [x.status for x in world.ledgers.read_all(job.id)] == [LedgerStatus.DONE, LedgerStatus.IDLE]
    assert sum(len(q.sent) for q in world.lanes.values()) == 1
    world.run()
    assert world.job(job.id).state is JobState.LOGGED


@pytest.mark.parametrize("changes", [{"recipients": recipients(2, skip=[0, 1])}, {"recipients": ()}, {"route": ()}])
def test_a_batch_without_recipients_is_refused(world: World, changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="recipient"):
        world.acceptor.accept(world.request(2, **changes))
    assert world.tap.calls == []


def test_a_scheduled_batch_waits_ready_without_pointers(world: World) -> None:
    due = world.clock.ms + 3_600_000
    job = world.accept(3, not_before=due)
    assert (job.state, job.not_before, job.planned_at) == (JobState.READY, due, 0)
    assert job.ttl * 1000 == due + 30 * DAY_MS
    world.run()
    assert world.oracle.taken == []
    world.clock.advance(3600)
    world.run()
    assert world.job(job.id).state is JobState.LOGGED
    assert len(world.oracle.taken) == 3


def test_a_time_that_has_passed_is_now(world: World) -> None:
    job = world.accept(1, not_before=world.clock.ms - 1)
    assert (job.state, job.not_before) == (JobState.ENQUEUED, 0)


def test_pointers_go_out_only_after_the_commit(world: World) -> None:
    job = world.accept(70)
    calls = world.tap.calls
    assert calls.index("records.accept") < calls.index("queue.send")
    assert json.loads(world.lanes["one"].sent[0].body)["job"] == job.id
    assert {q.sent[0].body for q in world.lanes.values()} == {pointer(job.id, 0), pointer(job.id, 1)}


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_an_acceptance_that_fails_may_be_repeated(world: World, when: When) -> None:
    request = world.request(5, idempotency_key="k", fingerprint="f")
    world.tap.arm_at("records.accept", when, Retriable)
    with pytest.raises(Retriable):
        world.acceptor.accept(request)
    again = world.acceptor.accept(request)
    assert isinstance(again, AcceptedJob | Replay)
    name = json.loads(again.answer)["job_id"]
    world.jobs.append(name)
    world.settle()
    assert world.counts(name) == {"sent": 5}
    assert len(world.oracle.taken) == 5


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_stored_batch_is_accepted_although_its_pointers_were_not_sent(world: World, when: When) -> None:
    world.tap.arm_at("queue.send", when, Retriable)
    accepted = world.acceptor.accept(world.request(5))
    assert isinstance(accepted, AcceptedJob)
    world.jobs.append(accepted.job.id)
    world.settle()
    assert world.counts(accepted.job.id) == {"sent": 5}
    assert len(world.oracle.taken) == 5


def test_the_same_key_gets_the_same_answer_until_it_expires(world: World) -> None:
    request = world.request(5, idempotency_key="k", fingerprint="f")
    first = world.acceptor.accept(request)
    assert isinstance(first, AcceptedJob)
    assert world.acceptor.accept(request) == Replay(first.answer)
    assert world.acceptor.accept(replace(request, fingerprint="g")) == Mismatch()
    assert sum(len(q.sent) for q in world.lanes.values()) == 2
    world.clock.advance(DAY_MS / 1000 + 1)
    assert isinstance(world.acceptor.accept(request), AcceptedJob)


def test_the_answer_says_what_was_accepted(world: World) -> None:
    accepted = world.acceptor.accept(world.request(recipients(4, skip=[1]), duplicates=2))
    assert isinstance(accepted, AcceptedJob)
    assert json.loads(accepted.answer) == {
        "batch_id": accepted.job.id,
        "job_id": accepted.job.id,
        "state": "ENQUEUED",
        "recipients": 4,
        "duplicates": 2,
        "skipped": 1,
    }
    assert accepted.job.account == ACCOUNT
