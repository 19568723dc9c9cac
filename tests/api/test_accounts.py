from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import CACHE, Accounts, UnknownAccount
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.domain.accounts import Scope, is_account_id, key_digest
from shared.domain.audit import Event, Log, operator
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


@pytest.fixture(params=["apart", "in records"])
def homes(request: pytest.FixtureRequest, tables: Tables) -> Homes:
    """Identities and the audit log in tables of their own, and in `records` as in a stage that has no others."""
    return tables.homes if request.param == "apart" else IN_RECORDS


@pytest.fixture
def accounts(moto_dynamo: Any, tables: Tables, clock: FakeClock, homes: Homes) -> Accounts:
    return Accounts(moto_dynamo, tables.records, clock, homes=homes)


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
    assert counting.calls == ["batch_get_item"]
    assert accounts.find_by_key("ph_live_short") is None
    assert accounts.find_by_key("") is None
    assert counting.calls == ["batch_get_item"]


def test_a_key_is_remembered_for_a_while_and_a_miss_never(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    accounts = Accounts(moto_dynamo, tables.records, clock)
    counting = Counting(moto_dynamo)
    other = Accounts(counting, tables.records, clock)
    account = accounts.create_account("x")
    secret, key = accounts.create_key(account)
    assert [other.find_by_key(secret) for _ in range(3)] == [key] * 3
    assert counting.calls == ["batch_get_item"]
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


def audit(client: Any, tables: Tables, account: str) -> list[Event]:
    return list(DynamoJournal(Dynamo(client), tables.records).since(account, Log.AUDIT, 0))


def test_a_key_s_end_can_be_set_and_taken_back(accounts: Accounts, clock: FakeClock) -> None:
    account = accounts.create_account("x")
    secret, key = accounts.create_key(account)
    ended = accounts.expire_key(account, key.id, clock.ms + 1000)
    assert ended is not None
    assert accounts.list_keys(account) == [ended]
    assert accounts.find_by_key(secret) == ended
    clock.advance(1)
    assert accounts.find_by_key(secret) is None
    assert accounts.expire_key(account, key.id, 0) == key
    assert accounts.find_by_key(secret) == key
    assert accounts.expire_key("acc_000000000000", key.id, 0) is None


def test_a_rotated_key_is_followed_by_one_like_it(accounts: Accounts, clock: FakeClock) -> None:
    account = accounts.create_account("x")
    day = 86_400_000
    text, key = accounts.create_key(
        account, test=True, scopes=[Scope.READ], name="ci", expires=clock.ms + 90 * day, by="operator:1:ann"
    )
    clock.advance(80 * 86_400)
    made = accounts.rotate_key(account, key.id, clock.ms + day, by="operator:1:ann")
    assert made is not None
    secret, new, old = made
    assert (new.test, new.scopes, new.name, new.expires) == (True, key.scopes, "ci", clock.ms + 90 * day)
    assert (old.id, old.expires) == (key.id, clock.ms + day)
    assert accounts.list_keys(account) == [old, new]
    assert (accounts.find_by_key(text), accounts.find_by_key(secret)) == (old, new)
    later = accounts.rotate_key(account, key.id, clock.ms + 30 * day)
    assert later is not None
    assert later[2].expires == old.expires, "a rotation ends a key no later than it would have ended"
    clock.advance(86_400)
    assert accounts.rotate_key(account, key.id, clock.ms + day) is None
    assert accounts.rotate_key(account, "0" * 16, clock.ms + day) is None


def test_of_two_rotations_at_once_one_is_made(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    class Late:
        """A client whose first transaction comes after another's."""

        def __init__(self, other: Callable[[], object]) -> None:
            self._others = [other]

        def __getattr__(self, name: str) -> Any:
            if name == "transact_write_items" and self._others:
                self._others.pop()()
            return getattr(moto_dynamo, name)

    accounts = Accounts(moto_dynamo, tables.records, clock)
    account = accounts.create_account("x")
    _, key = accounts.create_key(account)
    until = clock.ms + 1000
    late = Accounts(Late(lambda: accounts.rotate_key(account, key.id, until)), tables.records, clock)
    assert late.rotate_key(account, key.id, until) is None
    assert len(accounts.list_keys(account)) == 2


def test_a_key_s_last_use_is_noted_once_an_hour(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    fleet = [Accounts(Counting(moto_dynamo), tables.records, clock) for _ in range(3)]
    account = fleet[0].create_account("x")
    secret, key = fleet[0].create_key(account)

    def use(accounts: Accounts) -> None:
        found = accounts.find_by_key(secret)
        assert found is not None
        accounts.note_use(secret, found)

    def used() -> list[int]:
        return [x.used for x in fleet[0].list_keys(account)]

    assert used() == [0]
    start = clock.ms
    counting = Counting(moto_dynamo)
    busy = Accounts(counting, tables.records, clock)
    for _ in range(20):
        use(busy)
        clock.advance(170)
    assert used() == [start]
    assert counting.calls.count("update_item") == 1
    clock.advance(3600)
    for accounts in fleet:
        use(accounts)
    assert used() == [clock.ms]
    assert fleet[0].revoke_key(account, fleet[0].list_keys(account)[0].id)
    clock.advance(3600)
    fleet[1].note_use(secret, key)
    found = moto_dynamo.get_item(TableName=tables.records, Key=keys.api_key(key_digest(secret)))
    assert "Item" not in found, "noting a use brings no key back"


def test_a_use_that_cannot_be_noted_fails_no_request(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    class Away:
        def update_item(self, **_: Any) -> Any:
            raise ConnectionClosedError(endpoint_url="https://dynamodb")

    accounts = Accounts(moto_dynamo, tables.records, clock)
    secret, key = accounts.create_key(accounts.create_account("x"))
    Accounts(Away(), tables.records, clock).note_use(secret, key)
    accounts.note_use(secret, key)
    assert accounts.list_keys(key.account)[0].used == clock.ms


def test_a_suspension_and_a_pause_leave_each_other_alone(
    accounts: Accounts, moto_dynamo: Any, tables: Tables, clock: FakeClock
) -> None:
    account = accounts.create_account("x")
    control = keys.account_control(account)
    moto_dynamo.put_item(TableName=tables.records, Item={**control, "paused": {"S": "kill switch"}})
    assert not accounts.suspended(account)
    assert accounts.suspend(account, "unpaid")
    assert not accounts.suspend(account, "another reason")
    item = moto_dynamo.get_item(TableName=tables.records, Key=control)["Item"]
    assert (item["paused"], item["suspended"]) == ({"S": "kill switch"}, {"S": "unpaid"})
    assert [a.suspended for a in accounts.list_accounts()] == [True]
    assert accounts.unsuspend(account)
    assert not accounts.unsuspend(account)
    assert moto_dynamo.get_item(TableName=tables.records, Key=control)["Item"] == {
        **control,
        "paused": {"S": "kill switch"},
        "resumed_at": {"N": str(clock.ms)},
    }


def test_what_is_done_to_an_account_is_in_its_audit_log_without_any_address(
    accounts: Accounts, moto_dynamo: Any, tables: Tables, clock: FakeClock
) -> None:
    by = operator("arn:aws:sts::123456789012:assumed-role/Admin/Ann@example.com")
    account = accounts.create_account("Ann's", ["news@example.com", "example.org"], by=by)
    clock.advance(1)
    _, key = accounts.create_key(account, by=by)
    clock.advance(1)
    accounts.expire_key(account, key.id, clock.ms + 5000, by=by)
    made = accounts.rotate_key(account, key.id, clock.ms + 1000, by=by)
    assert made is not None
    clock.advance(1)
    accounts.revoke_key(account, key.id, by=by)
    clock.advance(1)
    accounts.remove_sender(account, "news@example.com", by=by)
    clock.advance(1)
    accounts.suspend(account, "unpaid", by=by)
    clock.advance(1)
    accounts.unsuspend(account, by=by)
    again = [accounts.unsuspend(account), accounts.revoke_key(account, key.id)]
    assert not any([*again, accounts.remove_sender(account, "news@example.com")]), "what changes nothing is not told"
    found = audit(moto_dynamo, tables, account)
    assert sorted(x.kind for x in found[:3]) == ["account.created", "sender.added", "sender.added"]
    assert [x.kind for x in found[3:]] == [
        *("key.created", "key.expiry_changed", "key.rotated", "key.revoked"),
        *("sender.removed", "account.suspended", "account.unsuspended"),
    ]
    assert {x.actor for x in found} == {by}
    assert by.startswith("operator:123456789012:assumed-role/Admin/sha256:")
    assert next(x.data for x in found if x.kind == "key.rotated")["successor"] == made[1].id
    assert next(x.data for x in found if x.kind == "account.suspended") == {"reason": "unpaid"}
    stored = moto_dynamo.query(
        TableName=tables.records,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": f"A#{account}#AUDIT"}},
    )["Items"]
    assert len(stored) == len(found)
    assert "@" not in str(stored)
    assert {int(x["ttl"]["N"]) - int(x["at"]["N"]) // 1000 for x in stored} == {400 * 86_400}
