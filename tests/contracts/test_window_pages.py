"""Pages of windows of digests, in memory and on DynamoDB."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.listing import Listing
from shared.domain.digests.window import DigestWindow
from shared.domain.jobs.job import DIGEST
from tests.contracts.conftest import Parts
from tests.contracts.test_windows import Store, urgent
from tests.domain.digests import examples
from tests.domain.digests.examples import ACCOUNT, KEY, NOW
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores


@pytest.fixture
def store(stores: Stores) -> Store:
    return Store(stores)


def listed(*some: DigestWindow) -> list[DigestWindow]:
    return [replace(x, parts=()) for x in some]


def test_windows_are_listed_newest_first(store: Store) -> None:
    some = [examples.window(n, opened_at=NOW + n) for n in range(1, 6)]
    other = examples.window(1, key="acme/other", opened_at=NOW + 9)
    store.put(*some, other, examples.window(1, test=True))
    first, after = store.pages.page(ACCOUNT, after="", limit=4)
    assert first == listed(other, *reversed(some[2:]))
    assert store.pages.page(ACCOUNT, after=after, limit=4) == (listed(some[1], some[0]), "")
    assert store.pages.page(f"{ACCOUNT}#TEST", after="", limit=4) == (listed(examples.window(1, test=True)), "")


def test_jobs_of_digests_are_not_among_the_windows(store: Store, stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, account=ACCOUNT, kind=DIGEST)
    parts.store(stores)
    store.put(examples.window())
    assert store.pages.page(ACCOUNT, after="", limit=9) == (listed(examples.window()), "")
    if isinstance(stores, MotoStores):
        jobs, _ = Listing(stores.client, stores.tables.records, clock).page(ACCOUNT, [DIGEST], limit=9)
        assert [x.id for x in jobs] == [parts.job.id]


@pytest.mark.slow
def test_windows_of_a_key_are_listed_newest_first(store: Store) -> None:
    some = [examples.window(n, opened_at=NOW + 10 * n) for n in (8, 9, 10, 11)]
    hot = [urgent(n, NOW + 10 * n + 5) for n in (8, 10)]
    store.put(*some, *hot, examples.window(9, key="acme/other"))
    wanted = listed(some[3], hot[1], some[2], some[1], hot[0], some[0])
    for limit in (1, 2, 3, 6):
        found: list[DigestWindow] = []
        after = ""
        while True:
            page, after = store.pages.of_key(ACCOUNT, KEY, after=after, limit=limit)
            found += page
            if not after:
                break
            assert len(page) == limit
        assert found == wanted
    assert store.pages.of_key(ACCOUNT, "acme/none", after="", limit=5) == ([], "")
