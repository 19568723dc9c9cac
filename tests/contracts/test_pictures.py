"""Pictures on DynamoDB, and the use case over them: with a crash at every call, and with two at the same picture."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.campaigns.pictures import DynamoPictures
from shared.domain.audit import Act, Event, Log, audited
from shared.domain.pictures.picture import Picture, Shelf
from shared.engine.campaigns.pictures import PictureService, most_of
from shared.ports import Retriable
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.files import FakeFiles
from tests.fakes.image_files import png
from tests.fakes.tables import MotoStores

KEY = "0123456789abcdef"
MOST = Shelf(2, 1000)


@pytest.fixture
def stores(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


@pytest.fixture
def store(stores: MotoStores) -> DynamoPictures:
    return DynamoPictures(stores.dynamo, records=stores.tables.records)


@pytest.fixture
def files(stores: MotoStores) -> FakeFiles:
    return FakeFiles(stores.tap)


@pytest.fixture
def service(store: DynamoPictures, files: FakeFiles, clock: FakeClock) -> PictureService:
    return PictureService(store, files, clock, MOST, "https://mail.example.com")


def made(clock: FakeClock, name: str = "a", **changes: Any) -> Picture:
    return replace(Picture(ACCOUNT, name * 32, f"{name * 26}.png", 2, 3, 400, clock.ms, "A shop"), **changes)


def event(picture: Picture, act: Act = Act.IMAGE_ADDED) -> Event:
    return audited(picture.namespace, picture.created_at, picture.id, act, KEY)


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_picture_is_stored_marked_and_removed_once(
    store: DynamoPictures, stores: MotoStores, clock: FakeClock, when: When | None
) -> None:
    found, gone = made(clock), made(clock, gone=True)
    steps: tuple[Callable[[], bool], ...] = (
        lambda: store.add(found, MOST, event=event(found)),
        lambda: store.mark(found, event=event(found, Act.IMAGE_DELETED)),
        lambda: store.remove(found),
    )
    for step in steps:
        if when is not None:
            stores.tap.arm(0, when, where=lambda name: name.endswith("transact_write_items"))
        assert step() is (when is None)  # who makes a call twice reads what has become of it
        assert not step()
    assert store.get(ACCOUNT, found.id) is None
    assert store.shelf(ACCOUNT) == Shelf()
    kinds = sorted(x.kind for x in stores.journal.since(ACCOUNT, Log.AUDIT, 0))
    assert kinds == [Act.IMAGE_ADDED, Act.IMAGE_DELETED]
    assert store.add(gone, MOST, event=event(gone))
    assert store.get(ACCOUNT, found.id) == gone


def test_pictures_are_read_newest_first_and_by_namespace(store: DynamoPictures, clock: FakeClock) -> None:
    for name, namespace in (("a", ACCOUNT), ("b", ACCOUNT), ("c", f"{ACCOUNT}#TEST")):
        clock.advance(1)
        picture = made(clock, name, namespace=namespace, alt="")
        assert store.add(picture, MOST, event=event(picture))
    assert [x.id[0] for x in store.all(ACCOUNT)] == ["b", "a"]
    assert [x.namespace for x in store.all(f"{ACCOUNT}#TEST")] == [f"{ACCOUNT}#TEST"]
    assert store.get(ACCOUNT, "c" * 32) is None
    assert store.shelf(ACCOUNT) == Shelf(2, 800)


def test_no_room_is_taken_that_is_not_there(store: DynamoPictures, clock: FakeClock) -> None:
    for name, most, fits in (
        ("a", Shelf(1, 400), True),
        ("b", Shelf(1, 4000), False),
        ("b", Shelf(9, 799), False),
        ("b", Shelf(9, 800), True),
    ):
        assert store.add(made(clock, name), most, event=event(made(clock, name))) is fits
    other = made(clock, "a", file=f"{'z' * 26}.png")
    assert not store.mark(other, event=event(other, Act.IMAGE_DELETED))
    assert not store.remove(made(clock, "a"))
    assert store.shelf(ACCOUNT) == Shelf(2, 800)


def consistent(store: DynamoPictures, files: FakeFiles) -> None:
    """Check that each file is one of a picture's, and that the count is that of the pictures."""
    there = store.all(ACCOUNT)
    assert set(files.items) <= {x.path for x in there}
    assert store.shelf(ACCOUNT) == Shelf(len(there), sum(x.size for x in there))


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("nth", range(9))
def test_a_crash_at_any_call_leaves_no_file_without_a_picture_and_a_repeat_completes(
    store: DynamoPictures, files: FakeFiles, stores: MotoStores, service: PictureService, nth: int, when: When
) -> None:
    name = hashlib.sha256(png()).hexdigest()[:32]

    def run(*steps: Callable[[], object]) -> bool:
        stores.tap.arm(nth, when)
        try:
            for step in steps:
                step()
        except Crash:
            return True
        finally:
            stores.tap.disarm()
        return False

    crashed = run(
        lambda: service.add(ACCOUNT, png(), by=KEY),
        lambda: service.delete(ACCOUNT, name, by=KEY),
    )
    assert crashed == (nth < 8)
    consistent(store, files)
    added = service.add(ACCOUNT, png(), by=KEY)
    assert added is not None
    assert files.items == {added.path: png()}
    consistent(store, files)
    assert service.delete(ACCOUNT, name, by=KEY)
    assert (files.items, store.all(ACCOUNT), store.shelf(ACCOUNT)) == ({}, [], Shelf())


@pytest.mark.parametrize("nth", range(4))
def test_a_picture_that_is_deleted_while_it_is_added_leaves_no_file_of_its_own(
    store: DynamoPictures, files: FakeFiles, stores: MotoStores, service: PictureService, nth: int
) -> None:
    first = service.add(ACCOUNT, png(), by=KEY)
    assert first is not None
    calls = iter(range(99))

    def meanwhile() -> None:
        if next(calls) == nth:
            service.delete(ACCOUNT, first.id, by=KEY)

    stores.tap.delay = meanwhile
    added = service.add(ACCOUNT, png(), by=KEY)
    assert added is not None
    assert set(files.items) <= {added.path}
    consistent(store, files)


@pytest.mark.parametrize("step", ["add", "delete"])
def test_a_call_that_a_client_below_repeats_changes_nothing(
    store: DynamoPictures, files: FakeFiles, stores: MotoStores, service: PictureService, step: str
) -> None:
    last = replace(service, most=Shelf(1, 1000))
    for nth in range(2):
        if step == "delete":
            assert last.add(ACCOUNT, png(), by=KEY)
        stores.tap.arm(nth, When.REPEATED, where=lambda name: name.endswith("transact_write_items"))
        if step == "add":
            added = last.add(ACCOUNT, png(), by=KEY)
            assert added is not None
            assert files.items == {added.path: png()}
        else:
            assert last.delete(ACCOUNT, hashlib.sha256(png()).hexdigest()[:32], by=KEY)
            assert files.items == {}
        stores.tap.disarm()
        consistent(store, files)


def test_a_picture_that_is_always_deleted_meanwhile_is_given_up(
    store: DynamoPictures, files: FakeFiles, service: PictureService
) -> None:
    class Deleting(FakeFiles):
        def put(self, name: str, data: bytes) -> None:
            super().put(name, data)
            service.delete(ACCOUNT, hashlib.sha256(data).hexdigest()[:32], by=KEY)

    deleting = Deleting()
    with pytest.raises(Retriable):
        replace(service, files=deleting).add(ACCOUNT, png(), by=KEY)
    assert deleting.items == {}
    assert store.all(ACCOUNT) == []


def test_the_settings_say_how_many() -> None:
    assert most_of((0, 0)) is None
    assert most_of((500, 100)) == Shelf(500, 104_857_600)
