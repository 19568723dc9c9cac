"""Domains at providers: who has them made, what is shown, and when they are removed."""

from typing import Any

import pytest

from shared.adapters.dynamo.accounts.identity_users import REMOVAL_MS, DynamoIdentityUsers
from shared.contracts import Credential
from shared.domain.identities import IdentityState
from shared.domain.namespaces import team_space
from shared.engine.intake.identities import FRESH, IdentityDesk, Signing
from shared.ports import IdentityUnanswered
from tests.fakes.clock import FakeClock
from tests.fakes.identities import FakeIdentities, signing_desk
from tests.fakes.tables import MotoStores

ANN, BEN, EVE = "acc_000000000001", "acc_000000000002", "acc_000000000003"
DOMAIN = "news.example.com"


class Room:
    """A provider in two regions, over the real store of who uses what."""

    def __init__(self, dynamo: Any) -> None:
        self.clock = FakeClock()
        stores = MotoStores(dynamo, self.clock)
        self.users = DynamoIdentityUsers(stores.dynamo, stores.tables.records, self.clock)
        self.here, self.there = FakeIdentities(), FakeIdentities(region="eu-west-1")
        self.desk = signing_desk([self.here, self.there, self.here], self.users, self.clock)


@pytest.fixture
def room(moto_dynamo: Any) -> Room:
    return Room(moto_dynamo)


def test_a_domain_is_made_known_once_in_each_region(room: Room) -> None:
    found = room.desk.ensure(ANN, DOMAIN)
    assert [(x.region, x.state, x.ours) for x in found] == [
        ("eu-central-1", IdentityState.PENDING, True),
        ("eu-west-1", IdentityState.PENDING, True),
    ]
    assert found[0].records == {f"k1._domainkey.{DOMAIN}": "k1.dkim.example"}
    room.desk.ensure(ANN, DOMAIN)
    assert [x for x in room.here.calls if x[0] == "ensure"] == [("ensure", DOMAIN)] * 2, "a repeat changes nothing"


def test_to_show_a_domain_makes_none_and_asks_seldom(room: Room) -> None:
    assert [x.state for x in room.desk.shown(ANN, DOMAIN)] == [IdentityState.NONE] * 2
    for _ in range(5):
        room.desk.shown(ANN, DOMAIN)
    assert room.here.calls == [("read", DOMAIN)]
    room.here.known[DOMAIN] = IdentityState.SUCCESS
    room.clock.advance(FRESH)
    assert room.desk.shown(ANN, DOMAIN)[0].state is IdentityState.SUCCESS


def test_a_provider_that_does_not_answer_is_unknown_and_asked_again(room: Room) -> None:
    room.here.down = True
    assert [x.state for x in room.desk.ensure(ANN, DOMAIN)] == [IdentityState.UNKNOWN, IdentityState.PENDING]
    room.here.down = False
    assert room.desk.shown(ANN, DOMAIN)[0].state is IdentityState.NONE


def test_only_credentials_that_the_account_may_use_for_the_domain_count(room: Room) -> None:
    signing = [
        Signing(Credential("ben", "signer", "email", 1, accounts=(BEN,)), room.here),
        Signing(Credential("own", "signer", "email", 1, domains=("example.com",)), room.there),
    ]
    desk = IdentityDesk(signing, lambda: room.users, room.clock)
    assert [x.region for x in desk.ensure(ANN, DOMAIN)] == ["eu-west-1"]
    assert [x.region for x in desk.ensure(BEN, "xexample.com")] == ["eu-central-1"]
    assert desk.ensure(ANN, "example.org") == []
    assert not room.users.leave(ANN, "example.org"), "nothing was noted"


@pytest.mark.promise(9)
def test_the_last_that_gives_a_domain_up_removes_it(room: Room) -> None:
    room.desk.ensure(ANN, DOMAIN)
    room.desk.ensure(BEN, DOMAIN)
    room.desk.give_up(ANN, DOMAIN, [])
    assert DOMAIN in room.here.known
    room.desk.give_up(BEN, DOMAIN, [])
    assert DOMAIN not in room.here.known | room.there.known
    assert room.desk.shown(BEN, DOMAIN)[0].state is IdentityState.NONE, "what was remembered is forgotten"
    assert room.desk.ensure(EVE, DOMAIN)[0].state is IdentityState.PENDING


@pytest.mark.promise(9)
def test_an_account_that_never_proved_a_domain_removes_nothing(room: Room) -> None:
    room.desk.ensure(ANN, DOMAIN)
    room.desk.give_up(EVE, DOMAIN, [])
    room.here.known["else.example.com"] = IdentityState.SUCCESS
    room.desk.give_up(EVE, "else.example.com", [])
    assert room.here.known == {DOMAIN: IdentityState.PENDING, "else.example.com": IdentityState.SUCCESS}


@pytest.mark.promise(9)
@pytest.mark.parametrize("granted", [DOMAIN, f"ann@{DOMAIN}", f"sub.{DOMAIN}"])
def test_a_domain_stays_while_a_grant_of_an_operator_needs_it(room: Room, granted: str) -> None:
    room.desk.ensure(ANN, DOMAIN)
    room.desk.give_up(ANN, DOMAIN, ["else@example.com", granted])
    assert DOMAIN in room.here.known
    room.desk.give_up(ANN, DOMAIN, ["else@example.com", f"x{DOMAIN}"])
    assert DOMAIN not in room.here.known


def test_what_operators_made_known_is_never_removed(room: Room) -> None:
    room.here.known[DOMAIN] = IdentityState.SUCCESS
    room.here.others.add(DOMAIN)
    assert not room.desk.ensure(ANN, DOMAIN)[0].ours
    room.desk.give_up(ANN, DOMAIN, [])
    assert DOMAIN in room.here.known


def test_a_removal_that_was_interrupted_is_repeated(room: Room) -> None:
    room.desk.ensure(ANN, DOMAIN)
    room.there.down = True
    with pytest.raises(IdentityUnanswered):
        room.desk.give_up(ANN, DOMAIN, [])
    room.there.down = False
    room.desk.give_up(ANN, DOMAIN, [])
    assert DOMAIN not in room.here.known | room.there.known


@pytest.mark.promise(9)
def test_no_account_joins_what_is_being_removed(room: Room) -> None:
    """Else the one would make what the other removes."""
    assert room.users.join(ANN, DOMAIN)
    assert room.users.leave(ANN, DOMAIN)
    assert [x.state for x in room.desk.ensure(BEN, DOMAIN)] == [IdentityState.UNKNOWN] * 2
    assert room.here.calls == []
    room.clock.advance(REMOVAL_MS / 1000 + 1)
    assert room.users.join(BEN, DOMAIN), "what removed it was interrupted"
    room.users.removed(DOMAIN)
    assert not room.users.leave(ANN, DOMAIN), "a late removal takes nothing from those who joined since"
    assert room.users.leave(BEN, DOMAIN)


def test_a_team_key_s_space_is_its_account(room: Room) -> None:
    assert room.users.join(team_space(ANN), DOMAIN)
    assert room.users.leave(ANN, DOMAIN)


def test_a_deployment_whose_providers_sign_for_no_domain_does_nothing(room: Room) -> None:
    desk = signing_desk([], room.users, room.clock)
    assert (desk.ensure(ANN, DOMAIN), desk.shown(ANN, DOMAIN)) == ([], [])
    desk.give_up(ANN, DOMAIN, [])
    assert room.users.join(ANN, DOMAIN)
