"""Audit logs are sealed day by day; what is removed, changed or inserted afterwards is found, and the first named."""

from contextlib import suppress
from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.seals import DynamoSeals
from shared.adapters.dynamo.client import Cancelled
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.auditing import seals as rules
from shared.domain.auditing.seals import AuditFault, AuditSeal, Tampering
from shared.domain.times import DAY_MS
from shared.engine.reports.sealing import Sealer, Verifier
from shared.ports import Retriable
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.tables import MotoStores

DAYS = 400
HOUR = 3600


class Room:
    """An account's audit log with entries, its seals, and somebody who changes the table by hand."""

    def __init__(self, stores: MotoStores, clock: FakeClock) -> None:
        self.stores = stores
        self.clock = clock
        homes = stores.dynamo.homes
        self.table = homes.audit
        self.seals = DynamoSeals(stores.dynamo, records=stores.tables.records, ops=stores.tables.ops)
        self.sealer = Sealer(self.seals, clock, DAYS)
        for item in (keys.accounts(ACCOUNT), keys.moved()):
            stores.client.put_item(TableName=homes.identities, Item=item)

    def entry(self, name: str = "thing", *, log: str = ACCOUNT, at: int = 0) -> str:
        """Write an entry a minute after the one before, or of another time; return its place."""
        self.clock.advance(60)
        event = audited(log, at or self.clock.ms, name, Act.CAMPAIGN_CHANGED, "0123456789abcdef", {"fields": "name"})
        self.stores.journal.write(event)
        return keys.event(log, "audit", event.at, name, event.kind, event.mark)["sk"]["S"]

    def day(self, count: int = 3) -> list[str]:
        """Write some entries, and wait until their day is over and sealed."""
        places = [self.entry(f"n{n}") for n in range(count)]
        self.clock.advance(DAY_MS / 1000 + 3 * HOUR)
        self.run()
        return places

    def run(self) -> None:
        """Do the sweeper's part, twice: the second time finds that all is done."""
        for _ in range(2):
            for _, act in self.sealer.walk():
                act()

    def key(self, place: str) -> dict[str, Any]:
        return keys.key(f"A#{ACCOUNT}#AUDIT", place)

    def verified(self) -> AuditFault | None:
        """Return what a verification finds."""
        return Verifier(self.seals, self.clock).verify(ACCOUNT, until=self.clock.now() + 60).finding

    def change(self, place: str, name: str = "actor", value: str = "somebody") -> None:
        self.stores.client.update_item(
            TableName=self.table,
            Key=self.key(place),
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": {"S": value}},
        )

    def remove(self, place: str) -> None:
        self.stores.client.delete_item(TableName=self.table, Key=self.key(place))

    def seal(self, number: int) -> dict[str, Any]:
        return keys.key(f"A#{ACCOUNT}#SEALS", f"{number:08d}")


@pytest.fixture
def room(moto_dynamo: Any, clock: FakeClock) -> Room:
    return Room(MotoStores(moto_dynamo, clock), clock)


def at(place: str) -> int:
    return int(place[:15])


def test_a_log_is_sealed_by_day_and_is_as_it_was(room: Room) -> None:
    for _ in range(3):
        room.day()
    room.entry()
    found = Verifier(room.seals, room.clock).verify(ACCOUNT, until=room.clock.now() + 60)
    assert (found.entries, found.seals, found.finding, found.whole) == (9, 3, None, True)
    assert found.sealed == rules.due_end(room.clock.ms)
    chain = list(room.seals.of(ACCOUNT))
    assert [x.before for x in chain] == ["", chain[0].digest, chain[1].digest]
    assert found.digest == chain[2].digest


@pytest.mark.parametrize("day", [0, 1, 2])
@pytest.mark.parametrize("what", ["actor", "data", "kind", "id"])
def test_a_changed_entry_is_found(room: Room, day: int, what: str) -> None:
    days = [room.day() for _ in range(3)]
    room.change(days[day][1], what)
    room.change(days[2][2], what)
    assert room.verified() == AuditFault(Tampering.CHANGED, at(days[day][1]), days[day][1])


@pytest.mark.parametrize("day", [0, 1, 2])
def test_a_removed_entry_is_found(room: Room, day: int) -> None:
    days = [room.day() for _ in range(3)]
    room.remove(days[day][0])
    room.remove(days[2][2])
    assert room.verified() == AuditFault(Tampering.REMOVED, at(days[day][0]))


def test_an_inserted_entry_is_found(room: Room) -> None:
    days = [room.day() for _ in range(2)]
    late = room.entry("late", at=at(days[0][0]) + 1)
    assert room.verified() == AuditFault(Tampering.INSERTED, at(late), late)


def test_an_entry_in_a_day_that_was_empty_is_found(room: Room) -> None:
    room.day()
    room.clock.advance(5 * DAY_MS / 1000)
    room.run()
    late = room.entry("late", at=room.clock.ms - 3 * DAY_MS)
    room.clock.advance(DAY_MS / 1000)
    room.run()
    assert room.verified() == AuditFault(Tampering.INSERTED, at(late), late)


@pytest.mark.parametrize("number", [1, 2])
def test_a_seal_that_is_gone_is_found(room: Room, number: int) -> None:
    for _ in range(3):
        room.day()
    room.stores.client.delete_item(TableName=room.table, Key=room.seal(number))
    found = room.verified()
    assert found is not None
    assert found.fault is Tampering.SEAL_MISSING


def test_the_newest_seals_that_are_gone_are_found(room: Room) -> None:
    for _ in range(3):
        room.day()
    newest = room.seals.last(ACCOUNT)
    assert newest is not None
    for number in (newest.number - 1, newest.number):
        room.stores.client.delete_item(TableName=room.table, Key=room.seal(number))
    found = room.verified()
    assert found is not None
    assert found.fault is Tampering.SEAL_MISSING


def test_a_seal_that_was_made_again_over_a_changed_entry_is_found(room: Room) -> None:
    """Whoever can write seals has to write all later ones as well; the copy elsewhere is of what they were."""
    days = [room.day() for _ in range(3)]
    room.change(days[0][0])
    first, *_ = room.seals.of(ACCOUNT)
    forged = rules.seal_of(ACCOUNT, None, first.end, list(room.seals.entries(ACCOUNT, 0, first.end)), DAYS)
    room.stores.client.delete_item(TableName=room.table, Key=room.seal(1))
    assert room.seals.add(forged)
    found = room.verified()
    assert found is not None
    assert found.fault is Tampering.SEAL_CHANGED


def test_a_day_is_not_sealed_before_its_entries_are_there(room: Room) -> None:
    room.entry()
    room.clock.advance((DAY_MS - room.clock.ms % DAY_MS) / 1000 + HOUR)
    room.run()
    assert room.seals.last(ACCOUNT) is None
    room.clock.advance(HOUR + 1)
    room.run()
    assert room.seals.last(ACCOUNT) is not None


def test_each_log_of_an_account_and_the_deployments_own_are_sealed(room: Room) -> None:
    logs = [EVERYONE, ACCOUNT, f"{ACCOUNT}#TEST", f"{ACCOUNT}-team"]
    for log in logs:
        room.entry(log=log)
    room.day()
    assert [room.seals.last(log) is not None for log in logs] == [True] * 4


def test_a_day_with_many_entries_has_several_seals(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.engine.reports.sealing.MOST", 2)
    places = room.day(5)
    assert [x.count for x in room.seals.of(ACCOUNT)] == [2, 2, 1]
    assert room.verified() is None
    room.remove(places[3])
    assert room.verified() == AuditFault(Tampering.REMOVED, at(places[3]))


def test_entries_that_have_expired_are_not_missed(room: Room) -> None:
    first = room.day()
    room.clock.advance((DAYS - 1) * DAY_MS / 1000)
    second = room.day()
    for place in first:
        room.remove(place)
    assert room.verified() is None
    room.remove(second[0])
    assert room.verified() == AuditFault(Tampering.REMOVED, at(second[0]))


def test_of_two_processes_that_seal_a_log_one_does(room: Room) -> None:
    room.day()
    room.entry()
    room.clock.advance(2 * DAY_MS / 1000)
    last, end = room.seals.last(ACCOUNT), rules.due_end(room.clock.ms)
    assert last is not None
    room.run()
    entries = list(room.seals.entries(ACCOUNT, last.end, end))
    other = rules.seal_of(ACCOUNT, last, end, entries[:0], DAYS)
    assert not room.seals.add(other)
    assert [x.number for x in room.seals.of(ACCOUNT)] == [1, 2]
    late = Sealer(_Stale(room.seals, last), room.clock, DAYS)
    with pytest.raises(Retriable):
        late.seal(ACCOUNT, end - 1)


class _Stale:
    """Seals as a process sees them that has read the newest one before another was added."""

    def __init__(self, seals: DynamoSeals, last: AuditSeal) -> None:
        self._seals = seals
        self._last = last

    def last(self, log: str) -> AuditSeal:
        return self._last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seals, name)


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("call", range(8))
def test_a_crash_leaves_a_log_that_is_sealed_later(room: Room, when: When, call: int) -> None:
    for n in range(3):
        room.entry(f"n{n}")
    room.clock.advance(2 * DAY_MS / 1000)
    room.stores.tap.arm(call, when)
    try:
        room.run()
    except Crash:
        room.sealer = Sealer(room.seals, room.clock, DAYS)
        room.run()
    assert room.verified() is None
    assert [x.count for x in room.seals.of(ACCOUNT)] == [3]


def test_logs_that_an_upgrade_still_moves_are_not_sealed(room: Room) -> None:
    room.stores.client.delete_item(TableName=room.stores.dynamo.homes.identities, Key=keys.moved())
    room.day()
    assert room.seals.last(ACCOUNT) is None


def test_a_process_asks_no_store_until_the_next_day_is_due(room: Room) -> None:
    room.day()
    room.stores.tap.arm(0, When.BEFORE)
    room.clock.advance(HOUR)
    assert list(room.sealer.walk()) == []
    assert room.stores.tap.fired == 0


def test_two_entries_of_one_moment_are_both_there(room: Room) -> None:
    now = room.clock.ms
    for actor in ("0123456789abcdef", "fedcba9876543210"):
        with suppress(Cancelled):
            room.stores.journal.write(audited(ACCOUNT, now, "thing", Act.CAMPAIGN_CHANGED, actor))
    assert len(list(room.seals.entries(ACCOUNT, now, now + 1))) == 2
