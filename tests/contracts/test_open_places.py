"""Open places for files, on DynamoDB and in memory."""

from collections.abc import Sequence

import pytest

from shared.adapters.dynamo.open_places import DynamoOpenPlaces
from shared.ports import MAX_PLACES, OpenPlaces, PlaceKind
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.places import FakeOpenPlaces
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

HOUR_MS = 3_600_000


@pytest.fixture
def places(stores: Stores, clock: FakeClock) -> OpenPlaces:
    if isinstance(stores, FakeStores):
        return FakeOpenPlaces(clock)
    assert isinstance(stores, MotoStores)
    return DynamoOpenPlaces(stores.dynamo, records=stores.tables.records, clock=clock)


def none(names: Sequence[str]) -> list[str]:
    """No place has its file."""
    assert len(names) == MAX_PLACES, "they are asked for only where all are taken"
    return []


def take(places: OpenPlaces, clock: FakeClock, name: str, kind: PlaceKind = PlaceKind.LISTS) -> bool:
    return places.take(ACCOUNT, kind, name, clock.ms + HOUR_MS, none)


def test_a_namespace_has_few_places_of_a_kind_at_once(places: OpenPlaces, clock: FakeClock) -> None:
    assert [take(places, clock, f"{i}") for i in range(MAX_PLACES + 1)] == [True] * MAX_PLACES + [False]
    assert take(places, clock, "mail", PlaceKind.MAILS)
    assert places.take(f"{ACCOUNT}#TEST", PlaceKind.LISTS, "test", clock.ms + HOUR_MS, none)


def test_a_place_that_has_ended_is_free_again(places: OpenPlaces, clock: FakeClock) -> None:
    for i in range(MAX_PLACES):
        assert take(places, clock, f"{i}")
        clock.advance(60)
    clock.advance(3600 - MAX_PLACES * 60)
    assert take(places, clock, "next")
    assert not take(places, clock, "one more")


def test_places_that_have_their_files_are_free_again(places: OpenPlaces, clock: FakeClock) -> None:
    for i in range(MAX_PLACES):
        assert take(places, clock, f"{i}")
    asked: list[str] = []

    def filled(names: Sequence[str]) -> list[str]:
        asked.extend(names)
        return ["3", "7"]

    assert places.take(ACCOUNT, PlaceKind.LISTS, "next", clock.ms + HOUR_MS, filled)
    assert sorted(asked) == [f"{i}" for i in range(MAX_PLACES)]
    assert take(places, clock, "another")
    assert not take(places, clock, "one more")


def test_places_that_are_taken_side_by_side_are_all_counted(moto_dynamo: object, clock: FakeClock) -> None:
    """On DynamoDB alone: in memory nothing is between a read and its write."""
    stores = MotoStores(moto_dynamo, clock)
    table, dynamo = stores.tables.records, stores.dynamo
    places = DynamoOpenPlaces(dynamo, records=table, clock=clock)
    read = dynamo.get
    others = [f"other-{i}" for i in range(3)]

    class Slow:
        """A client between whose reads and writes another one takes a place."""

        def __getattr__(self, name: str) -> object:
            return getattr(dynamo, name)

        def get(self, table: str, key: object, **more: object) -> object:
            item = read(table, key, **more)  # type: ignore[arg-type]
            if others:
                assert take(places, clock, others.pop())
            return item

    slow = DynamoOpenPlaces(Slow(), records=table, clock=clock)  # type: ignore[arg-type]
    assert [take(slow, clock, f"{i}") for i in range(MAX_PLACES)] == [True] * (MAX_PLACES - 3) + [False] * 3
