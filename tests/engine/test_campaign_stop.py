"""Promise 4 for campaigns: workers in the middle of a list, a stop, what still leaves, and what a resume sends."""

import pytest

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.pacing import pace
from shared.engine.jobs.control import NotNow, Resumed
from shared.engine.lane.send import LEASES
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential

WORKERS = 4
MAIL = Content(Mailbox("news@example.com"), "Hello {{ recipient }}", text="Hello!", merge=True)
SMS = Content(Mailbox("+15005550006"), "", text="{{ recipient }} " + "x" * 700, merge=True)
"""Five segments."""


def begun(world: World, n: int, content: Content = MAIL, channel: str = "email") -> Job:
    """Store a campaign's job and start it."""
    job = send_list(world, "spring", n, content=content, channel=channel)
    world.planner.react(job.id)
    return job


def stopped_at(world: World, job: Job, after: float) -> float:
    """Let workers with two leases each send, and stop the job after some seconds; returns when that was answered."""
    world.providers["one"].latency = 0.05
    world.slow_down(0.001, 0.008)
    answered: list[float] = []

    def serve(n: int) -> None:
        sender = world.senders["one"] if n == 0 else world.sender("one")
        world.clock.sleep(0.007 * n)
        while not answered or world.clock.now() < answered[0] + 15:
            if not world.send("one", sender):
                world.clock.sleep(0.1)

    def stop() -> None:
        world.clock.sleep(after)
        assert world.control.stop(job.id, ACCOUNT) is not None
        answered.append(world.clock.now())

    world.clock.run(stop, *(lambda n=n: serve(n) for n in range(WORKERS * LEASES)))
    return answered[0]


def by_chunk(world: World, since: float) -> dict[int, int]:
    """Return how many messages of each chunk the provider took after a moment."""
    out: dict[int, int] = {}
    for x in world.oracle.taken:
        if x.at > since:
            out[x.ref.chunk] = out.get(x.ref.chunk, 0) + 1
    return out


@pytest.mark.slow
@pytest.mark.promise(4)
@pytest.mark.parametrize(("rate", "count"), [(1, 300), (10, 900), (1000, 2400)])
def test_after_the_answer_at_most_a_window_per_lease_leaves(rate: int, count: int) -> None:
    world = World(credential("one", rate))
    job = begun(world, count)
    stop = stopped_at(world, job, after=1.37)
    window = pace(rate, 1).window
    late = by_chunk(world, stop)
    before = len(world.oracle.taken) - sum(late.values())
    assert 0 < before < count
    assert max(late.values(), default=0) <= window
    assert len(late) <= WORKERS * LEASES
    # Windows follow each other at the rate, those reserved at the same time up to two seconds ahead.
    assert sum(late.values()) <= 3 * rate + 1
    assert all(x.at - stop < 3.5 for x in world.oracle.taken)
    world.settle()
    assert world.counts(job.id) == {"sent": len(world.oracle.taken), "queued": count - len(world.oracle.taken)}
    world.check()


@pytest.mark.promise(4)
def test_a_long_short_message_is_a_window() -> None:
    world = World(credential("one", 1))
    job = begun(world, 60, SMS, "sms")
    stop = stopped_at(world, job, after=12)
    assert 0 < len(world.oracle.taken) < 60
    assert max(by_chunk(world, stop).values(), default=0) <= 1
    world.settle()
    world.check()


@pytest.mark.slow
@pytest.mark.promise(4)
@pytest.mark.parametrize(("rate", "count"), [(1, 60), (1000, 2000)])
def test_a_resume_sends_what_was_never_claimed_and_nothing_else(rate: int, count: int) -> None:
    world = World(credential("one", rate))
    job = begun(world, count)
    provider = world.providers["one"]
    provider.script("r0@example.com", [Unknown("timeout")])
    provider.script("r1@example.com", [Rejected("bad", permanent=True)])
    stopped_at(world, job, after=1.2 if rate > 1 else 8)
    world.settle()
    claimed = {i for i, cell in enumerate(world.cells(job.id)) if cell != (Cell.QUEUED, 0)}
    resumed = world.control.resume(job.id, ACCOUNT)
    assert isinstance(resumed, Resumed)
    assert resumed.messages == count - len(claimed)
    assert {0, 1} <= claimed
    again = len(world.oracle.taken)
    world.planner.react(job.id)
    world.settle()
    sent = {int(x.address[1 : x.address.index("@")]) for x in world.oracle.taken[again:]}
    assert sent == set(range(count)) - claimed
    assert world.counts(job.id) == {"sent": count - 2, "unknown": 1, "failed": 1}
    world.check()


@pytest.mark.slow
@pytest.mark.promise(4)
@pytest.mark.promise(7)
def test_a_second_stop_and_a_second_resume_change_nothing() -> None:
    world = World(credential("one", 10))
    job = begun(world, 60)
    stopped_at(world, job, after=3)
    stopped = world.job(job.id)
    assert world.control.stop(job.id, ACCOUNT) == stopped
    assert world.job(job.id) == stopped
    world.settle()
    assert isinstance(world.control.resume(job.id, ACCOUNT), Resumed)
    running = world.job(job.id)
    assert running.state in (JobState.READY, JobState.ENQUEUED)
    assert world.control.resume(job.id, ACCOUNT) == NotNow("job_in_progress", 5)
    assert world.job(job.id) == running
    world.planner.react(job.id)
    world.settle()
    assert world.counts(job.id) == {"sent": 60}
    world.check()
