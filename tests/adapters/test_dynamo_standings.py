"""Keys and senders as a job that starts finds them: in their own table, in the old place, or moved from there."""

from typing import Any

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.standings import DynamoStandings
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.domain.accounts import Standing
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.tables import TappedClient, create_tables

NEVER = 2**50


class Desk:
    """An account with a sender, as operators' tools write it and functions read it."""

    def __init__(self, client: Any, *, apart: bool) -> None:
        self.tables = create_tables(client)
        self.clock = FakeClock()
        self.tap = Tap()
        self.client = TappedClient(client, self.tap, lambda _table, _key: None)
        self.accounts = self.tools(self.tables.homes if apart else IN_RECORDS)
        self.owner = self.accounts.create_account("News", ["example.com"])

    def tools(self, homes: Homes) -> Accounts:
        return Accounts(self.client, self.tables.records, self.clock, homes=homes)

    def functions(self, homes: Homes) -> DynamoStandings:
        dynamo = Dynamo(self.client, sleep=self.clock.sleep, homes=homes)
        return DynamoStandings(dynamo, self.tables.records)

    def key(self) -> str:
        return self.accounts.create_key(self.owner)[1].id

    def rotated(self, key: str) -> str:
        made = self.accounts.rotate_key(self.owner, key, NEVER)
        assert made is not None
        return made[1].id


@pytest.fixture(params=[False, True], ids=["in records", "apart"])
def desk(request: pytest.FixtureRequest, moto_dynamo: Any) -> Desk:
    return Desk(moto_dynamo, apart=request.param)


@pytest.fixture
def standings(desk: Desk, request: pytest.FixtureRequest) -> DynamoStandings:
    apart = request.node.callspec.params["desk"]
    return desk.functions(desk.tables.alone if apart else IN_RECORDS)


def test_an_expired_key_exists_until_it_is_revoked(desk: Desk, standings: DynamoStandings) -> None:
    key = desk.key()
    assert standings.read(desk.owner, key, "") == Standing()
    desk.accounts.expire_key(desk.owner, key, desk.clock.ms)
    desk.clock.advance(1)
    assert standings.read(desk.owner, key, "") == Standing()
    desk.accounts.revoke_key(desk.owner, key)
    assert standings.read(desk.owner, key, "") == Standing(key=False)


def test_a_key_of_another_account_is_none(desk: Desk, standings: DynamoStandings) -> None:
    key = desk.key()
    assert standings.read("acc_000000000009", key, "") == Standing(key=False)


def test_a_rotated_key_exists_as_long_as_its_replacement(desk: Desk, standings: DynamoStandings) -> None:
    first = desk.key()
    second, twin = desk.rotated(first), desk.rotated(first)
    third = desk.rotated(second)
    for revoked, key_stands in ((first, True), (second, True), (third, True), (twin, False)):
        desk.accounts.revoke_key(desk.owner, revoked)
        assert standings.read(desk.owner, first, "").key is key_stands, revoked
    assert not standings.read(desk.owner, second, "").key


@pytest.mark.parametrize("sender", ["news@example.com", "News@EXAMPLE.com"])
def test_a_sender_is_allowed_by_address_or_domain(desk: Desk, standings: DynamoStandings, sender: str) -> None:
    assert standings.read(desk.owner, "", sender) == Standing()
    desk.accounts.remove_sender(desk.owner, "example.com")
    assert standings.read(desk.owner, "", sender) == Standing(sender=False)
    desk.accounts.add_sender(desk.owner, sender)
    assert standings.read(desk.owner, "", sender) == Standing()


def test_a_look_is_one_call(desk: Desk, standings: DynamoStandings) -> None:
    key = desk.key()
    standings.read(desk.owner, key, "news@example.com")
    before = len(desk.tap.calls)
    assert standings.read(desk.owner, key, "news@example.com") == Standing()
    assert len(desk.tap.calls) - before == 1


def test_what_replaced_a_key_is_moved_with_the_keys(moto_dynamo: Any) -> None:
    desk = Desk(moto_dynamo, apart=False)
    first = desk.key()
    desk.rotated(first)
    desk.accounts.revoke_key(desk.owner, first)
    later = desk.functions(desk.tables.alone)
    assert later.read(desk.owner, first, "news@example.com") == Standing()
    desk.tools(desk.tables.homes).move()
    assert desk.functions(desk.tables.alone).read(desk.owner, first, "news@example.com") == Standing()
