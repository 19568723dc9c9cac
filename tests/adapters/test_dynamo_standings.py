"""Keys and senders as a job that starts finds them: in their own table, in the old place, or moved from there."""

from typing import Any

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.standings import DynamoAccountStatuses
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.domain.accounts import AccountStatus
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.tables import TappedClient, create_tables

NEVER = 2**50


class Service:
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

    def functions(self, homes: Homes) -> DynamoAccountStatuses:
        dynamo = Dynamo(self.client, sleep=self.clock.sleep, homes=homes)
        return DynamoAccountStatuses(dynamo, self.tables.records)

    def key(self) -> str:
        return self.accounts.create_key(self.owner)[1].id

    def rotated(self, key: str) -> str:
        made = self.accounts.rotate_key(self.owner, key, NEVER)
        assert made is not None
        return made[1].id


@pytest.fixture(params=[False, True], ids=["in records", "apart"])
def service(request: pytest.FixtureRequest, moto_dynamo: Any) -> Service:
    return Service(moto_dynamo, apart=request.param)


@pytest.fixture
def standings(service: Service, request: pytest.FixtureRequest) -> DynamoAccountStatuses:
    apart = request.node.callspec.params["service"]
    return service.functions(service.tables.alone if apart else IN_RECORDS)


def test_an_expired_key_exists_until_it_is_revoked(service: Service, standings: DynamoAccountStatuses) -> None:
    key = service.key()
    assert standings.read(service.owner, key, "") == AccountStatus()
    service.accounts.expire_key(service.owner, key, service.clock.ms)
    service.clock.advance(1)
    assert standings.read(service.owner, key, "") == AccountStatus()
    service.accounts.revoke_key(service.owner, key)
    assert standings.read(service.owner, key, "") == AccountStatus(key=False)


def test_a_key_of_another_account_is_none(service: Service, standings: DynamoAccountStatuses) -> None:
    key = service.key()
    assert standings.read("acc_000000000009", key, "") == AccountStatus(key=False)


def test_a_rotated_key_exists_as_long_as_its_replacement(service: Service, standings: DynamoAccountStatuses) -> None:
    first = service.key()
    second, twin = service.rotated(first), service.rotated(first)
    third = service.rotated(second)
    for revoked, key_valid in ((first, True), (second, True), (third, True), (twin, False)):
        service.accounts.revoke_key(service.owner, revoked)
        assert standings.read(service.owner, first, "").key is key_valid, revoked
    assert not standings.read(service.owner, second, "").key


@pytest.mark.parametrize("sender", ["news@example.com", "News@EXAMPLE.com"])
def test_a_sender_is_allowed_by_address_or_domain(
    service: Service, standings: DynamoAccountStatuses, sender: str
) -> None:
    assert standings.read(service.owner, "", sender) == AccountStatus()
    service.accounts.remove_sender(service.owner, "example.com")
    assert standings.read(service.owner, "", sender) == AccountStatus(sender=False)
    service.accounts.add_sender(service.owner, sender)
    assert standings.read(service.owner, "", sender) == AccountStatus()


def test_a_look_is_one_call(service: Service, standings: DynamoAccountStatuses) -> None:
    key = service.key()
    standings.read(service.owner, key, "news@example.com")
    before = len(service.tap.calls)
    assert standings.read(service.owner, key, "news@example.com") == AccountStatus()
    assert len(service.tap.calls) - before == 1


def test_what_replaced_a_key_is_moved_with_the_keys(moto_dynamo: Any) -> None:
    service = Service(moto_dynamo, apart=False)
    first = service.key()
    service.rotated(first)
    service.accounts.revoke_key(service.owner, first)
    later = service.functions(service.tables.alone)
    assert later.read(service.owner, first, "news@example.com") == AccountStatus()
    service.tools(service.tables.homes).move()
    assert service.functions(service.tables.alone).read(service.owner, first, "news@example.com") == AccountStatus()
