"""Every queue primitive: what it does, how it loses a race, and how it knows its own write again."""

from dataclasses import replace

import pytest

from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.queue import Expired, NotDue
from shared.domain.jobs.states import Cell
from tests.contracts.conftest import ROUTE, Parts, leased, passing
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

Q, C, S, U = Cell.QUEUED, Cell.CLAIMED, Cell.SENT, Cell.UNKNOWN


@pytest.fixture
def job(stores: Stores, clock: FakeClock) -> str:
    parts = Parts(clock)
    parts.store(stores)
    return parts.job.id


def stored(stores: Stores, job: str) -> Ledger:
    found = stores.ledgers.read(job, 0)
    assert found is not None
    return found


def cells(x: Ledger) -> list[tuple[Cell, int]]:
    return [x.cell(i) for i in range(len(x.cells))]


def entry(index: int, kind: Kind = Kind.ACCEPTED, attempt: int = 1) -> Entry:
    return Entry(index, attempt, kind, "id")


# Reading


def test_what_is_enqueued_is_read_back_by_number(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [1] * 12)
    stores.ledgers.enqueue(list(reversed(parts.ledgers)))
    assert stores.ledgers.read_all(parts.job.id) == parts.ledgers
    assert stores.ledgers.read(parts.job.id, 11) == parts.ledgers[11]
    assert stores.ledgers.read(parts.job.id, 12) is None
    held = leased(stores, clock, parts.job.id, 3)
    assert stores.ledgers.find_inflight(parts.job.id) == [held]
    assert [x.chunk for x in stores.ledgers.list_queue(parts.job.id)] == [0, 1, 2, *range(4, 12)]


# L1


def test_one_worker_leases_a_chunk(stores: Stores, clock: FakeClock, job: str) -> None:
    held = leased(stores, clock, job)
    assert (held.status, held.owner, held.epoch, held.seq) == (LedgerStatus.BUSY, "me", 1, 0)
    assert stored(stores, job) == held
    assert stores.ledgers.send_start(job, 0, lane="one", owner="you", now=clock.ms, until=clock.ms + 1) is None


def test_a_lease_whose_answer_was_lost_is_known_again(stores: Stores, clock: FakeClock, job: str) -> None:
    stores.tap.arm(0, When.REPEATED)
    assert leased(stores, clock, job) == stored(stores, job)
    assert stores.tap.fired == 1


def test_a_lease_that_ran_out_is_shown(stores: Stores, clock: FakeClock, job: str) -> None:
    held = leased(stores, clock, job)
    clock.advance(60.001)
    got = stores.ledgers.send_start(job, 0, lane="one", owner="you", now=clock.ms, until=clock.ms + 1)
    assert got == Expired(held)


def test_a_chunk_is_leased_on_its_lane_when_it_is_due_and_not_done(stores: Stores, clock: FakeClock, job: str) -> None:
    def start(lane: str = "one") -> object:
        return stores.ledgers.send_start(job, 0, lane=lane, owner="me", now=clock.ms, until=clock.ms + 1)

    assert start("two") is None
    moved = stores.ledgers.reschedule(job, 0, not_before=clock.ms + 5000, lane="two")
    assert moved is not None
    assert start() is None
    assert start("two") == NotDue(clock.ms + 5000)
    clock.advance(5)
    assert isinstance(start("two"), Ledger)
    done = Parts(clock)
    stores.ledgers.enqueue([replace(done.ledgers[0], status=LedgerStatus.DONE)])
    assert stores.ledgers.send_start(done.job.id, 0, lane="one", owner="me", now=clock.ms, until=0) is None
    assert stores.ledgers.send_start("0" * 26, 0, lane="one", owner="me", now=clock.ms, until=0) is None


# L2


def test_a_claim_merges_and_takes_more(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    held, indices = claimed
    assert indices == [0, 1]
    assert stored(stores, job) == held
    claimed = stores.ledgers.claim(held, [entry(0), entry(1, Kind.REFUSED)], 2, route=ROUTE)
    assert claimed is not None
    assert claimed[1] == [2]
    assert cells(stored(stores, job)) == [(S, 1), (Cell.FAILED, 1), (C, 1)]
    assert stored(stores, job).seq == 2


@pytest.mark.parametrize("lost", [False, True])
def test_a_claim_keeps_what_feedback_wrote_meanwhile(stores: Stores, clock: FakeClock, job: str, lost: bool) -> None:  # noqa: FBT001
    held = leased(stores, clock, job)
    stores.ledgers.join(job, 0, [(0, 0, Cell.DELIVERED)], route=ROUTE, credential="one")
    if lost:
        stores.tap.arm(1, When.REPEATED)
    claimed = stores.ledgers.claim(held, [], 3, route=ROUTE)
    assert claimed is not None
    assert claimed[1] == [1, 2]
    assert claimed[0] == stored(stores, job)
    assert cells(claimed[0]) == [(Cell.DELIVERED, 0), (C, 1), (C, 1)]
    assert stores.tap.fired == int(lost)


def test_a_claim_whose_answer_was_lost_is_known_again(stores: Stores, clock: FakeClock, job: str) -> None:
    held = leased(stores, clock, job)
    stores.tap.arm(0, When.REPEATED)
    claimed = stores.ledgers.claim(held, [], 2, route=ROUTE)
    assert claimed == (stored(stores, job), [0, 1])
    assert cells(stored(stores, job)) == [(C, 1), (C, 1), (Q, 0)]
    assert stores.tap.fired == 1


@pytest.mark.promise(1)
def test_a_claim_whose_answer_was_lost_takes_nobody_again_whose_answer_is_to_come(
    stores: Stores, clock: FakeClock, job: str
) -> None:
    first = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert first is not None
    stores.tap.arm(0, When.REPEATED)
    second = stores.ledgers.claim(first[0], [entry(0)], 2, route=ROUTE)
    assert second == (stored(stores, job), [2])
    assert cells(stored(stores, job)) == [(S, 1), (C, 1), (C, 1)]
    assert stores.tap.fired == 1


def test_a_claim_under_a_lost_lease_takes_nothing_and_leaves_its_words(
    stores: Stores, clock: FakeClock, job: str
) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    clock.advance(61)
    assert stores.ledgers.take_over(claimed[0], {}, passing(clock)) is not None
    words = [entry(0), entry(1, Kind.NOT_SENT)]
    assert stores.ledgers.claim(claimed[0], words, 3, route=ROUTE) is None
    assert cells(stored(stores, job)) == [(S, 1), (Cell.DROPPED, 1), (Q, 0)]


@pytest.mark.promise(1)
def test_a_lost_lease_moves_nothing_that_another_holds(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 1, route=ROUTE)
    assert claimed is not None
    clock.advance(61)
    assert stores.ledgers.take_over(claimed[0], {}, passing(clock)) is not None
    other = leased(stores, clock, job, owner="other")
    assert stores.ledgers.claim(claimed[0], [], 2, route=ROUTE) is None
    assert stores.ledgers.send_cancel(claimed[0], [], [0], passing(clock)) is None
    assert stored(stores, job) == other


# L4


def test_a_release_to_done(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 3, route=ROUTE)
    assert claimed is not None
    released = stores.ledgers.send_done(claimed[0], [entry(i) for i in range(3)], passing(clock))
    assert released == stored(stores, job)
    assert (released.status, released.owner, released.released_at) == (LedgerStatus.DONE, "", clock.ms)


def test_a_release_with_work_left(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    later = replace(passing(clock), throttled_until=clock.ms + 700)
    released = stores.ledgers.send_cancel(claimed[0], [entry(0)], [1], later)
    assert released == stored(stores, job)
    assert released.status is LedgerStatus.IDLE
    assert released.not_before == clock.ms + 700
    assert cells(released) == [(S, 1), (Q, 0), (Q, 0)]


def test_a_release_whose_answer_was_lost_is_known_again(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    stores.tap.arm(0, When.REPEATED)
    words = [entry(0), entry(1, Kind.NOT_SENT)]
    released = stores.ledgers.send_cancel(claimed[0], words, [], passing(clock))
    assert released == stored(stores, job)
    assert cells(released) == [(S, 1), (Cell.RETRY, 1), (Q, 0)]
    assert stores.tap.fired == 1


def test_a_release_after_a_claim_whose_answer_never_came_frees_what_was_not_begun(
    stores: Stores, clock: FakeClock, job: str
) -> None:
    held = leased(stores, clock, job)
    assert stores.ledgers.claim(held, [], 2, route=ROUTE) is not None
    released = stores.ledgers.send_cancel(held, [], [], passing(clock))
    assert released == stored(stores, job)
    assert cells(released) == [(Q, 0), (Q, 0), (Q, 0)]
    assert released.status is LedgerStatus.IDLE


@pytest.mark.promise(1)
def test_a_release_after_such_a_claim_keeps_what_slow_answers_say(stores: Stores, clock: FakeClock, job: str) -> None:
    first = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert first is not None
    assert stores.ledgers.claim(first[0], [entry(0)], 1, route=ROUTE) is not None
    released = stores.ledgers.send_cancel(first[0], [entry(0), entry(1)], [], passing(clock))
    assert released == stored(stores, job)
    assert cells(released) == [(S, 1), (S, 1), (Q, 0)]


def test_a_release_leaves_nothing_claimed(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    released = stores.ledgers.send_cancel(claimed[0], [entry(0)], [], passing(clock))
    assert released is not None
    assert cells(released) == [(S, 1), (U, 1), (Q, 0)]


def test_a_release_under_a_lost_lease_leaves_its_words(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    clock.advance(61)
    stores.ledgers.take_over(claimed[0], {}, passing(clock))
    assert stores.ledgers.send_cancel(claimed[0], [entry(0)], [1], passing(clock)) is None
    assert cells(stored(stores, job)) == [(S, 1), (U, 1), (Q, 0)]


# L5


def test_of_two_takeovers_one_wins(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    held = claimed[0]
    assert stores.ledgers.take_over(held, {}, passing(clock)) is None
    clock.advance(61)
    taken = stores.ledgers.take_over(held, {0: entry(0)}, passing(clock))
    assert taken == stored(stores, job)
    assert cells(taken) == [(S, 1), (U, 1), (Q, 0)]
    assert (taken.epoch, taken.status) == (2, LedgerStatus.IDLE)
    assert stores.ledgers.take_over(held, {}, passing(clock)) is None
    assert stored(stores, job) == taken


def test_a_takeover_minds_feedback_that_came_meanwhile(stores: Stores, clock: FakeClock, job: str) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 2, route=ROUTE)
    assert claimed is not None
    clock.advance(61)
    stores.ledgers.join(job, 0, [(0, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    taken = stores.ledgers.take_over(claimed[0], {}, passing(clock))
    assert taken is not None
    assert cells(taken) == [(Cell.DELIVERED, 1), (U, 1), (Q, 0)]


# F, J4 and the rest


def test_joining_the_same_words_twice_writes_once(stores: Stores, clock: FakeClock, job: str) -> None:
    words = [(0, 0, Cell.BOUNCED)]
    first = stores.ledgers.join(job, 0, words, route=ROUTE, credential="one")
    assert first == stored(stores, job)
    assert stores.ledgers.join(job, 0, words, route=ROUTE, credential="one") == first
    assert stored(stores, job).version == first.version == 2
    assert stores.ledgers.join("0" * 26, 0, words, route=ROUTE, credential="one") is None


@pytest.mark.promise(7)
def test_a_join_into_a_ledger_that_was_read_before_loses_nothing(stores: Stores, clock: FakeClock, job: str) -> None:
    read = stored(stores, job)
    first = stores.ledgers.join(job, 0, [(0, 0, Cell.BOUNCED)], route=ROUTE, credential="one", known=read)
    assert first == stored(stores, job)
    second = stores.ledgers.join(job, 0, [(1, 0, Cell.BOUNCED)], route=ROUTE, credential="one", known=read)
    assert second == stored(stores, job)
    assert [second.cell(i)[0] for i in range(2)] == [Cell.BOUNCED, Cell.BOUNCED]
    assert second.version == read.version + 2


@pytest.mark.parametrize("word", [Cell.DELIVERED, Cell.DROPPED])
def test_a_join_whose_answer_was_lost_counts_once(stores: Stores, clock: FakeClock, job: str, word: Cell) -> None:
    claimed = stores.ledgers.claim(leased(stores, clock, job), [], 1, route=ROUTE)
    assert claimed is not None
    stores.tap.arm(1, When.REPEATED)
    joined = stores.ledgers.join(job, 0, [(0, 1, word)], route=ROUTE, credential="two")
    assert joined == stored(stores, job)
    assert joined.by[4:] == ((0, 1, 1, 0) if word is Cell.DELIVERED else (0, 1, 0, 1))
    assert stores.tap.fired == 1


def test_a_busy_chunk_is_not_moved(stores: Stores, clock: FakeClock, job: str) -> None:
    held = leased(stores, clock, job)
    assert stores.ledgers.reschedule(job, 0, not_before=clock.ms + 9, lane="two") == held
    assert stored(stores, job) == held


def test_waiting_recipients_can_be_dropped(stores: Stores, clock: FakeClock, job: str) -> None:
    dropped = stores.ledgers.drop(job, 0, [0, 2])
    assert dropped == stored(stores, job)
    assert cells(dropped) == [(Cell.SKIPPED, 0), (Q, 0), (Cell.SKIPPED, 0)]
    last = stores.ledgers.drop(job, 0, [1])
    assert last is not None
    assert last.status is LedgerStatus.DONE
    assert stores.ledgers.drop("0" * 26, 0, [1]) is None


def test_moving_a_chunk_there_and_back_leaves_no_trace(stores: Stores, clock: FakeClock, job: str) -> None:
    before = stored(stores, job)
    moved = stores.ledgers.reschedule(job, 0, not_before=clock.ms + 9, lane="two")
    assert moved == stored(stores, job) == replace(before, not_before=clock.ms + 9, lane="two", version=2)
    back = stores.ledgers.reschedule(job, 0, not_before=0, lane="one")
    assert back == stored(stores, job) == replace(before, version=3)
    assert stores.ledgers.reschedule(job, 0, not_before=0, lane="one") == back
