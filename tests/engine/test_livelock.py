"""A chunk must not go round without end while nothing of it can be sent."""

from shared.domain.jobs import passes
from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.states import Cell
from tests.fakes.world import World, credential

ROUTE = ("one", "two")
NOW = 1_000_000


def leased(*cells: tuple[Cell, int], lane: str) -> Ledger:
    """Return a ledger that a worker holds in a lane."""
    packed = bytes(attempt << 4 | state for state, attempt in cells)
    return Ledger("j", 0, packed, lane, "one", 6, (0,) * 8, (), 1, status=LedgerStatus.BUSY, owner="me", epoch=1)


def given_up_by_one(ledger: Ledger) -> dict[int, passes.AttemptHistory]:
    """Return the past of a message that the first credential took and gave up."""
    window = Detail("j", 0, 1, 1, NOW, "one", (Entry(0, 1, Kind.ACCEPTED),), 1)
    word = FeedbackDetail("j", 0, "one", (FeedbackEntry(0, 1, "dropped", NOW // 1000),), 1)
    return passes.pasts(ledger, [window], [word])


def test_a_chunk_waits_before_it_returns_to_a_lane_it_left() -> None:
    """The gate may be shut, and the breaker not written as open: the store did not answer."""
    passing = PassContext(ROUTE, NOW, lambda _round: 10_000, leave=True, pasts=given_up_by_one)
    out = passes.release(leased((Cell.QUEUED, 1), lane="two"), passing)
    assert (out.lane, out.cell(0)) == ("two", (Cell.QUEUED, 1))
    assert out.not_before == NOW + 10_000


def test_the_time_that_one_provider_asks_for_is_not_waited_for_at_another() -> None:
    passing = PassContext(ROUTE, NOW, lambda _round: 10_000, leave=True, throttled_until=NOW + 900_000)
    out = passes.release(leased((Cell.QUEUED, 0), lane="one"), passing)
    assert (out.lane, out.not_before) == ("two", NOW)


def test_a_provider_that_asks_to_wait_is_given_its_time() -> None:
    passing = PassContext(ROUTE, NOW, lambda _round: 10_000, throttled_until=NOW + 900_000)
    out = passes.release(leased((Cell.QUEUED, 0), lane="one"), passing)
    assert (out.lane, out.not_before) == ("one", NOW + 900_000)


def test_a_message_goes_out_however_slow_its_credential_is() -> None:
    """A window of one slot takes no time but the wait for it."""
    world = World(credential("one", 0.005))
    job = world.accept(1)
    world.run()
    assert world.counts(job.id) == {"sent": 1}
