"""Endpoints, in memory and on DynamoDB."""

from dataclasses import replace

import pytest

from shared.domain.audit import SYSTEM, Event, Log
from shared.domain.hooks.endpoint import (
    DEPLOYMENT,
    MAX_ENDPOINTS,
    DisabledReason,
    Endpoint,
    HookFormat,
    disabled,
    new_endpoint_id,
    rotated,
)
from shared.ports import Mismatch, Replay, Stored
from tests.contracts.conftest import key
from tests.contracts.hook_stores import HookStores
from tests.domain.hooks.examples import ACCOUNT, HOOK, endpoint
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores


@pytest.fixture
def hooks(stores: Stores, clock: FakeClock) -> HookStores:
    return HookStores(stores, clock)


def event(one: Endpoint, kind: str = "hook.created") -> Event:
    return Event(ACCOUNT, one.created_at + one.version, one.id, kind, SYSTEM, {})


def kinds(hooks: HookStores) -> list[str]:
    return [x.kind for x in hooks.stores.journal.since(ACCOUNT, Log.AUDIT, 0)]


def another(hooks: HookStores, **changes: object) -> Endpoint:
    one = endpoint(id=new_endpoint_id(hooks.clock.ms), **changes)
    assert hooks.endpoints.create(one, None, event=None) == Stored()
    return one


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_an_endpoint_is_stored_whole(hooks: HookStores, when: When | None) -> None:
    if when is not None:
        hooks.stores.tap.arm(0, when, where=lambda name: name.endswith(("transact_write_items", "endpoints.create")))
    one = endpoint(events=("message.sent", "job.logged"), description="x", batch=True, format=HookFormat.SLACK, trial=2)
    assert hooks.endpoints.create(one, None, event=event(one)) == Stored()
    off = disabled(rotated(replace(one, polled_at=7), one.created_at), DisabledReason.GONE, one.created_at)
    assert hooks.endpoints.get(one.id) == one
    assert hooks.endpoints.change(one, off, event=event(off, "hook.disabled"))
    assert hooks.endpoints.change(one, off, event=event(off, "hook.disabled")), "its answer was lost"
    assert not hooks.endpoints.change(one, replace(off, description="other"), event=None)
    assert hooks.endpoints.get(one.id) == off
    assert hooks.endpoints.get("hook_none") is None
    assert kinds(hooks) == ["hook.created", "hook.disabled"]


def test_endpoints_of_namespaces_are_apart(hooks: HookStores) -> None:
    mine = [another(hooks, created_at=i) for i in range(3)]
    of_tests = another(hooks, namespace=f"{ACCOUNT}#TEST")
    of_operators = another(hooks, namespace=DEPLOYMENT)
    assert hooks.endpoints.of(ACCOUNT) == mine
    assert hooks.endpoints.of(f"{ACCOUNT}#TEST") == [of_tests]
    assert hooks.endpoints.of(DEPLOYMENT) == [of_operators]
    assert hooks.endpoints.of("acc_000000000002") == []


def test_a_namespace_has_so_many_endpoints_and_no_more(hooks: HookStores) -> None:
    mine = [another(hooks) for _ in range(MAX_ENDPOINTS)]
    more = endpoint(id=new_endpoint_id(hooks.clock.ms))
    assert hooks.endpoints.create(more, None, event=event(more)) is None
    assert hooks.endpoints.get(more.id) is None
    hooks.endpoints.delete(mine[3], event=None)
    assert hooks.endpoints.create(more, None, event=event(more)) == Stored()
    assert len(hooks.endpoints.of(ACCOUNT)) == MAX_ENDPOINTS


def test_a_namespace_is_listed_while_it_has_an_endpoint(hooks: HookStores) -> None:
    assert not hooks.listeners.has(ACCOUNT)
    first, second = another(hooks), another(hooks)
    seen = []
    for gone in (first, second):
        hooks.clock.advance(11)
        seen.append(hooks.listeners.has(ACCOUNT))
        hooks.endpoints.delete(gone, event=event(gone, "hook.deleted"))
        hooks.endpoints.delete(gone, event=event(gone, "hook.deleted"))
    hooks.clock.advance(11)
    assert [*seen, hooks.listeners.has(ACCOUNT)] == [True, True, False]
    assert not hooks.listeners.has(f"{ACCOUNT}#TEST")
    assert kinds(hooks) == ["hook.deleted", "hook.deleted"]


def test_the_work_of_an_endpoint_goes_with_it(hooks: HookStores) -> None:
    one = another(hooks)
    hooks.queue.add(one.id, [], wake=5)
    assert hooks.works.get(one.id) is not None
    hooks.endpoints.delete(one, event=None)
    assert hooks.works.get(one.id) is None


@pytest.mark.parametrize("when", list(When))
def test_a_deletion_whose_answer_was_lost_may_be_repeated(hooks: HookStores, when: When) -> None:
    one = another(hooks)
    call = ("dynamo.transact_write_items", "endpoints.delete")
    hooks.stores.tap.arm(0, when, RuntimeError, where=lambda name: name in call)
    try:
        hooks.endpoints.delete(one, event=event(one, "hook.deleted"))
    except RuntimeError:
        hooks.endpoints.delete(one, event=event(one, "hook.deleted"))
    assert hooks.endpoints.of(ACCOUNT) == []
    assert kinds(hooks) == ["hook.deleted"]


def test_an_idempotency_key_replays_its_answer(moto_dynamo: object, clock: FakeClock) -> None:
    hooks = HookStores(MotoStores(moto_dynamo, clock), clock)
    one = endpoint(created_at=clock.ms)
    assert hooks.endpoints.create(one, key(clock), event=None) == Stored()
    again = endpoint(id=new_endpoint_id(clock.ms), created_at=clock.ms)
    assert hooks.endpoints.create(again, key(clock), event=None) == Replay("first")
    assert hooks.endpoints.create(again, key(clock, "other"), event=None) == Mismatch()
    assert [x.id for x in hooks.endpoints.of(ACCOUNT)] == [HOOK]


def test_an_account_without_endpoints_costs_a_call_every_ten_seconds(moto_dynamo: object, clock: FakeClock) -> None:
    hooks = HookStores(MotoStores(moto_dynamo, clock), clock)
    for _ in range(100):
        assert not hooks.listeners.has(ACCOUNT)
        clock.advance(0.099)
    assert hooks.stores.tap.calls == ["dynamo.get_item"]
