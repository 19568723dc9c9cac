"""An endpoint counts as enabled once no process remembers that it was not there: from then on no event is missed."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.hooks import listeners
from shared.domain.hooks.bodies import HookEvent
from shared.domain.hooks.endpoint import LISTED_MS, SEEN_MS, Endpoint, EndpointState, enabled_from
from shared.domain.hooks.kinds import HookKind
from shared.engine.hooks.adding import HookAdder
from shared.engine.hooks.outbox import KNOWN_FOR, HookOutbox
from tests.domain.hooks.examples import ACCOUNT, HOOK, endpoint
from tests.engine.hooks.calling import Caller

OTHER = "hook_01j0000000000000000000000k"
EVENT = {HookKind.JOB_LOGGED: [HookEvent("evt_job", {}, 1)]}


class Listed:
    """The items that list namespaces, as an adapter reads them."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def get(self, _table: str, _key: object, *, consistent: bool) -> Any:
        assert not consistent
        names = sorted({x.namespace for x in self._caller.endpoints.items.values()})
        return {"namespaces": {"SS": names}} if names else None


class Process:
    """A process with what it remembers: which namespaces have endpoints, and which endpoints these are."""

    def __init__(self, caller: Caller) -> None:
        self._listeners = listeners.DynamoListeners(Listed(caller), records="records", clock=caller.clock)  # type: ignore[arg-type]
        adder = HookAdder(queue=caller.queue, hints=caller.hints, clock=caller.clock)
        self._outbox = HookOutbox(endpoints=caller.endpoints, adder=adder, clock=caller.clock)

    def hands_on(self) -> bool:
        """Hand an event on, as all functions do; tell whether the endpoint HOOK gets it."""
        found = [x for x in self._outbox.endpoints(ACCOUNT) if x.id == HOOK]
        made = sum(self._outbox.happened(x, EVENT) for x in found)
        return self._listeners.has(ACCOUNT) and bool(made)


def other(caller: Caller, *, age: int) -> None:
    """Make another endpoint of the account. `age`: in seconds."""
    caller.endpoints.put(endpoint(id=OTHER, created_at=caller.clock.ms - age * 1000))


def asked(caller: Caller) -> None:
    """Have the endpoint answer a `test` event that its owner asks for at once."""
    caller.add(1, kind="test", data="{}", cells=())
    caller.work()
    assert caller.endpoint.proven


def state(caller: Caller) -> EndpointState:
    return caller.endpoint.state_at(caller.clock.ms)


@pytest.mark.parametrize("beside", ["none", "one of a second ago", "an old one"])
def test_each_process_hands_events_on_once_an_endpoint_is_enabled(beside: str) -> None:
    caller = Caller(proven=False)
    caller.endpoints.items.clear()
    processes = []

    def looks() -> None:
        """Have a new process look, which remembers what it has found."""
        processes.append(Process(caller))
        processes[-1].hands_on()

    if beside == "an old one":
        other(caller, age=3_600)
    looks()
    if beside == "one of a second ago":
        other(caller, age=0)
        caller.clock.advance(1)
    looks()
    caller.endpoints.put(endpoint(created_at=caller.clock.ms, proven=False))
    looks()
    caller.clock.advance(0.1)
    asked(caller)
    looked = 0
    while state(caller) is EndpointState.PROVING:
        looks()
        caller.clock.advance(0.5)
        looked += 1
    assert looked <= 2 * LISTED_MS / 1000
    assert [x for x in processes if not x.hands_on()] == []


def test_an_endpoint_is_enabled_when_it_was_listed_for_long_enough() -> None:
    now = 1_000_000
    mine, old = endpoint(created_at=now), endpoint(id=OTHER, created_at=now - LISTED_MS)
    assert enabled_from(now, [mine]) == now + LISTED_MS
    assert enabled_from(now + 3 * LISTED_MS, [mine]) == now + 3 * LISTED_MS + SEEN_MS
    assert enabled_from(now, [old, mine]) == now + SEEN_MS
    assert enabled_from(now, []) == now + LISTED_MS, "it was deleted"


def test_processes_forget_in_time() -> None:
    """Reads may be a moment old, and a write takes its time: two seconds are for that."""
    assert listeners.KEPT * 1000 + 2_000 <= LISTED_MS
    assert KNOWN_FOR * 1000 + 2_000 <= SEEN_MS


def test_an_endpoint_that_is_not_proven_or_disabled_shows_that() -> None:
    one = endpoint(enabled_at=2_000)
    assert [one.state_at(x) for x in (1_999, 2_000)] == [EndpointState.PROVING, EndpointState.ENABLED]
    assert replace(one, disabled_at=1).state_at(1_999) is EndpointState.DISABLED
    assert replace(one, proven=False).state_at(9_999) is EndpointState.PROVING
    stored_before: Endpoint = endpoint()
    assert stored_before.state_at(0) is EndpointState.ENABLED
