"""Jobs with hours: no call begins outside of them, what waits continues when they open, and others send meanwhile."""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from shared.contracts import load_due
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import window_of
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import JobState
from shared.engine.jobs.plan import Due
from shared.engine.jobs.progress import progress
from tests.engine.pace import Life
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash
from tests.fakes.lists import send_list
from tests.fakes.queues import FakePacer
from tests.fakes.world import ACCOUNT, World, credential, recipients

PARIS: Final = ZoneInfo("Europe/Paris")
DAY: Final = OpenHours(window_of("09:00", "20:00"), "Europe/Paris")
HOUR: Final = 3600
LATENCY: Final = 0.1


def at(day: int, hour: int, minute: int = 0, second: float = 0.0, month: int = 12) -> float:
    return datetime(2026, month, day, hour, minute, tzinfo=PARIS).timestamp() + second


def a_world(start: float, rate: float = 10) -> World:
    return World(credential("one", rate), clock=FakeClock(start))


def hour_of(when: float) -> float:
    local = datetime.fromtimestamp(when, UTC).astimezone(PARIS)
    return local.hour + local.minute / 60 + local.second / 3600


def test_a_batch_of_the_night_is_sent_in_the_morning() -> None:
    world = a_world(at(1, 22))
    job = world.accept(3, hours=DAY)
    assert (job.state, job.closed, job.not_before) == (JobState.READY, True, at(2, 9) * 1000)
    assert world.scheduler.set_for == {job.id: at(2, 9) - 60}
    world.run(seconds=0)
    assert world.oracle.taken == []
    world.clock.advance(at(2, 9) - world.clock.now())
    world.settle()
    assert {x.at >= at(2, 9) for x in world.oracle.taken} == {True}
    assert world.counts(job.id) == {"sent": 3}
    world.check()


def test_a_batch_of_the_day_waits_for_nothing() -> None:
    world = a_world(at(1, 12))
    job = world.accept(3, hours=DAY)
    assert (job.state, job.not_before) == (JobState.ENQUEUED, 0)
    world.settle(sweeps=1)
    assert world.scheduler.set_for == {}
    assert world.counts(job.id) == {"sent": 3}


def test_a_time_within_the_hours_is_kept_and_one_outside_moves_to_the_next_opening() -> None:
    world = a_world(at(1, 12))
    inside = world.accept(1, hours=DAY, not_before=round(at(3, 15) * 1000))
    outside = world.accept(1, hours=DAY, not_before=round(at(3, 4) * 1000))
    assert (inside.not_before, inside.closed) == (at(3, 15) * 1000, False)
    assert (outside.not_before, outside.closed) == (at(3, 9) * 1000, True)


def test_what_is_left_at_the_closing_waits_until_the_next_opening() -> None:
    world = a_world(at(1, 19, 59, 50))
    job = world.accept(300, hours=DAY)
    world.run(seconds=60)
    found = world.job(job.id)
    assert (found.state, found.closed, found.not_before) == (JobState.READY, True, at(2, 9) * 1000)
    assert max(x.at for x in world.oracle.taken) < at(1, 20)
    assert 80 <= len(world.oracle.taken) <= 110
    assert {a for _, a in world.cells(job.id)} == {0, 1}
    world.clock.advance(at(2, 9) - world.clock.now())
    world.settle()
    assert world.counts(job.id) == {"sent": 300}
    assert max(world.oracle.times(job.id).values()) == 1
    assert not world.job(job.id).closed
    world.check()


def test_a_small_job_that_comes_with_others_waits_alone() -> None:
    world = a_world(at(1, 19, 59, 59))
    late, free = world.accept(1, hours=DAY), world.accept(1)
    world.clock.advance(2)
    world.send_together("one")
    assert (world.job(late.id).closed, world.counts(late.id)) == (True, {"queued": 1})
    assert world.counts(free.id) == {"sent": 1}


def test_a_call_that_begins_before_the_closing_may_end_after_it() -> None:
    world = a_world(at(1, 19, 59, 58))
    world.providers["one"].latency = 5.0
    job = world.accept(200, hours=DAY)
    world.clock.run(lambda: world.run(seconds=20))
    assert len(world.oracle.taken) > 3
    assert max(x.at for x in world.oracle.taken) < at(1, 20)
    assert world.job(job.id).closed
    world.check()


def test_a_retry_of_the_night_waits() -> None:
    world = a_world(at(1, 19, 59, 40))
    world.providers["one"].script("r0@example.com", [Rejected("mailbox_full", permanent=False, about_message=True)] * 2)
    job = world.accept(2, hours=DAY)
    world.run(seconds=3600)
    assert world.counts(job.id) == {"sent": 1, "queued": 1}
    assert world.job(job.id).closed
    world.clock.advance(at(2, 9) - world.clock.now())
    world.settle()
    assert [x.at >= at(2, 9) for x in world.oracle.taken] == [False, True]


def test_a_resume_of_the_night_waits() -> None:
    world = a_world(at(1, 12))
    job = world.accept(50, hours=DAY)
    world.control.stop(job.id, job.account)
    world.settle()
    world.clock.advance(at(1, 23) - world.clock.now())
    world.control.resume(job.id, job.account)
    found = world.job(job.id)
    assert (found.state, found.closed, found.not_before) == (JobState.READY, True, at(2, 9) * 1000)
    world.run(seconds=60)
    assert all(x.at < at(1, 20) for x in world.oracle.taken)
    world.clock.advance(at(2, 9) - world.clock.now())
    world.settle()
    assert world.counts(job.id) == {"sent": 50}


@pytest.mark.promise(3)
def test_a_campaign_that_waits_for_its_hours_leaves_its_credential_to_the_next() -> None:
    world = a_world(at(1, 19, 59, 50))
    first = send_list(world, "spring", people("ann", 300), hours=DAY)
    world.planner.react(first.id)
    world.run(seconds=60)
    other = send_list(world, "autumn", people("ben", 20))
    world.planner.react(other.id)
    assert world.job(other.id).state is not JobState.READY
    world.run(seconds=60)
    assert world.counts(other.id) == {"sent": 20}
    world.clock.advance(at(2, 9) - world.clock.now())
    world.settle()
    assert world.counts(first.id) == {"sent": 300}
    world.check()


def people(name: str, number: int) -> list[Recipient]:
    return [Recipient(f"{name}{i}@example.com", f"{name}{i}@example.com") for i in range(number)]


def numbers(start: str, count: int) -> list[Recipient]:
    return [Recipient(x, x) for x in (f"{start}{n:04}" for n in range(count))]


def test_a_chunk_waits_for_its_own_zone_while_another_is_sent() -> None:
    hours = OpenHours(window_of("09:00", "20:00"), "recipient", "UTC")
    world = a_world(at(1, 14))  # 22 o'clock in Tokyo
    people = [x for pair in zip(numbers("+8190123", 300), numbers("+3361234", 300), strict=True) for x in pair]
    job = world.accept(people, hours=hours, channel="sms")
    assert [x.zone for x in (world.records.chunk(job.id, n) for n in range(2)) if x] == ["Asia/Tokyo", "Europe/Paris"]
    assert job.hours is not None
    assert job.hours.zones == ("Asia/Tokyo", "Europe/Paris")
    world.run(seconds=60)
    assert {x.ref.chunk for x in world.oracle.taken} == {1}
    assert world.job(job.id).state is JobState.SENDING
    tokyo = datetime(2026, 12, 2, 9, tzinfo=ZoneInfo("Asia/Tokyo")).timestamp()
    assert world.ledgers.read_all(job.id)[0].not_before == tokyo * 1000
    world.clock.advance(at(1, 20) - world.clock.now())
    world.settle(seconds=600)
    assert min(x.at for x in world.oracle.taken if x.ref.chunk == 0) >= tokyo
    assert world.counts(job.id) == {"sent": 600}
    world.check()


def test_a_job_rests_only_while_all_of_its_zones_are_closed() -> None:
    world = a_world(at(1, 21))  # 15 o'clock in New York
    both = [*numbers("+3361234", 1), *numbers("+1212555", 1)]
    job = world.accept(both, hours=OpenHours(window_of("09:00", "20:00"), "recipient", "UTC"), channel="sms")
    world.run(seconds=60)
    assert [world.job(job.id).closed, world.counts(job.id)] == [False, {"sent": 1, "queued": 1}]
    night = a_world(at(2, 5))  # 23 o'clock in New York, 18 in Honolulu
    found = night.accept(both, hours=OpenHours(window_of("09:00", "20:00"), "recipient", "UTC"), channel="sms")
    assert (found.closed, found.not_before) == (True, at(2, 9) * 1000)  # Paris is the first to open


def test_numbers_of_no_country_have_the_senders_fallback() -> None:
    world = a_world(at(1, 21))
    someone = [Recipient("+87077123456", "+87077123456")]  # by satellite
    job = world.accept(someone, hours=OpenHours(window_of("09:00", "20:00"), "recipient", "Asia/Tokyo"), channel="sms")
    assert job.not_before == datetime(2026, 12, 2, 9, tzinfo=ZoneInfo("Asia/Tokyo")).timestamp() * 1000


def test_a_job_of_many_zones_never_rests_as_a_whole() -> None:
    hours = OpenHours(window_of("09:00", "09:30"), "recipient", "UTC").among(f"Zone/{n}" for n in range(25))
    assert (hours.zones, hours.first(5), hours.after(5, 7)) == (("*",), 5, 12)


def test_a_job_says_that_it_waits_for_its_hours_and_until_when() -> None:
    world = a_world(at(1, 22))
    job = world.accept(30, hours=DAY)
    found = progress(job, world.settings, world.clock.ms)
    assert (found.waiting_for, found.until) == ("hours", at(2, 9) * 1000)
    assert found.eta == (at(2, 9) + 3) * 1000
    day = progress(replace(job, state=JobState.SENDING, not_before=0, rests_until=0), world.settings, world.clock.ms)
    assert (day.waiting_for, day.until) == ("hours", at(2, 9) * 1000)
    scheduled = world.accept(1, hours=DAY, not_before=round(at(3, 15) * 1000))
    found = progress(scheduled, world.settings, world.clock.ms)
    assert (found.waiting_for, found.until) == ("scheduled", at(3, 15) * 1000)


def test_the_end_of_a_job_counts_only_its_hours() -> None:
    world = a_world(at(1, 19))
    job = replace(world.accept(1, hours=DAY), total=60_000)
    job = replace(job, counts={**job.counts, "queued": 60_000})  # 6,000 s: an hour today, and forty minutes tomorrow
    found = progress(job, world.settings, world.clock.ms)
    assert (found.waiting_for, found.eta) == ("rate", at(2, 9, 40) * 1000)


NIGHT: Final = "20:00-09:00 Europe/Paris"


def calm(world: World) -> None:
    world.stores.quiet(ACCOUNT, "email", NIGHT)


def test_quiet_hours_of_an_account_hold_every_job_of_the_channel_up() -> None:
    world = a_world(at(1, 22))
    calm(world)
    jobs = [world.accept(1), world.accept(1, hours=OpenHours(window_of("00:00", "24:00"), "UTC"))]
    sms = world.accept(1, channel="sms")
    world.run(seconds=60)
    assert [world.counts(x.id) for x in (*jobs, sms)] == [{"queued": 1}, {"queued": 1}, {"sent": 1}]
    assert [world.job(x.id).not_before for x in jobs] == [at(2, 9) * 1000] * 2
    found = progress(world.job(jobs[0].id), world.settings, world.clock.ms)
    assert (found.waiting_for, found.until) == ("hours", at(2, 9) * 1000)
    world.clock.advance(at(2, 9) - world.clock.now())
    world.settle()
    assert [world.counts(x.id) for x in jobs] == [{"sent": 1}] * 2
    world.check()


def test_what_is_urgent_and_what_a_test_key_sends_does_not_wait_for_quiet_hours() -> None:
    world = a_world(at(1, 22))
    calm(world)
    urgent, test = world.accept(1, urgent=True), world.accept(1, test=True)
    own = world.accept(1, urgent=True, hours=DAY)
    world.run(seconds=60)
    assert [world.counts(x.id) for x in (urgent, test)] == [{"sent": 1}] * 2
    assert world.counts(own.id) == {"queued": 1}  # these hours are the sender's own wish


def test_quiet_hours_that_are_set_while_a_lease_works_end_its_calls() -> None:
    world = a_world(at(1, 19, 59, 50))
    job = world.accept(300)
    world.providers["one"].before = lambda _targets: calm(world)
    world.run(seconds=60)
    assert world.job(job.id).closed
    assert max(x.at for x in world.oracle.taken) < at(1, 20)


def test_a_job_that_quiet_hours_hold_up_is_looked_at_each_day_since_operators_may_change_them() -> None:
    world = a_world(at(1, 22))
    world.stores.quiet(ACCOUNT, "email", "12:00-11:00 UTC")
    job = world.accept(1, hours=OpenHours(window_of("18:00", "19:00"), "UTC"))
    world.clock.advance(at(2, 19, 30) - world.clock.now())
    world.sweep()
    world.run(seconds=10)
    waits = world.job(job.id).not_before / 1000 - world.clock.now()
    assert 0.9 * 24 * HOUR < waits <= 24 * HOUR


class Cloud:
    """What AWS does around the workers: streams, the sweeper, messages and schedules of what is due."""

    def __init__(self, world: World, job: Job, end: float) -> None:
        self.world, self.job, self.end = world, job, end
        self.due = Due(records=world.records, planner=world.planner, schedules=world.schedules)
        self._rests = 0

    @property
    def over(self) -> bool:
        return self.world.clock.now() >= self.end or self.world.job(self.job.id).state is JobState.LOGGED

    def nap(self, seconds: float) -> None:
        """Wait, longer while all waits for the hours."""
        found = self.world.job(self.job.id)
        rest = found.rests_until / 1000 - self.world.clock.now() - 120 if found.closed else 0
        self.world.clock.sleep(max(seconds, rest))

    def streams(self) -> None:
        while not self.over:
            while self.world.log() is not None:
                pass
            found = self.world.job(self.job.id)
            if found.state is JobState.READY and found.rests_until != self._rests:
                self._rests = found.rests_until
                self.world.campaign_queue.come_back(found.id, found.rests_until)
            while (message := self.world.due_queue.receive()) is not None:
                self.due.arrived(load_due(message.body))
                self.world.due_queue.delete(message)
            for name, when in [*self.world.scheduler.set_for.items()]:
                if when <= self.world.clock.now():
                    del self.world.scheduler.set_for[name]
                    self.due.arrived(name)
            self.nap(0.5)

    def sweeps(self) -> None:
        while not self.over:
            self.world.expired.look()
            self.world.sweep()
            self.nap(60)


@pytest.mark.promise(1)
def test_a_campaign_of_three_days_keeps_to_its_hours_and_uses_them_while_workers_are_killed() -> None:
    """Killed workers lose no message to be sent, and no call begins outside of the hours."""
    rate, minutes = 4, 20
    hours = OpenHours(window_of("09:00", f"09:{minutes}"), "Europe/Paris")
    world = World(replace(credential("one", rate), workers=2), clock=FakeClock(at(1, 8)))
    world.providers["one"].latency = LATENCY
    world.slow_down(0.004, 0.008)
    total = round(2.5 * rate * minutes * 60)
    job = send_list(world, "spring", recipients(total), hours=hours)
    opens = round(at(1, 9) * 1000)
    world.records.jobs[job.id] = replace(job, not_before=opens, rests_until=opens)  # type: ignore[attr-defined]
    world.schedules.hint(world.job(job.id))
    cloud = Cloud(world, job, at(5, 8))
    rng = random.Random(7)  # noqa: S311 - moments
    tat: dict[str, int] = {}
    hints = world.pacer.hints  # type: ignore[attr-defined]
    kills = count()

    def worker(n: int) -> None:
        """A worker's leases end with it, and another one begins; one of the two is killed every few minutes."""
        while not cloud.over:
            dies = world.clock.now() + (rng.uniform(60, 400) if n == 0 else 1e9)
            life = Life(world.clock, 0.0, dies, [])
            sender = world.sender("one", clock=life, pacer=FakePacer(life, world.tap, tat, hints=hints), pool=life.pool)
            try:
                while not cloud.over and world.clock.now() < dies:
                    if not world.send("one", sender):
                        cloud.nap(0.25)
            except Crash:
                next(kills)

    world.clock.run(*(lambda n=n: worker(n) for n in (0, 1, 1)), cloud.streams, cloud.sweeps)
    assert next(kills) >= 5
    begun = [hour_of(when) for when, _, _ in world.oracle.calls]
    assert all(9 <= x < 9 + minutes / 60 for x in begun)
    days = Counter(datetime.fromtimestamp(when, UTC).date() for when, _, _ in world.oracle.calls)
    assert [round(n / (rate * minutes * 60), 2) >= 0.95 for n in sorted(days.values(), reverse=True)[:2]] == [True] * 2
    assert len(days) == 3
    assert max(world.oracle.times(job.id).values()) == 1
    assert world.job(job.id).state is JobState.LOGGED
    counts = world.counts(job.id)
    assert set(counts) <= {"sent", "unknown"}
    assert counts["sent"] >= 0.97 * total
    world.check()
