"""A small job's lease and first claim are one write, and so are the release and the end: each as its parts would be."""

from dataclasses import replace

import pytest

from shared.domain.jobs import ledger as rules
from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.queue import released
from shared.domain.jobs.states import Cell, Change, JobState
from shared.ports import JobEnd
from tests.contracts.conftest import ACCOUNT, CONTENT, ROUTE, Parts, job, leased, passing
from tests.contracts.test_counted_later import amounts, uncounted
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

pytestmark = pytest.mark.promise(1)
LEASE_MS = 60_000
ID = "x" * 60


@pytest.fixture(params=["memory", "dynamo"])
def stores(request: pytest.FixtureRequest, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """Stores, for small jobs."""
    monkeypatch.setattr(Parts, "small", True)
    return FakeStores(clock) if request.param == "memory" else MotoStores(request.getfixturevalue("moto_dynamo"), clock)


def stored(stores: Stores, parts: Parts) -> Ledger:
    found = stores.ledgers.read(parts.job.id, 0)
    assert found is not None
    return found


def claimed(read: Ledger, clock: FakeClock, owner: str = "me") -> Ledger:
    """Return a ledger leased and with all recipients claimed, at the next version."""
    held = rules.acquire(read, lane="one", owner=owner, now=clock.ms, until=clock.ms + LEASE_MS)
    assert held is not None
    new, indices = rules.claim(held, (), 10, route=ROUTE, at_lane="one")
    assert indices
    return replace(new, version=read.version + 1)


def accepted(stores: Stores, clock: FakeClock, **changes: object) -> Parts:
    parts = uncounted(clock, 2)
    parts.job = replace(parts.job, **changes)  # type: ignore[arg-type]
    parts.store(stores)
    return parts


def begun(stores: Stores, clock: FakeClock, parts: Parts) -> tuple[Job, Ledger]:
    read = stored(stores, parts)
    found = stores.records.begin(read, claimed(read, clock), job(stores, parts))
    assert found is not None
    return found


def end(clock: FakeClock, parts: tuple[Job, Ledger], *kinds: Kind) -> JobEnd:
    """Return the end of a job by what its calls came to; all were accepted by default."""
    own, held = parts
    said = kinds or (Kind.ACCEPTED,) * len(held.cells)
    entries = tuple(Entry(i, held.cells[i] >> 4, kind, ID) for i, kind in enumerate(said))
    detail = Detail(held.job, held.chunk, held.epoch, held.seq, clock.ms, "one", entries, held.ttl)
    return JobEnd(own, held, released(held, "one", entries, (), passing(clock)), detail)


def test_the_first_claim_takes_the_lease_and_has_the_job_sending(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    before = len(stores.tap.calls)
    own, held = begun(stores, clock, parts)
    assert len(stores.tap.calls) == before + 2 + 1, "two reads and a write"
    assert (own, held) == (job(stores, parts), stored(stores, parts))
    assert (own.state, own.version) == (JobState.SENDING, parts.job.version + 1)
    assert (held.status, held.epoch, held.seq, held.version) == (LedgerStatus.BUSY, 1, 1, 2)
    assert [held.cell(i) for i in range(2)] == [(Cell.CLAIMED, 1)] * 2
    assert stores.ledgers.claim(held, (), 5, route=ROUTE) is not None, "it goes on as any other"


def test_of_two_that_read_the_same_one_begins(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    read, own = stored(stores, parts), job(stores, parts)
    assert stores.records.begin(read, claimed(read, clock), own) is not None
    after = stored(stores, parts)
    assert stores.records.begin(read, claimed(read, clock, "other"), own) is None
    assert stored(stores, parts) == after


@pytest.mark.parametrize("change", [Change.STOP, Change.GIVE_WAY])
def test_a_job_that_is_no_longer_active_is_not_begun(stores: Stores, clock: FakeClock, change: Change) -> None:
    parts = accepted(stores, clock)
    read, own = stored(stores, parts), job(stores, parts)
    assert stores.records.change(own, change, clock.ms).won
    assert stores.records.begin(read, claimed(read, clock), own) is None
    assert stored(stores, parts) == read


def test_a_beginning_whose_answer_was_lost_is_known_again(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    read, own = stored(stores, parts), job(stores, parts)
    new = claimed(read, clock)
    stores.tap.arm(0, When.AFTER, ConnectionError)
    with pytest.raises(ConnectionError):
        stores.records.begin(read, new, own)
    assert stores.records.begin(read, new, own) == (job(stores, parts), stored(stores, parts))


def test_a_job_that_no_longer_exists_is_not_begun(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    read = stored(stores, parts)
    stores.expire(parts.job.id)
    assert stores.records.begin(read, claimed(read, clock), parts.job) is None


def test_jobs_end_with_their_release_as_they_would_one_after_the_other(stores: Stores, clock: FakeClock) -> None:
    some = [accepted(stores, clock) for _ in range(3)]
    ends = [end(clock, begun(stores, clock, x)) for x in some]
    before = len(stores.tap.calls)
    assert stores.records.end_jobs(ends, clock.ms + 7) == {x.job.id for x in some}
    assert len(stores.tap.calls) == before + 1
    for x, e in zip(some, ends, strict=True):
        own, ledger = job(stores, x), stored(stores, x)
        assert (own.state, own.finished_at) == (JobState.LOGGED, clock.ms + 7)
        assert {k: v for k, v in own.counts.items() if v} == {"sent": 2}
        assert own.by == {"one": (2, 2, 0, 0), "two": (0, 0, 0, 0)}
        assert (ledger.status, ledger.dirty, ledger.uncounted, ledger.owner) == (LedgerStatus.DONE, False, (), "")
        assert ledger.version == e.held.version + 1
        assert stores.records.details(x.job.id, 0) == ([e.detail], [])
        assert stores.records.detail(x.job.id, 0, 1, 1) == e.detail
        assert stores.records.detail(x.job.id, 0, 2, 1) is None
        assert x.job.id not in {y.job for y in stores.records.open_jobs([f"shared#RUN#{x.job.shard}"])}
    assert amounts(stores) == {"queued": 6}
    assert stores.records.end_jobs(ends, clock.ms) == set()
    assert amounts(stores) == {"queued": 6}


def test_one_that_has_moved_on_keeps_no_other_from_its_end(stores: Stores, clock: FakeClock) -> None:
    some = [accepted(stores, clock) for _ in range(4)]
    ends = [end(clock, begun(stores, clock, x)) for x in some]
    said = stores.ledgers.join(some[0].job.id, 0, [(1, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    stopped = stores.records.change(job(stores, some[1]), Change.STOP, clock.ms).job
    stores.expire(some[2].job.id)
    assert stores.records.end_jobs(ends, clock.ms) == {some[3].job.id}
    assert stored(stores, some[0]) == said
    assert (job(stores, some[1]), stored(stores, some[1])) == (stopped, ends[1].held)
    assert amounts(stores) == {"queued": 2}


def test_a_job_that_ends_in_doubt_is_looked_at_again(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    ended = end(clock, begun(stores, clock, parts), Kind.ACCEPTED, Kind.UNKNOWN)
    assert stores.records.end_jobs([ended], clock.ms) == {parts.job.id}
    clock.advance(3600)
    assert list(stores.records.doubts(clock.ms)) == [parts.job.id]
    assert amounts(stores) == {"queued": 2}


def test_details_of_later_leases_are_beside_that_of_the_first(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    first = end(clock, begun(stores, clock, parts))
    stores.records.end_jobs([first], clock.ms)
    logged, done = job(stores, parts), stored(stores, parts)
    again = replace(done, cells=bytes([Cell.QUEUED | 1 << 4] * 2), status=LedgerStatus.IDLE, version=done.version + 1)
    assert stores.records.reopen(done, again, logged)
    planned = stores.records.change(job(stores, parts), Change.PLAN, clock.ms).job
    assert planned is not None
    second = end(clock, begun(stores, clock, parts))
    assert second.held.epoch == 2
    assert stores.records.end_jobs([second], clock.ms) == {parts.job.id}
    assert stores.records.details(parts.job.id, 0) == ([first.detail, second.detail], [])


def test_a_job_is_loaded_with_its_ledger(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    held = leased(stores, clock, parts.job.id)
    found = stores.records.load(parts.job.id, 0, content=False)
    assert found is not None
    assert (found.job, found.ledger) == (parts.job, held)


def test_jobs_are_read_with_the_ledgers_of_the_small_ones(
    stores: Stores, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = accepted(stores, clock)
    held = leased(stores, clock, small.job.id)
    monkeypatch.setattr(Parts, "small", False)
    large = Parts(clock, [1, 1])
    large.store(stores)
    names = [small.job.id, large.job.id, small.job.id, "0" * 25 + "u"]
    read = stores.records.read_with_ledgers(names)
    assert read.jobs == {small.job.id: small.job, large.job.id: large.job}
    assert read.ledgers == {small.job.id: held}
    assert set(read.room) == {small.job.id}


def said(stores: Stores, clock: FakeClock, parts: Parts, text: str = "250 OK", index: int = 0) -> JobEnd:
    """Return what a provider says about a message of a job that has ended."""
    read = stores.records.read_with_ledgers([parts.job.id])
    own, held = read.jobs[parts.job.id], read.ledgers[parts.job.id]
    joined = rules.join_words(held, [(index, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    assert joined is not None
    entry = FeedbackEntry(index, 1, "delivered", clock.ms // 1000, code="250", detail=text)
    words = FeedbackDetail(parts.job.id, 0, "one", (entry,), held.ttl)
    return JobEnd(own, held, joined, None, words, read.room.get(parts.job.id, 0))


@pytest.mark.parametrize("text", ["250 OK", "250 " + "".join(chr(0x4E00 + i * 31) for i in range(600))])
def test_words_are_stored_with_what_they_say(stores: Stores, clock: FakeClock, text: str) -> None:
    """In the job's item if it has room, else beside it."""
    parts = accepted(stores, clock)
    first = end(clock, begun(stores, clock, parts))
    stores.records.end_jobs([first], clock.ms)
    late = said(stores, clock, parts, text)
    assert late.words is not None
    assert stores.records.end_jobs([late], clock.ms) == {parts.job.id}
    for _ in ("once", "again"):
        assert stores.records.details(parts.job.id, 0) == ([first.detail], [late.words])
        stores.records.put_feedback(late.words)
    assert job(stores, parts).counts["delivered"] == 1
    assert stores.records.detail(parts.job.id, 0, 1, 1) == first.detail


def test_second_words_are_beside_the_first(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    stores.records.end_jobs([end(clock, begun(stores, clock, parts))], clock.ms)
    both = []
    for index in (0, 1):
        both.append(said(stores, clock, parts, index=index))
        assert stores.records.end_jobs(both[index:], clock.ms) == {parts.job.id}
    _, words = stores.records.details(parts.job.id, 0)
    assert {x.key for x in words} == {x.words.key for x in both if x.words is not None}
    assert job(stores, parts).counts["delivered"] == 2


def test_words_about_a_job_that_has_moved_on_are_not_stored(stores: Stores, clock: FakeClock) -> None:
    parts = accepted(stores, clock)
    stores.records.end_jobs([end(clock, begun(stores, clock, parts))], clock.ms)
    late = said(stores, clock, parts)
    stores.ledgers.join(parts.job.id, 0, [(1, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    assert stores.records.end_jobs([late], clock.ms) == set()
    assert stores.records.details(parts.job.id, 0)[1] == []


def test_a_typical_item_has_room_for_the_first_words(stores: Stores, clock: FakeClock) -> None:
    """So they cost no write of their own."""
    parts = accepted(stores, clock)
    stores.records.end_jobs([end(clock, begun(stores, clock, parts))], clock.ms)
    late = said(stores, clock, parts)
    assert late.room > 0
    before = len(stores.tap.calls)
    stores.records.end_jobs([late], clock.ms)
    assert len(stores.tap.calls) == before + 1


@pytest.mark.parametrize("more", [0, 9_000, 400_000])
def test_contents_of_every_size_are_loaded(stores: Stores, clock: FakeClock, more: int) -> None:
    """In the chunk, in an item of its own, and in the bucket."""
    parts = uncounted(clock, 2)
    text = "".join(chr(0x4E00 + (i * 7919) % 20_000) for i in range(more))
    content = replace(CONTENT, text=CONTENT.text + text)
    stores.records.accept(parts.job, parts.chunks, parts.ledgers, content, None)
    loaded = stores.records.load(parts.job.id, 0, content=True, lane="one")
    assert loaded is not None
    assert loaded.content == content
    bare = stores.records.load(parts.job.id, 0, content=False)
    assert bare is not None
    assert bare.content is None
    assert stores.records.load_each([(parts.job.id, 0), ("0" * 25 + "u", 0)], lane="one") == [loaded, None]


@pytest.mark.parametrize("of", [ACCOUNT, "acc_000000000002"])
def test_webhooks_hear_of_an_accounts_jobs_if_it_has_endpoints(stores: Stores, clock: FakeClock, of: str) -> None:
    parts = accepted(stores, clock)
    stores.hear(of)
    [control] = stores.records.controls([parts.job])
    assert control.heard == (of == ACCOUNT)
