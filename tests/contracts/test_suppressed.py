"""Suppressions as senders read them: what is new since a moment, and whether an address is suppressed now."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from shared.adapters.dynamo.recipients import suppressions
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.domain.jobs.states import Cell
from shared.domain.namespaces import namespace
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import DigestsOf, Reach, reaches
from tests.contracts.conftest import ACCOUNT, ROUTE, Parts, leased
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores


def unsubscribe(stores: Stores, clock: FakeClock, key: str, account: str = ACCOUNT, reason: str = "page") -> None:
    stores.records.suppress(account, key, reason, clock.ms, reach=Reach.CAMPAIGNS, job="j")


def test_suppressions_since_a_moment(stores: Stores, clock: FakeClock) -> None:
    for i in range(4):
        stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced", 1000 * i)
    stores.records.suppress("acc_000000000002", "other@example.com", "bounced", 3000)
    recent = stores.records.suppressed_since(ACCOUNT, 2000)
    assert (list(recent.names), recent.reached) == ([address_hash(f"r{i}@example.com") for i in (2, 3)], None)
    assert list(stores.records.suppressed_since(ACCOUNT, 3001).names) == []


def test_which_of_some_addresses_are_suppressed_now(stores: Stores) -> None:
    for i in range(3):
        stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced", 5)
    assert stores.records.allow(ACCOUNT, "r1@example.com")
    asked = [f"r{i}@example.com" for i in range(120)]
    assert stores.records.suppressed(ACCOUNT, asked) == dict.fromkeys(("r0@example.com", "r2@example.com"), Reach.ALL)
    assert stores.records.suppressed("acc_000000000002", asked) == {}


def test_an_entry_keeps_the_channel_of_its_message(moto_dynamo: Any, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    stores.records.suppress(ACCOUNT, "+15551234567", "bounced", clock.ms, job="j", channel="sms")
    stores.records.suppress(ACCOUNT, "+15551234568", "manual", clock.ms)
    api = Suppressions(stores.dynamo.client, stores.tables.records, clock)
    found = [api.get(ACCOUNT, key) for key in ("+15551234567", "+15551234568")]
    assert [(x.job, x.channel) for x in found if x] == [("j", "sms"), ("", "")]


def test_an_entry_is_taken_back_for_its_own_reason_alone(stores: Stores, clock: FakeClock) -> None:
    unsubscribe(stores, clock, "a@example.com", reason="page")
    allow = partial(stores.records.allow, ACCOUNT, "a@example.com", reach=Reach.CAMPAIGNS)
    assert not allow(reason="unsubscribed")
    assert stores.records.suppressed(ACCOUNT, ["a@example.com"], (Reach.CAMPAIGNS,))
    assert allow(reason="page")
    assert not allow(reason="page")
    assert not stores.records.suppressed(ACCOUNT, ["a@example.com"], (Reach.CAMPAIGNS,))


def test_a_worker_sees_when_the_latest_was_made(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)

    def latest() -> int:
        return stores.records.control(parts.job.id, ACCOUNT).suppressed_at.get(Reach.ALL, 0)

    assert latest() == 0
    stores.records.suppress(ACCOUNT, "a@example.com", "bounced", 2000)
    stores.records.suppress(ACCOUNT, "b@example.com", "bounced", 1000)
    assert latest() == 2000
    stores.pause(ACCOUNT)
    stores.unpause(ACCOUNT)
    assert latest() == 2000
    assert not stores.records.control(parts.job.id, ACCOUNT).paused


@pytest.mark.promise(9)
def test_a_worker_sees_the_moments_of_the_kind_of_key_that_it_asks_for(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    stores.records.suppress(ACCOUNT, "a@example.com", "bounced", 1000)
    stores.records.suppress(namespace(ACCOUNT, test=True), "b@example.com", "bounced", 2000)
    for test, moment in ((False, 1000), (True, 2000)):
        assert stores.records.control(parts.job.id, ACCOUNT, test=test).suppressed_at.get(Reach.ALL) == moment


def test_a_claim_skips_suppressed_recipients_and_takes_others(stores: Stores, clock: FakeClock) -> None:
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
    monkeypatch.setattr(suppressions, "LOG_PAGES", 1)
    for i in range(4):
        stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced " + 300_000 * "x", 1000 * i)
    seen: list[str] = []
    since: int | None = 0
    goes = 0
    while since is not None:
        recent = stores.records.suppressed_since(ACCOUNT, since)
        seen += recent.names
        since = recent.reached
        goes += 1
    assert goes > 1
    assert set(seen) == {address_hash(f"r{i}@example.com") for i in range(4)}


def test_the_moment_is_noted_before_the_suppression_by_owners_too(moto_dynamo: Any, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    owners = Suppressions(stores.dynamo.client, stores.tables.records, clock)
    parts = Parts(clock)
    parts.store(stores)
    ways: list[tuple[Reach, Callable[[], object]]] = [
        (Reach.ALL, lambda: stores.records.suppress(ACCOUNT, "a@example.com", "bounced", clock.ms)),
        (Reach.ALL, lambda: owners.put(ACCOUNT, "b@example.com", "manual")),
        (Reach.CAMPAIGNS, lambda: unsubscribe(stores, clock, "a@example.com")),
        (Reach.CAMPAIGNS, lambda: owners.put(ACCOUNT, "b@example.com", "manual", reach=Reach.CAMPAIGNS)),
    ]
    for reach, way in ways:
        clock.advance(1)
        stores.tap.arm_at("dynamo.transact_write_items")
        with pytest.raises(Crash):
            way()
        assert stores.records.control(parts.job.id, ACCOUNT).suppressed_at.get(reach) == clock.ms
        assert stores.suppressed(ACCOUNT, reach) == {}


@pytest.mark.promise(7)
def test_unsubscribing_twice_counts_once(stores: Stores, clock: FakeClock) -> None:
    began = clock.ms
    unsubscribe(stores, clock, "a@example.com", reason="one_click")
    clock.advance(1)
    unsubscribe(stores, clock, "a@example.com")
    assert stores.suppressed(ACCOUNT, Reach.CAMPAIGNS) == {"a@example.com": ("one_click", began)}
    recent = stores.records.suppressed_since(ACCOUNT, 0, reach=Reach.CAMPAIGNS)
    assert list(recent.names) == [address_hash("a@example.com")]


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [When.REPEATED, When.AFTER])
def test_an_unsubscription_with_a_lost_answer_is_stored(stores: Stores, clock: FakeClock, when: When) -> None:
    stores.tap.arm(0, when)
    with suppress(Crash):
        unsubscribe(stores, clock, "a@example.com")
    unsubscribe(stores, clock, "a@example.com")
    assert list(stores.suppressed(ACCOUNT, Reach.CAMPAIGNS)) == ["a@example.com"]
    stores.tap.arm(0, when)
    with suppress(Crash):
        stores.records.allow(ACCOUNT, "a@example.com", reach=Reach.CAMPAIGNS)
    stores.records.allow(ACCOUNT, "a@example.com", reach=Reach.CAMPAIGNS)
    assert stores.suppressed(ACCOUNT, Reach.CAMPAIGNS) == {}


def test_undone_it_can_be_done_again(stores: Stores, clock: FakeClock) -> None:
    allow = partial(stores.records.allow, ACCOUNT, "a@example.com", reach=Reach.CAMPAIGNS)
    assert not allow()
    unsubscribe(stores, clock, "a@example.com")
    assert allow()
    assert not allow()
    assert list(stores.records.suppressed_since(ACCOUNT, 0, reach=Reach.CAMPAIGNS).names) == []
    clock.advance(5)
    unsubscribe(stores, clock, "a@example.com")
    assert stores.suppressed(ACCOUNT, Reach.CAMPAIGNS) == {"a@example.com": ("page", clock.ms)}
    assert len(stores.records.suppressed_since(ACCOUNT, clock.ms, reach=Reach.CAMPAIGNS).names) == 1


def test_suppressions_and_unsubscriptions_are_kept_apart(stores: Stores, clock: FakeClock) -> None:
    for key in ("both@example.com", "gone@example.com"):
        stores.records.suppress(ACCOUNT, key, "bounced", clock.ms)
    for key in ("both@example.com", "off@example.com"):
        unsubscribe(stores, clock, key)
    unsubscribe(stores, clock, "on@example.com", account="acc_000000000002")
    asked = ["both@example.com", "gone@example.com", "off@example.com", "on@example.com"]
    look = stores.records.suppressed
    every = {"both@example.com": Reach.ALL, "gone@example.com": Reach.ALL, "off@example.com": Reach.CAMPAIGNS}
    assert look(ACCOUNT, asked) == {k: v for k, v in every.items() if v is Reach.ALL}
    assert look(ACCOUNT, asked, tuple(Reach)) == look(ACCOUNT, asked, tuple(reversed(Reach))) == every
    assert set(look(ACCOUNT, asked, (Reach.CAMPAIGNS,))) == {"both@example.com", "off@example.com"}
    assert look("acc_000000000002", asked, tuple(Reach)) == {"on@example.com": Reach.CAMPAIGNS}
    stores.records.allow(ACCOUNT, "both@example.com", reach=Reach.CAMPAIGNS)
    assert look(ACCOUNT, asked, tuple(Reach)) == every
    stores.records.allow(ACCOUNT, "both@example.com")
    unsubscribe(stores, clock, "both@example.com")
    assert look(ACCOUNT, asked, tuple(Reach))["both@example.com"] is Reach.CAMPAIGNS


def test_a_worker_sees_unsubscriptions_by_a_mark_of_their_own(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    unsubscribe(stores, clock, "a@example.com")
    latest = stores.records.control(parts.job.id, ACCOUNT).suppressed_at
    assert (latest.get(Reach.ALL, 0), latest[Reach.CAMPAIGNS]) == (0, clock.ms)


def test_the_owner_sees_each_unsubscription_and_its_source(moto_dynamo: Any, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    owners = Suppressions(stores.dynamo.client, stores.tables.records, clock)
    unsubscribe(stores, clock, "a@example.com", reason="one_click")
    owners.put(ACCOUNT, "b@example.com", "import", reach=Reach.CAMPAIGNS)
    found, after = owners.page(ACCOUNT, limit=10, reach=Reach.CAMPAIGNS)
    assert ({(x.address, x.reason, x.job) for x in found}, after) == (
        {("a@example.com", "one_click", "j"), ("b@example.com", "import", "")},
        "",
    )
    assert owners.page(ACCOUNT, limit=10) == ([], "")
    again = owners.put(ACCOUNT, "a@example.com", "asked by letter", reach=Reach.CAMPAIGNS)
    assert again == owners.get(ACCOUNT, "a@example.com", reach=Reach.CAMPAIGNS)
    assert (again.reason, again.job) == ("asked by letter", "j")
    assert owners.check(ACCOUNT, ["a@example.com"], reach=Reach.CAMPAIGNS) == {"a@example.com"}
    assert owners.check(ACCOUNT, ["a@example.com"]) == set()
    assert not owners.delete(ACCOUNT, "a@example.com")
    assert owners.delete(ACCOUNT, "a@example.com", reach=Reach.CAMPAIGNS)
    assert [x.address for x in owners.page(ACCOUNT, limit=10, reach=Reach.CAMPAIGNS)[0]] == ["b@example.com"]


def test_who_leaves_the_digests_of_a_policy_gets_those_of_others(stores: Stores, clock: FakeClock) -> None:
    ann, ben = "a@example.com", "b@example.com"
    mine, other = DigestsOf("acme/production"), DigestsOf("acme/")
    stores.records.suppress(ACCOUNT, ann, "page", clock.ms, reach=mine, job="j")
    stores.records.suppress(ACCOUNT, ann, "page", clock.ms, reach=other, job="k")
    stores.records.suppress(ACCOUNT, ben, "bounced", clock.ms)
    asked = [ann, ben, "c@example.com"]
    heeded = reaches("email", unsubscribable=True, policy="acme/production")
    assert stores.records.suppressed(ACCOUNT, asked, heeded) == {ann: mine, ben: Reach.ALL}
    for policy in ("acme", "acme/production/", "other"):
        assert stores.records.suppressed(ACCOUNT, [ann], (DigestsOf(policy),)) == {}
    assert stores.records.suppressed(ACCOUNT, [ann], (Reach.CAMPAIGNS, Reach.ALL)) == {}
    assert stores.records.allow(ACCOUNT, ann, reach=mine)
    assert stores.records.suppressed(ACCOUNT, asked, heeded) == {ben: Reach.ALL}
    assert stores.records.suppressed(ACCOUNT, asked, (other,)) == {ann: other}


def test_a_worker_sees_when_somebody_left_a_policy_s_digests(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    stores.records.suppress(ACCOUNT, "a@example.com", "page", 2000, reach=DigestsOf("acme/"))
    assert stores.records.control(parts.job.id, ACCOUNT).suppressed_at.get(Reach.DIGESTS) == 2000
    recent = stores.records.suppressed_since(ACCOUNT, 2000, reach=DigestsOf("acme/"))
    assert [x[:16] for x in recent.names] == [address_hash("a@example.com")[:16]]


@pytest.mark.promise(11)
@pytest.mark.parametrize("worth", [1, 100, 1_000])
@pytest.mark.parametrize("entries", [0, 3, 40])
def test_many_addresses_are_looked_for_in_pages_of_the_list(
    moto_dynamo: Any, clock: FakeClock, monkeypatch: Any, *, worth: int, entries: int
) -> None:
    stores = MotoStores(moto_dynamo, clock)
    monkeypatch.setattr(suppressions, "BY_KEY", 20)
    monkeypatch.setattr(suppressions, "WORTH", worth)
    mine = DigestsOf("acme/")
    for i in range(entries):
        for reach in (Reach.ALL, mine, DigestsOf("other/"))[: 1 + i % 3]:
            stores.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced " + 120_000 * "x", clock.ms, reach=reach)
    stores.tap.calls.clear()
    found = stores.records.suppressed(ACCOUNT, [f"r{i}@example.com" for i in range(10, 200)], (Reach.ALL, mine))
    assert found == {f"r{i}@example.com": Reach.ALL for i in range(10, entries)}
    calls = Counter(stores.tap.calls)
    long = entries == 40
    many = worth < 190
    assert (calls["dynamo.query"] > 0) is many
    assert (calls["dynamo.query"] > 2) is (long and worth == 1), "a page that decides on few is the last"
    assert (calls["dynamo.batch_get_item"] > 0) is (not many or (long and worth > 1)), "others are looked up by key"
    alone = stores.records.suppressed(ACCOUNT, [f"r{i}@example.com" for i in range(200)], (mine,))
    assert alone == {f"r{i}@example.com": mine for i in range(entries) if i % 3}
