"""Digest policies, in memory and on DynamoDB."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.domain.audit import SYSTEM, Event, Log
from shared.domain.content.content import Mailbox
from shared.domain.digests.policy import DigestPolicy
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import window_of
from shared.ports import DigestPolicies, Mismatch, Replay, Stored
from tests.contracts.conftest import key
from tests.domain.digests.examples import ACCOUNT, policy
from tests.fakes.clock import FakeClock
from tests.fakes.digests.policies import FakeDigestPolicies
from tests.fakes.faults import When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores
from tests.tiers import examples


@pytest.fixture
def policies(stores: Stores) -> DigestPolicies:
    if isinstance(stores, FakeStores):
        return FakeDigestPolicies(stores.journal, stores.tap)
    assert isinstance(stores, MotoStores)
    return DynamoDigestPolicies(stores.dynamo, records=stores.tables.records)


def event(one: DigestPolicy) -> Event:
    return Event(one.namespace, one.saved_at, "policy", "digest_policy.saved", SYSTEM, {"version": one.version})


def store(policies: DigestPolicies, *prefixes: str) -> None:
    for prefix in prefixes:
        one = policy(prefix=prefix)
        assert policies.save(None, one, None, event=event(one)) == Stored()


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_versions_replace_each_other_and_stay(policies: DigestPolicies, stores: Stores, when: When | None) -> None:
    first = policy(template="<p>{{ events }}</p>")
    hours = OpenHours(window_of("09:00", "20:00", ["mon"]), "Europe/Paris")
    second = replace(first, version=2, saved_at=first.saved_at + 1, sender=Mailbox("news@example.com"), hours=hours)
    if when is not None:
        stores.tap.arm(0, when, where=lambda name: name.endswith(("transact_write_items", "policies.save")))
    assert policies.save(None, first, None, event=event(first)) == Stored()
    assert policies.save(None, replace(first, saved_at=9), None, event=event(first)) is None
    assert policies.save(first, second, None, event=event(second)) == Stored()
    assert policies.save(first, replace(first, version=2), None, event=event(second)) is None
    assert policies.get(ACCOUNT, first.prefix) == second
    assert policies.at(ACCOUNT, first.prefix, 1) == first
    assert policies.at(ACCOUNT, first.prefix, 2) == second
    assert policies.at(ACCOUNT, first.prefix, 3) is None
    assert policies.get(ACCOUNT, "other") is None
    versions = [x.data["version"] for x in stores.journal.since(ACCOUNT, Log.AUDIT, 0)]
    assert versions == [1, 2]


def test_a_deleted_policy_goes_on_being_counted(policies: DigestPolicies) -> None:
    first = policy()
    gone = replace(first, version=2, deleted=True)
    anew = replace(first, version=3)
    store(policies, first.prefix)
    assert policies.save(first, gone, None, event=event(gone)) == Stored()
    assert (policies.get(ACCOUNT, first.prefix), policies.find(ACCOUNT, "acme/x")) == (gone, None)
    assert policies.page(ACCOUNT, after="", limit=9) == ([], "")
    assert policies.at(ACCOUNT, first.prefix, 1) == first, "windows that were opened with it still have it"
    assert policies.save(gone, anew, None, event=event(anew)) == Stored()
    assert policies.find(ACCOUNT, "acme/x") == anew


def test_an_idempotency_key_replays_its_answer(moto_dynamo: object, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    policies = DynamoDigestPolicies(stores.dynamo, records=stores.tables.records)
    one = policy(saved_at=clock.ms)
    assert policies.save(None, one, key(clock), event=event(one)) == Stored()
    assert policies.save(None, one, key(clock), event=event(one)) == Replay("first")
    assert policies.save(None, one, key(clock, "other"), event=event(one)) == Mismatch()


CASES = {
    "acme/production": "acme/",
    "acme/development": "acme/dev",
    "acme": None,
    "acme/": "acme/",
    "acme/dev": "acme/dev",
    "acme/de": "acme/",
    "acmf": None,
    "z": "z",
    "zürich/x": "zürich",
    "zürch/x": "z",
    "日本/東京": "日本",
}


def test_a_key_has_the_policy_with_the_longest_prefix(policies: DigestPolicies) -> None:
    store(policies, "acme/", "acme/dev", "acme/ab", "acme/deva", "b", "z", "zürich", "日本", "acme/dew")
    found = {key: policies.find(ACCOUNT, key) for key in CASES}
    assert {key: one and one.prefix for key, one in found.items()} == CASES
    assert policies.find("acc_000000000002", "acme/x") is None


def test_a_deleted_policy_hides_no_shorter_one(policies: DigestPolicies) -> None:
    store(policies, "a", "acme/", "acme/dev")
    for prefix in ("acme/dev", "acme/"):
        gone = policy(prefix=prefix, version=2, deleted=True)
        assert policies.save(policy(prefix=prefix), gone, None, event=event(gone)) == Stored()
    found = policies.find(ACCOUNT, "acme/development")
    assert found is not None
    assert found.prefix == "a"


NAMES = st.text("ab", min_size=1, max_size=6)


@profile(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(25))
@given(st.sets(NAMES, max_size=8), st.lists(NAMES, min_size=1, max_size=4))
def test_any_key_has_the_policy_with_the_longest_prefix(
    new_policies: Callable[[], DigestPolicies], prefixes: set[str], keys: list[str]
) -> None:
    policies = new_policies()
    store(policies, *prefixes)
    for name in keys:
        found = policies.find(ACCOUNT, name)
        wanted = max((p for p in prefixes if name.startswith(p)), key=len, default=None)
        assert (found and found.prefix) == wanted


@pytest.fixture
def new_policies(moto_dynamo: object, clock: FakeClock) -> Callable[[], DigestPolicies]:
    def made() -> DigestPolicies:
        stores = MotoStores(moto_dynamo, clock)
        return DynamoDigestPolicies(stores.dynamo, records=stores.tables.records)

    return made


def test_policies_are_listed_by_prefix(policies: DigestPolicies) -> None:
    store(policies, "c", "a", "b", "ab")
    first, after = policies.page(ACCOUNT, after="", limit=3)
    assert [x.prefix for x in first] == ["a", "ab", "b"]
    rest, end = policies.page(ACCOUNT, after=after, limit=3)
    assert ([x.prefix for x in rest], end) == (["c"], "")
