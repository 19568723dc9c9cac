"""Guests: the only addresses that team keys send to, as senders and readers of lists look them up."""

from typing import Any

import pytest

from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.adapters.dynamo.recipients.guests import Guests
from shared.domain.namespaces import namespace, team_space
from shared.domain.recipients.address_names import person
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.guests import MAX_GUESTS, Guest
from shared.domain.recipients.suppressions import NotAGuest, Reach
from tests.contracts.conftest import ACCOUNT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

ANN, BEN, EVE = "ann@example.org", "ben@example.org", "eve@example.net"
TEAM = team_space(ACCOUNT)


@pytest.fixture
def moto(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


@pytest.fixture
def guests(moto: MotoStores, clock: FakeClock) -> Guests:
    return Guests(moto.dynamo, moto.tables.records, clock)


def invite(stores: Stores, clock: FakeClock, *addresses: str) -> None:
    if isinstance(stores, FakeStores):
        stores.records.guests.setdefault(ACCOUNT, set()).update(addresses)
        return
    assert isinstance(stores, MotoStores)
    for address in addresses:
        assert Guests(stores.dynamo, stores.tables.records, clock).add(ACCOUNT, address)


@pytest.mark.promise(13)
def test_all_but_guests_are_kept_from_team_keys(stores: Stores, clock: FakeClock) -> None:
    everyone = [ANN, BEN, EVE]
    assert stores.records.suppressed(TEAM, everyone) == dict.fromkeys(everyone, NotAGuest())
    invite(stores, clock, ANN, BEN)
    stores.records.suppress(TEAM, BEN, "bounced", clock.ms)
    assert stores.records.suppressed(TEAM, everyone) == {BEN: Reach.ALL, EVE: NotAGuest()}
    assert stores.records.suppressed(TEAM, []) == {}


@pytest.mark.promise(13)
def test_guests_are_of_one_account_and_concern_team_keys_alone(stores: Stores, clock: FakeClock) -> None:
    invite(stores, clock, ANN)
    assert stores.records.suppressed(ACCOUNT, [ANN, EVE]) == {}
    assert stores.records.suppressed(namespace(ACCOUNT, test=True), [ANN, EVE]) == {}
    assert stores.records.suppressed(team_space("acc_000000000002"), [ANN]) == {ANN: NotAGuest()}


def test_what_bounces_to_a_team_key_is_suppressed_for_team_keys_alone(stores: Stores, clock: FakeClock) -> None:
    invite(stores, clock, ANN)
    stores.records.suppress(TEAM, ANN, "bounced", clock.ms)
    assert stores.records.suppressed(ACCOUNT, [ANN]) == {}
    stores.records.allow(TEAM, ANN)
    stores.records.suppress(ACCOUNT, ANN, "bounced", clock.ms)
    assert stores.records.suppressed(TEAM, [ANN]) == {}


@pytest.mark.promise(13)
def test_a_pause_of_the_account_holds_what_its_team_keys_made(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, account=TEAM)
    parts.store(stores)
    stores.pause(ACCOUNT)
    assert stores.records.control(parts.job.id, TEAM).paused
    assert stores.holds.read(TEAM, "one").paused
    stores.unpause(ACCOUNT)
    assert not stores.records.control(parts.job.id, TEAM).paused


def test_a_guest_is_added_once_and_listed_by_address(guests: Guests, clock: FakeClock) -> None:
    first = guests.add(ACCOUNT, BEN)
    clock.advance(5)
    assert guests.add(ACCOUNT, BEN) == first == Guest(BEN, clock.ms - 5000)
    guests.add(TEAM, ANN)
    assert guests.list(ACCOUNT) == guests.list(TEAM) == [Guest(ANN, clock.ms), Guest(BEN, clock.ms - 5000)]
    assert guests.remove(ACCOUNT, BEN)
    assert not guests.remove(ACCOUNT, BEN)
    assert [x.address for x in guests.list(ACCOUNT)] == [ANN]


@pytest.mark.slow
def test_a_list_of_guests_has_an_upper_bound(guests: Guests) -> None:
    for i in range(MAX_GUESTS):
        assert guests.add(ACCOUNT, f"r{i}@example.org")
    assert guests.add(ACCOUNT, ANN) is None
    assert guests.add(ACCOUNT, "r0@example.org")
    assert guests.remove(ACCOUNT, "r0@example.org")
    assert guests.add(ACCOUNT, ANN)


def test_each_change_has_one_entry_in_the_account_s_audit_log(moto: MotoStores, guests: Guests) -> None:
    for _ in range(2):
        guests.add(ACCOUNT, ANN, by="key1")
    for _ in range(2):
        guests.remove(ACCOUNT, ANN, by="key2")
    found, _ = DynamoJournal(moto.dynamo, moto.tables.records).page(ACCOUNT, kind="", after="", limit=9)
    assert {(x.kind, x.id, x.actor) for x in found} == {
        ("guest.added", person(address_hash(ANN)), "key1"),
        ("guest.removed", person(address_hash(ANN)), "key2"),
    }
    assert len(found) == 2


def test_of_two_changes_at_once_both_count(moto: MotoStores, guests: Guests, monkeypatch: pytest.MonkeyPatch) -> None:
    guests.add(ACCOUNT, ANN)
    get, turns = moto.dynamo.get, [0]

    def between(*args: Any) -> Any:
        found = get(*args)
        turns[0] += 1
        if turns[0] == 1:
            guests.add(ACCOUNT, BEN)
        return found

    monkeypatch.setattr(moto.dynamo, "get", between)
    guests.remove(ACCOUNT, ANN)
    assert [x.address for x in guests.list(ACCOUNT)] == [BEN]


@pytest.mark.promise(13)
def test_leases_look_again_before_a_guest_is_gone(moto: MotoStores, guests: Guests, clock: FakeClock) -> None:
    parts = Parts(clock, account=TEAM)
    parts.store(moto)
    guests.add(ACCOUNT, ANN)
    moto.tap.arm_at("dynamo.transact_write_items", when=When.BEFORE)
    with pytest.raises(Crash):
        guests.remove(ACCOUNT, ANN)
    assert moto.records.control(parts.job.id, TEAM).suppressed_at.get(Reach.ALL) == clock.ms
    assert [x.address for x in guests.list(ACCOUNT)] == [ANN]


def test_an_erased_person_is_no_guest_any_more(moto: MotoStores, guests: Guests) -> None:
    for address in (ANN, BEN):
        guests.add(ACCOUNT, address)
    for dry, left in ((True, [ANN, BEN]), (False, [BEN])):
        eraser = Eraser(moto.dynamo, moto.tables.records, lambda: None, "", key=ANN, dry=dry)
        eraser.lists([ACCOUNT, "acc_000000000002"])
        assert [x.address for x in guests.list(ACCOUNT)] == left
        assert (dict(eraser.report.erased), eraser.report.accounts) == ({"guests removed": 1}, {ACCOUNT})


def test_an_erasure_hashes_what_team_keys_suppress(moto: MotoStores, clock: FakeClock) -> None:
    moto.records.suppress(TEAM, ANN, "bounced", clock.ms)
    eraser = Eraser(moto.dynamo, moto.tables.records, lambda: None, "", key=ANN)
    eraser.lists([ACCOUNT])
    assert list(moto.suppressed(TEAM)) == [f"sha256:{address_hash(ANN)}"]
    assert eraser.report.accounts == {ACCOUNT}
