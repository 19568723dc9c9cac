"""Identities and the audit log move to tables of their own, while either version of the code may run."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import CACHE, Accounts
from shared.adapters.dynamo.accounts.moving import Mover
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import Homes
from shared.domain.accounts import key_digest
from shared.domain.audit import EVERYONE, Act, Log, audited
from tests.api.test_accounts import Counting
from tests.fakes.clock import FakeClock
from tests.fakes.tables import Tables

SENDER = "ann@example.com"


@pytest.fixture
def before(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> Accounts:
    """The version before: everything is in `records`."""
    return Accounts(moto_dynamo, tables.records, clock)


@pytest.fixture
def operators(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> Accounts:
    return Accounts(moto_dynamo, tables.records, clock, homes=tables.homes)


@pytest.fixture
def functions(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> Accounts:
    return Accounts(moto_dynamo, tables.records, clock, homes=tables.alone)


def audit(client: Any, tables: Tables, account: str, homes: Homes) -> list[tuple[int, str]]:
    journal = DynamoJournal(Dynamo(client, homes=homes), tables.records)
    found = [(e.at, e.kind) for e in journal.since(account, Log.AUDIT, 0)]
    paged: list[tuple[int, str]] = []
    after = ""
    while True:
        page, after = journal.page(account, after=after, limit=2)
        paged += [(e.at, e.kind) for e in page]
        if not after:
            break
    assert sorted(paged) == sorted(found)
    assert [at for at, _ in paged] == sorted((at for at, _ in paged), reverse=True)
    return found


@pytest.mark.slow
def test_what_an_older_version_left_is_read_until_it_has_been_moved(
    moto_dynamo: Any, tables: Tables, clock: FakeClock, before: Accounts, operators: Accounts, functions: Accounts
) -> None:
    account = before.create_account("Ann & Co", ["example.com"])
    clock.advance(1)
    secret, _ = before.create_key(account)
    before.set_region(account, "DE")
    before.suspend(account)
    before.unsuspend(account)
    log = audit(moto_dynamo, tables, account, tables.alone)
    assert len(log) == 6

    def seen(accounts: Accounts) -> list[object]:
        return [
            accounts.find_by_key(secret),
            accounts.check_sender(account, SENDER).allowed,
            accounts.get(account),
            accounts.list_accounts(),
            accounts.list_senders(account),
            accounts.list_keys(account),
        ]

    expected = seen(before)
    assert seen(functions) == seen(operators) == expected
    assert not operators.moved()
    assert operators.move() == 5 + len(log), "profile, entry, sender and two items of the key"
    assert operators.move() == 0
    assert functions.moved()
    clock.advance(CACHE)
    assert seen(functions) == seen(operators) == seen(before) == expected
    assert audit(moto_dynamo, tables, account, tables.alone) == log


@pytest.mark.promise(9)
def test_what_is_written_to_the_old_place_after_the_move_counts_for_nothing(
    moto_dynamo: Any, tables: Tables, clock: FakeClock, before: Accounts, operators: Accounts, functions: Accounts
) -> None:
    """A function that is taken over may write to `records`, so what stands there must not let anybody in."""
    account = operators.create_account("Ann & Co")
    forged, _ = before.create_key(account)
    before.add_sender(account, "example.com")
    entry = audited(account, clock.ms, "x", Act.KEY_CREATED, "forged")
    DynamoJournal(Dynamo(moto_dynamo), tables.records).write(entry)
    assert before.find_by_key(forged) is not None
    for accounts in (functions, operators):
        assert accounts.find_by_key(forged) is None
        assert not accounts.check_sender(account, SENDER).allowed
        assert (accounts.list_keys(account), accounts.list_senders(account)) == ([], [])
        journal = DynamoJournal(Dynamo(moto_dynamo, homes=tables.alone), tables.records)
        assert [e.actor for e in journal.since(account, Log.AUDIT, 0)] == ["system"]
        assert [e.actor for e in journal.page(account, limit=9)[0]] == ["system"]
    assert operators.create_account("Other")
    assert functions.find_by_key(forged) is None, "no later change moves it, either"


def test_a_change_moves_what_is_there_before_it_is_made(
    before: Accounts, operators: Accounts, functions: Accounts, clock: FakeClock
) -> None:
    account = before.create_account("Ann & Co", ["example.com"])
    secret, key = before.create_key(account)
    other, _ = before.create_key(account)
    assert operators.revoke_key(account, key.id)
    assert operators.moved()
    assert functions.find_by_key(secret) is None
    assert functions.find_by_key(other) is not None
    clock.advance(CACHE)
    assert before.find_by_key(secret) is None


@pytest.mark.slow
def test_the_version_before_sees_every_change_after_a_rollback(
    moto_dynamo: Any, tables: Tables, clock: FakeClock, before: Accounts, operators: Accounts
) -> None:
    account = operators.create_account("Ann & Co", ["example.com", "example.org"])
    secret, key = operators.create_key(account)
    _, gone = operators.create_key(account)
    operators.remove_sender(account, "example.org")
    operators.set_region(account, "DE")
    operators.expire_key(account, key.id, clock.ms + 60_000)
    operators.revoke_key(account, gone.id)
    assert before.list_accounts() == operators.list_accounts()
    assert before.list_keys(account) == operators.list_keys(account)
    assert before.list_senders(account) == operators.list_senders(account) == ["example.com"]
    assert before.find_by_key(secret) == operators.find_by_key(secret)
    log = DynamoJournal(Dynamo(moto_dynamo), tables.records)
    assert [(e.at, e.kind) for e in log.since(account, Log.AUDIT, 0)] == audit(
        moto_dynamo, tables, account, tables.alone
    )


def test_what_is_taken_away_during_the_move_does_not_come_back(
    moto_dynamo: Any, tables: Tables, clock: FakeClock, before: Accounts, functions: Accounts
) -> None:
    account = before.create_account("Ann & Co")
    secret, key = before.create_key(account)

    class Late:
        """A client before whose first transaction a key is revoked."""

        def __init__(self, other: Callable[[], object]) -> None:
            self._others = [other]

        def __getattr__(self, name: str) -> Any:
            if name == "transact_write_items" and self._others:
                self._others.pop()()
            return getattr(moto_dynamo, name)

    late = Late(lambda: before.revoke_key(account, key.id))
    Mover(Dynamo(late, homes=tables.homes), tables.records).move(clock.ms)
    assert functions.moved()
    assert functions.find_by_key(secret) is None
    assert functions.list_keys(account) == []


def test_an_entry_of_the_whole_deployment_moves_too(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    entry = audited(EVERYONE, clock.ms, "*", Act.ALL_PAUSED, "operator:1:ann")
    DynamoJournal(Dynamo(moto_dynamo), tables.records).write(entry)
    mover = Mover(Dynamo(moto_dynamo, homes=tables.homes), tables.records)
    assert (mover.move(clock.ms), mover.move(clock.ms)) == (1, 0)
    assert audit(moto_dynamo, tables, EVERYONE, tables.alone) == [(clock.ms, "deployment.paused")]


@pytest.mark.parametrize("moved", [True, False])
def test_a_request_asks_for_its_key_and_its_sender_by_one_call_each(
    moto_dynamo: Any, tables: Tables, clock: FakeClock, before: Accounts, operators: Accounts, *, moved: bool
) -> None:
    account = (operators if moved else before).create_account("Ann & Co", ["example.com"])
    secret, _ = (operators if moved else before).create_key(account)
    counting = Counting(moto_dynamo)
    accounts = Accounts(counting, tables.records, clock, homes=tables.alone)
    assert accounts.find_by_key(secret) is not None
    assert accounts.check_sender(account, SENDER).allowed
    assert accounts.find_by_key("ph_live_" + "A" * 43) is None
    assert counting.calls.count("batch_get_item") == 3
    assert counting.calls.count("get_item") == (0 if moved else 2), "until all is moved its mark is looked for"


@pytest.mark.promise(9)
def test_functions_write_no_identity_and_only_add_to_the_audit_log(
    moto_dynamo: Any, tables: Tables, clock: FakeClock, operators: Accounts
) -> None:
    account = operators.create_account("Ann & Co", ["example.com"])
    secret, _ = operators.create_key(account)
    counting = Counting(moto_dynamo)
    accounts = Accounts(counting, tables.records, clock, homes=tables.alone)
    key = accounts.find_by_key(secret)
    assert key is not None
    accounts.note_use(secret, key)
    identities = moto_dynamo.scan(TableName=tables.homes.identities)["Items"]
    assert not [x for x in identities if "used" in x]
    use = keys.api_key_use(key_digest(secret))
    assert "used" in moto_dynamo.get_item(TableName=tables.records, Key=use)["Item"]
    assert operators.list_keys(account)[0].used == clock.ms
    assert operators.revoke_key(account, key.id)
    left = moto_dynamo.get_item(TableName=tables.records, Key=use)["Item"]
    assert {"revoked", "ttl"} <= set(left), "what tells a revoked key apart goes by itself"
