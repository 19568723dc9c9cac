"""The sweeper with much to do: by calls and by time, with fairness, and with little noise in slow lanes."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from shared.domain.jobs.job import SHARDS
from shared.domain.jobs.states import Cell
from shared.engine.sweeper.sweep import WIDTH, Sweeper
from shared.engine.walks import Inspection, Run, Walk, timed
from shared.engine.walks.jobs import YOUNG_MS
from shared.engine.walks.pointing import LOST_AFTER_MS, UNLEASED_MS
from shared.engine.walks.progress import Progress
from shared.ports import Retriable
from tests.fakes.bookmarks import FakeBookmarks
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.faults import Crash, Tap, When
from tests.fakes.provider import ResolvingProvider, Swallowed
from tests.fakes.world import ACCOUNT, World, credential

AGE = YOUNG_MS / 1000


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def calls(world: World) -> int:
    """Return the calls that a run makes."""
    before = len(world.tap.calls)
    assert world.sweep().complete
    return len(world.tap.calls) - before


@pytest.mark.slow
@pytest.mark.promise(7)
def test_scheduled_jobs_add_no_call(world: World) -> None:
    world.clock.advance(AGE)
    idle = calls(world)
    for _ in range(1_500):
        world.accept(1, not_before=world.clock.ms + 90 * 86_400_000)
    world.clock.advance(AGE)
    assert calls(world) == idle  # of the fakes, which have no pages: on DynamoDB one for each 4,000


@pytest.mark.slow
def test_single_messages_under_way_cost_two_calls_a_hundred(world: World) -> None:
    world.clock.advance(AGE)
    idle = calls(world)
    for _ in range(1_000):
        world.accept(1)
    world.clock.advance(AGE)
    assert calls(world) - idle <= 2 * 10 + 2 + 4 * 10  # the first time, each 33 are counted in the stats together
    assert calls(world) - idle <= 2 * 10 + 2  # how its lane is, and whether somebody holds it back


@pytest.mark.slow
@pytest.mark.promise(7)
def test_what_one_run_does_not_come_to_the_next_ones_do_for_every_kind_of_work(world: World) -> None:
    for _ in range(1_200):
        world.accept(1)
    world.stores.pause(ACCOUNT)
    world.clock.advance(AGE)
    world.sweep()  # counts them in the stats
    seen: list[int] = []

    def found(_run: Run, after: str) -> Iterator[Inspection]:
        start = int(after or -1) + 1
        return (Inspection(str(i), f"{i:05d}", lambda i=i: look(i)) for i in range(start, 120))  # type: ignore[misc]

    def look(i: int) -> None:
        world.clock.advance(0.05)
        seen.append(i)

    slots = [f"shared#RUN#{n}" for n in range(SHARDS)]
    world.sweeper = world.sweeping(slots, Walk("others", 10, found))
    world.tap.delay = lambda: world.clock.advance(0.4)
    unfinished = []
    for _ in range(12):
        began = world.clock.now()
        unfinished.append(world.sweeper.sweep(world.clock.now() + 12).unfinished)
        assert world.clock.now() - began <= 12 + 8 * 2 * 0.4 + 1
    assert unfinished[0] == ("jobs", "others", "doubts")
    assert all(any(name not in x for x in unfinished) for name in unfinished[0]), "each round ends"
    assert seen[:120] == list(range(120))


def test_a_walk_that_fails_takes_nothing_from_the_others_and_goes_on_where_it_was() -> None:
    clock, bookmarks = FakeClock(), FakeBookmarks()
    made: list[str] = []
    failing = [True]

    def found(name: str) -> Walk:
        def looks(_run: Run, after: str) -> Iterator[Inspection]:
            for i in range(int(after or -1) + 1, 20):
                if (name, i, failing[0]) == ("a", 17, True):
                    raise Retriable("busy")
                yield Inspection(f"{name}{i}", f"{i:02d}", lambda i=i: made.append(f"{name}{i}"))  # type: ignore[misc]

        return Walk(name, 1, looks)

    sweeper = Sweeper(walks=[found("a"), found("b")], bookmarks=bookmarks, clock=clock, pool=FakePool)
    with pytest.raises(Retriable):
        sweeper.sweep(clock.now() + 60)
    assert made[16:] == [f"b{i}" for i in range(20)]
    failing[0] = False
    made.clear()
    clock.advance(60)
    assert sweeper.sweep(clock.now() + 60).complete
    assert made == [*(f"a{i}" for i in range(16, 20)), *(f"b{i}" for i in range(20))]


def timely(name: str, looks: int, clock: FakeClock, made: list[str], share: float = 1) -> Walk:
    """Return a walk of looks that take a second each."""

    def look() -> None:
        clock.advance(1)
        made.append(name)

    def found(_run: Run, after: str) -> Iterator[Inspection]:
        return (Inspection(f"{name}{i}", f"{name}/{i:03d}", look) for i in range(int(after[-3:] or -1) + 1, looks))

    return Walk(name, share, found)


def test_time_that_a_walk_leaves_goes_to_those_that_had_too_little_the_first_ones_first() -> None:
    clock, made = FakeClock(), list[str]()
    walks = [
        timely("jobs", 400, clock, made, 75),
        timely("short", 3, clock, made, 5),
        timely("doubts", 400, clock, made, 20),
    ]
    sweeper = Sweeper(walks=walks, bookmarks=FakeBookmarks(), clock=clock, pool=FakePool)
    assert sweeper.sweep(clock.now() + 100).unfinished == ("jobs", "doubts")
    assert Counter(made)["jobs"] in range(75, 75 + WIDTH), "all of its share"
    assert Counter(made)["doubts"] > 8, "is not starved by live jobs"
    made.clear()
    walks[2] = timely("doubts", 2, clock, made, 20)
    sweeper = Sweeper(walks=walks, bookmarks=FakeBookmarks(), clock=clock, pool=FakePool)
    assert sweeper.sweep(clock.now() + 100).unfinished == ("jobs",)
    assert Counter(made)["jobs"] >= 90, "what the others have left"


def test_a_run_that_does_not_see_everything_names_the_part_that_it_left(caplog: pytest.LogCaptureFixture) -> None:
    clock, made = FakeClock(), list[str]()
    walks = [timely("jobs", 100, clock, made), timely("lists", 3, clock, made)]
    sweeper = Sweeper(walks=walks, bookmarks=FakeBookmarks(), clock=clock, pool=FakePool)
    sweeper.sweep(clock.now() + 30)
    done = Counter(made)["jobs"] - 1
    clock.advance(60)
    sweeper.sweep(clock.now() + 20)
    lines = [x.__dict__ for x in caplog.records if x.message == "walk not finished"]
    assert [(x["walk"], x["left_after"]) for x in lines[:1]] == [("jobs", f"jobs/{done:03d}")]
    assert [x["round_s"] > 60 for x in lines] == [False, True], "how long the round has taken so far"


def test_a_walk_of_things_without_places_notes_nothing() -> None:
    clock, tap = FakeClock(), Tap()
    bookmarks = FakeBookmarks(tap)
    untils: list[float] = []
    made: list[str] = []

    def found(until: float) -> Iterator[tuple[str, Callable[[], None]]]:
        untils.append(until)
        clock.advance(20)  # longer than after which progress is noted
        yield "a", lambda: made.append("a")

    sweeper = Sweeper(walks=[timed("things", 1, found)], bookmarks=bookmarks, clock=clock, pool=FakePool)
    began = clock.now()
    assert sweeper.sweep(began + 60).complete
    assert (made, untils, bookmarks.notes) == (["a"], [began + 60], {})
    assert "bookmarks.save" not in tap.calls


def test_progress_says_when_each_place_was_last_looked_at() -> None:
    progress = Progress()
    assert progress.since("m") == 0
    for now, place in ((1_000, "f"), (2_000, "p"), (3_000, "")):
        progress.begin(now)
        progress.reach(place, now)
        progress = Progress.loads(progress.dumps())
    assert (progress.after, progress.began) == ("p", 1_000)
    progress.end(3_000)
    assert [progress.since(x) for x in ("a", "f", "g", "p", "q", "z")] == [1_000, 1_000, 2_000, 2_000, 3_000, 3_000]
    assert (progress.after, progress.began) == ("", 0)
    assert Progress.loads("") == Progress()


# Pointers


def minutes(world: World, n: int) -> list[int]:
    """Let minutes pass, with the sweeper after each; returns after which ones it sent pointers."""
    sent = []
    for minute in range(1, n + 1):
        world.clock.advance(60)
        sent += [minute] * world.sweep().pointed
    return sent


def busy(world: World) -> None:
    """Fill the lane with another's pointers, which nobody takes."""
    world.lanes["one"].send(["another's"] * 3)


@pytest.mark.promise(3)
def test_a_lost_pointer_of_a_single_message_costs_two_minutes_in_a_lane_that_is_never_empty(world: World) -> None:
    world.accept(1)
    world.lanes["one"].lose()
    busy(world)
    world.lanes["one"].send(["another's"], express=True)
    assert minutes(world, 180) == [2, 60, 120, 180]


def test_however_late_or_seldom_the_sweeper_comes_each_mark_counts_once(world: World) -> None:
    world.accept(1)
    busy(world)
    sent = []
    for seconds in (90, 61, 29, 3_500, 1, 60, 3_400, 400, 7_200):
        world.clock.advance(seconds)
        sent.append(world.sweep().pointed)
    assert sent == [0, 1, 0, 1, 0, 0, 0, 1, 1]


@pytest.mark.slow
@pytest.mark.promise(3)
def test_unserved_chunks_get_one_pointer_though_another_is_leased(world: World) -> None:
    job = world.accept(1500)
    assert job.chunks == 5
    assert world.send("one") is not None
    world.lanes["one"].lose()
    busy(world)
    sent = minutes(world, 59)
    assert len(sent) == 4
    assert len(set(sent)) == 1, "all in one run, two minutes after the lease"
    assert world.job(job.id).pointed_at > job.planned_at


@pytest.mark.slow
def test_a_slow_lane_gets_few_more_pointers_than_it_has_chunks() -> None:
    """A pointer each minute for what waits over an hour would be some 2,000."""
    world = World(credential("one", 0.05))
    job = world.accept(300, route=("one",))
    assert job.chunks >= 150

    def worker() -> None:
        sender = world.sender("one", pool=FakePool)
        while world.job(job.id).counts["queued"] and world.clock.now() < end:
            message = world.lanes["one"].receive()
            if message is None:
                world.clock.sleep(1)
                continue
            world.clock.sleep(0.1)
            world.lanes["one"].restore(message, world.clock.now())
            world.send("one", sender)

    def log() -> None:
        while world.clock.now() < end and world.job(job.id).counts["queued"]:
            while world.log() is not None:
                pass
            world.clock.sleep(5)

    def sweeper() -> None:
        while world.clock.now() < end and world.job(job.id).counts["queued"]:
            world.sweep()
            world.clock.sleep(60)

    end = world.clock.now() + 3 * 3600
    world.clock.run(worker, worker, log, sweeper)
    sent = Counter(m.body for m in world.lanes["one"].sent)
    assert world.counts(job.id) == {"sent": 300}
    assert len(sent) == job.chunks
    assert max(sent.values()) <= 3 + 2
    assert sum(sent.values()) <= 2 * job.chunks, "one for each, some by leases that ended early, and hourly ones"


def test_a_plan_that_died_before_its_pointers_sends_them_when_it_is_repeated(world: World) -> None:
    job = world.accept(1500, not_before=world.clock.ms + 60_000)
    world.clock.advance(60)
    world.tap.arm_at("queue.send", When.BEFORE)
    with pytest.raises(Crash):
        world.planner.react(job.id)
    busy(world)
    assert world.planner.react(job.id) == []
    assert len(world.lanes["one"].waiting) == 3, "whoever planned it may still be sending"
    world.clock.advance(3)
    world.planner.react(job.id)
    assert len(world.lanes["one"].waiting) == 3 + job.chunks


def test_a_job_that_somebody_works_on_is_not_pointed_to_by_a_repeated_record(world: World) -> None:
    job = world.accept(1500)
    assert world.send("one") is not None
    world.clock.advance(3)
    waiting = len(world.lanes["one"].waiting)
    world.planner.react(job.id)
    assert len(world.lanes["one"].waiting) == waiting


def test_what_could_not_be_looked_at_comes_first_in_the_next_run_with_nothing_missed(world: World) -> None:
    world.accept(1)
    world.lanes["one"].lose()
    busy(world)
    world.lanes["one"].send(["another's"], express=True)
    world.clock.advance(UNLEASED_MS / 1000)
    assert world.sweep().pointed == 1
    world.clock.advance((LOST_AFTER_MS - UNLEASED_MS) / 1000)
    world.tap.arm_at("ledgers.read_these", error=lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        world.sweep()
    world.clock.advance(60)
    assert world.sweep().pointed == 1, "for the hour that has ended"
    world.clock.advance(60)
    assert world.sweep().pointed == 0


# Doubts


def test_a_look_at_doubts_that_was_missed_is_made_up_for_in_a_job_that_still_runs() -> None:
    world = World(credential("one", 10), provider=ResolvingProvider)
    world.providers["one"].script("r0@example.com", [Swallowed()])
    job = world.accept(400, route=("one",))
    assert job.chunks > 1
    assert world.send("one") is not None
    assert world.states(job.id)[0] is Cell.UNKNOWN
    world.stores.pause(ACCOUNT)
    asked = []
    for seconds in (60, 300, 60, 600, 60):
        world.clock.advance(seconds)
        asked.append(world.sweep().asked)
    assert asked == [0, 1, 0, 1, 0]


def test_a_provider_that_cannot_answer_is_never_asked() -> None:
    world = World(credential("one", 10))
    world.providers["one"].script("r0@example.com", [Swallowed()])
    job = world.accept(2)
    world.settle()
    assert world.counts(job.id) == {"sent": 1, "unknown": 1}
    world.clock.advance(200)
    assert world.sweep().asked == 0
    assert world.lanes["one"].waiting == []
    assert list(world.records.doubts(world.clock.ms + 10**9)) == []
