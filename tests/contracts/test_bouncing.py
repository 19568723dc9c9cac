"""The figures of a day's single messages, in memory and on DynamoDB."""

from dataclasses import replace

from shared.domain.campaigns.bounce_guard import BouncingDay
from shared.domain.jobs.states import Cell
from tests.contracts.conftest import ACCOUNT, Parts, job
from tests.contracts.test_folding import sent
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Stores


def bounced(stores: Stores, clock: FakeClock, size: int, **changes: bool) -> Parts:
    """Store a job of which one message failed, one was delivered and one bounced; the rest is on its way."""
    parts = Parts(clock, [size], **changes)
    parts.store(stores)
    stores.records.fold(sent(stores, clock, parts), parts.job)
    for index, cell in ((1, Cell.DELIVERED), (2, Cell.BOUNCED)):
        said = stores.ledgers.join(parts.job.id, 0, [(index, 1, cell)], route=parts.job.route, credential="one")
        assert said is not None
        stores.records.fold_all([said], job(stores, parts))
    return parts


def test_a_day_has_the_figures_of_small_batches_alone(stores: Stores, clock: FakeClock) -> None:
    one = bounced(stores, clock, 3).job
    empty = BouncingDay(ACCOUNT, one.day, one.channel, 1, 3, clock.ms)
    assert stores.bouncing.of(one, clock.ms) == empty
    bounced(stores, clock, 11)
    bounced(stores, clock, 3, test=True)
    assert stores.bouncing.of(one, clock.ms) == empty
    bounced(stores, clock, 10)
    assert stores.bouncing.of(one, clock.ms) == replace(empty, bounced=2, settled=6)
    assert stores.bouncing.of(replace(one, channel="sms"), clock.ms) == BouncingDay(
        ACCOUNT, one.day, "sms", 0, 0, clock.ms
    )


def test_a_day_is_noted_once(stores: Stores, clock: FakeClock) -> None:
    day = BouncingDay(ACCOUNT, "2026-11-20", "email", 12, 90, clock.ms)
    assert stores.bouncing.note(day)
    assert not stores.bouncing.note(replace(day, bounced=13))
    assert stores.bouncing.note(replace(day, channel="sms"))
    assert stores.bouncing.note(replace(day, day="2026-11-21"))
