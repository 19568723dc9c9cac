"""Notifiers on DynamoDB, and the fake that other tests use instead."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.domain.audit import Act, Event, Log, audited
from shared.domain.notices.notifier import Contact, Notifier, PasswordHash, new_id_space
from shared.domain.notices.updates import Marks
from shared.domain.times import DAY_MS
from shared.ports import Notifiers, UpdateLog
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.notices.notifiers import FakeNotifiers
from tests.fakes.notices.updates import FakeUpdates
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

ACTOR = "0123456789abcdef"


@pytest.fixture
def log(stores: Stores) -> UpdateLog:
    if isinstance(stores, FakeStores):
        return FakeUpdates(stores.tap)
    assert isinstance(stores, MotoStores)
    return DynamoUpdates(stores.dynamo, records=stores.tables.records)


@pytest.fixture
def notifiers(stores: Stores, log: UpdateLog) -> Notifiers:
    if isinstance(stores, FakeStores):
        assert isinstance(log, FakeUpdates)
        return FakeNotifiers(stores.journal, stores.tap, log)
    assert isinstance(stores, MotoStores)
    return DynamoNotifiers(stores.dynamo, records=stores.tables.records)


def made(clock: FakeClock, name: str = "clinic", **changes: object) -> Notifier:
    bare = Notifier(name, ACCOUNT, new_id_space(), "Australia/Sydney", clock.ms, passwords=(PasswordHash("ab" * 32),))
    return replace(bare, **changes)  # type: ignore[arg-type]


def event(notifier: Notifier, act: Act = Act.NOTIFIER_CREATED) -> Event:
    return audited(notifier.namespace, notifier.created_at, notifier.name, act, ACTOR, {"version": notifier.version})


def create(notifiers: Notifiers, notifier: Notifier) -> Notifier:
    assert notifiers.create(notifier, event=event(notifier))
    return notifier


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_notifier_is_stored_with_its_settings_and_an_entry(
    notifiers: Notifiers, stores: Stores, clock: FakeClock, when: When | None
) -> None:
    if when is not None:
        stores.tap.arm(0, when)
    plain = create(notifiers, made(clock))
    full = create(
        notifiers,
        made(
            clock,
            "full",
            opens=0,
            closes=24,
            routes={"sms": ("a", "b"), "voice": ("c",)},
            expiry_days=30,
            conflict_tries=3,
            country="AU",
            test=True,
            disabled=True,
            passwords=(PasswordHash("cd" * 32, clock.ms + 5), PasswordHash("ef" * 32)),
        ),
    )
    assert notifiers.get("clinic") == plain
    assert notifiers.get("full") == full
    assert notifiers.get("none") is None
    assert list(stores.journal.since(ACCOUNT, Log.AUDIT, 0)) == [event(plain)]


def test_a_name_is_given_once_also_after_a_deletion(notifiers: Notifiers, clock: FakeClock) -> None:
    old = create(notifiers, made(clock))
    gone = replace(old, deleted=True, passwords=(), version=2)
    assert notifiers.change(old, gone, event=event(gone, Act.NOTIFIER_DELETED))
    other = made(clock, account="acc_000000000002")
    assert not notifiers.create(other, event=event(other))
    assert notifiers.get("clinic") == gone
    assert notifiers.page(ACCOUNT, after="", limit=10) == ([], "")


def test_a_new_notifier_s_updates_are_walked_a_day_later(
    notifiers: Notifiers, log: UpdateLog, clock: FakeClock
) -> None:
    first = create(notifiers, made(clock))
    clock.advance(60)
    assert not notifiers.create(made(clock), event=event(first))
    assert list(log.to_purge(first.created_at + DAY_MS - 1)) == []
    assert list(log.to_purge(first.created_at + DAY_MS)) == ["clinic"]
    assert log.marks("clinic") == Marks()


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_of_two_changes_of_one_version_one_is_made(
    notifiers: Notifiers, stores: Stores, clock: FakeClock, when: When | None
) -> None:
    old = create(notifiers, made(clock))
    mine, theirs = (replace(old, conflict_tries=x, version=2) for x in (3, 4))
    if when is not None:
        stores.tap.arm(0, when)
    assert notifiers.change(old, mine, event=event(mine, Act.NOTIFIER_CHANGED))
    assert not notifiers.change(old, theirs, event=event(theirs, Act.NOTIFIER_CHANGED))
    assert notifiers.get("clinic") == mine
    assert [x.kind for x in stores.journal.since(ACCOUNT, Log.AUDIT, 0)] == ["notifier.changed", "notifier.created"]


def test_pages_go_from_the_newest_on_and_keep_test_and_live_apart(notifiers: Notifiers, clock: FakeClock) -> None:
    for i in range(5):
        clock.advance(1)
        create(notifiers, made(clock, f"clinic-{i}", test=i == 2))
    first, place = notifiers.page(ACCOUNT, after="", limit=2)
    second, end = notifiers.page(ACCOUNT, after=place, limit=2)
    assert [x.name for x in (*first, *second)] == ["clinic-4", "clinic-3", "clinic-1", "clinic-0"]
    assert end == ""
    assert first[0].passwords == (PasswordHash("ab" * 32),)
    tests, _ = notifiers.page(f"{ACCOUNT}#TEST", after="", limit=9)
    assert [x.name for x in tests] == ["clinic-2"]


def test_those_of_a_namespace_are_counted_without_deleted_ones(notifiers: Notifiers, clock: FakeClock) -> None:
    live = [create(notifiers, made(clock, f"clinic-{i}")) for i in range(3)]
    tried = create(notifiers, made(clock, "clinic-t", test=True))
    assert notifiers.count(live[0].namespace, 10) == 3
    assert notifiers.count(live[0].namespace, 2) == 2
    assert notifiers.count(tried.namespace, 10) == 1
    gone = replace(live[0], deleted=True, version=2)
    assert notifiers.change(live[0], gone, event=event(gone, Act.NOTIFIER_DELETED))
    assert notifiers.count(live[0].namespace, 10) == 2


def test_a_notifier_s_calls_are_noted_to_the_minute(notifiers: Notifiers, clock: FakeClock) -> None:
    assert notifiers.contacts(["clinic", "other"]) == {}
    begin = clock.ms
    notifiers.note("clinic", begin, status=False)
    notifiers.note("clinic", begin + 59_999, status=False)
    assert notifiers.contacts(["clinic", "other"]) == {"clinic": Contact(begin, 0)}
    notifiers.note("clinic", begin + 59_999, status=True)
    assert notifiers.contacts(["clinic"]) == {"clinic": Contact(begin + 59_999, begin + 59_999)}
    notifiers.note("clinic", begin + 60_000, status=True)
    assert notifiers.contacts(["clinic"]) == {"clinic": Contact(begin + 59_999, begin + 59_999)}
    notifiers.note("clinic", begin + 119_999, status=False)
    assert notifiers.contacts(["clinic"]) == {"clinic": Contact(begin + 119_999, begin + 59_999)}
