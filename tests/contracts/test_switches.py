"""Operators' switches as they are read, in memory and on DynamoDB; and the board on which they are set."""

import random
from typing import Any

import pytest

from shared.domain.audit import EVERYONE, Act, Log
from shared.domain.jobs.outcomes import Rejected
from shared.domain.lanes.pacing import pace
from shared.domain.lanes.switches import AS_DECLARED, Hold, Switch, Switches
from shared.engine.lane.admission import SHUT, Admission
from shared.engine.lane.breaker_cache import BreakerCache
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

OTHER = "acc_000000000002"
BY = "operator:123456789012:user/ann"


def test_what_is_held_back_and_since_when_it_no_longer_is(stores: Stores, clock: FakeClock) -> None:
    read = stores.holds.read
    assert read(ACCOUNT, "one") == Hold()
    stores.pause(ACCOUNT)
    assert (read(ACCOUNT, "one").paused, read(ACCOUNT, "").paused, read(OTHER, "one").paused) == (True, True, False)
    clock.advance(5)
    stores.unpause(ACCOUNT)
    assert read(ACCOUNT, "one") == Hold(resumed_at=clock.ms)
    assert read(OTHER, "one") == Hold()
    stores.switch("one", Switches(paused=True))
    assert (read(OTHER, "one").paused, read(OTHER, "two").paused, read(OTHER, "").paused) == (True, False, False)
    clock.advance(5)
    stores.switch("one", Switches(rate=5))
    assert read(ACCOUNT, "one") == read(OTHER, "one") == Hold(resumed_at=clock.ms)
    stores.pause("")
    assert read(OTHER, "two").paused
    clock.advance(5)
    stores.unpause("")
    assert read(OTHER, "two") == Hold(resumed_at=clock.ms)


@pytest.fixture
def board(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


@pytest.mark.parametrize(
    ("switch", "account", "name", "acts"),
    [
        (Switch(credential="one"), EVERYONE, "one", (Act.CREDENTIAL_PAUSED, Act.CREDENTIAL_RESUMED)),
        (Switch(account=ACCOUNT), ACCOUNT, ACCOUNT, (Act.ACCOUNT_PAUSED, Act.ACCOUNT_RESUMED)),
        (Switch(), EVERYONE, EVERYONE, (Act.ALL_PAUSED, Act.ALL_RESUMED)),
    ],
)
def test_each_change_is_audited_once_and_a_repeat_changes_nothing(
    board: MotoStores, clock: FakeClock, switch: Switch, account: str, name: str, acts: tuple[Act, Act]
) -> None:
    assert not board.switchboard.resume(switch, by=BY, reason="too early")
    assert board.switchboard.pause(switch, by=BY, reason="blocked")
    began = clock.ms
    clock.advance(1)
    assert not board.switchboard.pause(switch, by=BY, reason="again")
    (found,) = board.switchboard.read(switch).values()
    assert (found.switches.paused, found.reason, found.since) == (True, "blocked", began)
    assert board.switchboard.resume(switch, by=BY, reason="unblocked")
    (found,) = board.switchboard.read(switch).values()
    assert (found.switches, found.reason, found.since) == (AS_DECLARED, "", 0)
    told = list(board.journal.since(account, Log.AUDIT, 0))
    assert [(x.id, x.kind, x.actor, dict(x.data)) for x in told] == [
        (name, acts[0], BY, {"reason": "blocked"}),
        (name, acts[1], BY, {"reason": "unblocked"}),
    ]
    assert not list(board.journal.since(account, Log.EVENTS, 0))


def test_a_rate_is_set_between_the_least_and_the_declared_one(board: MotoStores, clock: FakeClock) -> None:
    def set_rate(rate: float) -> bool:
        clock.advance(1)
        return board.switchboard.set_rate("one", rate, ceiling=100, by=BY, reason="warming up")

    for wrong in (0.019, 100.1, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"from 0\.02 to 100 messages"):
            set_rate(wrong)
    assert not set_rate(0)
    assert set_rate(0.02)
    assert not set_rate(0.02)
    assert set_rate(100)
    assert board.switchboard.read(Switch(credential="one"))[Switch(credential="one")].switches == Switches(rate=100)
    assert set_rate(0)
    assert board.switchboard.read(Switch(credential="one"))[Switch(credential="one")].switches == AS_DECLARED
    told = list(board.journal.since(EVERYONE, Log.AUDIT, 0))
    assert [(x.kind, x.data["rate"]) for x in told] == [(Act.RATE_SET, rate) for rate in ("0.02", "100", "declared")]


def test_slots_and_switches_leave_each_other_alone(board: MotoStores, clock: FakeClock) -> None:
    one, at = Switch(credential="one"), pace(10, 1, present=5)
    first = board.pacer.reserve("one", 4, pace(10, 1), lead=0)
    board.switch("one", Switches(paused=True, rate=5))
    assert board.pacer.reserve("one", 4, at, lead=0).count == 0
    board.switchboard.resume(one, by=BY, reason="why")
    assert board.switchboard.read(one)[one].switches == Switches(rate=5)
    assert board.pacer.reserve("one", 4, at, lead=0).first == pytest.approx(first.at(4), abs=1e-5)
    assert board.holds.read(ACCOUNT, "one") == Hold(resumed_at=clock.ms)


def test_a_reason_that_names_an_address_is_refused_and_nothing_changes(board: MotoStores) -> None:
    with pytest.raises(ValueError, match="names no address"):
        board.switchboard.pause(Switch(), by=BY, reason="ann@example.com asked")
    assert not board.holds.read(ACCOUNT, "one").paused


def test_a_breaker_closed_by_hand_is_taken_in_by_a_process_that_knew_it_open(
    board: MotoStores, clock: FakeClock
) -> None:
    breaker_cache = BreakerCache(breakers=board.breakers, clock=clock, rng=random.Random(0))  # noqa: S311 - jitter
    gate = Admission("one", breaker_cache, clock)
    ticket = gate.enter("me")
    gate.leave(ticket, "me", [Rejected("unauthorized", permanent=False, provider_down=True)])
    assert gate.enter("me") == SHUT
    assert board.switchboard.close_breaker("one", by=BY, reason="mended")
    gate.see(board.breakers.read(["one"])["one"])
    assert gate.enter("me") > 0
    assert breaker_cache.usable("one")
    assert not board.switchboard.close_breaker("one", by=BY, reason="again")
    (entry,) = board.journal.since(EVERYONE, Log.AUDIT, 0)
    assert (entry.kind, entry.id, entry.actor, entry.data) == (Act.BREAKER_CLOSED, "one", BY, {"reason": "mended"})


def test_probes_under_way_do_not_reopen_a_breaker_that_was_closed_by_hand(board: MotoStores, clock: FakeClock) -> None:
    breaker_cache = BreakerCache(breakers=board.breakers, clock=clock, rng=random.Random(0))  # noqa: S311 - jitter
    opened = breaker_cache.open("one", "http_503", 5)
    clock.advance(opened.probe_at / 1000 - clock.now())
    assert breaker_cache.probe("one", "me").prober == "me"
    assert board.switchboard.close_breaker("one", by=BY, reason="mended")
    assert breaker_cache.reopen("one", "me", "http_503").closed
