"""Tables come back from copies, on DynamoDB: what is there stays, and nothing that a copy holds is done again."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.digests.window_codec import window, window_item
from shared.adapters.dynamo.hooks import keys as hook_keys
from shared.adapters.dynamo.notices import notice_codec
from shared.adapters.dynamo.restoring.copying import Copied, Copying
from shared.adapters.dynamo.restoring.items import RESTORED, Past, restored
from shared.contracts import HOOKS_OPS_FILTERS, HOOKS_RECORDS_FILTERS, LOG_STREAM_FILTER, PLAN_STREAM_FILTERS
from shared.domain.campaigns.campaign import Upload, UploadState
from shared.domain.digests.window import DigestWindow, WindowState
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell, JobState
from shared.domain.notices.codes import Failure
from shared.domain.notices.notice import NoticeStatus, Phase
from tests.contracts.conftest import ACCOUNT, Parts
from tests.domain.digests import examples as digests
from tests.domain.notices.examples import notice
from tests.fakes.clock import FakeClock
from tests.fakes.crashes import dying
from tests.fakes.faults import Tap, When
from tests.fakes.restoring import InTurn, copied, holding, items_of, lose, names_of, restore
from tests.fakes.tables import MotoStores

Item = dict[str, Any]
ALL = ("identities", "records", "ops", "audit")
ON_THEIR_WAY = [
    *(f["dynamodb"]["NewImage"] for f in (*PLAN_STREAM_FILTERS[:2], *HOOKS_RECORDS_FILTERS)),
    *(f["dynamodb"]["NewImage"] for f in HOOKS_OPS_FILTERS),
]
pytestmark = [pytest.mark.promise(1), pytest.mark.promise(3)]


@pytest.fixture
def stores(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


def past(clock: FakeClock, *, exact: bool = False) -> Past:
    return Past(clock.ms, exact, lambda _: None, lambda *_: ((), ()))


def matches(item: Item, pattern: Item) -> bool:
    """Tell whether a stream's filter lets the record of an item pass."""
    return all(_allowed(item.get(name), wanted) for name, wanted in pattern.items())


def _allowed(value: Item | None, wanted: Item) -> bool:
    [(kind, choices)] = wanted.items()
    exists = [x["exists"] for x in choices if isinstance(x, dict)]
    if exists:
        return exists == [value is not None and kind in value]
    return value is not None and value.get(kind) in choices


def filled(stores: MotoStores, clock: FakeClock) -> list[Parts]:
    """Let some jobs be stored, large and small, and what every deployment has."""
    jobs = [Parts(clock, (3, 2)), Parts(clock, (1,))]
    for parts in jobs:
        parts.store(stores)
    stores.hear(ACCOUNT)
    records, identities = stores.tables.records, stores.tables.homes.identities
    stores.client.put_item(TableName=identities, Item={**keys.api_key("abc"), "account": codec.s(ACCOUNT)})
    stores.client.put_item(
        TableName=records, Item={**keys.suppression(ACCOUNT, "x"), "address": codec.s("a@b.example")}
    )
    return jobs


class Table:
    """A stage whose tables were lost, and their copies, for a process that may die."""

    def __init__(self, client: Any, clock: FakeClock) -> None:
        self.clock = clock
        self.tap = Tap()
        self.stores = MotoStores(client, clock, self.tap)
        self.jobs = filled(self.stores, clock)
        self.before = {x: items_of(client, t) for x, t in names_of(self.stores.tables).items()}
        self.past = copied(client, self.stores.tables)
        lose(client, self.stores.tables, ALL)

    def reboot(self) -> None:
        """Nothing is kept in memory."""

    def restore(self) -> None:
        """Bring all back."""
        restore(self.stores, self.past, ALL, now=self.clock.ms)


@pytest.mark.slow
@pytest.mark.parametrize("when", list(When))
def test_a_restore_that_dies_anywhere_is_continued(moto_dynamo: Any, clock: FakeClock, when: When) -> None:
    for table in dying(lambda: Table(moto_dynamo, clock), Table.restore, when, least=30, every=3):
        table.restore()
        for name, items in table.before.items():
            after = {(x["pk"]["S"], x["sk"]["S"]) for x in items_of(moto_dynamo, names_of(table.stores.tables)[name])}
            assert {(x["pk"]["S"], x["sk"]["S"]) for x in items} <= after
        for parts in table.jobs:
            job = table.stores.records.job(parts.job.id)
            assert job is not None
            assert (job.state, job.stop_reason) == (JobState.STOPPED, "restored")


def test_what_is_there_already_is_newer_and_stays(stores: MotoStores, moto_dynamo: Any, clock: FakeClock) -> None:
    parts, _ = filled(stores, clock)
    before = copied(moto_dynamo, stores.tables)
    ledger = stores.ledgers.read(parts.job.id, 0)
    assert ledger is not None
    sent = replace(ledger, cells=bytes([1 << 4 | Cell.SENT] * 3), status=LedgerStatus.DONE, version=9)
    moto_dynamo.put_item(TableName=stores.tables.ops, Item=codec.ledger_item(sent))
    restore(stores, before, ("ops",), now=clock.ms)
    assert stores.ledgers.read(parts.job.id, 0) == sent


def test_no_stream_takes_what_comes_back_for_news(stores: MotoStores, moto_dynamo: Any, clock: FakeClock) -> None:
    filled(stores, clock)
    ended = Parts(clock, (1, 1), state=JobState.LOGGED, finished_at=clock.ms)
    ended.store(stores)
    moto_dynamo.put_item(TableName=stores.tables.ops, Item={**keys.breaker("one"), "state": codec.s("OPEN")})
    moto_dynamo.put_item(TableName=stores.tables.ops, Item={**keys.holder("one"), "jobs": {"SS": ["x"]}})
    items = [x for table in names_of(stores.tables).values() for x in items_of(moto_dynamo, table)]
    back = [new for item in items for new in restored(item, past(clock))]
    news = [x for x in back if any(matches(x, pattern) for pattern in ON_THEIR_WAY)]
    assert {(x["sk"]["S"], x.get("stop_reason", {}).get("S")) for x in news} == {(keys.JOB, "restored")}
    clean = [x for x in back if x["sk"]["S"].startswith(keys.LEDGER_PREFIX) and ended.job.id in x["pk"]["S"]]
    assert clean
    assert not [x for x in back if x["sk"]["S"] in ("BREAKER", "HOLDER")]


def test_a_ledger_in_doubt_is_folded_and_job_and_ledgers_agree(
    stores: MotoStores, moto_dynamo: Any, clock: FakeClock
) -> None:
    parts, _ = filled(stores, clock)
    before = copied(moto_dynamo, stores.tables)
    lose(moto_dynamo, stores.tables, ("records", "ops"))
    restore(stores, before, ("records", "ops"), now=clock.ms)
    ledgers = stores.ledgers.read_all(parts.job.id)
    assert [x.having(Cell.UNKNOWN) for x in ledgers] == [[0, 1, 2], [0, 1]]
    pattern = LOG_STREAM_FILTER["dynamodb"]["NewImage"]
    assert all(matches(codec.ledger_item(x), pattern) for x in ledgers)
    job = stores.records.job(parts.job.id)
    assert job is not None
    assert job.counts["queued"] == 5


def test_who_hears_of_events_comes_back_last(stores: MotoStores, moto_dynamo: Any, clock: FakeClock) -> None:
    filled(stores, clock)
    before = copied(moto_dynamo, stores.tables)
    lose(moto_dynamo, stores.tables, ("records",))
    waits: list[int] = []

    def sleep(_: float) -> None:
        there = items_of(moto_dynamo, stores.tables.records)
        assert not [x for x in there if x["pk"]["S"].startswith("HS#")]
        waits.append(len(there))

    found = Copying(
        stores.dynamo,
        source=before.records,
        target=stores.tables.records,
        past=past(clock),
        mark="copy",
        sleep=sleep,
        pools=InTurn.pool,
    ).run()
    assert len(waits) == 1
    assert [x for x in items_of(moto_dynamo, stores.tables.records) if x["pk"]["S"].startswith("HS#")]
    assert found.put + found.passed == found.read
    assert hook_keys.endpoints(ACCOUNT) != keys.listeners(ACCOUNT)


def test_a_ledger_that_no_copy_has_is_made_again_of_its_chunk(
    stores: MotoStores, moto_dynamo: Any, clock: FakeClock
) -> None:
    before = copied(moto_dynamo, stores.tables)
    begun, waits = Parts(clock, (2, 1)), Parts(clock, (2, 1), state=JobState.READY, planned_at=0)
    for parts in (begun, waits):
        parts.store(stores)
    lose(moto_dynamo, stores.tables, ("ops",))
    found = restore(stores, before, ("ops",), now=clock.ms)
    assert (found.held, found.rebuilt) == (2, 4)
    assert {x.cell(0)[0] for x in stores.ledgers.read_all(begun.job.id)} == {Cell.UNKNOWN}
    assert [x.cells for x in stores.ledgers.read_all(waits.job.id)] == [x.cells for x in waits.ledgers]


def test_a_job_that_was_reopened_since_the_copy_is_held(stores: MotoStores, moto_dynamo: Any, clock: FakeClock) -> None:
    ended = Parts(clock, (2, 1), state=JobState.LOGGED, finished_at=clock.ms)
    ended.store(stores)
    before = copied(moto_dynamo, stores.tables)
    lose(moto_dynamo, stores.tables, ("records",))
    assert restore(stores, before, ("records",), now=clock.ms).held == 1
    held = holding(stores, clock.ms).find(ended.job.id)
    assert held is not None
    assert (held.waiting, held.job.stopped) == (3, True)
    assert restore(stores, before, ("records",), now=clock.ms).held == 0


def test_the_review_shows_what_waits_and_names_what_is_lost(
    stores: MotoStores, moto_dynamo: Any, clock: FakeClock
) -> None:
    parts, small = filled(stores, clock)
    before = copied(moto_dynamo, stores.tables)
    later = Parts(clock, (2, 2))
    later.store(stores)
    lose(moto_dynamo, stores.tables, ("records",))
    restore(stores, before, ("records",), now=clock.ms)
    held = {x.job.id: (x.waiting, x.doubtful) for x in holding(stores, clock.ms).held()}
    assert held[parts.job.id] == (5, 0), "its ledgers were not lost"
    assert small.job.id in held
    assert holding(stores, clock.ms).lost() == {later.job.id: 4}


def logged(stores: MotoStores, parts: Parts) -> None:
    """Let the sweeper have brought a held job to rest."""
    stores.client.update_item(
        TableName=stores.tables.records,
        Key=keys.job(parts.job.id),
        UpdateExpression="SET #state = :logged",
        ExpressionAttributeNames={"#state": "state"},
        ExpressionAttributeValues={":logged": codec.s("LOGGED")},
    )


def test_a_release_has_what_waits_sent_and_a_discard_ends_it(
    stores: MotoStores, moto_dynamo: Any, clock: FakeClock
) -> None:
    parts, _ = filled(stores, clock)
    before = copied(moto_dynamo, stores.tables)
    lose(moto_dynamo, stores.tables, ("records",))
    restore(stores, before, ("records",), now=clock.ms)
    hold = holding(stores, clock.ms)
    held = hold.find(parts.job.id)
    assert held is not None
    assert not hold.release(held, "operator:1:user/ann"), "it is not at rest"
    logged(stores, parts)
    held = hold.find(parts.job.id)
    assert held is not None
    assert hold.release(held, "operator:1:user/ann")
    job = stores.records.job(parts.job.id)
    assert job is not None
    assert (job.state, job.resumed_by) == (JobState.READY, "operator:1:user/ann")
    logged(stores, parts)
    held = hold.find(parts.job.id)
    assert held is not None
    assert hold.discard(held) == 5
    again = hold.find(parts.job.id)
    assert again is not None
    assert (again.waiting, again.doubtful) == (0, 5)
    assert not hold.release(again, "operator:1:user/ann")
    assert hold.find("0123456789abcdefghjkmnpqrs") is None


def only(item: Item, found: Past) -> Item:
    [one] = restored(item, found)
    return one


def test_a_window_that_may_have_become_a_digest_is_cancelled(clock: FakeClock) -> None:
    opened: DigestWindow = digests.window()
    for state, after in (
        (WindowState.OPEN, WindowState.CANCELLED),
        (WindowState.CLOSED, WindowState.CANCELLED),
        (WindowState.PROCESSED, WindowState.PROCESSED),
    ):
        item = window_item(replace(opened, state=state))
        assert window(only(item, past(clock))).state is after
        assert window(only(item, past(clock, exact=True))).state is state


def test_a_notice_whose_turn_had_come_ends_and_its_notifier_is_informed(clock: FakeClock) -> None:
    item = notice_codec.notice_item(notice(next_at=clock.ms - 1))
    back = restored(item, past(clock))
    assert len(back) == 2
    entry, ended = back
    found = notice_codec.notice(ended)
    assert (found.phase, found.status, found.error) == (Phase.ENDED, NoticeStatus.PERM_FAIL, Failure.UNKNOWN)
    assert "open_pk" not in ended
    assert (entry["status"]["S"], entry["error"]["S"]) == ("PERM_FAIL", "DELIVERY_UNKNOWN")
    later = notice_codec.notice_item(notice(next_at=clock.ms + 1))
    assert restored(later, past(clock)) == [later]
    assert restored(item, past(clock, exact=True)) == [item]


@pytest.mark.parametrize("state", UploadState)
def test_a_list_that_was_being_read_is_given_up(clock: FakeClock, state: UploadState) -> None:
    upload = Upload("u1", "c1", ACCOUNT, False, "email", "one", "uploads/x", state, 1, 9**10, owner="me")
    found = campaign_codec.upload(only(campaign_codec.upload_item(upload), past(clock)))
    read = state in (UploadState.QUEUED, UploadState.READING)
    assert (found.state, found.code) == ((UploadState.FAILED, RESTORED) if read else (state, ""))
    campaign = {**keys.campaign("c1"), "uploading": codec.s("u1"), "name": codec.s("n")}
    assert only(campaign, past(clock)) == {**keys.campaign("c1"), "name": codec.s("n")}


def test_what_a_newer_version_stored_stays(stores: MotoStores, moto_dynamo: Any, clock: FakeClock) -> None:
    filled(stores, clock)
    for table in (stores.tables.records, stores.tables.ops):
        for item in items_of(moto_dynamo, table):
            for new in restored({**item, "newer": codec.s("kept")}, past(clock)):
                assert new["newer"] == codec.s("kept")


def test_items_whose_time_is_over_stay_behind(clock: FakeClock) -> None:
    item = {**keys.idempotency(ACCOUNT, "x"), "ttl": codec.n(clock.ms // 1000 - 1)}
    assert restored(item, past(clock)) == []
    assert restored({**item, "ttl": codec.n(clock.ms // 1000 + 60)}, past(clock))


def test_figures_of_a_copy_add_up() -> None:
    assert Copied(1, 1, 0, 0) + Copied(2, 0, 1, 1) == Copied(3, 1, 1, 1)
