from itertools import pairwise
from typing import Any, Final

import pytest

from shared.contracts import pointer
from shared.domain.jobs.job import OnAmbiguous, Policy
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Accepted, NotStarted, Rejected, Throttled, Unknown
from shared.domain.jobs.states import Cell, Change, JobState
from shared.domain.lanes.pacing import Slots
from shared.engine.lane.start import PointerResult
from tests.fakes.provider import Script, Swallowed
from tests.fakes.world import ACCOUNT, INVOCATION, World, credential

DOWN = Rejected("connection_refused", permanent=False, provider_down=True)
REFUSED = Rejected("invalid_recipient", permanent=True)


@pytest.fixture
def world() -> World:
    """One credential that sends a window of 97 a second."""
    return World(credential("one"))


@pytest.fixture
def pair() -> World:
    return World(credential("one"), credential("two"))


def address(i: int) -> str:
    return f"r{i}@example.com"


def lane_of(world: World, job: str) -> str:
    """Return where the first chunk starts; it depends on the job's random id."""
    return world.ledgers.read_all(job)[0].first_lane


# The happy path


def test_everybody_gets_the_message_once(world: World) -> None:
    job = world.accept(250)
    world.run()
    assert world.counts(job.id) == {"sent": 250}
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(250)}
    assert world.oracle.refs() == [f"{job.id}-0-{i}-1" for i in range(250)]
    assert world.job(job.id).by == {"one": (250, 250, 0, 0)}
    world.check()


def test_a_window_is_a_quarter_of_a_second_of_the_rate(world: World) -> None:
    job = world.accept(60)
    world.run()
    windows, _ = world.records.details(job.id, 0)
    assert [len(w.entries) for w in windows] == [24, 24, 12]
    assert [(w.epoch, w.seq, w.credential) for w in windows] == [(1, 1, "one"), (1, 2, "one"), (1, 3, "one")]


def test_a_call_carries_no_more_than_its_share() -> None:
    world = World(credential("one", 1000), provider_limit=1000)
    world.accept(500)
    world.run()
    assert {n for _, _, n in world.oracle.calls} == {40, 20}
    assert len(world.oracle.taken) == 500


def test_a_provider_without_feedback_relays(world: World) -> None:
    world.providers["one"].has_feedback = False
    job = world.accept(3)
    world.run()
    assert set(world.states(job.id)) == {Cell.RELAYED}
    assert world.counts(job.id) == {"sent": 3}
    assert world.stores.stats(ACCOUNT)["success"] == 3


# Whether to call at all


CHANGES: Final = {
    JobState.READY: (Change.STOP, Change.LOG, Change.RESUME),
    JobState.STOPPED: (Change.STOP,),
    JobState.SENT: (Change.FINISH,),
    JobState.LOGGED: (Change.STOP, Change.LOG),
}
"""What makes a state of a job that is active."""


@pytest.mark.parametrize("waiting", ["in_queue", "for_slots"])
@pytest.mark.parametrize("state", CHANGES)
def test_a_stale_pointer_to_an_inactive_job_makes_no_call(
    world: World, state: JobState, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.accept(3)
    reserve = world.pacer.reserve

    def change() -> None:
        for change in CHANGES[state]:
            assert world.records.change(world.job(job.id), change, world.clock.ms).won

    def reserve_late(*args: Any, **named: Any) -> Slots:
        change()
        return reserve(*args, **named)

    if waiting == "for_slots":
        monkeypatch.setattr(world.pacer, "reserve", reserve_late)
    else:
        change()
    assert world.send("one") is PointerResult.SENT
    assert world.job(job.id).state is state
    assert world.oracle.calls == []
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert ledger.status is LedgerStatus.IDLE
    assert world.states(job.id) == [Cell.QUEUED] * 3
    assert world.lanes["one"].is_empty()


@pytest.mark.slow
def test_pointers_of_a_stopped_job_take_no_slots_and_no_leases_and_it_goes_on_when_resumed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.accept(1500)
    world.control.stop(job.id, ACCOUNT)
    reserved: list[object] = []
    reserve = world.pacer.reserve

    def seen(*args: Any, **more: Any) -> Slots:
        reserved.append(args)
        return reserve(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(world.pacer, "reserve", seen)
        assert [world.send("one") for _ in range(job.chunks)] == [
            PointerResult.SENT,
            *[PointerResult.NOTHING] * (job.chunks - 1),
        ]
    assert job.chunks > 1
    assert reserved == []
    assert [x.epoch for x in world.ledgers.read_all(job.id)] == [1, *[0] * (job.chunks - 1)]
    world.settle()
    assert world.job(job.id).state is JobState.LOGGED
    world.control.resume(job.id, ACCOUNT)
    world.settle()
    assert world.counts(job.id) == {"sent": 1500}


@pytest.mark.parametrize("account", [ACCOUNT, ""])
def test_a_pause_holds_the_lane_and_the_sweeper_resumes_it(world: World, account: str) -> None:
    job = world.accept(3)
    world.stores.pause(account)
    world.run()
    assert world.oracle.calls == []
    assert world.lanes["one"].is_empty()
    world.stores.unpause(account)
    world.settle()
    assert world.counts(job.id) == {"sent": 3}


def test_a_stop_lets_at_most_the_claimed_window_go(world: World) -> None:
    job = world.accept(300)
    stopped: list[object] = []

    def stop(_targets: object) -> None:
        if not stopped:
            stopped.append(world.control.stop(job.id, ACCOUNT))

    world.providers["one"].before = stop
    world.run()
    assert len(world.oracle.taken) == 24
    assert world.job(job.id).state is JobState.LOGGED
    assert world.counts(job.id) == {"queued": 276, "sent": 24}


# Outcomes


def test_a_permanent_refusal_fails_only_its_own_message(pair: World) -> None:
    job = pair.accept(4)
    for p in pair.providers.values():
        p.script(address(1), [REFUSED])
    pair.run()
    assert pair.counts(job.id) == {"sent": 3, "failed": 1}
    assert Cell.FAILED in pair.states(job.id)
    assert sum(n for _, _, n in pair.oracle.calls) == 4


@pytest.mark.parametrize("answer", [Throttled(30), NotStarted()])
def test_what_was_throttled_or_never_begun_uses_its_attempt_again(world: World, answer: Script) -> None:
    job = world.accept(3)
    world.providers["one"].script(address(1), [answer])
    began = world.clock.now()
    assert world.send("one") is PointerResult.SENT
    behind = (Cell.QUEUED, 0) if isinstance(answer, Throttled) else (Cell.SENT, 1)  # the provider asked all to wait
    assert world.cells(job.id) == [(Cell.SENT, 1), (Cell.QUEUED, 0), behind]
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert world.lanes["one"].waiting[0].due == pytest.approx(max(world.clock.now(), ledger.not_before / 1000))
    world.run()
    assert world.cells(job.id) == [(Cell.SENT, 1)] * 3
    assert (world.oracle.taken[-1].at - began >= 30) == isinstance(answer, Throttled)
    assert world.job(job.id).by == {"one": (3, 3, 0, 0)}
    windows, _ = world.records.details(job.id, 0)
    first, *others = [[e.index for e in w.entries] for w in windows]
    assert first == ([0] if isinstance(answer, Throttled) else [0, 2])
    assert sorted(sum(others, first)) == [0, 1, 2]


def test_a_long_wait_is_cut_to_what_a_queue_can_delay(world: World) -> None:
    job = world.accept(1)
    world.providers["one"].script(address(0), [Throttled(2000)])
    world.run()
    assert len(world.oracle.taken) == 1
    assert [round(m.due - world.clock.now()) for m in world.lanes["one"].waiting] == []
    assert world.oracle.taken[0].at >= job.created_at / 1000 + 2000
    assert len(world.lanes["one"].sent) == 4


def test_what_was_surely_not_sent_goes_to_the_next_credential(pair: World) -> None:
    job = pair.accept(1)
    first = lane_of(pair, job.id)
    pair.providers[first].answer = DOWN
    pair.run()
    assert pair.cells(job.id) == [(Cell.SENT, 2)]
    assert pair.oracle.taken[0].provider != first
    assert pair.oracle.taken[0].ref.attempt == 2
    assert pair.oracle.taken[0].at - job.created_at / 1000 < 5


def test_the_route_is_tried_again_after_a_rest_until_the_limit(world: World) -> None:
    job = world.accept(1)
    world.providers["one"].answer = DOWN
    world.run()
    assert world.cells(job.id) == [(Cell.DROPPED, 6)]
    assert world.counts(job.id) == {"failed": 1}
    assert world.job(job.id).state is JobState.LOGGED
    rests = [b - a for (a, *_), (b, *_) in pairwise(world.oracle.calls)]
    expected = [10, 60, 300, 900, 900]
    assert all(0.75 * e <= r <= 1.25 * e for r, e in zip(rests, expected, strict=True))


def test_a_policy_of_fewer_attempts_gives_up_sooner(pair: World) -> None:
    job = pair.accept(1, policy=Policy(max_attempts=2))
    for p in pair.providers.values():
        p.answer = DOWN
    pair.run()
    assert pair.cells(job.id) == [(Cell.DROPPED, 2)]
    assert {name for _, name, _ in pair.oracle.calls} == {"one", "two"}


@pytest.mark.promise(1)
@pytest.mark.parametrize("said", [Unknown("timeout"), Swallowed(), RuntimeError("bug"), ValueError("bug")])
def test_what_may_have_been_sent_is_unknown_and_stays_so(pair: World, said: Script) -> None:
    job = pair.accept(4)
    for p in pair.providers.values():
        p.script(address(2), [said])
    pair.settle()
    assert pair.counts(job.id) == {"sent": 3, "unknown": 1}
    pair.check()
    assert pair.job(job.id).state is JobState.LOGGED


def test_an_owner_that_risks_duplicates_gets_another_try(pair: World) -> None:
    job = pair.accept(1, policy=Policy(on_ambiguous=OnAmbiguous.FAIL_OVER))
    pair.providers[lane_of(pair, job.id)].script(address(0), [Swallowed()])
    pair.run()
    assert pair.cells(job.id) == [(Cell.SENT, 2)]
    assert len(pair.oracle.taken) == 2
    line = pair.logs.line(pair.job(job.id), 0, 0)
    assert line is not None
    assert line.may_duplicate


def test_one_bad_recipient_delays_no_other(world: World) -> None:
    job = world.accept(50)
    answers: list[Script] = [RuntimeError(), REFUSED, Unknown("reset"), Throttled(1), DOWN]
    for i, said in enumerate(answers):
        world.providers["one"].script(address(10 * i), [said])
    world.run()
    assert world.counts(job.id) == {"sent": 47, "unknown": 2, "failed": 1}
    assert world.job(job.id).state is JobState.LOGGED


def test_ids_of_the_provider_are_kept(world: World) -> None:
    job = world.accept(1)
    world.providers["one"].script(address(0), [Accepted("their-id")])
    world.run()
    line = world.logs.line(world.job(job.id), 0, 0)
    assert line is not None
    assert [a.provider_message_id for a in line.attempts] == ["their-id"]


# Time


def test_a_chunk_that_is_not_due_is_postponed(world: World) -> None:
    job = world.accept(1)
    world.ledgers.reschedule(job.id, 0, not_before=world.clock.ms + 5_000_000, lane="one")
    assert world.send("one") is PointerResult.POSTPONED
    assert world.lanes["one"].waiting[0].due == pytest.approx(world.clock.now() + 900)
    world.run(seconds=6000)
    assert world.oracle.taken[0].at >= job.created_at / 1000 + 5000


def test_a_worker_stops_before_its_time_is_over_and_another_goes_on() -> None:
    world = World(credential("one", 1))
    job = world.accept(30)
    leases = []
    began = world.clock.now()
    world.clock.advance(0.01)
    sender = world.senders["one"]
    assert sender.work(job.id, 0, owner="a", deadline=began + 30) is PointerResult.SENT
    leases.append(len(world.oracle.taken))
    assert 10 <= leases[0] < 30
    assert world.clock.now() < began + 30
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert ledger.status is LedgerStatus.IDLE
    assert world.lanes["one"].sent[-1].body == pointer(job.id, 0)
    world.run()
    assert world.counts(job.id) == {"sent": 30}
    world.check()


def test_a_worker_without_time_begins_nothing(world: World) -> None:
    job = world.accept(1)
    assert world.senders["one"].work(job.id, 0, owner="a", deadline=world.clock.now() + 5) is PointerResult.SENT
    assert world.oracle.calls == []
    assert world.cells(job.id) == [(Cell.QUEUED, 0)]


# Pointers are hints


@pytest.mark.promise(7)
@pytest.mark.promise(8)
def test_pointers_repeated_at_any_time_change_nothing(world: World) -> None:
    job = world.accept(150)
    world.lanes["one"].send([pointer(job.id, 0)] * 3, group=job.id)
    world.run()
    before = (world.ledgers.read_all(job.id), world.job(job.id))
    world.lanes["one"].send([pointer(job.id, 0), pointer("0" * 26, 0), pointer(job.id, 7)], group=job.id)
    world.run()
    assert (world.ledgers.read_all(job.id), world.job(job.id)) == before
    assert len(world.oracle.taken) == 150


def test_a_pointer_on_the_wrong_lane_is_dropped(pair: World) -> None:
    job = pair.accept(1)
    wrong = next(c for c in ("one", "two") if c != lane_of(pair, job.id))
    assert (
        pair.senders[wrong].work(job.id, 0, owner="a", deadline=pair.clock.now() + INVOCATION) is PointerResult.NOTHING
    )
    assert pair.oracle.calls == []


def test_two_workers_on_one_chunk_share_nothing(world: World) -> None:
    job = world.accept(200)
    world.slow_down(0.001, 0.02)
    deadline = world.clock.now() + INVOCATION
    workers = [world.sender("one") for _ in range(3)]
    did = world.clock.run(
        *(lambda w=w, n=n: w.work(job.id, 0, owner=f"w{n}", deadline=deadline) for n, w in enumerate(workers))
    )
    assert sorted(d.value for d in did if isinstance(d, PointerResult)) == ["nothing", "nothing", "sent"]
    world.run()
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(200)}
