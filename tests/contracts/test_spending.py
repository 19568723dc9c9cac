"""The use of accounts' limits, on DynamoDB and in memory."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shared.adapters.dynamo.accounts.spending import DynamoSpending
from shared.adapters.dynamo.audit import DynamoJournal
from shared.domain.audit import Log
from shared.domain.spending.limits import Charge, Exceeded, ReachedQuota
from shared.ports import Spending
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.spending import FakeSpending
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

DAY = "2026-11-20"


@pytest.fixture
def spending(stores: Stores, clock: FakeClock) -> Spending:
    if isinstance(stores, FakeStores):
        return FakeSpending(clock)
    assert isinstance(stores, MotoStores)
    return DynamoSpending(stores.dynamo, stores.tables.records, clock)


def charge(email: int, most: int = 10, **more: int) -> Charge:
    return Charge(ACCOUNT, DAY, {"email": email, **more}, {"email": most, **dict.fromkeys(more, 3)})


def test_a_day_s_use_ends_at_its_limit(spending: Spending) -> None:
    assert [spending.take(charge(4)) is None for _ in range(3)] == [True, True, False]
    assert spending.take(charge(2)) is None
    assert spending.used(ACCOUNT, DAY) == {"email": 10}


def test_a_refusal_names_the_limit_and_what_is_used(spending: Spending, clock: FakeClock) -> None:
    spending.take(charge(4))
    assert spending.take(charge(7)) == Exceeded("email", 10, 4, 7, clock.ms)
    assert spending.take(charge(11)) == Exceeded("email", 10, 4, 11, clock.ms)


def test_a_charge_is_counted_in_all_its_measures_or_in_none(spending: Spending) -> None:
    assert spending.take(charge(2, sms=3)) is None
    excess = spending.take(charge(2, sms=1))
    assert excess is not None
    assert excess.measure == "sms"
    assert spending.used(ACCOUNT, DAY) == {"email": 2, "sms": 3}


def test_what_is_given_back_can_be_taken_again(spending: Spending) -> None:
    assert spending.take(charge(10)) is None
    spending.give_back(charge(3))
    assert spending.take(charge(4)) is not None
    assert spending.take(charge(3)) is None


def test_days_and_accounts_are_counted_apart(spending: Spending) -> None:
    for account, day in ((ACCOUNT, DAY), (ACCOUNT, "2026-11-21"), ("acc_000000000002", DAY)):
        assert spending.take(Charge(account, day, {"email": 10}, {"email": 10})) is None


def test_a_key_is_measured_by_its_own_limit_and_its_account_s(spending: Spending) -> None:
    def by(key: str, most: int, n: int) -> Exceeded | None:
        return spending.take(Charge(ACCOUNT, DAY, {"email": n}, {"email": 10}, key, {"email": most}))

    assert by("a", 4, 4) is None
    refused = by("a", 4, 1)
    assert refused is not None
    assert (refused.key, refused.used) == (True, 4)
    assert by("b", 20, 6) is None
    refused = by("b", 20, 1)
    assert refused is not None
    assert (refused.key, refused.used) == (False, 10)
    assert spending.used(ACCOUNT, DAY) == {"email": 10}
    assert spending.used(ACCOUNT, DAY, "b") == {"email": 6}


def test_charges_side_by_side_never_exceed_the_limit(moto_dynamo: object, clock: FakeClock) -> None:
    """On DynamoDB alone: in memory nothing is between a read and its write."""
    stores = MotoStores(moto_dynamo, clock)
    spending = DynamoSpending(stores.dynamo, stores.tables.records, clock)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: spending.take(charge(3, most=50)) is None, range(24)))
    assert sum(taken) == 16
    assert spending.used(ACCOUNT, DAY) == {"email": 48}


def test_each_share_that_is_used_has_one_audit_entry_and_is_told_once(moto_dynamo: object, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    told: list[ReachedQuota] = []

    def take(email: int, default: str = "email") -> bool:
        spending = DynamoSpending(stores.dynamo, stores.tables.records, clock, told.append)  # a process of its own
        asked = replace(charge(email), key="key_a", key_limits={"email": 20}, defaults=frozenset({default}))
        return spending.take(asked) is None

    assert [take(7), take(1), take(1), take(1), take(1), take(1)] == [True] * 4 + [False] * 2
    assert [(x.key, x.share, x.default, x.used_up) for x in told] == [("", 80, True, False), ("", 100, True, True)]
    log = DynamoJournal(stores.dynamo, stores.tables.records)
    entries = list(log.since(ACCOUNT, Log.AUDIT, 0))
    assert {(x.kind, x.actor, x.id) for x in entries} == {("account.limit_reached", "system", ACCOUNT)}
    assert sorted((dict(x.data) for x in entries), key=lambda x: x["share"]) == [
        {"quota": "email", "share": share, "limit": 10, "used": used} for share, used in ((80, 8), (100, 10))
    ]


def test_a_limit_of_a_key_is_no_default(moto_dynamo: object, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    told: list[ReachedQuota] = []
    spending = DynamoSpending(stores.dynamo, stores.tables.records, clock, told.append)
    spending.take(replace(charge(9, 90), key="key_a", key_limits={"email": 10}, defaults=frozenset({"email"})))
    assert [(x.key, x.share, x.default) for x in told] == [("key_a", 80, False)]


def test_an_item_goes_after_its_day(moto_dynamo: object, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    DynamoSpending(stores.dynamo, stores.tables.records, clock).take(charge(1))
    (item,) = stores.client.scan(TableName=stores.tables.records)["Items"]
    assert int(item["ttl"]["N"]) > clock.now() + 35 * 86_400
