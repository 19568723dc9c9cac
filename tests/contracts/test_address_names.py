"""Suppressions while the hashes that they are stored under are moved to a key, in every state of the move."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.adapters.dynamo.erasure.report import Erased, ErasureReport
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.dynamo.recipients import suppressions
from shared.adapters.dynamo.recipients.stored_names import KEPT, WRONG
from shared.adapters.dynamo.recipients.suppressions import BY_KEY, WORTH, Suppressions
from shared.contracts import HOOKS_RECORDS_FILTERS
from shared.domain.audit import EVERYONE, Act, Log
from shared.domain.jobs.chunks import Recipient
from shared.domain.namespaces import namespace, team_space
from shared.domain.recipients.address_names import MOVE_MS, SWITCH_MS, generation_of, stand_in
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import DigestsOf, Reach, Suppression
from shared.engine.suppression.suppressed import Suppressed
from shared.engine.suppression.unwanted import Unwanted
from shared.ports import MalformedSecret
from tests.contracts.conftest import ACCOUNT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.crashes import dying
from tests.fakes.faults import Tap, When
from tests.fakes.keyed_names import BY, FIRST, SECOND, Keyring
from tests.fakes.tables import FakeBlobs, Tables, TappedClient, create_tables

OTHER = "acc_000000000002"
PEOPLE = [f"r{i}@example.com" for i in range(4)]
POLICY = DigestsOf("acme/")
REACHES = (Reach.ALL, Reach.CAMPAIGNS, POLICY)


class House:
    """A deployment of an earlier version, whose processes are made anew at will."""

    def __init__(self, client: Any, clock: FakeClock) -> None:
        self.clock = clock
        self.tap = Tap()
        self.tables: Tables = create_tables(client)
        self.client = TappedClient(client, self.tap, lambda _table, _key: None)
        self.ring = Keyring(self.tables, clock)
        self.old = self.store(Dynamo(client, homes=self.tables.alone))
        """The version before: it knows of no key."""

    def reboot(self) -> None:
        """A process has died: nothing else remembers anything."""

    def store(self, process: Dynamo) -> DynamoRecords:
        """Return a process's suppressions."""
        return DynamoRecords(process, records=self.tables.records, ops=self.tables.ops, blobs=FakeBlobs())

    def new(self) -> DynamoRecords:
        """Return the suppressions of a new process."""
        return self.store(self.ring.process(self.client))

    def owner(self) -> Suppressions:
        """Return what the list's owner sees, in a new process."""
        return Suppressions(
            self.client, self.tables.records, self.clock, homes=self.tables.alone, names=self.ring.names(self.client)
        )

    def fill(self) -> None:
        """Let the version before suppress people in all lists and namespaces."""
        for i, person in enumerate(PEOPLE):
            self.old.suppress(ACCOUNT, person, "bounced", 1_000 + i)
        self.old.suppress(ACCOUNT, PEOPLE[0], "page", 2_000, reach=Reach.CAMPAIGNS, job="j", channel="email")
        self.old.suppress(ACCOUNT, PEOPLE[1], "page", 2_001, reach=POLICY)
        self.old.suppress(namespace(ACCOUNT, test=True), PEOPLE[2], "bounced", 2_002)
        self.old.suppress(team_space(ACCOUNT), PEOPLE[2], "bounced", 2_002)
        self.old.suppress(OTHER, "+15551234567", "stopped", 2_003, reach=Reach.SMS)

    def announced(self, ms: float = MOVE_MS) -> "House":
        """Announce the key, and let some time pass."""
        self.ring.names(self.client).announce(BY)
        self.clock.advance(ms / 1000)
        return self

    def move(self, looks: int = 1_000_000) -> bool:
        """Move names until a process has enough; return whether all are moved."""
        return self.ring.mover(self.client, calls=looks).move(lambda: (ACCOUNT, OTHER)).settled

    def names(self, *ending: str) -> list[str]:
        """Return all names that are stored, in lists whose partition ends so."""
        found = self.client.scan(TableName=self.tables.records, ConsistentRead=True)["Items"]
        lists = [x for x in found if x["pk"]["S"].split("#")[-1] in ending]
        return sorted(x["sk"]["S"].split("#")[1 if x["pk"]["S"].endswith("LOG") else 0] for x in lists)

    def stored(self) -> list[str]:
        """Return all names that are stored."""
        kinds = [keys.LISTS[reach] for reach in Reach]
        return self.names(*kinds, *(f"{kind}LOG" for kind in kinds))


def check(store: DynamoRecords) -> None:
    """Check that everybody whom `House.fill` has suppressed still is, one by one and in the logs."""
    assert store.suppressed(ACCOUNT, [*PEOPLE, "new@example.com"]) == dict.fromkeys(PEOPLE, Reach.ALL)
    assert store.suppressed(ACCOUNT, PEOPLE, (Reach.CAMPAIGNS,)) == {PEOPLE[0]: Reach.CAMPAIGNS}
    assert store.suppressed(ACCOUNT, PEOPLE, (POLICY,)) == {PEOPLE[1]: POLICY}
    assert store.suppressed(namespace(ACCOUNT, test=True), PEOPLE) == {PEOPLE[2]: Reach.ALL}
    assert store.suppressed(OTHER, ["+15551234567"], (Reach.SMS,)) == {"+15551234567": Reach.SMS}
    recent = store.suppressed_since(ACCOUNT, 1_001).names
    named = [store.names_of([x], generation_of(name))[0] for x, name in zip(PEOPLE[1:], recent, strict=True)]
    assert list(recent) == named, "by their time"


def plain(house: House) -> House:
    return house


def announced(house: House) -> House:
    return house.announced(SWITCH_MS - 1_000)


def switched(house: House) -> House:
    return house.announced(SWITCH_MS)


def half_moved(house: House) -> House:
    assert not house.announced().move(looks=2)
    return house


def moved(house: House) -> House:
    assert house.announced().move()
    return house


STATES = [plain, announced, switched, half_moved, moved]


@pytest.fixture
def house(moto_dynamo: Any, clock: FakeClock) -> House:
    house = House(moto_dynamo, clock)
    house.fill()
    return house


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest, house: House) -> House:
    made: Callable[[House], House] = request.param
    return made(house)


def test_whom_an_older_version_suppressed_is_suppressed_in_every_state(state: House) -> None:
    check(state.new())
    many = [*PEOPLE, *(f"n{i}@example.com" for i in range(WORTH))]
    assert set(state.new().suppressed(ACCOUNT, many)) == set(PEOPLE), "by pages of the list"
    assert state.owner().check(ACCOUNT, many[: BY_KEY - 1]) == set(PEOPLE)


def test_a_new_entry_is_found_by_every_process_in_every_state(state: House) -> None:
    before, person = state.new(), "late@example.com"
    check(before)
    state.new().suppress(ACCOUNT, person, "complained", state.clock.ms)
    for store in (before, state.new()):
        assert store.suppressed(ACCOUNT, [person]) == {person: Reach.ALL}
    assert [x.address for x in state.owner().page(ACCOUNT, limit=1)[0]] == [person]


def test_an_entry_is_taken_back_changed_and_added_once_in_every_state(state: House) -> None:
    owner, person = state.owner(), PEOPLE[3]
    assert owner.put(ACCOUNT, person, "mine").at == 1_003, "the first time stays"
    found = owner.get(ACCOUNT, person)
    assert found is not None
    assert found.reason == "mine"
    listed, _ = owner.page(ACCOUNT, limit=100)
    assert [(x.address, x.reason) for x in listed if x.address == person] == [(person, "mine")]
    assert owner.delete(ACCOUNT, person)
    assert not owner.delete(ACCOUNT, person)
    assert state.new().suppressed(ACCOUNT, [person]) == {}
    assert person not in [x.address for x in owner.page(ACCOUNT, limit=100)[0]]


def test_until_a_key_is_announced_the_secret_is_not_read(house: House) -> None:
    """A deploy gives functions the right to read it a moment later."""
    house.ring.secret = {"current": "short"}
    check(house.new())
    house.new().suppress(ACCOUNT, "late@example.com", "complained", house.clock.ms)
    assert house.ring.read == 0


def test_an_older_version_sees_everything_until_the_switch(house: House) -> None:
    announced(house)
    check(house.old)
    house.new().suppress(ACCOUNT, "late@example.com", "complained", house.clock.ms)
    assert house.old.suppressed(ACCOUNT, ["late@example.com"])
    assert not house.move(), "nothing is moved yet"
    assert {generation_of(x) for x in house.stored()} == {0}


def test_after_the_move_no_name_without_a_key_is_left(house: House) -> None:
    before = len(house.stored())
    moved(house)
    assert {generation_of(x) for x in house.stored()} == {1}
    assert len(house.stored()) == before
    state = house.ring.names(house.client).read()
    assert (state.moved, state.ended > 0) == (len(PEOPLE) + 5, True)
    log = DynamoJournal(house.ring.process(house.client), house.tables.records)
    kinds = [(x.kind, x.actor) for x in log.since(EVERYONE, Log.AUDIT, 0)]
    assert kinds == [(Act.NAMES_ANNOUNCED, BY), (Act.NAMES_MOVED, BY)]


def test_a_move_that_had_no_time_left_is_continued(house: House) -> None:
    house.announced()
    assert not house.move(looks=20)
    check(house.new())
    assert house.move(looks=20), "from the second account on"
    assert {generation_of(x) for x in house.stored()} == {1}
    check(house.new())


def test_a_moved_entry_keeps_everything_and_is_not_told_to_webhooks_again(house: House) -> None:
    def told() -> list[Any]:
        wanted = HOOKS_RECORDS_FILTERS[-1]["dynamodb"]["NewImage"]
        assert wanted["unheard"] == {"BOOL": [{"exists": False}]}
        found = house.client.scan(TableName=house.tables.records)["Items"]
        return [x for x in found if {"address", "reason"} <= x.keys() and "unheard" not in x]

    first = house.owner().get(ACCOUNT, PEOPLE[0], reach=Reach.CAMPAIGNS)
    assert told()
    moved(house)
    assert house.owner().get(ACCOUNT, PEOPLE[0], reach=Reach.CAMPAIGNS) == first
    assert told() == []


def test_an_address_that_an_older_version_added_beside_is_one_entry_after_the_move(house: House) -> None:
    switched(house)
    house.new().suppress(ACCOUNT, "late@example.com", "complained", house.clock.ms)
    house.old.suppress(ACCOUNT, "late@example.com", "bounced", house.clock.ms + 1)
    house.clock.advance(MOVE_MS / 1000)
    assert house.move()
    assert [x.reason for x in house.owner().page(ACCOUNT, limit=1)[0]] == ["complained"]
    assert house.owner().delete(ACCOUNT, "late@example.com")
    assert house.new().suppressed(ACCOUNT, ["late@example.com"]) == {}


@pytest.mark.slow
@pytest.mark.promise(11)
@pytest.mark.parametrize("when", list(When))
def test_a_mover_that_dies_at_any_call_loses_nobody(moto_dynamo: Any, clock: FakeClock, when: When) -> None:
    def make() -> House:
        house = House(moto_dynamo, clock)
        house.fill()
        return house.announced()

    for house in dying(make, House.move, when, least=30):
        check(house.new())
        assert house.move(), "another one ends it"
        check(house.new())
        assert {generation_of(x) for x in house.stored()} == {1}


@pytest.mark.slow
@pytest.mark.promise(11)
def test_a_reader_between_any_two_calls_of_a_mover_misses_nobody(house: House) -> None:
    house.announced()
    early = house.new()
    check(early)
    seen = 0

    def look() -> None:
        nonlocal seen
        if seen < 1_000:
            seen += 1_000
            check(early)
            check(house.new())
            seen -= 999

    house.tap.delay = look
    assert house.move()
    assert seen > 30


def between(house: House, first: str, act: Callable[[], object]) -> Iterator[None]:
    """Do something just before the next call of a kind."""
    done = False

    def delay() -> None:
        nonlocal done
        if not done and house.tap.calls and house.tap.calls[-1] == first:
            done = True
            act()

    house.tap.delay = delay
    yield
    assert done


def test_an_entry_that_moves_between_two_reads_is_found(house: House) -> None:
    """The earlier name is read first. In the other order the entry would be missed."""
    house.announced()
    reader = house.new()
    check(reader)
    house.tap.calls.clear()
    acting = between(house, "dynamo.batch_get_item", lambda: house.ring.mover(house.client).move(lambda: (ACCOUNT,)))
    next(acting)
    assert reader.suppressed(ACCOUNT, PEOPLE) == dict.fromkeys(PEOPLE, Reach.ALL)
    next(acting, None)


def test_once_moved_a_look_is_one_read_as_before(house: House) -> None:
    def calls(store: DynamoRecords) -> list[str]:
        check(store)
        house.tap.calls.clear()
        store.suppressed(ACCOUNT, PEOPLE)
        store.suppress(OTHER, "late@example.com", "complained", house.clock.ms)
        return list(house.tap.calls)

    before = calls(house.store(Dynamo(house.client, homes=house.tables.alone)))
    moved(house)
    assert house.new().allow(OTHER, "late@example.com")
    assert len(before) == 3
    assert calls(house.new()) == before
    assert house.ring.read > 0


def test_a_process_reads_the_state_seldom_and_the_secret_once(house: House) -> None:
    moved(house)
    store = house.new()
    house.ring.read = 0
    for _ in range(3):
        check(store)
        house.clock.advance(KEPT)
    assert house.ring.read == 1
    assert KEPT * 1000 * 3 < SWITCH_MS


@pytest.mark.promise(11)
@pytest.mark.parametrize("fields", [{}, {"current": SECOND}, {"current": "short"}])
def test_with_another_key_nothing_is_looked_up(house: House, fields: dict[str, str]) -> None:
    moved(house)
    house.ring.secret = fields
    with pytest.raises(MalformedSecret):
        house.new().suppressed(ACCOUNT, PEOPLE)
    with pytest.raises(MalformedSecret):
        house.ring.names(house.client).announce(BY)


def test_a_second_key_is_moved_to_in_the_same_way(house: House) -> None:
    moved(house)
    house.ring.secret = {"current": SECOND, "previous": FIRST}
    check(house.new())
    switched(house)
    house.new().suppress(OTHER, "late@example.com", "complained", house.clock.ms)
    house.clock.advance(MOVE_MS / 1000)
    check(house.new())
    assert house.move()
    check(house.new())
    assert {generation_of(x) for x in house.stored()} == {2}
    assert house.new().suppressed(OTHER, ["late@example.com"])


def test_a_deployment_without_accounts_begins_with_the_key(moto_dynamo: Any, clock: FakeClock) -> None:
    house = House(moto_dynamo, clock)
    assert house.ring.names(house.client).begin(empty=lambda: True)
    house.new().suppress(ACCOUNT, PEOPLE[0], "bounced", 1)
    assert {generation_of(x) for x in house.stored()} == {1}
    assert not house.ring.names(house.client).begin(empty=lambda: True), "once"
    assert house.ring.names(house.client).announce(BY).settled, "nothing is left to do"


@pytest.mark.parametrize(("fields", "empty"), [({}, True), ({"current": FIRST}, False)])
def test_a_deployment_with_accounts_or_without_a_key_begins_as_before(
    moto_dynamo: Any, clock: FakeClock, fields: dict[str, str], *, empty: bool
) -> None:
    house = House(moto_dynamo, clock)
    house.ring.secret = fields
    assert not house.ring.names(house.client).begin(empty=lambda: empty)
    house.new().suppress(ACCOUNT, PEOPLE[0], "bounced", 1)
    assert house.names("SUP") == [address_hash(PEOPLE[0])]


def test_the_move_needs_a_key(house: House) -> None:
    house.ring.secret = {}
    with pytest.raises(MalformedSecret, match=WRONG):
        house.ring.names(house.client).announce(BY)
    check(house.new())


def test_an_address_is_added_once_in_every_state(state: House) -> None:
    with_name = state.ring.process(state.client).names
    for name in with_name.all(PEOPLE[3]):
        new = Suppression(PEOPLE[3], "again", state.clock.ms)
        process = state.ring.process(state.client)
        assert not suppressions.add(process, state.tables.records, Reach.ALL, ACCOUNT, new), name
    assert len([x for x in state.owner().page(ACCOUNT, limit=100)[0] if x.address == PEOPLE[3]]) == 1


def erased(house: House, person: str) -> ErasureReport:
    """Erase a person's entries in all lists of the first account."""
    process = house.ring.process(house.client)
    eraser = Eraser(process, house.tables.records, lambda: None, "no-bucket", key=person)
    eraser.lists([ACCOUNT])
    return eraser.report


def test_an_erasure_finds_names_in_every_state(state: House) -> None:
    assert dict(erased(state, PEOPLE[0]).erased) == {Erased.SUPPRESSIONS: 1, Erased.UNSUBSCRIPTIONS: 1}
    assert dict(erased(state, PEOPLE[0]).erased) == {}, "once"
    state.new().suppress(ACCOUNT, PEOPLE[0], "bounced", state.clock.ms)
    check(state.new())
    assert PEOPLE[0] not in str(state.client.scan(TableName=state.tables.records)["Items"])


def test_an_erased_address_is_moved_with_its_stand_in(house: House) -> None:
    erased(house, PEOPLE[0])
    plain_name = address_hash(PEOPLE[0])
    assert plain_name in str(house.client.scan(TableName=house.tables.records)["Items"])
    moved(house)
    check(house.new())
    assert plain_name not in str(house.client.scan(TableName=house.tables.records)["Items"])
    found = house.owner().get(ACCOUNT, PEOPLE[0])
    assert found is not None
    assert found.address == stand_in(house.ring.names(house.client).new(PEOPLE[0]))
    assert dict(erased(house, PEOPLE[0]).erased) == {}


def test_a_mover_does_not_bring_back_what_is_erased_meanwhile(house: House) -> None:
    house.announced()
    house.tap.calls.clear()
    acting = between(house, "dynamo.query", lambda: erased(house, PEOPLE[0]))
    next(acting)
    assert house.move()
    next(acting, None)
    house.tap.delay = lambda: None
    assert PEOPLE[0] not in str(house.client.scan(TableName=house.tables.records)["Items"])
    check(house.new())


def test_a_mover_does_not_bring_back_what_is_allowed_meanwhile(house: House) -> None:
    house.announced()
    house.tap.calls.clear()
    acting = between(house, "dynamo.query", lambda: house.owner().delete(ACCOUNT, PEOPLE[3]))
    next(acting)
    assert house.move()
    next(acting, None)
    house.tap.delay = lambda: None
    assert house.new().suppressed(ACCOUNT, PEOPLE[3:]) == {}


def test_a_sender_remembers_names_of_both_generations(house: House) -> None:
    """It has read some of the log before the move, and the rest after it."""
    switched(house)
    store = house.new()
    memory = Suppressed(store, house.clock)
    keys_of_chunk = (*PEOPLE, "late@example.com", "other@example.com")
    parts = Parts(house.clock, (len(keys_of_chunk),), created_at=1_000, planned_at=1_000)
    chunk = replace(parts.chunks[0], recipients=tuple(Recipient(x, x) for x in keys_of_chunk))

    def out() -> set[int]:
        everyone = range(len(keys_of_chunk))
        return set(memory.among(parts.job, chunk, everyone, {Reach.ALL: house.clock.ms}).codes)

    assert out() == {0, 1, 2, 3}
    house.clock.advance(MOVE_MS / 1000)
    assert house.move()
    store.suppress(ACCOUNT, "late@example.com", "bounced", house.clock.ms)
    house.clock.advance(KEPT + 1)
    assert out() == {0, 1, 2, 3, 4}


def test_a_reader_of_a_list_knows_names_of_both_generations(house: House) -> None:
    switched(house)
    house.new().suppress(ACCOUNT, "late@example.com", "bounced", house.clock.ms)
    unwanted = Unwanted(house.new(), ACCOUNT, (Reach.ALL,))
    asked = [*PEOPLE, "late@example.com", "other@example.com"]
    assert set(unwanted.suspects(asked)) == {0, 1, 2, 3, 4}
    assert set(unwanted.codes(asked)) == {0, 1, 2, 3, 4}
