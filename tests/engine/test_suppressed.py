"""What was suppressed after acceptance is not sent to: looked at again when a lease begins (L2)."""

from dataclasses import replace

import pytest

from shared.domain.content.content import Mailbox
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell, MessageState
from shared.domain.namespaces import namespace
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import Reach
from shared.engine.reports.message_log import Filter, LogLine
from shared.engine.suppression import suppressed
from shared.engine.suppression.suppressed import SLACK_MS, Suppressed
from shared.ports import Recent, Retriable
from tests.fakes.crashes import dying
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, CONTENT, World, credential

DOWN = Rejected("down", permanent=False)


@pytest.fixture
def world() -> World:
    return World(credential("one", 10), credential("two", 10))


def suppress(world: World, *indices: int, account: str = ACCOUNT) -> None:
    for i in indices:
        world.records.suppress(account, f"r{i}@example.com", "bounced", world.clock.ms)


def lines(world: World, job: str) -> list[LogLine]:
    return world.logs.lines(world.job(job), Filter())[0]


def sent_to(world: World) -> set[str]:
    return {t.address for t in world.oracle.taken}


def test_a_recipient_suppressed_after_acceptance_is_skipped(world: World) -> None:
    job = world.accept(6)
    suppress(world, 1, 4)
    world.settle()
    assert sent_to(world) == {f"r{i}@example.com" for i in (0, 2, 3, 5)}
    assert world.cells(job.id)[1] == world.cells(job.id)[4] == (Cell.SKIPPED, 0)
    assert world.counts(job.id) == {"sent": 4, "skipped": 2}
    line = lines(world, job.id)[1]
    assert (line.state, line.error, line.attempts) == (MessageState.SKIPPED, "suppressed", ())
    assert line.providers == {"one": False, "two": False}
    assert world.stores.stats(ACCOUNT)["skipped"] == 2
    world.check()


def test_a_chunk_without_recipients_left_is_done(world: World) -> None:
    job = world.accept(2)
    suppress(world, 0, 1)
    world.settle()
    assert world.oracle.calls == []
    assert world.counts(job.id) == {"skipped": 2}
    assert [x.error for x in lines(world, job.id)] == ["suppressed"] * 2


def test_a_bounce_in_one_job_spares_the_next_chunk_of_another(world: World) -> None:
    first = world.accept(1)
    world.run()
    waiting = world.accept(1, not_before=world.clock.ms + 60_000)
    world.track(world.oracle.taken[0].provider, world.word(first.id, 0, "bounced"))
    world.clock.advance(60)
    world.settle()
    assert world.counts(waiting.id) == {"skipped": 1}
    assert len(world.oracle.taken) == 1


def test_one_that_waits_for_its_next_try_is_skipped_and_keeps_its_attempts(world: World) -> None:
    job = world.accept(1)
    for p in world.providers.values():
        p.answer = DOWN
    first = world.ledgers.read_all(job.id)[0].lane
    other = "two" if first == "one" else "one"
    world.send(first)
    suppress(world, 0)
    world.send(other)
    line = lines(world, job.id)[0]
    assert world.cells(job.id) == [(Cell.SKIPPED, 1)]
    assert line.error == "suppressed"
    assert [(a.n, a.credential_id, a.outcome, a.code) for a in line.attempts] == [(1, first, "not_sent", "down")]
    assert line.providers == {first: True, other: False}


def test_an_allowed_again_recipient_is_sent_to(world: World) -> None:
    job = world.accept(6)
    suppress(world, 1, 4)
    world.records.allow(ACCOUNT, "r4@example.com")
    world.settle()
    assert world.counts(job.id) == {"sent": 5, "skipped": 1}
    later = world.accept(6)
    suppress(world, 3)
    world.records.allow(ACCOUNT, "r1@example.com")
    world.settle()
    assert world.states(later.id).count(Cell.SKIPPED) == 1
    assert world.states(later.id)[3] is Cell.SKIPPED


def test_another_account_s_suppressions_are_its_own(world: World) -> None:
    job = world.accept(6)
    suppress(world, 1, account="acc_000000000002")
    world.settle()
    assert world.counts(job.id) == {"sent": 6}


@pytest.mark.promise(9)
@pytest.mark.parametrize("test", [True, False])
def test_a_job_heeds_the_suppressions_of_its_kind_of_key_alone(world: World, test: bool) -> None:  # noqa: FBT001
    job = world.accept(3, test=test)
    suppress(world, 1, account=namespace(ACCOUNT, test=test))
    suppress(world, 2, account=namespace(ACCOUNT, test=not test))
    world.settle()
    assert world.counts(job.id) == {"sent": 2, "skipped": 1}
    assert sent_to(world) == {"r0@example.com", "r2@example.com"}


def looks(world: World) -> list[str]:
    return [name for name in world.tap.calls if name.startswith("records.suppressed")]


def test_nothing_is_read_while_nothing_was_suppressed_since_acceptance(world: World) -> None:
    suppress(world, 1)
    world.clock.advance(SLACK_MS / 1000 + 1)
    world.accept(6)
    world.settle()
    assert looks(world) == []
    world.accept(6)
    suppress(world, 7)
    world.settle()
    assert looks(world) == ["records.suppressed_since"] * 2  # one a chunk


def test_a_copy_is_left_out_with_no_more_reads_than_a_recipient(world: World) -> None:
    copied = replace(CONTENT, cc=(Mailbox("R7@Example.com", "R7"), Mailbox("r8@example.com")))
    world.accept(1, content=copied)
    world.settle()
    assert looks(world) == []
    world.accept(1, content=copied)
    suppress(world, 9)
    world.settle()
    assert looks(world) == ["records.suppressed_since"]
    world.tap.calls.clear()
    world.accept(1, content=copied)
    suppress(world, 7)
    world.settle()
    assert looks(world) == ["records.suppressed_since", "records.suppressed"]
    said = [c.cc for p in world.providers.values() for c in p.said]
    assert sorted(map(len, said)) == [1, 2, 2]
    assert [box.address for box in min(said, key=len)] == ["r8@example.com"]


@pytest.mark.promise(9)
@pytest.mark.parametrize("test", [True, False])
def test_copies_heed_the_suppressions_of_their_job_s_kind_of_key_alone(world: World, test: bool) -> None:  # noqa: FBT001
    world.accept(1, test=test, content=replace(CONTENT, cc=tuple(Mailbox(f"r{i}@example.com") for i in (7, 8))))
    suppress(world, 7, account=namespace(ACCOUNT, test=test))
    suppress(world, 8, account=namespace(ACCOUNT, test=not test))
    world.settle()
    assert [[box.address for box in c.cc] for p in world.providers.values() for c in p.said] == [["r8@example.com"]]


def test_a_copy_that_was_allowed_again_gets_its_message(world: World) -> None:
    world.accept(1, content=replace(CONTENT, bcc=(Mailbox("r7@example.com"),)))
    suppress(world, 7)
    world.records.allow(ACCOUNT, "r7@example.com")
    world.settle()
    assert [len(c.bcc) for p in world.providers.values() for c in p.said] == [1]


@pytest.mark.parametrize("page", [4000, 2, 1])
@pytest.mark.parametrize("most", [20_000, 3])
def test_many_are_found_all_the_same(monkeypatch: pytest.MonkeyPatch, page: int, most: int) -> None:
    monkeypatch.setattr(suppressed, "MOST", most)
    world = World(credential("one", 0.2))  # six a chunk
    world.records.recent_page = page  # type: ignore[attr-defined]
    job = world.accept(24)
    for i in range(0, 24, 3):
        world.clock.advance(0.001)
        suppress(world, i)
    world.settle(seconds=600)
    assert [s is Cell.SKIPPED for s in world.states(job.id)] == [i % 3 == 0 for i in range(24)]
    world.check()


def test_only_what_is_new_is_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process reads the log of a job from where it ended, less some slack for entries that come late."""
    asked: list[int] = []
    read = world.records.suppressed_since

    def noted(account: str, since: int, *, reach: Reach) -> Recent:
        assert reach is Reach.ALL
        asked.append(since)
        return read(account, since, reach=reach)

    monkeypatch.setattr(world.records, "suppressed_since", noted)
    job = world.accept(4)
    chunk = world.records.chunk(job.id, 0)
    assert chunk is not None
    look = Suppressed(world.records, world.clock)
    suppress(world, 0)
    for _ in range(3):
        assert look.among(job, chunk, [0, 1], {Reach.ALL: world.clock.ms}).codes == {0: "suppressed"}
        world.clock.advance(600)
    began = job.created_at
    assert asked == [began - SLACK_MS, began - SLACK_MS, began + 600_000 - SLACK_MS]


def test_of_the_jobs_known_the_oldest_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppressed, "KEPT_JOBS", 2)
    look = Suppressed(world.records, world.clock)
    suppress(world, 0)
    jobs = [world.accept(2) for _ in range(4)]
    chunks: list[tuple[Job, Chunk]] = []
    for job in jobs:
        chunk = world.records.chunk(job.id, 0)
        assert chunk is not None
        chunks.append((job, chunk))
    for job, chunk in [*chunks, *chunks]:
        assert look.among(job, chunk, [0], {Reach.ALL: world.clock.ms}).codes == {0: "suppressed"}
    assert set(look._known) == {(jobs[2].id, Reach.ALL), (jobs[3].id, Reach.ALL)}


def test_half_a_hash_suppresses_no_recipient(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept in memory is 64 bits of a hash; who has the same is looked up."""
    monkeypatch.setattr(suppressed, "_short", lambda _digest: 1)
    job = world.accept(6)
    suppress(world, 1)
    world.settle()
    assert [s is Cell.SKIPPED for s in world.states(job.id)] == [i == 1 for i in range(6)]
    assert address_hash("a") != address_hash("b")


@pytest.mark.promise(1)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_loses_not_even_the_reason(when: When) -> None:
    def make() -> World:
        world = World(credential("one", 10))
        world.accept(3)
        suppress(world, 1)
        return world

    seen = set()
    for fresh in dying(make, World.settle, when, least=17):
        (job,) = fresh.jobs
        fresh.clock.advance(300)
        fresh.settle()
        fresh.check()
        assert "r1@example.com" not in sent_to(fresh)
        assert fresh.states(job)[1] is Cell.SKIPPED
        seen.add((lines(fresh, job)[1].error, lines(fresh, job)[1].attempts))
    assert seen == {("suppressed", ())}


def test_a_log_of_suppressions_that_cannot_be_read_holds_the_message_back(world: World) -> None:
    job = world.accept(1)
    suppress(world, 0)
    world.tap.arm_at("records.suppressed_since", error=lambda: Retriable("busy"))
    world.settle()
    assert world.tap.fired == 1
    assert world.counts(job.id) == {"skipped": 1}
