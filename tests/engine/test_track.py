from collections import Counter
from collections.abc import Collection
from itertools import permutations

import pytest

from shared.contracts import ProviderEvent
from shared.domain.jobs.details import FeedbackDetail
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, Change, JobState, MessageState
from shared.domain.namespaces import namespace
from shared.engine.outcome.track import LATER, Tracked
from shared.ports import JobsRead, Retriable
from tests.fakes.world import ACCOUNT, World, credential

A = "acc_000000000001"


@pytest.fixture
def world() -> World:
    return World(credential("one"))


@pytest.fixture
def job(world: World) -> str:
    """A job of three that was sent."""
    name = world.accept(3).id
    world.run()
    return name


def test_a_word_moves_its_message_and_the_counts(world: World, job: str) -> None:
    tracked = world.track("one", world.word(job, 0, "delivered"), world.word(job, 1, "blocked", code="550"))
    assert tracked == Tracked(2, 0, (), final=2)
    world.run()
    assert world.counts(job) == {"delivered": 1, "failed": 1, "sent": 1}
    assert world.job(job).counts["delivered"] == 1
    assert world.job(job).by == {"one": (3, 3, 1, 1)}
    assert world.stores.stats(ACCOUNT)["success"] == 1
    world.check()


def test_one_batch_of_words_is_one_write_and_one_detail(world: World, job: str) -> None:
    before = len(world.tap.calls)
    world.track("one", *(world.word(job, i, w) for i in range(3) for w in ("accepted", "deferred", "delivered")))
    calls = world.tap.calls[before:]
    assert calls.count("ledgers.swap") == calls.count("records.put_feedback") == 1
    assert world.counts(job) == {"delivered": 3}


@pytest.mark.slow
@pytest.mark.promise(5)
def test_the_order_and_repetition_of_words_change_nothing() -> None:
    ends = set()
    for order in permutations(["accepted", "deferred", "delivered", "bounced", "dropped"]):
        world = World(credential("one"))
        job = world.accept(2)
        world.run()
        for word in (*order, *order):
            world.track("one", world.word(job.id, 0, word, at=5))
        world.run()
        ends.add((*world.states(job.id), *sorted(world.counts(job.id).items()), len(world.stores.suppressed(A))))
    assert ends == {(Cell.BOUNCED, Cell.SENT, ("failed", 1), ("sent", 1), 1)}


@pytest.mark.promise(7)
def test_a_repeated_batch_changes_nothing(world: World, job: str) -> None:
    words = [world.word(job, 0, "delivered"), world.word(job, 1, "bounced")]
    world.track("one", *words)
    world.run()
    before = (world.ledgers.read_all(job), world.job(job), world.records.details(job, 0), world.stores.suppressed(A))
    world.track("one", *reversed(words))
    world.run()
    after = (world.ledgers.read_all(job), world.job(job), world.records.details(job, 0), world.stores.suppressed(A))
    assert after == before


def test_a_word_that_comes_before_its_calls_answer(world: World) -> None:
    """The webhook is faster than the provider's own answer."""
    job = world.accept(2)
    world.providers["one"].script("r0@example.com", [Unknown("timeout")])

    def early(_targets: object) -> None:
        world.track("one", world.word(job.id, 0, "delivered"), world.word(job.id, 1, "bounced"))

    world.providers["one"].before = early
    world.settle()
    assert world.states(job.id) == [Cell.DELIVERED, Cell.BOUNCED]
    assert world.job(job.id).by == {"one": (2, 2, 1, 1)}
    world.check()


@pytest.mark.promise(1)
def test_a_word_resolves_what_was_unknown(world: World) -> None:
    job = world.accept(3)
    world.providers["one"].answer = Unknown("timeout")
    world.run()
    assert world.counts(job.id) == {"unknown": 3}
    for index, word in enumerate(("accepted", "delivered", "bounced")):
        world.track("one", world.word(job.id, index, word, id=f"id{index}"))
    assert world.counts(job.id) == {"sent": 1, "delivered": 1, "failed": 1}
    line = world.logs.line(world.job(job.id), 0, 0)
    assert line is not None
    assert [(a.outcome, a.provider_message_id) for a in line.attempts] == [("unknown", "id0")]


def test_a_soft_word_about_a_call_under_way_waits(world: World) -> None:
    job = world.accept(2)
    seen: list[Tracked] = []

    def early(_targets: object) -> None:
        if not seen:
            seen.append(world.track("one", world.word(job.id, 0, "dropped"), world.word(job.id, 1, "delivered")))
            assert world.states(job.id) == [Cell.CLAIMED, Cell.DELIVERED]

    world.providers["one"].before = early
    began = world.clock.now()
    world.run()
    assert seen[0].joined == 1
    assert [w.word for w in seen[0].later] == ["dropped"]
    assert world.states(job.id) == [Cell.DROPPED, Cell.DELIVERED]
    assert world.clock.now() >= began + LATER
    world.check()


def test_a_word_about_an_earlier_attempt_counts_only_if_delivered() -> None:
    world = World(credential("one"), credential("two"))
    job = world.accept(1)
    first = world.ledgers.read_all(job.id)[0].first_lane
    other = "two" if first == "one" else "one"
    world.providers[first].script("r0@example.com", [Rejected("down", permanent=False)])
    world.run()
    assert world.cells(job.id) == [(Cell.SENT, 2)]
    world.track(first, world.word(job.id, 0, "bounced", attempt=1))
    world.track(other, world.word(job.id, 0, "bounced", attempt=3))
    assert world.cells(job.id) == [(Cell.SENT, 2)]
    world.track(first, world.word(job.id, 0, "delivered", attempt=1))
    assert world.cells(job.id) == [(Cell.DELIVERED, 2)]


@pytest.mark.parametrize(
    ("ref", "word", "lane"),
    [
        ("somebody-else's", "delivered", "one"),
        ("{job}-0-0-1", "opened", "one"),
        ("{job}-0-0-1", "bounced", "two"),
        ("{job}-1-0-1", "bounced", "one"),
        ("{job}-0-3-1", "bounced", "one"),
        ("{job}-0-0-0", "bounced", "one"),
        ("00000000000000000000000000-0-0-1", "bounced", "one"),
    ],
)
def test_foreign_words_are_counted_and_dropped(world: World, job: str, ref: str, word: str, lane: str) -> None:
    before = (world.ledgers.read_all(job), world.records.details(job, 0), world.stores.suppressed(A))
    assert world.track(lane, ProviderEvent(ref.format(job=job), word, 5)) == Tracked(0, 1, ())
    assert (world.ledgers.read_all(job), world.records.details(job, 0), world.stores.suppressed(A)) == before


def test_an_event_of_an_unmade_attempt_suppresses_no_recipient(world: World) -> None:
    """Attempt 0 is that of a recipient who waits: no provider was ever given such a ref."""
    job = world.accept(2)
    world.track("one", world.word(job.id, 0, "bounced", attempt=0))
    assert world.states(job.id) == [Cell.QUEUED, Cell.QUEUED]
    assert world.stores.suppressed(A) == {}


def test_words_outlive_the_ledger(world: World, job: str) -> None:
    """TTL deletes items one by one: the ledger may be gone, and the chunk not yet, or the other way round."""
    items = world.stores.ledgers.items  # type: ignore[attr-defined]
    items.clear()
    assert world.track("one", world.word(job, 0, "bounced"), world.word(job, 400, "bounced")).joined >= 1
    assert set(world.stores.suppressed(A)) == {"r0@example.com"}
    world.stores.records.chunks.clear()  # type: ignore[attr-defined]
    assert world.track("one", world.word(job, 1, "bounced")).joined == 1
    assert set(world.stores.suppressed(A)) == {"r0@example.com"}


@pytest.mark.parametrize(
    ("word", "suppressed"),
    [("bounced", True), ("complained", True), ("dropped", False), ("blocked", False), ("failed_temporarily", False)],
)
def test_hard_words_suppress(world: World, job: str, word: str, suppressed: bool) -> None:  # noqa: FBT001
    world.track("one", world.word(job, 1, word))
    found = world.stores.suppressed(A)
    assert found == ({"r1@example.com": (word, world.clock.ms)} if suppressed else {})


def test_jobs_of_test_keys_suppress_no_recipient(world: World) -> None:
    job = world.accept(1, test=True)
    world.run()
    world.track("one", world.word(job.id, 0, "bounced"))
    assert world.states(job.id) == [Cell.BOUNCED]
    assert world.stores.suppressed(A) == {}
    assert world.stores.suppressed(namespace(A, test=True)) == {}, "a magic recipient bounces each time"
    assert world.stores.stats(ACCOUNT) == {}


@pytest.mark.parametrize("word", ["bounced", "delivered", "dropped"])
def test_a_word_about_a_copy_does_not_touch_the_recipient(world: World, job: str, word: str) -> None:
    world.track("one", world.word(job, 0, word, secondary=True))
    assert world.states(job) == [Cell.SENT] * 3
    assert world.stores.suppressed(A) == {}
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    assert (line.state, line.error) == (MessageState.SENT, None)
    assert [w.word for w in line.attempts[0].words] == [word]


def test_a_skipped_recipient_stays_skipped(world: World) -> None:
    job = world.accept(3)
    world.ledgers.drop(job.id, 0, [0])
    world.run()
    world.track("one", world.word(job.id, 0, "delivered"))
    assert world.states(job.id)[0] is Cell.SKIPPED


def test_words_reach_a_job_in_any_state(world: World, job: str) -> None:
    assert world.job(job).state is JobState.LOGGED
    world.track("one", world.word(job, 0, "delivered"))
    world.run()
    assert world.job(job).state is JobState.LOGGED
    assert world.job(job).counts["delivered"] == 1
    stopped = world.accept(3)
    world.records.change(stopped, Change.STOP, 5)
    world.track("one", world.word(stopped.id, 0, "delivered"))
    assert world.states(stopped.id) == [Cell.QUEUED] * 3


def scattered(world: World, count: int) -> list[ProviderEvent]:
    """Send jobs of one message each, and return a word about each."""
    names = [world.accept(1).id for _ in range(count)]
    world.run()
    return [world.word(name, 0, "delivered") for name in names]


@pytest.mark.promise(7)
@pytest.mark.parametrize("heard", [False, True])
def test_a_word_about_a_single_message_is_two_writes_and_a_hundredth_of_a_read(world: World, *, heard: bool) -> None:
    words = scattered(world, 30)
    if heard:
        world.stores.hear(ACCOUNT)
    before = len(world.tap.calls)
    assert world.tracker.join_all("one", words).joined == 30
    calls = Counter(world.tap.calls[before:])
    once = {"records.read_with_ledgers": 1}
    joined = {"records.put_feedback": 30, "ledgers.swap": 30} if heard else {"records.end_jobs": 1}
    assert calls == {**once, **joined}


@pytest.mark.slow
def test_a_tracker_joins_a_hundred_scattered_words_a_second(world: World) -> None:
    """So the ten workers of a deployment join a thousand, at 6 ms a call."""
    words = scattered(world, 200)
    world.tap.delay = lambda: world.clock.sleep(0.006)
    began = world.clock.now()
    world.clock.run(lambda: world.tracker.join_all("one", words))
    assert len(words) / (world.clock.now() - began) > 400
    world.tap.delay = lambda: None
    assert all(world.states(word.ref[:26]) == [Cell.DELIVERED] for word in words)


def test_what_there_is_no_time_for_is_left(world: World) -> None:
    words = scattered(world, 30)
    world.stores.hear(ACCOUNT)
    world.tap.delay = lambda: world.clock.sleep(1)
    now = world.clock.now()
    tracked = world.tracker.join_all("one", words, deadline=now + 10)
    assert world.clock.now() < now + 13
    assert (tracked.joined, len(tracked.left), tracked.fault) == (5, 25, None)
    world.tap.delay = lambda: None
    assert world.tracker.join_all("one", tracked.left).joined == 25


@pytest.mark.promise(6)
def test_a_chunk_that_fails_leaves_its_own_words_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    words = scattered(world, 5)
    world.stores.hear(ACCOUNT)
    bad = words[2].ref[:26]
    made = world.records.put_feedback

    def put(detail: FeedbackDetail) -> None:
        if detail.job == bad:
            raise ValueError("poison")
        made(detail)

    monkeypatch.setattr(world.records, "put_feedback", put)
    tracked = world.tracker.join_all("one", words)
    assert (tracked.joined, tracked.left, type(tracked.fault)) == (4, (words[2],), ValueError)
    with pytest.raises(ValueError, match="poison"):
        world.tracker.track("one", words)
    assert [world.states(word.ref[:26]) for word in words].count([Cell.DELIVERED]) == 4


@pytest.mark.promise(6)
def test_a_job_that_cannot_be_read_takes_no_others_along(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    words = scattered(world, 5)
    bad = words[2].ref[:26]
    one, several = world.records.job, world.records.read_with_ledgers

    def read(name: str) -> Job | None:
        if name == bad:
            raise KeyError("route")
        return one(name)

    def read_all(names: Collection[str]) -> JobsRead:
        read(bad)
        return several(names)

    monkeypatch.setattr(world.records, "job", read)
    monkeypatch.setattr(world.records, "read_with_ledgers", read_all)
    assert world.tracker.join_all("one", words).left == (words[2],)
    monkeypatch.setattr(world.records, "read_with_ledgers", several)
    assert world.tracker.join_all("one", words).left == ()


def test_a_store_that_does_not_answer_leaves_everything(world: World) -> None:
    words = scattered(world, 3)
    world.tap.arm_at("records.read_with_ledgers", error=lambda: Retriable("busy"))
    tracked = world.tracker.join_all("one", words)
    assert (tracked.joined, set(tracked.left), type(tracked.fault)) == (0, set(words), Retriable)
