"""Breakers, in memory and on DynamoDB."""

from dataclasses import replace

from shared.domain.lanes import breaker as rules
from shared.domain.lanes.breaker import Breaker, BreakerState
from tests.contracts.conftest import ACCOUNT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

NEVER = Breaker("one")


def opened(clock: FakeClock) -> Breaker:
    out = rules.opened(NEVER, reason="http_503", failures=5, now=clock.ms, jitter=0.5)
    assert out is not None
    return out


def test_what_was_never_opened_is_closed(stores: Stores) -> None:
    assert stores.breakers.read(["one", "two"]) == {"one": NEVER, "two": Breaker("two")}
    assert stores.breakers.read([]) == {}


def test_every_state_is_read_as_it_was_written(stores: Stores, clock: FakeClock) -> None:
    a = opened(clock)
    b = rules.probing(a, owner="me", now=a.probe_at)
    assert b is not None
    h = rules.handed_on(b, owner="me", successes=1, now=a.probe_at + 1)
    assert h is not None
    again = rules.probing(h, owner="you", now=h.probe_at)
    assert again is not None
    c = rules.closed(again, owner="you", now=a.probe_at + 2)
    assert c is not None
    last = NEVER
    for new in (a, b, h, again, c):
        assert stores.breakers.swap(last, new) == new
        assert stores.breakers.read(["one"]) == {"one": new}
        last = new
    assert (c.state, c.version, c.reason) == (BreakerState.CLOSED, 5, "http_503")


def test_of_two_writers_one_wins_and_the_other_sees_what_it_wrote(stores: Stores, clock: FakeClock) -> None:
    mine, theirs = opened(clock), replace(opened(clock), reason="unauthorized")
    assert stores.breakers.swap(NEVER, theirs) == theirs
    assert stores.breakers.swap(NEVER, mine) == theirs
    a, b = (rules.probing(theirs, owner=x, now=theirs.probe_at) for x in ("a", "b"))
    assert a is not None
    assert b is not None
    assert stores.breakers.swap(theirs, a) == a
    assert stores.breakers.swap(theirs, b) == a
    assert stores.breakers.read(["one"]) == {"one": a}


def test_a_write_whose_answer_was_lost_is_found_again(stores: Stores, clock: FakeClock) -> None:
    stores.tap.arm(0, When.REPEATED)
    assert stores.breakers.swap(NEVER, opened(clock)) == opened(clock)
    assert stores.tap.fired == 1


def test_credentials_do_not_share_a_breaker(stores: Stores, clock: FakeClock) -> None:
    stores.breakers.swap(NEVER, opened(clock))
    assert stores.breakers.read(["two"]) == {"two": Breaker("two")}


def test_a_worker_reads_its_lanes_breaker_with_what_it_reads_anyway(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    for expected in (NEVER, opened(clock)):
        if expected is not NEVER:
            stores.breakers.swap(NEVER, expected)
        calls = len(stores.tap.calls)
        control = stores.records.control(parts.job.id, ACCOUNT, lane="one")
        loaded = stores.records.load(parts.job.id, 0, content=True, lane="one")
        assert loaded is not None
        assert len(stores.tap.calls) == calls + 2
        assert (control.job, control.paused, loaded.job, loaded.chunk) == (parts.job, False, parts.job, parts.chunks[0])
        assert loaded.content is not None
        assert control.breaker == loaded.breaker == expected
    other = stores.records.control(parts.job.id, ACCOUNT, lane="two")
    assert other.breaker == Breaker("two")
    assert stores.records.control(parts.job.id, ACCOUNT).breaker is None
