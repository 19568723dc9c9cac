"""Windows and parts of digests, in memory and on DynamoDB."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.pages import DynamoWindowPages
from shared.adapters.dynamo.digests.window_codec import window, window_item, window_update
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.domain.audit import Act, Log, audited
from shared.domain.digests import window as rules
from shared.domain.digests.events import MAX_BYTES
from shared.domain.digests.window import MAX_PARTS, DigestWindow, Join, WindowState, joined, joining, shard_of
from shared.ports import Journal, WindowPages, WindowRetention, Windows
from tests.domain.digests import examples
from tests.domain.digests.examples import ACCOUNT, KEY, NOW, POLICY, part
from tests.fakes.digests.windows import FakeWindows
from tests.fakes.faults import Crash, When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

S = 1000
HOUR = 3_600_000


class Store:
    """The stores of windows over one of the worlds."""

    def __init__(self, stores: Stores) -> None:
        self.tap = stores.tap
        self.windows: Windows
        self.keeping: WindowRetention
        self.pages: WindowPages
        self.writes = "windows.{0}"
        if isinstance(stores, FakeStores):
            windows = FakeWindows(stores.tap)
            self.windows = self.keeping = self.pages = windows
            self.journal: Journal = windows.journal
        else:
            assert isinstance(stores, MotoStores)
            table = stores.tables.records
            self.windows = DynamoWindows(stores.dynamo, records=table)
            self.journal = stores.journal
            self.keeping = DynamoWindowRetention(stores.dynamo, records=table)
            self.pages = DynamoWindowPages(stores.dynamo, records=table)
            self.writes = "dynamo.{1}"

    def put(self, *some: DigestWindow) -> None:
        for one in some:
            assert self.windows.open(one) == one

    def one(self, window_id: str) -> DigestWindow:
        found = self.windows.get(window_id)
        assert found is not None
        return found

    def lost(self, call: str, operation: str, when: When) -> None:
        """Let the next such call go wrong."""
        self.tap.arm_at(self.writes.format(call, operation), when)


@pytest.fixture
def store(stores: Stores) -> Store:
    return Store(stores)


def full() -> DigestWindow:
    return examples.window(
        12,
        test=True,
        key="Größe/日本",
        state=WindowState.PROCESSED,
        closes_at=NOW + 9,
        closed_at=NOW + 8,
        due_at=NOW + 7,
        parts=(part(1).id, part(2).id),
        job="0123456789abcdefghjkmnpqrs",
        groups=3,
        duplicates=4,
        failures=5,
        fault="no_route",
        processed_at=NOW + 11,
        version=6,
    )


URGENT = rules.urgent((ACCOUNT, False), KEY, POLICY, part(50), NOW)


@pytest.mark.parametrize("one", [full(), examples.window(), examples.window(due_at=0), URGENT])
def test_an_item_is_read_as_it_was_written(one: DigestWindow) -> None:
    assert window(window_item(one)) == one
    assert window({**window_item(one), "later": {"S": "x"}}) == one


def test_parts_are_stored_and_read(store: Store) -> None:
    some = [part(n, 2) for n in range(130)]
    store.windows.put_parts(some[:1])
    store.windows.put_parts(some)
    store.windows.put_parts([])
    found = store.windows.parts([*(x.id for x in some), part(999).id])
    assert found == {x.id: x.data for x in some}


def test_the_last_window_of_a_key_has_the_highest_number(store: Store) -> None:
    assert store.windows.last(ACCOUNT, KEY) is None
    some = [examples.window(n, state=WindowState.CLOSED) for n in (9, 10, 100)]
    store.put(*some, URGENT, examples.window(500, key="acme/other"), examples.window(501, test=True))
    assert store.windows.last(ACCOUNT, KEY) == some[-1]
    assert store.windows.get(some[0].id) == some[0]
    assert store.windows.get(f"{some[0].id}1") is None
    assert store.windows.get("nonsense") is None


@pytest.mark.parametrize("when", [None, *When])
def test_of_two_windows_with_a_number_one_is_stored(store: Store, when: When | None) -> None:
    first, second = examples.window(1, 1), examples.window(1, 2)
    if when is not None:
        store.lost("open", "put_item", when)
    try:
        assert store.windows.open(first) == first
    except Crash:
        assert when is not When.REPEATED
    stored = store.windows.open(second)
    assert stored == (second if when is When.BEFORE else first)


def join(one: DigestWindow, n: int = 7, events: int = 1, at: int = NOW + S) -> Join:
    return joining(one, part(n, events), POLICY, at)


@pytest.mark.parametrize("when", [None, *When])
def test_a_part_joins_once_whatever_answer_is_lost(store: Store, when: When | None) -> None:
    one = examples.window()
    store.put(one)
    if when is not None:
        store.lost("join", "update_item", when)
    try:
        done, stored = store.windows.join(one.id, join(one))
    except Crash:
        done, stored = store.windows.join(one.id, join(one))
    repeated = when in (When.AFTER, When.REPEATED)
    assert done is not repeated
    assert stored == (joined(one, join(one)) if repeated else None)
    assert store.one(one.id) == joined(one, join(one))


def test_a_removed_window_takes_no_part(store: Store) -> None:
    assert store.windows.join(examples.window().id, join(examples.window())) == (False, None)


FILLED = replace(examples.window(), parts=tuple(f"{i:016d}" for i in range(100, 100 + MAX_PARTS - 1)))
CASES: dict[str, tuple[DigestWindow, Callable[[DigestWindow], Join], bool]] = {
    "open": (examples.window(), join, True),
    "closed": (examples.window(state=WindowState.CLOSED), join, False),
    "past its end": (examples.window(), lambda x: replace(join(x), now=x.closes_at), False),
    "just before its end": (examples.window(), lambda x: replace(join(x), now=x.closes_at - 1), True),
    "the end moves": (examples.window(), lambda x: join(x, at=NOW + 290 * S), True),
    "the end has moved": (
        examples.window(closes_at=NOW + 400 * S),
        lambda _: join(examples.window(), at=NOW + 290 * S),
        False,
    ),
    "room for one more": (examples.window(events=998), join, True),
    "the last event": (examples.window(events=999), join, True),
    "the last event, and others joined": (
        examples.window(events=999, version=2),
        lambda _: join(examples.window(events=999)),
        False,
    ),
    "a write that would fill it unaware": (examples.window(events=999), lambda _: join(examples.window()), False),
    "more bytes": (examples.window(size=MAX_BYTES - part(7).size - 1), join, True),
    "the last bytes": (examples.window(size=MAX_BYTES - part(7).size), join, True),
    "too many bytes unaware": (
        examples.window(size=MAX_BYTES - part(7).size),
        lambda _: join(examples.window()),
        False,
    ),
    "the last part": (FILLED, join, True),
    "the last part unaware": (FILLED, lambda _: join(examples.window()), False),
    "in it already": (examples.window(), lambda x: join(x, 1), False),
    "in it already, and it would be full": (examples.window(events=999), lambda x: join(x, 1), False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_store_admits_what_the_rules_admit(store: Store, case: str) -> None:
    one, made, admitted = CASES[case]
    store.put(one)
    write = made(one)
    assert rules.admits(one, write) is admitted
    assert store.windows.join(one.id, write) == (admitted, None if admitted else one)
    assert store.one(one.id) == (joined(one, write) if admitted else one)


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_window_that_its_owner_ends_has_one_entry(store: Store, when: When | None) -> None:
    one, two = examples.window(), examples.window(2)
    store.put(one, two)
    entries = [
        audited(ACCOUNT, NOW + i, name, act, "user:ann")
        for i, (name, act) in enumerate(((one.id, Act.WINDOW_CLOSED), (two.id, Act.WINDOW_CANCELLED)))
    ]
    late = audited(ACCOUNT, NOW + 9, one.id, Act.WINDOW_CLOSED, "user:ben")
    closed, cancelled = rules.closed(one, NOW, early=True), rules.cancelled(two, NOW)
    calls: tuple[tuple[Callable[[], DigestWindow | None], DigestWindow], ...] = (
        (lambda: store.windows.close(one.id, NOW, early=True, event=entries[0]), closed),
        (lambda: store.windows.cancel(two.id, NOW, event=entries[1]), cancelled),
    )
    for call, wanted in calls:
        if when is not None:
            store.tap.arm(0, when)
        assert call() == wanted
    assert store.windows.close(one.id, NOW + 1, early=True, event=late) == closed
    assert store.windows.cancel(two.id, NOW + 1, event=late) == cancelled
    assert store.windows.cancel(examples.window(3).id, NOW, event=late) is None
    assert list(store.journal.since(ACCOUNT, Log.AUDIT, 0)) == entries


def test_a_window_closes_at_its_end_or_early(store: Store) -> None:
    one = examples.window()
    store.put(one, examples.window(2))
    assert store.windows.close(one.id, one.closes_at - 1) == one
    closed = rules.closed(one, one.closes_at)
    assert store.windows.close(one.id, one.closes_at) == closed
    assert store.windows.close(one.id, one.closes_at + 1, early=True) == closed, "closed is final"
    assert store.windows.cancel(one.id, one.closes_at + 2) == closed
    two = examples.window(2)
    assert store.windows.close(two.id, NOW + 1, early=True) == rules.closed(two, NOW + 1, early=True)
    assert store.windows.close(examples.window(3).id, NOW) is None
    assert store.windows.close("nonsense", NOW) is None


@pytest.mark.parametrize("when", [When.AFTER, When.REPEATED])
def test_a_close_whose_answer_is_lost_has_closed(store: Store, when: When) -> None:
    one = examples.window()
    store.put(one)
    store.lost("close", "update_item", when)
    try:
        store.windows.close(one.id, NOW, early=True)
    except Crash:
        assert when is When.AFTER
    assert store.one(one.id).state is WindowState.CLOSED


def test_an_open_window_is_cancelled(store: Store) -> None:
    one = examples.window()
    store.put(one)
    cancelled = rules.cancelled(one, NOW + 1)
    assert store.windows.cancel(one.id, NOW + 1) == cancelled
    assert store.windows.cancel(one.id, NOW + 2) == cancelled
    assert store.windows.close(one.id, one.closes_at) == cancelled
    assert store.windows.cancel("nonsense", NOW) is None
    assert list(store.keeping.due(shard_of(one.id), NOW + HOUR)) == []
    assert list(store.keeping.over(shard_of(one.id), NOW + HOUR)) == [one.id]


# Urgent events


def urgent(n: int, at: int) -> DigestWindow:
    return rules.urgent((ACCOUNT, False), KEY, POLICY, part(n), at)


def test_an_urgent_event_is_stored_once_within_the_time(store: Store) -> None:
    one, two, later = urgent(1, NOW), urgent(2, NOW + 5), urgent(3, NOW + HOUR + 1)
    assert store.windows.open_urgent(one, "e1", NOW - HOUR) == one
    assert store.windows.open_urgent(two, "e1", NOW + 5 - HOUR) == one
    assert store.windows.get(two.id) is None
    assert store.windows.open_urgent(later, "e1", NOW + 1) == later
    assert store.windows.open_urgent(two, "e2", NOW - HOUR) == two
    again = urgent(4, NOW)
    assert store.windows.open_urgent(again, "", NOW - HOUR) == again
    assert store.windows.last(ACCOUNT, KEY) is None
    assert sorted(store.keeping.due(shard_of(one.id), NOW + HOUR)) == sorted([one.id, two.id, again.id])


@pytest.mark.parametrize("when", [When.AFTER, When.REPEATED])
def test_an_urgent_event_whose_answer_is_lost_is_stored_once(store: Store, when: When) -> None:
    one, again = urgent(1, NOW), urgent(2, NOW + 5)
    store.lost("open_urgent", "transact_write_items", when)
    try:
        assert store.windows.open_urgent(one, "e1", NOW - HOUR) == one
    except Crash:
        assert when is When.AFTER
    assert store.windows.open_urgent(again, "e1", NOW + 5 - HOUR) == one


def test_an_urgent_event_with_other_content_is_no_repeat(store: Store) -> None:
    one, two, three, four = urgent(1, NOW), urgent(2, NOW + 5), urgent(3, NOW + 6), urgent(4, NOW + 7)
    assert store.windows.urgent_contents(ACCOUNT, KEY, ["e1"], 0) == {}
    assert store.windows.open_urgent(one, "e1", NOW - HOUR, b"contents") == one
    assert store.windows.open_urgent(two, "e1", NOW - HOUR, b"contents") == one
    assert store.windows.open_urgent(three, "e1", NOW - HOUR, b"another.") == three
    assert store.windows.open_urgent(two, "e1", NOW - HOUR) == one, "an unknown content is compared by the id"
    assert store.windows.open_urgent(four, "e2", NOW - HOUR) == four
    found = store.windows.urgent_contents(ACCOUNT, KEY, ["e1", "e2", "e3"], NOW - 1)
    assert dict(found) == {"e1": b"contents", "e2": b""}
    assert dict(store.windows.urgent_contents(ACCOUNT, KEY, ["e1", "e2"], NOW)) == {"e2": b""}
    assert store.windows.urgent_contents(ACCOUNT, "other", ["e1"], 0) == {}


# Keeping


def test_windows_are_walked_when_they_are_due(store: Store) -> None:
    one = examples.window()
    shard = shard_of(one.id)
    closed = examples.window(2, state=WindowState.CLOSED, due_at=NOW + 1)
    ended = [
        examples.window(3, state=WindowState.PROCESSED, due_at=NOW + 2),
        examples.window(4, state=WindowState.CANCELLED, due_at=NOW + 1),
        examples.window(5, state=WindowState.PROCESSED, due_at=0),
    ]
    store.put(one, closed, *ended)
    assert list(store.keeping.due(shard, NOW)) == []
    assert list(store.keeping.due(shard, NOW + 1)) == [closed.id]
    assert list(store.keeping.due(shard, one.due_at)) == [closed.id, one.id]
    assert list(store.keeping.over(shard, NOW + 9)) == [ended[1].id, ended[0].id]
    assert list(store.keeping.due((shard + 1) % 16, one.due_at)) == []


def test_windows_that_end_in_a_stretch_of_time_are_walked_with_their_ends(store: Store) -> None:
    first, second = (examples.window(n, state=WindowState.CLOSED, due_at=NOW + n) for n in (1, 2))
    made = examples.window(3, state=WindowState.PROCESSED, due_at=NOW + 1)
    store.put(first, second, made)
    shard = shard_of(first.id)
    for since, until, wanted in ((0, 1, []), (1, 2, [first]), (1, 3, [first, second]), (2, 9, [second]), (3, 9, [])):
        assert list(store.keeping.ending(shard, NOW + since, NOW + until)) == [(x.id, x.due_at) for x in wanted]
    assert list(store.keeping.ending((shard + 1) % 16, NOW, NOW + 9)) == []


def test_a_window_that_fills_up_is_due_at_once(store: Store) -> None:
    one = examples.window(events=999)
    store.put(one)
    assert store.windows.join(one.id, join(one)) == (True, None)
    assert list(store.keeping.due(shard_of(one.id), NOW + S)) == [one.id]


def test_windows_of_a_key_are_read_by_number(store: Store) -> None:
    some = [examples.window(n) for n in range(8, 13)]
    store.put(*some, URGENT, examples.window(9, key="acme/other"))
    assert store.keeping.numbered(some[0], 9, 11) == some[1:4]
    assert store.keeping.numbered(URGENT, -90, 8) == some[:1]
    assert store.keeping.numbered(some[0], 5, 4) == []


def test_a_window_is_changed_if_it_is_as_read(store: Store) -> None:
    one = examples.window(state=WindowState.CLOSED)
    store.put(one)
    late = rules.postponed(one, NOW + HOUR, "no_route")
    assert store.keeping.change(one, late)
    assert store.keeping.change(one, late), "our own write, whose answer was lost"
    assert not store.keeping.change(one, rules.postponed(one, NOW + 2 * HOUR))
    done = rules.processed(late, NOW, job="j", groups=1, duplicates=0, due_at=0)
    assert store.keeping.change(late, done)
    assert store.one(one.id) == done
    assert list(store.keeping.due(shard_of(one.id), NOW + 9 * HOUR)) == []
    assert list(store.keeping.over(shard_of(one.id), NOW + 9 * HOUR)) == []


def test_a_window_is_processed_though_it_was_postponed(moto_dynamo: object, store: Store, stores: Stores) -> None:
    """The transaction that accepts a job depends on the state alone."""
    one = examples.window(state=WindowState.CLOSED)
    store.put(one)
    late = rules.postponed(one, NOW + HOUR, "no_route")
    done = rules.processed(one, NOW, job="j", groups=1, duplicates=0, due_at=NOW + 2 * HOUR)
    assert store.keeping.change(one, late)
    if isinstance(stores, MotoStores):
        stores.dynamo.call("update_item", **window_update(stores.tables.records, one, done, versioned=False))
    else:
        assert isinstance(store.windows, FakeWindows)
        assert store.windows.write(one, done, versioned=False)
    found = store.one(one.id)
    assert (found.state, found.job, found.due_at) == (WindowState.PROCESSED, "j", NOW + 2 * HOUR)


def test_ids_and_parts_are_kept(store: Store) -> None:
    one = examples.window()
    assert store.keeping.ids([one.id]) == {}
    store.keeping.keep_ids(one.id, b"ids", NOW)
    store.keeping.keep_ids(URGENT.id, b"urgent", NOW)
    two = examples.window(2).id
    assert store.keeping.ids([one.id, two, URGENT.id]) == {one.id: b"ids", URGENT.id: b"urgent"}
    store.windows.put_parts([part(1)])
    store.keeping.keep_parts([part(1).id, part(2).id], part(1).ttl + 5)
    store.keeping.keep_parts([part(1).id], 3)
    assert list(store.windows.parts([part(1).id, part(2).id])) == [part(1).id]


def test_only_windows_that_have_ended_are_removed(store: Store) -> None:
    done = examples.window(state=WindowState.PROCESSED)
    store.put(done, examples.window(2), examples.window(3, state=WindowState.CANCELLED))
    store.keeping.keep_ids(done.id, b"ids", NOW)
    assert not store.keeping.remove(replace(done, version=7))
    assert store.keeping.remove(done)
    assert store.keeping.remove(done), "it has gone already"
    assert (store.windows.get(done.id), store.keeping.ids([done.id])) == (None, {})
    assert not store.keeping.remove(examples.window(2))
    assert store.keeping.remove(examples.window(3, state=WindowState.CANCELLED))
    assert store.windows.last(ACCOUNT, KEY) == examples.window(2)
