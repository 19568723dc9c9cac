"""One account's mail does not wait for another's."""

import pytest

from shared.contracts import pointer
from shared.domain.jobs.job import EXPRESS
from shared.domain.lanes.pacing import HEADROOM
from tests.engine.fairness import BULK, OTHER, behind_bulk, shared, whim
from tests.fakes.queues import Order, fairest
from tests.fakes.world import ACCOUNT, World, credential

P95 = 5.0
"""Seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("order", [fairest, whim(1)], ids=["fewest first", "any order"])
@pytest.mark.parametrize(("rate", "batches", "seconds"), [(14, 1, 70), (100, 3, 30)])
def test_a_single_mail_passes_another_account_s_bulk(rate: float, batches: int, seconds: float, order: Order) -> None:
    seen = behind_bulk(rate, batches, seconds=seconds, every=1, order=order)
    assert len(seen.waits) > 15
    assert seen.p95 <= P95
    assert seen.per_second >= 0.97 * HEADROOM * rate


@pytest.mark.slow
def test_single_mails_pass_bulk_also_if_several_come_in_a_second() -> None:
    """They would pile up if each waited for all that bulk may reserve ahead."""
    seen = behind_bulk(14, 1, seconds=60, every=0.5)
    assert len(seen.waits) > 80
    assert seen.p95 <= P95
    assert seen.per_second >= 0.97 * HEADROOM * 14


@pytest.mark.slow
@pytest.mark.parametrize("rate", [14, 100])
def test_two_accounts_share_a_credential(rate: float) -> None:
    seen = shared(rate, seconds=25)
    assert 0.4 <= seen.shares[BULK] <= 0.6
    assert seen.per_second >= 0.97 * HEADROOM * rate


@pytest.mark.slow
def test_endless_small_jobs_leave_a_large_one_its_part() -> None:
    seen = shared(14, seconds=60, sizes=(5000, EXPRESS))
    assert min(seen.shares[BULK], seen.shares[OTHER]) >= 0.2


@pytest.mark.parametrize(("size", "express"), [(1, True), (EXPRESS, True), (EXPRESS + 1, False)])
def test_small_jobs_use_the_express_queue_whichever_code_sends_pointers(
    size: int,
    express: bool,  # noqa: FBT001
) -> None:
    world = World(credential("one", rate=1000))
    job, lane = world.accept(size), world.lanes["one"]
    assert lane.is_empty(express=not express)
    assert not lane.is_empty(express=express)
    lane.lose()
    world.clock.advance(61)
    world.sweep()
    assert [(m.express, m.group) for m in lane.sent] == [(express, ACCOUNT)] * 2
    ledger = world.ledgers.read_all(job.id)[0]
    world.ledgers.reschedule(job.id, 0, not_before=world.clock.ms + 60_000, lane="one")
    world.send("one")
    assert (lane.sent[-1].express, lane.sent[-1].group, ledger.lane) == (express, ACCOUNT, "one")
    assert lane.waiting[0].due == pytest.approx(world.clock.now() + 60)


def test_a_pointer_of_an_older_version_in_the_other_queue_is_as_good() -> None:
    world = World(credential("one"))
    job, lane = world.accept(1), world.lanes["one"]
    lane.lose()
    lane.send([pointer(job.id, 0)], group=job.id)
    world.run()
    assert len(world.oracle.taken) == 1


def test_a_lost_pointer_is_missed_by_its_own_queue() -> None:
    """Else it would be missed after an hour, where the other is never empty."""
    world = World(credential("one"))
    large = world.accept(400)
    world.lanes["one"].lose()
    world.accept(1)
    world.clock.advance(61)
    before = len(world.lanes["one"].sent)
    world.sweep()
    assert [m.body for m in world.lanes["one"].sent[before:]] == [pointer(large.id, 0)]
