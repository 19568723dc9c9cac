from typing import Any

import pytest

from shared.adapters.dynamo.accounts import CACHE, Accounts, UnknownAccount
from shared.adapters.dynamo.buckets import BLOCK, GRACE
from shared.domain.accounts import Scope, is_account_id, key_digest
from tests.fakes.clock import FakeClock
from tests.fakes.tables import Tables


class Counting:
    """A client that counts its calls by name."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self._client, name)


@pytest.fixture
def accounts(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> Accounts:
    return Accounts(moto_dynamo, tables.records, clock)


def test_an_account_is_created_read_and_listed(accounts: Accounts, clock: FakeClock) -> None:
    account = accounts.create_account("Ann's shop", ["News@Example.com", "Example.org"])
    assert is_account_id(account)
    found = accounts.get(account)
    assert found is not None
    assert (found.name, found.created_at, found.suspended) == ("Ann's shop", int(clock.now() * 1000), False)
    assert accounts.list_senders(account) == ["example.org", "news@example.com"]
    assert [a.id for a in accounts.list_accounts()] == [account]
    assert accounts.get("acc_000000000000") is None


def test_an_account_with_a_bad_sender_is_not_created(accounts: Accounts) -> None:
    with pytest.raises(ValueError, match="neither"):
        accounts.create_account("x", ["not a domain"])
    assert accounts.list_accounts() == []


@pytest.mark.parametrize("test", [True, False])
def test_a_key_is_found_by_its_text_which_is_not_stored(
    accounts: Accounts, moto_dynamo: Any, tables: Tables, *, test: bool
) -> None:
    account = accounts.create_account("x")
    secret, key = accounts.create_key(account, test=test, scopes=[Scope.READ], name="ci")
    assert secret.startswith("ph_test_" if test else "ph_live_")
    assert len(secret) == 8 + 43
    assert accounts.find_by_key(secret) == key
    assert (key.account, key.test, key.scopes, key.name) == (account, test, frozenset({Scope.READ}), "ci")
    assert accounts.list_keys(account) == [key]
    stored = str(moto_dynamo.scan(TableName=tables.records)["Items"])
    assert secret not in stored
    assert secret[8:] not in stored
    assert key_digest(secret) in stored


def test_keys_need_an_account(accounts: Accounts) -> None:
    with pytest.raises(UnknownAccount):
        accounts.create_key("acc_000000000000")
    with pytest.raises(UnknownAccount):
        accounts.add_sender("acc_000000000000", "example.com")
    with pytest.raises(UnknownAccount):
        accounts.suspend("acc_000000000000")


def test_a_wrong_key_is_not_found_and_nonsense_is_not_even_looked_up(
    moto_dynamo: Any, tables: Tables, clock: FakeClock
) -> None:
    counting = Counting(moto_dynamo)
    accounts = Accounts(counting, tables.records, clock)
    assert accounts.find_by_key("ph_live_" + "A" * 43) is None
    assert counting.calls == ["get_item"]
    assert accounts.find_by_key("ph_live_short") is None
    assert accounts.find_by_key("") is None
    assert counting.calls == ["get_item"]


def test_a_key_is_remembered_for_a_while_and_a_miss_never(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    accounts = Accounts(moto_dynamo, tables.records, clock)
    counting = Counting(moto_dynamo)
    other = Accounts(counting, tables.records, clock)
    account = accounts.create_account("x")
    secret, key = accounts.create_key(account)
    assert [other.find_by_key(secret) for _ in range(3)] == [key] * 3
    assert counting.calls == ["get_item"]
    assert accounts.revoke_key(account, key.id)
    assert accounts.find_by_key(secret) is None
    assert other.find_by_key(secret) == key
    clock.advance(CACHE)
    assert other.find_by_key(secret) is None
    assert accounts.list_keys(account) == []
    assert not accounts.revoke_key(account, key.id)


def test_a_key_of_another_account_is_not_revoked(accounts: Accounts) -> None:
    mine, other = accounts.create_account("a"), accounts.create_account("b")
    secret, key = accounts.create_key(mine)
    assert not accounts.revoke_key(other, key.id)
    assert accounts.find_by_key(secret) == key


def test_a_key_expires(accounts: Accounts, clock: FakeClock) -> None:
    account = accounts.create_account("x")
    secret, key = accounts.create_key(account, expires=int(clock.now() * 1000) + 10_000)
    assert accounts.find_by_key(secret) == key
    clock.advance(10)
    assert accounts.find_by_key(secret) is None


def test_an_address_or_its_domain_allows_a_sender(accounts: Accounts, clock: FakeClock) -> None:
    account = accounts.create_account("x", ["ann@example.com", "bücher.example"])
    assert accounts.allowed(account, "ann@example.com")
    assert accounts.allowed(account, "any@xn--bcher-kva.example")
    assert not accounts.allowed(account, "bob@example.com")
    assert not accounts.allowed(account, "any@sub.xn--bcher-kva.example")
    assert accounts.add_sender(account, "Bob@Example.com") == "bob@example.com"
    assert accounts.allowed(account, "bob@example.com")
    assert accounts.remove_sender(account, "bob@example.com")
    assert not accounts.allowed(account, "bob@example.com")
    assert not accounts.remove_sender(account, "bob@example.com")


def test_senders_of_one_account_are_not_another_s(accounts: Accounts) -> None:
    accounts.create_account("a", ["example.com"])
    assert not accounts.allowed(accounts.create_account("b"), "x@example.com")


def test_a_suspended_account_is_seen_as_such(accounts: Accounts, clock: FakeClock) -> None:
    account = accounts.create_account("x", ["example.com"])
    accounts.suspend(account)
    found = accounts.get(account)
    assert found is not None
    assert found.suspended
    assert accounts.check_sender(account, "a@example.com").suspended
    accounts.unsuspend(account)
    assert not accounts.check_sender(account, "a@example.com").suspended


def test_most_requests_cost_no_write(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    counting = Counting(moto_dynamo)
    accounts = Accounts(counting, tables.records, clock)
    for _ in range(GRACE):
        assert accounts.take("acc_a") is None
    assert counting.calls == []
    for _ in range(4 * BLOCK):
        assert accounts.take("acc_a") is None
    assert len(counting.calls) <= 4 + 1  # the first draw tries the likelier branch in vain


def test_the_bucket_empties_refuses_and_fills_again(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    counting = Counting(moto_dynamo)
    accounts = Accounts(counting, tables.records, clock, rate=10, burst=100)
    granted = 0
    while accounts.take("acc_a") is None:
        granted += 1
    assert granted == GRACE + 100
    spent = len(counting.calls)
    wait = accounts.take("acc_a")
    assert wait is not None
    assert 0 < wait <= BLOCK / 10
    assert len(counting.calls) == spent, "a refusal is remembered"
    clock.advance(wait)
    assert accounts.take("acc_a") is None
    assert accounts.take("acc_b") is None, "a bucket is an account's own"


def test_processes_share_the_bucket(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    fleet = [Accounts(moto_dynamo, tables.records, clock, rate=10, burst=100) for _ in range(4)]
    granted = 0
    for accounts in fleet:
        while accounts.take("acc_a") is None:
            granted += 1
    assert granted == 4 * GRACE + 100


def test_a_steady_client_gets_its_rate(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    accounts = Accounts(moto_dynamo, tables.records, clock, rate=10, burst=50)
    granted = 0
    for _ in range(1000):
        granted += accounts.take("acc_a") is None
        clock.advance(0.05)
    assert 500 <= granted <= 500 + 50 + GRACE
