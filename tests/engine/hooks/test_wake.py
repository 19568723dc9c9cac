"""The walk of every minute over endpoints that are to be looked at."""

from dataclasses import replace

from shared.domain.hooks.work import SHARDS, HookWork
from shared.engine.hooks.call import WOKEN
from tests.engine.hooks.calling import Caller


def asleep(caller: Caller, n: int) -> list[HookWork]:
    """Have endpoints wait to be looked at."""
    works = [HookWork(f"hook_{i:03d}", wake=1, namespace="acc_1") for i in range(n)]
    caller.queue.works |= {x.endpoint: x for x in works}
    return works


def woken(caller: Caller, seconds: float = 45) -> list[str]:
    """Wake endpoints, and return their ids in order."""
    caller.hints.calls.clear()
    assert caller.call.wake(stop_at=caller.clock.now() + seconds) == len(caller.hints.calls)
    return [x.endpoint for x in caller.hints.calls]


def test_endpoints_that_fail_are_woken_by_the_workers_for_these() -> None:
    caller = Caller()
    one, other = asleep(caller, 2)
    caller.queue.works[one.endpoint] = replace(one, fails=1)
    assert sorted(woken(caller)) == [one.endpoint, other.endpoint]
    assert {x.endpoint: (x.apart, x.namespace) for x in caller.hints.calls} == {
        one.endpoint: (True, "acc_1"),
        other.endpoint: (False, "acc_1"),
    }


def test_each_minute_another_shard_is_the_first() -> None:
    caller = Caller()
    shards = {x.endpoint: x.shard for x in asleep(caller, 200)}
    firsts = []
    for _ in range(SHARDS):
        names = woken(caller)
        assert len(names) == 200
        firsts.append(shards[names[0]])
        caller.clock.advance(60)
    assert sorted(firsts) == list(range(SHARDS))


def test_the_walk_stops_in_time() -> None:
    caller = Caller()
    asleep(caller, 20 * SHARDS)
    caller.tap.delay = lambda: caller.clock.advance(0.1)
    some = woken(caller, seconds=1)
    assert 0 < len(some) < 20 * SHARDS
    assert len(woken(caller)) == 20 * SHARDS


def test_many_endpoints_take_few_calls() -> None:
    caller = Caller()
    asleep(caller, 3 * WOKEN)
    caller.tap.calls.clear()
    assert len(woken(caller)) == 3 * WOKEN
    assert caller.tap.calls.count("hook_hints.wake") == caller.tap.calls.count("works.some") == SHARDS
