"""Domains at providers: who has them made, what is shown, and what is noted."""

from typing import Any

import pytest

from shared.adapters.dynamo.accounts import made_identities
from shared.adapters.dynamo.accounts.made_identities import DynamoOwnedIdentities
from shared.contracts import Credential
from shared.domain.identities import IdentityState, OwnedIdentity, signs_for
from shared.domain.namespaces import team_space
from shared.engine.intake.identities import FRESH, IdentityService, Signing
from shared.ports import IdentityUnanswered
from tests.fakes.clock import FakeClock
from tests.fakes.identities import FakeIdentities, signing_service
from tests.fakes.tables import MotoStores

ANN, BEN = "acc_000000000001", "acc_000000000002"
DOMAIN = "news.example.com"


class Room:
    """A provider in two regions, over the real store of what was made."""

    def __init__(self, dynamo: Any) -> None:
        self.clock = FakeClock()
        stores = MotoStores(dynamo, self.clock)
        self.made = DynamoOwnedIdentities(stores.dynamo, stores.tables.records, self.clock)
        self.here, self.there = FakeIdentities(), FakeIdentities(region="eu-west-1")
        self.service = signing_service([self.here, self.there, self.here], self.made, self.clock)


@pytest.fixture
def room(moto_dynamo: Any) -> Room:
    return Room(moto_dynamo)


def test_a_domain_is_made_known_once_in_each_region(room: Room) -> None:
    found = room.service.ensure(ANN, DOMAIN)
    assert [(x.region, x.state, x.ours) for x in found] == [
        ("eu-central-1", IdentityState.PENDING, True),
        ("eu-west-1", IdentityState.PENDING, True),
    ]
    assert found[0].records == {f"k1._domainkey.{DOMAIN}": "k1.dkim.example"}
    room.service.ensure(BEN, DOMAIN)
    assert [x for x in room.here.calls if x[0] == "create"] == [("create", DOMAIN)]


def test_what_was_made_is_noted_with_its_account_and_time(room: Room) -> None:
    room.service.ensure(team_space(ANN), DOMAIN)
    room.service.ensure(BEN, "example.com")
    now = int(room.clock.now() * 1000)
    assert list(room.made.list()) == [
        OwnedIdentity("signer", "eu-central-1", "example.com", BEN, now),
        OwnedIdentity("signer", "eu-west-1", "example.com", BEN, now),
        OwnedIdentity("signer", "eu-central-1", DOMAIN, ANN, now),
        OwnedIdentity("signer", "eu-west-1", DOMAIN, ANN, now),
    ]
    for _ in range(2):
        room.made.forget(OwnedIdentity("signer", "eu-west-1", DOMAIN))
    assert not room.made.has("signer", "eu-west-1", DOMAIN)
    assert room.made.has("signer", "eu-central-1", DOMAIN)


@pytest.mark.promise(9)
def test_what_somebody_else_made_known_is_not_noted_as_ours(room: Room) -> None:
    room.here.known[DOMAIN] = IdentityState.SUCCESS
    room.there.meanwhile.add(DOMAIN)
    assert [x.ours for x in room.service.ensure(ANN, DOMAIN)] == [False, False]
    assert list(room.made.list()) == []


@pytest.mark.promise(9)
def test_the_service_removes_nothing(room: Room) -> None:
    """Functions have no right to; see tests/infra/test_ses.py."""
    assert {x for x in dir(room.service) if not x.startswith("_")} == {"ensure", "shown"}


def test_to_show_a_domain_makes_none_and_asks_seldom(room: Room) -> None:
    assert [x.state for x in room.service.shown(ANN, DOMAIN)] == [IdentityState.NONE] * 2
    for _ in range(5):
        room.service.shown(ANN, DOMAIN)
    assert room.here.calls == [("read", DOMAIN)]
    room.here.known[DOMAIN] = IdentityState.SUCCESS
    room.clock.advance(FRESH)
    assert room.service.shown(ANN, DOMAIN)[0].state is IdentityState.SUCCESS


def test_a_provider_that_does_not_answer_is_unknown_and_asked_again(room: Room) -> None:
    room.here.down = True
    for found in (room.service.ensure(ANN, DOMAIN), room.service.shown(ANN, DOMAIN)):
        assert [x.state for x in found] == [IdentityState.UNKNOWN, IdentityState.PENDING]
    room.here.down = False
    assert room.service.shown(ANN, DOMAIN)[0].state is IdentityState.NONE


def test_a_provider_that_takes_no_more_refuses(room: Room) -> None:
    room.here.full = True
    assert [x.state for x in room.service.ensure(ANN, DOMAIN)] == [IdentityState.REFUSED, IdentityState.PENDING]
    assert not room.made.has("signer", "eu-central-1", DOMAIN)


@pytest.mark.promise(9)
def test_the_limit_is_each_account_s_in_each_region_and_a_removal_makes_room(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_identities, "MAX_MADE", 2)
    room.here.known["one.example"] = IdentityState.SUCCESS
    for domain in ("one.example", "two.example"):
        room.service.ensure(team_space(ANN) if domain.startswith("two") else ANN, domain)
    assert [x.state for x in room.service.ensure(ANN, DOMAIN)] == [IdentityState.PENDING, IdentityState.REFUSED]
    assert [x.state for x in room.service.ensure(ANN, "four.example")] == [IdentityState.REFUSED] * 2
    assert [x.state for x in room.service.ensure(BEN, "four.example")] == [IdentityState.PENDING] * 2
    room.made.forget(OwnedIdentity("signer", "eu-west-1", "two.example", ANN))
    assert [x.state for x in room.service.ensure(ANN, DOMAIN)] == [IdentityState.PENDING] * 2


@pytest.mark.parametrize("fault", ["full", "meanwhile"])
def test_what_the_provider_did_not_make_does_not_count(room: Room, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(made_identities, "MAX_MADE", 1)
    room.here.full = fault == "full"
    room.here.meanwhile.add("one.example")
    room.service.ensure(ANN, "one.example")
    room.here.full = False
    assert room.service.ensure(ANN, "two.example")[0].state is IdentityState.PENDING


def test_a_domain_counts_while_it_is_not_known_whether_it_was_made(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_identities, "MAX_MADE", 1)
    down = room.here.create

    def lost(domain: str) -> bool:
        down(domain)
        raise IdentityUnanswered("timeout")

    monkeypatch.setattr(room.here, "create", lost)
    assert room.service.ensure(ANN, "one.example")[0].state is IdentityState.UNKNOWN
    monkeypatch.setattr(room.here, "create", down)
    assert room.service.ensure(ANN, "two.example")[0].state is IdentityState.REFUSED
    assert room.service.ensure(ANN, "one.example")[0].state is IdentityState.PENDING


def test_only_credentials_that_the_account_may_use_for_the_domain_count(room: Room) -> None:
    signing = [
        Signing(Credential("ben", "signer", "email", 1, accounts=(BEN,)), room.here),
        Signing(Credential("own", "signer", "email", 1, domains=("example.com",)), room.there),
    ]
    service = IdentityService(signing, lambda: room.made, room.clock)
    assert [x.region for x in service.ensure(ANN, DOMAIN)] == ["eu-west-1"]
    assert [x.region for x in service.ensure(BEN, "xexample.com")] == ["eu-central-1"]
    assert service.ensure(ANN, "example.org") == []


def test_a_deployment_whose_providers_sign_for_no_domain_does_nothing(room: Room) -> None:
    service = signing_service([], room.made, room.clock)
    assert (service.ensure(ANN, DOMAIN), service.shown(ANN, DOMAIN)) == ([], [])
    assert list(room.made.list()) == []


@pytest.mark.parametrize("sender", [DOMAIN, f"ann@{DOMAIN}", f"ann@sub.{DOMAIN}"])
def test_a_domain_signs_for_itself_and_what_is_below_it(sender: str) -> None:
    assert signs_for(DOMAIN, sender)


@pytest.mark.parametrize("sender", ["example.com", f"x{DOMAIN}", f"{DOMAIN}.example.net"])
def test_a_domain_signs_for_no_other(sender: str) -> None:
    assert not signs_for(DOMAIN, sender)
