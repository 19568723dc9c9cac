"""Since when all jobs are in pages: noted once, by the sweeper."""

from shared.engine.walks.beginning import DEPLOY_MS, SearchBeginning
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores

ACCOUNT = "acc_000000000001"


def begun(stores: FakeStores, clock: FakeClock) -> int | None:
    """Run the walk as a new process does, and return what is then noted."""
    for _, note in SearchBeginning(stores.search_pages, stores.bookmarks, clock).walk():
        note()
    return stores.search_pages.begun(ACCOUNT)


def test_a_new_deployment_has_all_its_jobs_in_pages() -> None:
    clock = FakeClock()
    stores = FakeStores(clock)
    assert begun(stores, clock) == 0
    stores.bookmarks.save({"jobs": "x"})
    clock.advance(60)
    assert begun(stores, clock) == 0


def test_after_an_upgrade_functions_of_the_version_before_may_still_run_for_an_hour() -> None:
    clock = FakeClock()
    stores = FakeStores(clock)
    stores.bookmarks.save({"jobs": "x"})
    first = clock.ms + DEPLOY_MS
    assert begun(stores, clock) == first
    clock.advance(86_400)
    assert begun(stores, clock) == first


def test_a_process_that_has_noted_it_asks_no_store_again() -> None:
    clock = FakeClock()
    stores = FakeStores(clock)
    walk = SearchBeginning(stores.search_pages, stores.bookmarks, clock)
    for _, note in walk.walk():
        note()
    before = list(stores.tap.calls)
    assert list(walk.walk()) == []
    assert stores.tap.calls == before
