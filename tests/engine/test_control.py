import pytest

from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, Change, JobState
from shared.engine.jobs.control import MIN_LIFE_MS, NotNow, Resumed
from shared.engine.reports.message_log import Filter
from tests.fakes.world import ACCOUNT, World, credential

DOWN = Rejected("down", permanent=False)


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


# Stop


def test_stop_of_a_scheduled_job_sends_nothing(world: World) -> None:
    job = world.accept(3, not_before=world.clock.ms + 60_000)
    stopped = world.control.stop(job.id, ACCOUNT)
    assert isinstance(stopped, Job)
    assert (stopped.state, stopped.stopped, stopped.stop_reason) == (JobState.STOPPED, True, "user")
    world.clock.advance(120)
    world.settle()
    assert world.oracle.taken == []
    assert world.counts(job.id) == {"queued": 3}


def test_stop_of_an_enqueued_job_sends_nothing(world: World) -> None:
    job = world.accept(3)
    world.control.stop(job.id, ACCOUNT, StopReason.OPERATOR)
    world.settle()
    assert world.oracle.taken == []
    assert (world.job(job.id).state, world.job(job.id).stop_reason) == (JobState.LOGGED, "operator")


@pytest.mark.promise(4)
@pytest.mark.parametrize("rate", [1, 10, 1000])
def test_after_a_stop_at_most_a_window_per_lease_goes_out(rate: int) -> None:
    world = World(credential("one", rate), provider_limit=1000)
    job = world.accept(min(60 * rate, 400))
    at: list[int] = []

    def stop(_targets: object) -> None:
        if len(world.oracle.calls) == 3 and not at:
            world.control.stop(job.id, ACCOUNT)
            at.append(len(world.oracle.taken))

    world.providers["one"].before = stop
    world.settle()
    assert at
    assert len(world.oracle.taken) - at[0] <= min(200, max(1, rate))
    assert len(world.oracle.taken) < job.total
    assert world.job(job.id).state is JobState.LOGGED
    world.check()


@pytest.mark.parametrize("changes", [[Change.FINISH], [Change.STOP], [Change.STOP, Change.LOG]])
def test_a_job_that_is_over_is_not_stopped(world: World, changes: list[Change]) -> None:
    job = world.accept(1)
    for change in changes:
        assert world.records.change(job, change, 5, reason="first").won
    before = world.job(job.id)
    assert world.control.stop(job.id, ACCOUNT) == before
    assert world.job(job.id) == before


@pytest.mark.promise(9)
def test_another_accounts_job_cannot_be_changed(world: World) -> None:
    job = world.accept(1)
    assert world.control.stop(job.id, "acc_000000000002") is None
    assert world.control.resume(job.id, "acc_000000000002") is None
    assert world.control.retry("0" * 26, ACCOUNT, frozenset({"failed"})) is None
    assert world.job(job.id) == job


# Resume and retry


def stopped(world: World, n: int = 30) -> str:
    """Stop a job after its first window of 9."""
    job = world.accept(n)

    def stop(_targets: object) -> None:
        world.control.stop(job.id, ACCOUNT)

    world.providers["one"].before = stop
    world.settle()
    world.providers["one"].before = lambda _targets: None
    assert len(world.oracle.taken) == 9
    return job.id


def test_resume_sends_the_rest_and_keeps_the_age(world: World) -> None:
    job = stopped(world)
    before = world.job(job)
    resumed = world.control.resume(job, ACCOUNT)
    assert isinstance(resumed, Resumed)
    assert (resumed.messages, resumed.job.state) == (21, JobState.ENQUEUED)
    assert (resumed.job.created_at, resumed.job.stopped, resumed.job.stop_reason) == (before.created_at, False, "user")
    world.settle()
    assert world.counts(job) == {"sent": 30}
    world.check()


def test_a_job_in_progress_is_not_resumed(world: World) -> None:
    job = world.accept(30)
    assert world.control.resume(job.id, ACCOUNT) == NotNow("job_in_progress", 5)
    world.control.stop(job.id, ACCOUNT)
    assert world.control.retry(job.id, ACCOUNT, frozenset({"failed"})) == NotNow("stopping", 5)


def test_a_job_near_its_end_is_not_resumed(world: World) -> None:
    job = stopped(world)
    world.clock.advance(world.job(job).ttl - MIN_LIFE_MS / 1000 - world.clock.now())
    assert isinstance(world.control.resume(job, ACCOUNT), Resumed)
    world.settle()
    world.clock.advance(1)
    assert world.control.resume(job, ACCOUNT) == NotNow("expired", None)


@pytest.mark.parametrize("include", ["unsent", "failed", "unknown"])
def test_nothing_to_do_changes_nothing(world: World, include: str) -> None:
    job = world.accept(3)
    world.settle()
    before = world.job(job.id)
    assert world.control.retry(job.id, ACCOUNT, frozenset({include})) == Resumed(before, 0)
    assert world.job(job.id) == before


def outcomes(world: World) -> str:
    """Send to five: one sent, one refused, one bounced, one given up, one unknown."""
    job = world.accept(5)
    p = world.providers["one"]
    p.script("r1@example.com", [Rejected("bad", permanent=True)])
    p.script("r3@example.com", [DOWN] * 6)
    p.script("r4@example.com", [Unknown("timeout")])
    world.settle()
    world.track("one", world.word(job.id, 2, "bounced"))
    assert world.states(job.id) == [Cell.SENT, Cell.FAILED, Cell.BOUNCED, Cell.DROPPED, Cell.UNKNOWN]
    world.settle()
    return job.id


@pytest.mark.promise(1)
def test_retry_takes_what_was_given_up_and_nothing_else(world: World) -> None:
    job = outcomes(world)
    taken = len(world.oracle.taken)
    resumed = world.control.retry(job, ACCOUNT, frozenset({"unsent", "failed"}))
    assert isinstance(resumed, Resumed)
    assert resumed.messages == 1
    world.settle()
    assert world.cells(job)[3] == (Cell.SENT, 7)
    assert len(world.oracle.taken) == taken + 1
    assert str(world.oracle.taken[-1].ref) == f"{job}-0-3-7"
    world.check()


@pytest.mark.promise(1)
def test_unknown_is_sent_again_only_by_name_and_says_so(world: World) -> None:
    job = outcomes(world)
    resumed = world.control.retry(job, ACCOUNT, frozenset({"unknown"}))
    assert isinstance(resumed, Resumed)
    assert resumed.messages == 1
    world.settle()
    assert world.cells(job)[4] == (Cell.SENT, 2)
    lines, _ = world.logs.lines(world.job(job), Filter())
    assert [line.may_duplicate for line in lines] == [False, False, False, False, True]


def test_retries_go_on_until_an_attempts_number_is_used_up(world: World) -> None:
    job = world.accept(1)
    world.providers["one"].answer = DOWN
    world.settle()
    attempts = [world.cells(job.id)[0][1]]
    while True:
        resumed = world.control.retry(job.id, ACCOUNT, frozenset({"failed"}))
        assert isinstance(resumed, Resumed)
        if not resumed.messages:
            break
        world.settle()
        attempts.append(world.cells(job.id)[0][1])
    assert attempts == [6, 12, 15]
    assert world.states(job.id) == [Cell.DROPPED]


@pytest.mark.parametrize("seed", range(5))
def test_two_retries_at_once_start_the_job_once(seed: int) -> None:
    world = World(credential("one", 10), seed=seed)
    job = outcomes(world)
    plans = world.tap.calls.count("records.change.resume")
    world.slow_down(0.001, 0.02)
    retry = frozenset({"failed"})
    both = world.clock.run(*(lambda: world.control.retry(job, ACCOUNT, retry) for _ in range(2)))
    assert any(isinstance(b, Resumed) and b.messages == 1 for b in both)
    assert world.tap.calls.count("records.change.resume") > plans
    world.settle()
    assert world.cells(job)[3] == (Cell.SENT, 7)
    world.check()
