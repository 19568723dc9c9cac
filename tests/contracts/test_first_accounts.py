"""People's first accounts on DynamoDB: one account and one key for each person, whatever fails in between."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts, made_by_people
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.contracts import NEWCOMER_MESSAGES
from shared.domain.accounts import ALL_SCOPES, key_digest, new_key_text
from shared.domain.ids import new_id
from shared.domain.namespaces import KeyKind
from shared.domain.people import Newcomer
from shared.ports import Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.tables import Tables, create_tables


class Crash(BaseException):
    """The process is gone."""


@pytest.fixture
def tables(moto_dynamo: Any) -> Tables:
    return create_tables(moto_dynamo)


@pytest.fixture
def first(moto_dynamo: Any, tables: Tables) -> DynamoFirstAccounts:
    clock = FakeClock()
    return DynamoFirstAccounts(Dynamo(moto_dynamo, sleep=clock.sleep, homes=tables.alone), clock)


def newcomer(clock: FakeClock | None = None) -> tuple[Newcomer, str]:
    """Return somebody, and the text of their key."""
    text = new_key_text(KeyKind.LIVE)
    return Newcomer(new_id((clock or FakeClock()).ms), "Ann Example", "user:ann", key_digest(text)), text


def identities(client: Any, tables: Tables) -> list[str]:
    items = client.scan(TableName=tables.homes.identities)["Items"]
    return sorted(item["pk"]["S"].partition("#")[0] for item in items)


def test_a_newcomer_s_account_sends_few_messages_a_day_until_an_operator_changes_that(
    moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts
) -> None:
    made = first.make(newcomer()[0])
    accounts = Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.homes)
    assert accounts.rules(made.account).limits == {"messages": NEWCOMER_MESSAGES}
    assert accounts.set_limits(made.account, {"messages": None})
    assert accounts.rules(made.account).limits == {}


def test_a_deployment_may_leave_newcomers_without_a_limit(moto_dynamo: Any, tables: Tables) -> None:
    functions = Dynamo(moto_dynamo, homes=tables.alone)
    made = DynamoFirstAccounts(functions, FakeClock(), messages=0).make(newcomer()[0])
    assert Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone).rules(made.account).limits == {}


def test_a_newcomer_gets_an_account_and_a_key_that_works(
    moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts
) -> None:
    who, text = newcomer()
    made = first.make(who)
    accounts = Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone)
    account, key = accounts.get(made.account), accounts.find_by_key(text)
    assert account is not None
    assert key is not None
    assert (account.name, account.created_at) == ("Ann Example", made.at)
    assert [x.id for x in accounts.list_accounts()] == [made.account]
    assert (key.id, key.account, key.scopes, key.test, key.expires) == (made.key, made.account, ALL_SCOPES, False, 0)
    assert accounts.list_keys(made.account) == [key]
    assert text not in str(moto_dynamo.scan(TableName=tables.homes.identities)), "only its hash is stored"
    journal = DynamoJournal(Dynamo(moto_dynamo, homes=tables.alone), tables.records)
    entries, _ = journal.page(made.account, limit=10)
    assert sorted((e.kind, e.actor, e.id) for e in entries) == [
        ("account.created", "user:ann", made.account),
        ("key.created", "user:ann", made.key),
    ]


def test_asking_again_makes_nothing_with_the_same_key_or_another(
    moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts
) -> None:
    who, _ = newcomer()
    made = first.make(who)
    stored = identities(moto_dynamo, tables)
    assert first.make(who) == made
    assert first.make(Newcomer(who.user, "Other", "user:other", "0" * 64)) == made
    assert identities(moto_dynamo, tables) == stored == ["A", "A", "ACCOUNTS", "K", "N"]


def test_two_at_once_make_one_account(
    moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    who, _ = newcomer()
    made = first.make(who)
    known, answers = first._known, iter([None])
    monkeypatch.setattr(first, "_known", lambda user: next(answers, known(user)))
    assert first.make(Newcomer(who.user, who.name, who.actor, "0" * 64)) == made
    assert identities(moto_dynamo, tables) == ["A", "A", "ACCOUNTS", "K", "N"]


def test_a_key_of_somebody_else_is_not_taken(moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts) -> None:
    who, text = newcomer()
    made = first.make(who)
    with pytest.raises(Retriable):
        first.make(Newcomer(new_id(FakeClock().ms + 1), "Thief", "user:thief", who.digest))
    key = Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone).find_by_key(text)
    assert key is not None
    assert key.account == made.account
    assert identities(moto_dynamo, tables) == ["A", "A", "ACCOUNTS", "K", "N"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_crash_at_any_call_leaves_one_account_after_the_next_try(
    moto_dynamo: Any,
    tables: Tables,
    first: DynamoFirstAccounts,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    *,
    after: bool,
) -> None:
    who, text = newcomer()
    calls = []
    call: Callable[..., Any] = first._db.call

    def crashing(method: str, **parameters: Any) -> Any:
        calls.append(method)
        if len(calls) == number + 1 and not after:
            raise Crash
        answer = call(method, **parameters)
        if len(calls) == number + 1:
            raise Crash
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(first._db, "call", crashing)
        with pytest.raises(Crash):
            first.make(who)
    assert calls == ["get_item", "transact_write_items"][: number + 1], "every call is tried"
    made = first.make(who)
    assert first.make(who) == made
    assert made.key == who.digest[:16]
    assert identities(moto_dynamo, tables) == ["A", "A", "ACCOUNTS", "K", "N"]
    assert Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone).find_by_key(text) is not None


@pytest.mark.parametrize(
    "wrong",
    [("u", "Ann", "user:ann", "0" * 64), (new_id(1), "Ann", "user:ann", "0" * 63), (new_id(1), "", "user:a", "0" * 64)],
)
def test_an_event_that_describes_nobody_is_refused(wrong: tuple[str, str, str, str]) -> None:
    with pytest.raises(ValueError, match=r"newcomer|account"):
        Newcomer(*wrong)


@pytest.mark.parametrize("moved", [False, True], ids=["upgraded", "moved"])
def test_operators_change_what_a_newcomer_has_made(
    moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts, *, moved: bool
) -> None:
    accounts = Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone)
    if moved:
        accounts.move()
    who, text = newcomer()
    made = first.make(who)
    accounts.set_region(made.account, "DE")
    account = accounts.get(made.account)
    assert account is not None
    assert account.region == "DE"
    assert accounts.expire_key(made.account, made.key, FakeClock().ms + 60_000) is not None
    assert accounts.rotate_key(made.account, made.key, FakeClock().ms + 1_000) is not None
    assert accounts.revoke_key(made.account, made.key)
    assert accounts.find_by_key(text) is None
    left = moto_dynamo.scan(TableName=tables.records)["Items"]
    assert not [x for x in left if x["sk"]["S"] == "PROFILE"], "the old place has no part of what was never there"


def test_accounts_that_people_made_are_found_within_some_pages(
    moto_dynamo: Any, tables: Tables, first: DynamoFirstAccounts
) -> None:
    Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone).create_account("An operator's")
    made = {first.make(newcomer()[0]).account for _ in range(2)}
    db = Dynamo(moto_dynamo, homes=tables.alone)
    assert made_by_people(db, 1) == (made, True)
    asked: list[dict[str, Any]] = []

    class Small(Dynamo):
        """Reads one item a page."""

        def call(self, method: str, **kwargs: Any) -> Any:
            asked.append(kwargs)
            return super().call(method, **kwargs, Limit=1)

    small = Small(moto_dynamo, homes=tables.alone)
    assert made_by_people(small, 100) == (made, True)
    asked.clear()
    assert made_by_people(small, 2)[1] is False
    assert len(asked) == 2
