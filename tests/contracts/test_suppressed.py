"""Suppressions as senders read them: what is new since a moment, and whether an address is suppressed now."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.adapters.dynamo import records as dynamo_records
from shared.adapters.dynamo.suppressions import Suppressions
from shared.domain.addresses import address_hash
from shared.domain.states import Cell
from tests.contracts.conftest import ACCOUNT, ROUTE, Parts, leased
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores


def test_suppressions_since_a_moment(stores: Stores, clock: FakeClock) -> None:
    for i in range(4):
        stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced", 1000 * i)
    stores.records.suppress("acc_000000000002", "other@example.com", "bounced", 3000)
    recent = stores.records.suppressed_since(ACCOUNT, 2000)
    assert (list(recent.digests), recent.reached) == ([address_hash(f"r{i}@example.com") for i in (2, 3)], None)
    assert list(stores.records.suppressed_since(ACCOUNT, 3001).digests) == []


def test_which_of_some_addresses_are_suppressed_now(stores: Stores) -> None:
    for i in range(3):
        stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced", 5)
    stores.allow(ACCOUNT, "r1@example.com")
    asked = [f"r{i}@example.com" for i in range(120)]
    assert stores.records.suppressed(ACCOUNT, asked) == {"r0@example.com", "r2@example.com"}
    assert stores.records.suppressed("acc_000000000002", asked) == set()


def test_a_worker_sees_when_the_latest_was_made(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)

    def latest() -> int:
        return stores.records.control(parts.job.id, ACCOUNT).suppressed_at

    assert latest() == 0
    stores.records.suppress(ACCOUNT, "a@example.com", "bounced", 2000)
    stores.records.suppress(ACCOUNT, "b@example.com", "bounced", 1000)
    assert latest() == 2000
    stores.pause(ACCOUNT)
    stores.unpause(ACCOUNT)
    assert latest() == 2000
    assert not stores.records.control(parts.job.id, ACCOUNT).paused


def test_a_claim_skips_who_is_suppressed_and_takes_others_instead(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [5])
    parts.store(stores)
    first = stores.ledgers.claim(leased(stores, clock, parts.job.id), [], 1, route=ROUTE)
    assert first is not None
    stores.tap.arm(0, When.REPEATED)
    claimed = stores.ledgers.claim(first[0], [], 2, route=ROUTE, suppressed=frozenset({0, 1, 4}))
    assert claimed is not None
    states = [claimed[0].cell(i) for i in range(5)]
    claim, skip = (Cell.CLAIMED, 1), (Cell.SKIPPED, 0)
    assert (claimed[1][-2:], states) == ([2, 3], [claim, skip, claim, claim, skip])
    assert stores.ledgers.read(parts.job.id, 0) == claimed[0]


def test_a_long_log_is_read_page_by_page(moto_dynamo: Any, clock: FakeClock, monkeypatch: Any) -> None:
    stores = MotoStores(moto_dynamo, clock)
    monkeypatch.setattr(dynamo_records, "SUPPRESSION_PAGES", 1)
    for i in range(4):
        stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced " + 300_000 * "x", 1000 * i)
    seen: list[str] = []
    since: int | None = 0
    goes = 0
    while since is not None:
        recent = stores.records.suppressed_since(ACCOUNT, since)
        seen += recent.digests
        since = recent.reached
        goes += 1
    assert goes > 1
    assert set(seen) == {address_hash(f"r{i}@example.com") for i in range(4)}


def test_the_moment_is_noted_before_the_suppression_by_owners_too(moto_dynamo: Any, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    owners = Suppressions(stores.dynamo.client, stores.tables.records, clock)
    parts = Parts(clock)
    parts.store(stores)
    ways: list[Callable[[], object]] = [
        lambda: stores.records.suppress(ACCOUNT, "a@example.com", "bounced", clock.ms),
        lambda: owners.put(ACCOUNT, "b@example.com", "manual"),
    ]
    for suppress in ways:
        clock.advance(1)
        stores.tap.arm_at("dynamo.transact_write_items")
        with pytest.raises(Crash):
            suppress()
        assert stores.records.control(parts.job.id, ACCOUNT).suppressed_at == clock.ms
        assert stores.suppressed(ACCOUNT) == {}
