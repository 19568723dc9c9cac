"""Deliveries and the work of endpoints, in memory and on DynamoDB."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.domain.hooks.delivery import DeliveryState, HookAttempt, HookDelivery, again, attempted, ended
from shared.domain.hooks.work import HookWork, ReplayOrder
from tests.contracts.hook_stores import HookStores
from tests.domain.hooks.examples import HOOK, delivery
from tests.domain.ledgers import NOW
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

LATER = NOW + 60_000


@pytest.fixture
def hooks(stores: Stores, clock: FakeClock) -> HookStores:
    return HookStores(stores, clock)


def some(n: int, **changes: object) -> list[HookDelivery]:
    return [delivery(id=f"evt_{i:03d}", created_at=NOW + i, due=NOW + i, **changes) for i in range(n)]


def waiting(hooks: HookStores) -> list[HookDelivery]:
    found, end = hooks.queue.pending(HOOK, limit=100)
    assert not end
    return list(found)


def over(hooks: HookStores, state: DeliveryState | None = None) -> list[HookDelivery]:
    return list(hooks.queue.ended(HOOK, state=state, limit=100)[0])


def taken(hooks: HookStores, owner: str = "me", now: int = NOW) -> HookWork:
    work = hooks.works.acquire(HOOK, owner, now=now, until=now + 60_000)
    assert work is not None
    return work


def test_the_work_of_several_endpoints_is_read_at_once(hooks: HookStores) -> None:
    for name in (HOOK, "hook_other"):
        hooks.queue.add(name, [delivery(endpoint=name)], wake=LATER)
    every = {name: hooks.works.get(name) for name in (HOOK, "hook_other")}
    assert hooks.works.some(["hook_none", "hook_other", HOOK, HOOK]) == every
    assert hooks.works.some([]) == {}


def test_deliveries_wait_in_the_order_in_which_they_are_due(hooks: HookStores) -> None:
    all_of_them = some(30)
    hooks.queue.add(HOOK, list(reversed(all_of_them)), wake=LATER)
    hooks.queue.add("hook_other", [delivery(endpoint="hook_other")], wake=LATER)
    first, after = hooks.queue.pending(HOOK, limit=20)
    rest, end = hooks.queue.pending(HOOK, after=after, limit=20)
    assert [*first, *rest] == all_of_them
    assert not end


def test_what_is_added_twice_waits_once(hooks: HookStores) -> None:
    for _ in range(2):
        hooks.queue.add(HOOK, some(2), wake=LATER)
    assert waiting(hooks) == some(2)


def test_what_has_ended_is_listed_newest_first(hooks: HookStores) -> None:
    all_of_them = some(6)
    hooks.queue.add(HOOK, all_of_them, wake=LATER)
    states = [DeliveryState.FAILED if i == 2 else DeliveryState.DELIVERED for i in range(6)]
    new = [ended(attempted(x, HookAttempt(NOW, 200)), s, NOW + 9) for x, s in zip(all_of_them, states, strict=True)]
    hooks.queue.settle(list(zip(all_of_them, new, strict=True)))
    assert waiting(hooks) == []
    assert over(hooks) == list(reversed(new))
    assert over(hooks, DeliveryState.FAILED) == [new[2]]
    page, after = hooks.queue.ended(HOOK, since=NOW + 1, until=NOW + 4, limit=3)
    rest, end = hooks.queue.ended(HOOK, since=NOW + 1, until=NOW + 4, after=after, limit=3)
    assert ([*page, *rest], end) == ([new[4], new[3], new[2], new[1]], "")


def test_a_delivery_is_found_by_its_name(hooks: HookStores) -> None:
    one, two = some(2)
    hooks.queue.add(HOOK, [one, two], wake=LATER)
    done = ended(two, DeliveryState.FAILED, NOW + 5)
    hooks.queue.settle([(two, done)])
    names = (one.name, two.name, "1.evt_000", "none", f"{NOW}.evt_001")
    assert [hooks.queue.get(HOOK, x) for x in names] == [one, done, None, None, None]
    retried = again(done, NOW + 7)
    hooks.queue.add(HOOK, [retried], wake=LATER)
    assert hooks.queue.get(HOOK, two.name) == retried


def test_a_delivery_that_was_never_tried_is_found_by_one_read(moto_dynamo: object, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    hooks = HookStores(stores, clock)
    new = some(3)
    hooks.queue.add(HOOK, new, wake=LATER)
    stores.tap.calls.clear()
    assert hooks.queue.get(HOOK, new[1].name) == new[1]
    assert len(stores.tap.calls) == 1
    other = replace(new[0], created_at=NOW - 5)
    assert hooks.queue.get(HOOK, other.name) is None


def test_a_delivery_that_is_put_off_waits_for_its_new_time(hooks: HookStores) -> None:
    one = delivery()
    hooks.queue.add(HOOK, [one], wake=LATER)
    later = replace(attempted(one, HookAttempt(NOW, 500, 12, "no", "")), due=NOW + 5_000)
    hooks.queue.settle([(one, later)])
    assert waiting(hooks) == [later]
    same = attempted(later, HookAttempt(NOW + 1))
    hooks.queue.settle([(later, same)])
    assert waiting(hooks) == [same], "it is not removed if its time is the same"


@pytest.mark.parametrize("state", [DeliveryState.PENDING, DeliveryState.FAILED])
def test_a_process_that_dies_while_it_settles_loses_nothing(hooks: HookStores, state: DeliveryState) -> None:
    one = delivery()
    hooks.queue.add(HOOK, [one], wake=LATER)
    fake = isinstance(hooks.stores, FakeStores)
    new = replace(one, due=NOW + 5_000) if state is DeliveryState.PENDING else ended(one, state, NOW)
    hooks.stores.tap.arm_at("hook_queue.settle_put" if fake else "dynamo.batch_write_item", When.AFTER, Crash)
    with pytest.raises(Crash):
        hooks.queue.settle([(one, new)])
    assert one in waiting(hooks)
    assert new in [*waiting(hooks), *over(hooks)]


def test_many_deliveries_are_settled_at_once(hooks: HookStores) -> None:
    all_of_them = some(40)
    hooks.queue.add(HOOK, all_of_them, wake=LATER)
    hooks.queue.settle([(x, ended(x, DeliveryState.DELIVERED, NOW)) for x in all_of_them])
    assert waiting(hooks) == []
    assert len(over(hooks)) == 40


def test_the_work_counts_what_was_added(hooks: HookStores) -> None:
    assert hooks.works.get(HOOK) is None
    assert hooks.works.acquire(HOOK, "me", now=NOW, until=LATER) is None
    first = hooks.queue.add(HOOK, some(1), wake=LATER)
    second = hooks.queue.add(HOOK, some(1), wake=LATER + 9)
    assert [first, second] == [HookWork(HOOK, added=1, wake=LATER), HookWork(HOOK, added=2, wake=LATER)]
    sooner = HookWork(HOOK, added=3, wake=NOW)
    assert [hooks.queue.add(HOOK, [], wake=NOW), hooks.works.get(HOOK)] == [sooner, sooner]


def test_one_worker_has_the_lease(hooks: HookStores) -> None:
    hooks.queue.add(HOOK, some(1), wake=LATER)
    work = taken(hooks)
    assert (work.owner, work.until, work.added) == ("me", NOW + 60_000, 1)
    assert hooks.works.acquire(HOOK, "other", now=NOW + 59_999, until=LATER) is None
    assert taken(hooks) == work, "a repeat of its own call"
    other = taken(hooks, "other", NOW + 60_000)
    assert hooks.works.keep(work, work) is None
    assert hooks.works.release(work) is None
    assert hooks.works.get(HOOK) == other


def test_a_lease_ends_with_what_its_owner_learned(hooks: HookStores) -> None:
    hooks.queue.add(HOOK, some(1), wake=LATER)
    work = taken(hooks)
    learned = replace(
        work, fails=6, open_until=NOW + 9, failing_since=NOW, slow=True, trial=2, namespace="acc_1", wake=NOW + 5_000
    )
    assert hooks.works.keep(work, learned) == replace(learned, wake=LATER)
    assert hooks.works.release(learned) is None
    assert hooks.works.get(HOOK) == replace(learned, owner="", until=0)
    again_ = taken(hooks, "other")
    healed = replace(again_, fails=0, open_until=0, failing_since=0, slow=False, namespace="", wake=0)
    assert hooks.works.release(healed) is None
    assert hooks.works.get(HOOK) == HookWork(HOOK, added=1, trial=2)


def test_a_lease_does_not_end_if_more_was_added(hooks: HookStores) -> None:
    hooks.queue.add(HOOK, some(1), wake=LATER)
    work = taken(hooks)
    hooks.queue.add(HOOK, some(2), wake=LATER)
    more = hooks.works.release(replace(work, wake=0))
    assert more == replace(work, added=2)
    assert hooks.works.release(replace(more, wake=0)) is None
    assert hooks.works.get(HOOK) == HookWork(HOOK, added=2)


@pytest.mark.parametrize("when", [When.AFTER, When.REPEATED])
def test_a_release_whose_answer_was_lost_is_recognised(hooks: HookStores, when: When) -> None:
    hooks.queue.add(HOOK, some(1), wake=LATER)
    work = taken(hooks)
    hooks.stores.tap.arm(0, when, RuntimeError)
    try:
        released = hooks.works.release(replace(work, wake=0))
    except RuntimeError:
        released = hooks.works.release(replace(work, wake=0))
    assert released is None
    assert hooks.works.get(HOOK) == HookWork(HOOK, added=1)


ORDER = ReplayOrder(NOW - 9, NOW, NOW, None)


def test_one_replay_is_ordered_at_a_time(hooks: HookStores) -> None:
    hooks.queue.add(HOOK, some(1), wake=LATER)
    before = taken(hooks)
    assert hooks.works.order(HOOK, ORDER, wake=LATER)
    assert hooks.works.order(HOOK, ORDER, wake=LATER), "a repeat"
    assert not hooks.works.order(HOOK, replace(ORDER, at=NOW + 1), wake=LATER)
    kept = hooks.works.keep(before, before)
    assert kept is not None
    assert kept.replay == ORDER, "an order that the owner did not know of stays"
    after = replace(kept, replay=replace(ORDER, state=DeliveryState.FAILED, after="x"))
    assert hooks.works.keep(kept, after) == after
    done = hooks.works.keep(after, replace(after, replay=None))
    assert done is not None
    assert done.replay is None
    assert hooks.works.order(HOOK, replace(ORDER, at=NOW + 1), wake=LATER)


def woken(hooks: HookStores, now: int) -> Sequence[str]:
    return [x for shard in range(16) for x in hooks.works.waking(shard, now)]


def test_endpoints_are_looked_at_when_they_are_to_be(hooks: HookStores) -> None:
    names = [f"hook_{i}" for i in range(5)]
    for i, name in enumerate(names):
        hooks.queue.add(name, [], wake=NOW + i)
    assert sorted(woken(hooks, NOW + 3)) == names[:4]
    assert woken(hooks, NOW - 1) == []
    work = hooks.works.acquire(names[0], "me", now=NOW, until=LATER)
    assert work is not None
    hooks.works.release(replace(work, wake=0))
    assert sorted(woken(hooks, NOW + 3)) == names[1:4]


def test_the_work_of_an_endpoint_that_is_gone_is_dropped(hooks: HookStores) -> None:
    hooks.queue.add(HOOK, [], wake=LATER)
    work = taken(hooks)
    hooks.works.drop(replace(work, owner="other"))
    assert hooks.works.get(HOOK) == work
    hooks.works.drop(work)
    assert hooks.works.get(HOOK) is None
    assert woken(hooks, LATER) == []
