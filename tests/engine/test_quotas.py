"""Quotas of credentials: never exceeded, used up where there is work, and what waits costs nothing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

import pytest

from shared.contracts import Credential, CredentialQuota, Per, Warmup, WhenFull
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import OverQuota, Rejected
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.periods import ends, label
from shared.domain.lanes.quotas import Spend
from shared.engine.lane.start import PointerResult
from tests.fakes.world import ACCOUNT, World, credential

HOUR: Final = 3600.0


def bounded(name: str, *quotas: CredentialQuota, rate: float = 100, when_full: WhenFull = WhenFull.NEXT) -> Credential:
    return replace(credential(name, rate), quotas=quotas, when_full=when_full)


def taken(world: World, name: str) -> Sequence[float]:
    """Return when a provider took messages."""
    return [t.at for t in world.oracle.taken if t.provider == name]


def hours(world: World, name: str) -> Counter[str]:
    return Counter(label(Per.HOUR, "UTC", at) for at in taken(world, name))


def left_of(world: World) -> int | None:
    """Return the units that are left of a quota of 50 an hour."""
    return world.pacer.room("one", Spend((CredentialQuota(50, Per.HOUR),), 1)).left


@pytest.mark.promise(2)
def test_a_quota_is_used_up_and_the_rest_waits_for_the_next_hour() -> None:
    world = World(bounded("one", CredentialQuota(60, Per.HOUR)))
    job = world.accept(200)
    world.run()
    assert len(taken(world, "one")) == 60
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert (ledger.status, ledger.lane, ledger.rounds) == (LedgerStatus.IDLE, "one", 0)
    assert world.lanes["one"].is_empty()
    world.settle(sweeps=300)
    assert world.counts(job.id) == {"sent": 200}
    assert max(hours(world, "one").values()) == 60
    assert {attempt for _, attempt in world.cells(job.id)} == {1}
    world.check()


def test_the_next_hour_begins_within_two_minutes() -> None:
    world = World(bounded("one", CredentialQuota(60, Per.HOUR)))
    world.accept(100)
    world.run()
    end = ends(Per.HOUR, "UTC", world.clock.now())
    world.settle(sweeps=100)
    later = [at for at in taken(world, "one") if at >= end]
    assert len(later) == 40
    assert later[0] - end < 120


def test_waiting_costs_no_lease_no_poll_and_no_attempt() -> None:
    world = World(bounded("one", CredentialQuota(60, Per.HOUR)))
    jobs = [world.accept(40) for _ in range(5)]
    world.run()
    world.tap.calls.clear()
    for job in jobs[2:]:
        world.recovery.point(world.job(job.id), world.ledgers.read_all(job.id)[0])
        assert world.send("one") is not None
    assert not {"ledgers.lease", "pacer.reserve", "records.load"} & set(world.tap.calls)
    for _ in range(5):
        world.clock.advance(60)
        world.sweep()
    assert world.lanes["one"].is_empty(), "the sweeper points at nothing that waits"
    world.settle(sweeps=400)
    assert sum(world.counts(job.id)["sent"] for job in jobs) == 200


@pytest.mark.parametrize("size", [1, 5])
def test_groups_of_small_jobs_keep_to_it(size: int) -> None:
    world = World(bounded("one", CredentialQuota(12, Per.HOUR)))
    jobs = [world.accept(size) for _ in range(10)]
    while world.send_together("one"):
        pass
    assert len(taken(world, "one")) == min(12, 10 * size)
    world.settle(sweeps=600)
    assert sum(world.counts(job.id)["sent"] for job in jobs) == 10 * size
    assert max(hours(world, "one").values()) <= 12


def test_a_batch_of_one_pays_nothing_more_than_its_reservation() -> None:
    calls = []
    for one in (credential("one"), bounded("one", CredentialQuota(60, Per.HOUR), CredentialQuota(900, Per.SLIDING))):
        world = World(one)
        world.accept(1, ordered=True)
        world.tap.calls.clear()
        assert world.send("one") is PointerResult.SENT
        calls.append(Counter(world.tap.calls))
    assert calls[0] == calls[1]


def test_what_a_full_lane_cannot_take_moves_to_the_next_with_room() -> None:
    world = World(bounded("one", CredentialQuota(60, Per.HOUR)), credential("two"))
    job = world.accept(300, ordered=True)
    world.settle()
    assert world.counts(job.id) == {"sent": 300}
    assert (len(taken(world, "one")), len(taken(world, "two"))) == (60, 240)
    assert {attempt for _, attempt in world.cells(job.id)} == {1}


def warming(first: int, *later: int, starts_in: int = 0) -> CredentialQuota:
    """Return a quota of 500 per day with a warm-up that begins so many days after the fake clock's."""
    today = datetime.fromtimestamp(World(credential("one")).clock.now(), UTC).date()
    return CredentialQuota(500, Per.DAY, "UTC", Warmup(today + timedelta(days=starts_in), (first, *later)))


@pytest.mark.promise(2)
def test_a_credential_that_warms_up_takes_its_day_and_the_rest_moves_on() -> None:
    world = World(bounded("one", warming(20, 40)), credential("two"))
    job = world.accept(300, ordered=True)
    world.settle()
    assert world.counts(job.id) == {"sent": 300}
    assert (len(taken(world, "one")), len(taken(world, "two"))) == (20, 280)


@pytest.mark.promise(2)
def test_what_a_warmup_has_no_room_for_waits_for_the_next_days() -> None:
    world = World(bounded("one", warming(20, 40), when_full=WhenFull.WAIT), credential("two"))
    job = world.accept(100, ordered=True)
    world.settle(sweeps=2 * 1440 + 200)
    assert world.counts(job.id) == {"sent": 100}
    days = Counter(label(Per.DAY, "UTC", at) for at in taken(world, "one"))
    assert list(days.values()) == [20, 40, 40]
    assert {attempt for _, attempt in world.cells(job.id)} == {1}


def test_nothing_is_sent_before_a_warmup_begins() -> None:
    world = World(bounded("one", warming(20, starts_in=1)))
    job = world.accept(10)
    world.run()
    assert not taken(world, "one")
    end = ends(Per.DAY, "UTC", world.clock.now())
    world.settle(sweeps=1500)
    assert world.counts(job.id) == {"sent": 10}
    assert min(taken(world, "one")) >= end


def test_it_waits_if_the_credential_says_so() -> None:
    world = World(bounded("one", CredentialQuota(60, Per.HOUR), when_full=WhenFull.WAIT), credential("two"))
    job = world.accept(100, ordered=True)
    world.run()
    assert world.counts(job.id) == {"queued": 40, "sent": 60}
    assert not taken(world, "two")
    world.settle()
    assert len(taken(world, "one")) == 100


def test_it_waits_where_there_is_room_first() -> None:
    world = World(bounded("one", CredentialQuota(30, Per.MONTH)), bounded("two", CredentialQuota(30, Per.HOUR)))
    job = world.accept(100, ordered=True)
    world.run()
    [ledger] = world.ledgers.read_all(job.id)
    assert ledger.lane == "two"
    assert len(world.oracle.taken) == 60
    world.settle(sweeps=300)
    assert (len(taken(world, "one")), len(taken(world, "two"))) == (30, 70)
    assert max(hours(world, "two").values()) <= 30


def test_a_message_that_failed_elsewhere_keeps_its_delays() -> None:
    """Lane `one` is full: what `two` refuses for the moment comes back to it after the delay of a round."""
    world = World(bounded("one", CredentialQuota(1, Per.MONTH)), credential("two"))
    world.accept(1, ordered=True)
    world.run()
    assert len(taken(world, "one")) == 1
    world.providers["two"].answer = Rejected("busy", permanent=False, about_message=True)
    job = world.accept(1, ordered=True)
    world.run(seconds=3600)
    tries = [at for at, name, _ in world.oracle.calls if name == "two"]
    assert len(tries) == 6
    assert tries[-1] - tries[0] > 120
    assert world.counts(job.id) == {"failed": 1}


def test_an_open_breaker_of_the_other_lane_uses_up_no_round() -> None:
    world = World(bounded("one", CredentialQuota(1, Per.HOUR)), credential("two"))
    world.accept(1, ordered=True)
    world.run()
    world.providers["two"].answer = Rejected("unauthorized", permanent=False, provider_down=True)
    job = world.accept(1, ordered=True)
    world.run(seconds=600)
    world.settle(sweeps=120)
    assert world.counts(job.id) == {"sent": 1}


def test_units_of_messages_that_were_stopped_come_back() -> None:
    world = World(bounded("one", CredentialQuota(50, Per.HOUR)))
    world.accept(40)

    def pause(_targets: object) -> None:
        if len(world.oracle.taken) == 5:
            world.stores.pause("")

    world.providers["one"].before = pause
    world.run()
    assert 5 < len(taken(world, "one")) < 40
    assert left_of(world) == 50 - len(taken(world, "one"))


def test_units_of_small_jobs_that_are_not_begun_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop comes after the slots of their group were reserved."""
    world = World(bounded("one", CredentialQuota(50, Per.HOUR)))
    stopped, *_ = [world.accept(1).id for _ in range(4)]
    begin = world.records.begin
    counted: list[int | None] = []

    def begun(*args: Any) -> Any:
        if not counted:
            counted.append(left_of(world))
            world.control.stop(stopped, ACCOUNT)
        return begin(*args)

    monkeypatch.setattr(world.records, "begin", begun)
    world.clock.run(lambda: world.send_together("one"))
    assert counted == [46]
    assert len(taken(world, "one")) == 3
    assert left_of(world) == 47


def test_units_of_what_a_small_job_leaves_out_come_back() -> None:
    world = World(bounded("one", CredentialQuota(50, Per.HOUR)))
    job = world.accept(2)
    world.records.suppress(ACCOUNT, "r0@example.com", "complained", world.clock.ms)
    world.clock.run(lambda: world.send_together("one"))
    assert sorted(world.states(job.id)) == sorted([Cell.SKIPPED, Cell.SENT])
    assert world.job(job.id).state is JobState.LOGGED
    assert left_of(world) == 49


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        (OverQuota(retry_after=1800), 1800, 1920),
        (OverQuota(per="hour"), 0, HOUR + 120),
        (OverQuota(), 300, 420),
    ],
)
def test_a_providers_own_quota_is_heeded(said: OverQuota, least: float, most: float) -> None:
    world = World(credential("one"))
    world.providers["one"].answer = said
    job = world.accept(30)
    world.run()
    calls = len(world.oracle.calls)
    assert calls <= 4, "one window's calls at the most were under way"
    assert world.counts(job.id) == {"queued": 30}
    world.providers["one"].answer = None
    begun = world.clock.now()
    world.settle()
    assert world.counts(job.id) == {"sent": 30}
    assert least <= taken(world, "one")[0] - begun <= most
    assert {attempt for _, attempt in world.cells(job.id)} == {1}
    assert set(world.states(job.id)) == {Cell.SENT}


def test_probes_of_a_quota_become_rarer() -> None:
    world = World(credential("one"))
    world.providers["one"].answer = OverQuota()
    world.accept(1, ordered=True)
    for _ in range(8 * 60):
        world.run(seconds=60)
        world.clock.advance(60)
        world.sweep()
    tries = [at for at, _, _ in world.oracle.calls]
    assert 8 <= len(tries) <= 12
    waits = [later - at for at, later in pairwise(tries)]
    assert waits[0] < 2 * 300
    assert min(waits[4:]) >= HOUR
