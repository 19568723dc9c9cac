"""What webhooks hear of, read from the items as the stores write them."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.spending import DynamoSpending
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.adapters.dynamo.domain_events import alarm, read
from shared.adapters.dynamo.jobs.bouncing import DynamoBouncingDays
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.dynamo.notices.updates import log_actions
from shared.adapters.dynamo.recipients.texts import DynamoTexts
from shared.adapters.reports import matches
from shared.contracts import HOOKS_OPS_FILTERS, HOOKS_RECORDS_FILTERS
from shared.domain.audit import Act, Log, audited
from shared.domain.campaigns.approval import Decided, Decision, PendingApproval
from shared.domain.campaigns.bounce_guard import BouncingDay
from shared.domain.campaigns.campaign import Campaign, Message, Upload, UploadState
from shared.domain.digests.window import EventPart, opened
from shared.domain.hooks.domain_event import DomainEvent
from shared.domain.hooks.endpoint import DEPLOYMENT
from shared.domain.hooks.kinds import HookKind
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import Change
from shared.domain.lanes import breaker as breakers
from shared.domain.lanes.breaker import Breaker
from shared.domain.notices.updates import UpdateEntry
from shared.domain.recipients.suppressions import DigestsOf, Reach
from shared.domain.spending.limits import Charge, day_of
from shared.domain.texts import ReceivedText
from shared.domain.times import DAY_MS
from tests.contracts.conftest import ROUTE, Parts, leased, passing
from tests.domain.digests.examples import policy
from tests.fakes.clock import FakeClock
from tests.fakes.tables import MotoStores

ACCOUNT = "acc_000000000001"
TEST = f"{ACCOUNT}#TEST"


class Streams:
    """The streams of two tables: what was written since it was last asked."""

    def __init__(self, stores: MotoStores, clock: FakeClock) -> None:
        self.stores = stores
        self.clock = clock
        self._seen: dict[str, dict[tuple[str, str], Any]] = {stores.tables.records: {}, stores.tables.ops: {}}
        self.news()

    def news(self) -> list[DomainEvent]:
        """Return what the records that pass the filters say."""
        found: list[DomainEvent] = []
        for table, filters in (
            (self.stores.tables.records, HOOKS_RECORDS_FILTERS),
            (self.stores.tables.ops, HOOKS_OPS_FILTERS),
        ):
            records = [x for x in self._changed(table) if any(matches(f, x) for f in filters)]
            found += read(records, self.clock.ms // 1000)
        return found

    def _changed(self, table: str) -> list[dict[str, Any]]:
        seen = self._seen[table]
        out = []
        for item in self.stores.client.scan(TableName=table, ConsistentRead=True)["Items"]:
            key = item["pk"]["S"], item["sk"]["S"]
            if seen.get(key) != item:
                kind = "MODIFY" if key in seen else "INSERT"
                out.append({"eventName": kind, "dynamodb": {"NewImage": _plain(item)}})
            seen[key] = item
        return out


def _plain(value: Any) -> Any:
    """Return an item as a stream's record has it: bytes in base64."""
    if isinstance(value, dict):
        return {k: base64.b64encode(bytes(v)).decode() if k == "B" else _plain(v) for k, v in value.items()}
    return [_plain(x) for x in value] if isinstance(value, list) else value


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def streams(moto_dynamo: Any, clock: FakeClock) -> Streams:
    return Streams(MotoStores(moto_dynamo, clock), clock)


def named(found: Sequence[DomainEvent]) -> list[tuple[str, str]]:
    return [(x.namespace, x.kind.value) for x in found]


def test_the_end_of_a_job_is_one_event_however_often_it_is_written(streams: Streams, clock: FakeClock) -> None:
    parts = Parts(clock, (3, 2))
    parts.store(streams.stores)
    assert streams.news() == []
    job = streams.stores.records.change(parts.job, Change.FINISH, clock.ms).job
    assert job is not None
    logged = streams.stores.records.change(job, Change.LOG, clock.ms).job
    assert logged is not None
    (first,) = streams.news()
    assert (first.namespace, first.kind, first.ttl) == (ACCOUNT, HookKind.JOB_LOGGED, job.ttl)
    assert first.event.data["finished_at"]
    assert first.look == {}
    streams.stores.records.keep_job(logged, logged.ttl + 1000)
    (again,) = streams.news()
    assert again.event.id == first.event.id


def test_a_job_that_is_stopped_after_a_resume_has_not_ended(streams: Streams, clock: FakeClock) -> None:
    parts = Parts(clock, (3, 2))
    parts.store(streams.stores)
    records = streams.stores.records
    found: Job | None = parts.job
    for change in (Change.STOP, Change.LOG, Change.RESUME, Change.STOP):
        assert found is not None
        clock.advance(1)
        found = records.change(found, change, clock.ms, reason="user" if change is Change.STOP else "").job
    assert found is not None
    assert found.finished_at
    (stopped,) = streams.news()
    assert (stopped.kind, stopped.event.data["finished_at"]) == (HookKind.JOB_STOPPED, None)


def test_skipped_messages_of_a_job_are_looked_at_when_it_ends(streams: Streams, clock: FakeClock) -> None:
    parts = Parts(clock, (3, 2))
    parts.job = replace(parts.job, counts={**parts.job.counts, "queued": 3, "skipped": 2})
    parts.store(streams.stores)
    job = streams.stores.records.change(parts.job, Change.FINISH, clock.ms).job
    assert job is not None
    streams.stores.records.change(job, Change.LOG, clock.ms)
    (found,) = streams.news()
    assert {name: list(chunks) for name, chunks in found.look.items()} == {job.id: [0, 1]}


class Audience:
    """The namespaces that have webhooks."""

    def __init__(self, *namespaces: str) -> None:
        self.namespaces = set(namespaces)

    def has(self, namespace: str) -> bool:
        """Tell whether a namespace has one."""
        return namespace in self.namespaces


def records_of(streams: Streams, audience: Audience) -> DynamoRecords:
    tables = streams.stores.tables
    return DynamoRecords(
        streams.stores.dynamo, records=tables.records, ops=tables.ops, blobs=streams.stores.blobs, listeners=audience
    )


def test_what_happens_to_an_account_without_endpoints_starts_no_function(streams: Streams, clock: FakeClock) -> None:
    records, parts = records_of(streams, audience := Audience(TEST)), Parts(clock)
    parts.store(streams.stores)
    stopped = records.change(parts.job, Change.STOP, clock.ms, reason="user").job
    assert stopped is not None
    logged = records.change(stopped, Change.LOG, clock.ms).job
    assert logged is not None
    records.suppress(ACCOUNT, "ada@example.com", "hard_bounce", clock.ms)
    streams.stores.records.keep_job(logged, logged.ttl + 1000)
    assert streams.news() == []
    audience.namespaces.add(ACCOUNT)
    streams.stores.records.keep_job(logged, logged.ttl + 2000)
    assert streams.news() == [], "it ended before there was an endpoint"
    resumed = records.change(logged, Change.RESUME, clock.ms).job
    assert resumed is not None
    clock.advance(1)
    records.change(resumed, Change.STOP, clock.ms, reason="user")
    assert named(streams.news()) == [(ACCOUNT, "job.stopped")]


@pytest.mark.parametrize("together", [False, True])
def test_a_single_message_of_an_account_without_endpoints_ends_unheard(
    streams: Streams, clock: FakeClock, *, together: bool
) -> None:
    heard = []
    for audience in (Audience(), Audience(ACCOUNT)):
        records, parts = records_of(streams, audience), Parts(clock)
        parts.store(streams.stores)
        held = leased(streams.stores, clock, parts.job.id)
        claimed = streams.stores.ledgers.claim(held, [], 500, route=ROUTE)
        assert claimed is not None
        words = [Entry(i, 1, Kind.ACCEPTED) for i in claimed[1]]
        ledger = streams.stores.ledgers.send_done(claimed[0], words, passing(clock))
        assert ledger is not None
        if together:
            assert records.fold_jobs([(ledger, parts.job)], clock.ms)
        else:
            assert records.fold(ledger, parts.job, finish=clock.ms) is not None
        heard.append(named(streams.news()))
    assert heard == [[], [(ACCOUNT, "job.logged")]]


def test_operators_hear_of_a_halt_in_an_account_without_endpoints(streams: Streams, clock: FakeClock) -> None:
    records, parts = records_of(streams, Audience(DEPLOYMENT)), Parts(clock, campaign="m1")
    parts.store(streams.stores)
    stopped = records.change(parts.job, Change.STOP, clock.ms, reason=StopReason.BOUNCE_GUARD.value).job
    assert (DEPLOYMENT, "campaign.halted") in named(streams.news())
    assert stopped is not None
    records.change(stopped, Change.LOG, clock.ms)
    assert streams.news() == []


def test_a_halt_of_a_campaign_reaches_its_account_and_the_operators(streams: Streams, clock: FakeClock) -> None:
    parts = Parts(clock, campaign="m1")
    parts.store(streams.stores)
    streams.stores.records.change(parts.job, Change.STOP, clock.ms, reason=StopReason.BOUNCE_GUARD.value)
    found = streams.news()
    assert named(found) == [
        (ACCOUNT, "job.stopped"),
        (ACCOUNT, "campaign.halted"),
        (DEPLOYMENT, "campaign.halted"),
    ]
    assert found[1].event.id == found[2].event.id
    assert found[1].event.data["reason"] == "bounce_guard"


def test_a_stop_by_its_owner_halts_no_campaign(streams: Streams, clock: FakeClock) -> None:
    parts = Parts(clock, campaign="m1", test=True)
    parts.store(streams.stores)
    streams.stores.records.change(parts.job, Change.STOP, clock.ms, reason=StopReason.USER.value)
    assert named(streams.news()) == [(TEST, "job.stopped")]


def test_suppressions_and_unsubscriptions_are_told_once(streams: Streams, clock: FakeClock) -> None:
    records = streams.stores.records
    records.suppress(ACCOUNT, "ada@example.com", "hard_bounce", clock.ms, job="j1", channel="email")
    records.suppress(TEST, "ada@example.com", "one_click", clock.ms, reach=Reach.CAMPAIGNS)
    records.suppress(ACCOUNT, "+14155550100", "stopped", clock.ms, reach=Reach.SMS)
    records.suppress(ACCOUNT, "bob@example.com", "page", clock.ms, reach=DigestsOf("acme/"))
    found = streams.news()
    assert sorted(named(found)) == [
        (ACCOUNT, "suppression.added"),
        (ACCOUNT, "unsubscribed"),
        (ACCOUNT, "unsubscribed"),
        (TEST, "unsubscribed"),
    ]
    said = {(x.event.data["address"], x.event.data["scope"], x.event.data["policy"]) for x in found}
    assert said == {
        ("ada@example.com", "all", None),
        ("ada@example.com", "campaigns", None),
        ("+14155550100", "sms", None),
        ("bob@example.com", "digests", "acme/"),
    }
    records.suppress(ACCOUNT, "ada@example.com", "complained", clock.ms + 9)
    assert streams.news() == []


def test_a_text_is_told_to_its_account(streams: Streams, clock: FakeClock) -> None:
    texts = DynamoTexts(streams.stores.dynamo, records=streams.stores.tables.records)
    text = ReceivedText(ACCOUNT, "t1", "texts", "sms", "+14155550100", "", "Hello", clock.ms, "stopped")
    texts.add(text)
    texts.add(text)
    (found,) = streams.news()
    assert (found.namespace, found.kind) == (ACCOUNT, HookKind.TEXT_RECEIVED)
    assert (found.event.data["from"], found.event.data["to"], found.event.data["wish"]) == (
        "+14155550100",
        None,
        "stop",
    )


@pytest.mark.parametrize("test", [False, True])
def test_a_key_that_is_used_and_ends_soon_is_told_of_three_times(
    streams: Streams, clock: FakeClock, *, test: bool
) -> None:
    tables = streams.stores.tables
    operators = Accounts(streams.stores.dynamo.client, tables.records, clock, homes=tables.homes)
    account = operators.create_account("Ann")
    secret, key = operators.create_key(account, test=test, name="Shop", expires=clock.ms + 20 * DAY_MS)
    accounts = Accounts(streams.stores.dynamo.client, tables.records, clock, homes=tables.alone)
    told: list[tuple[int, DomainEvent]] = []
    for hour in range(0, 20 * 24, 6):
        found = accounts.find_by_key(secret)
        assert found is not None
        accounts.note_use(secret, found, "192.0.2.1")
        told += [(hour // 24, x) for x in streams.news()]
        clock.advance(6 * 3600)
    assert accounts.find_by_key(secret) is None
    assert [(day, x.event.data["days"]) for day, x in told] == [(6, 14), (13, 7), (19, 1)]
    assert {(x.namespace, x.kind) for _, x in told} == {(key.namespace, HookKind.KEY_EXPIRING)}
    assert len({x.event.id for _, x in told}) == 3
    log = DynamoJournal(Dynamo(streams.stores.dynamo.client, homes=tables.homes), tables.records)
    assert [x.id for x in log.since(account, Log.AUDIT, 0) if x.kind == "key.expiring"] == [key.id] * 3


def test_a_window_is_told_of_when_it_closes(streams: Streams, clock: FakeClock) -> None:
    part = EventPart("p" * 16, b"event", 1, 5, 1_900_000_000, ACCOUNT)
    windows = DynamoWindows(streams.stores.dynamo, records=streams.stores.tables.records)
    window = opened((ACCOUNT, False), "acme/build", 1, policy(), part, clock.ms)
    windows.open(window)
    assert streams.news() == []
    windows.close(window.id, clock.ms, early=True)
    (found,) = streams.news()
    assert (found.namespace, found.kind) == (ACCOUNT, HookKind.DIGEST_CLOSED)
    assert (found.event.data["window_id"], found.event.data["batch_key"]) == (window.id, "acme/build")


def test_an_upload_is_told_of_when_it_is_read_or_cannot_be(streams: Streams, clock: FakeClock) -> None:
    uploads = DynamoUploads(streams.stores.dynamo, records=streams.stores.tables.records, ops=streams.stores.tables.ops)
    waiting = Upload("u1", "m1", ACCOUNT, True, "email", "one", "blob", UploadState.WAITING, clock.ms, 1_900_000_000)
    uploads.add(waiting)
    uploads.save(waiting, queued := waiting.changed(state=UploadState.QUEUED))
    assert streams.news() == []
    uploads.save(queued, queued.changed(state=UploadState.FAILED, code="no_recipients", finished_at=clock.ms))
    (found,) = streams.news()
    assert (found.namespace, found.kind, found.event.data["state"]) == (TEST, HookKind.UPLOAD_FINISHED, "failed")
    assert found.event.data["code"] == "no_recipients"


def test_a_request_for_approval_is_told_of_once_with_its_end(streams: Streams, clock: FakeClock) -> None:
    stores, table = streams.stores, streams.stores.tables.records
    campaigns = DynamoCampaigns(stores.dynamo, records=table, blobs=stores.blobs)
    draft = Campaign("m1", ACCOUNT, False, "October", "email", "one", Message("Hi"), clock.ms, ready="u1")
    campaigns.create(draft, None)
    assert streams.news() == []
    asked = PendingApproval("a" * 32, 2, "key", clock.ms, rows=5)
    waits = replace(draft.changed(clock.ms), asked=asked)
    event = audited(ACCOUNT, clock.ms, "m1", Act.APPROVAL_ASKED, "key")
    campaigns.ask(draft, waits, None, event=event)
    (found,) = streams.news()
    assert (found.namespace, found.kind) == (ACCOUNT, HookKind.APPROVAL_ASKED)
    assert (found.event.data["approval_id"], found.event.data["recipients"]) == (asked.id, 5)
    decided = Decided(asked.id, Decision.REFUSED, "other", "key", "u1", clock.ms, "because")
    refused = waits.changed(clock.ms, decided=decided)
    campaigns.save(waits, refused)
    (found,) = streams.news()
    assert (found.kind, found.event.data["decision"]) == (HookKind.APPROVAL_DECIDED, "refused")
    assert found.event.data["reason"] == "because"
    campaigns.save(refused, refused.changed(clock.ms, name="Other"))
    assert streams.news() == []


def test_an_edit_of_a_campaign_that_waits_tells_nothing(streams: Streams, clock: FakeClock) -> None:
    """Also one by a version of Posthaste that knows no approvals, and leaves the request."""
    stores, table = streams.stores, streams.stores.tables.records
    campaigns = DynamoCampaigns(stores.dynamo, records=table, blobs=stores.blobs)
    asked = PendingApproval("a" * 32, 1, "key", clock.ms, rows=5)
    draft = Campaign("m1", ACCOUNT, False, "October", "email", "one", Message("Hi"), clock.ms, asked=asked)
    campaigns.create(draft, None)
    assert len(streams.news()) == 1
    campaigns.save(draft, replace(draft, version=2, name="Other"))
    assert streams.news() == []


def test_an_update_of_a_notice_names_its_notifier(streams: Streams, clock: FakeClock) -> None:
    entry = UpdateEntry("clinic", "uuid", "n1", clock.ms, "SUCCESS", ended=True)
    streams.stores.client.transact_write_items(TransactItems=log_actions(streams.stores.tables.records, [entry]))
    (found,) = streams.news()
    assert (found.namespace, found.notifier, found.kind) == ("", "clinic", HookKind.NOTICE_UPDATED)
    assert (found.event.data["id"], found.event.data["status"]) == ("n1", "SUCCESS")


def test_a_breaker_is_told_of_when_it_opens_and_closes(streams: Streams, clock: FakeClock) -> None:
    store = streams.stores.breakers
    opened_ = breakers.opened(Breaker("one"), reason="timeout", failures=5, now=clock.ms, jitter=0)
    assert opened_ is not None
    store.swap(Breaker("one"), opened_)
    (first,) = streams.news()
    assert (first.namespace, first.kind) == (DEPLOYMENT, HookKind.BREAKER_OPENED)
    probing = breakers.probing(opened_, owner="me", now=opened_.probe_at)
    assert probing is not None
    store.swap(opened_, probing)
    assert streams.news() == []
    again = breakers.reopened(probing, owner="me", reason="timeout", now=opened_.probe_at, jitter=0)
    assert again is not None
    store.swap(probing, again)
    assert [x.event.id for x in streams.news()] == [first.event.id]
    probing = breakers.probing(again, owner="me", now=again.probe_at)
    assert probing is not None
    closed = breakers.closed(probing, owner="me", now=again.probe_at)
    assert closed is not None
    store.swap(again, probing)
    store.swap(probing, closed)
    (last,) = streams.news()
    assert (last.kind, last.event.data["credential_id"]) == (HookKind.BREAKER_CLOSED, "one")


def test_a_change_of_an_alarm_is_told_to_the_operators() -> None:
    state = {"value": "ALARM", "reason": "Threshold Crossed", "timestamp": "2026-11-23T15:00:00.000+0000"}
    detail = {"alarmName": "posthaste-prod-stuck", "state": state, "previousState": {"value": "OK"}}
    found = alarm({"detail-type": "CloudWatch Alarm State Change", "detail": detail})
    assert (found.namespace, found.kind) == (DEPLOYMENT, HookKind.ALARM_CHANGED)
    assert (found.event.data["state"], found.event.data["before"]) == ("ALARM", "OK")


def test_a_removed_item_says_nothing() -> None:
    assert list(read([{"eventName": "REMOVE", "dynamodb": {"Keys": {}}}], 0)) == []


def test_a_day_whose_single_messages_bounce_is_told_once(streams: Streams, clock: FakeClock) -> None:
    days = DynamoBouncingDays(streams.stores.dynamo, streams.stores.tables.records)
    assert days.note(BouncingDay(ACCOUNT, "2026-11-20", "email", 12, 90, clock.ms))
    assert not days.note(BouncingDay(ACCOUNT, "2026-11-20", "email", 13, 91, clock.ms))
    found = streams.news()
    assert [(x.namespace, x.kind) for x in found] == [
        (owner, HookKind.ACCOUNT_BOUNCING) for owner in (ACCOUNT, DEPLOYMENT)
    ]
    assert found[0].event.data == {
        "account": ACCOUNT,
        "channel": "email",
        "bounced": 12,
        "settled": 90,
        "date": "2026-11-20",
    }
    assert days.note(BouncingDay(ACCOUNT, "2026-11-21", "email", 12, 90, clock.ms))
    assert len(streams.news()) == 2


def test_each_share_of_a_limit_is_told_once_a_day_to_its_account_and_to_operators(
    streams: Streams, clock: FakeClock
) -> None:
    stores = streams.stores

    def take(email: int) -> bool:
        spending = DynamoSpending(stores.dynamo, stores.tables.records, clock)  # a process of its own
        return spending.take(Charge(ACCOUNT, day_of(clock.ms), {"email": email}, {"email": 10})) is None

    assert take(7)
    assert streams.news() == []
    assert take(1)
    found = streams.news()
    assert [(x.namespace, x.kind) for x in found] == [(ACCOUNT, HookKind.QUOTA_REACHED), (DEPLOYMENT, found[0].kind)]
    data = found[0].event.data
    assert (data["quota"], data["share"], data["used"], data["limit"]) == ("email", 80, 8, 10)
    assert take(1)
    assert streams.news() == []
    assert not take(2)
    assert [x.event.data["share"] for x in streams.news()] == [100, 100]
    assert take(1)
    assert streams.news() == []
    clock.advance(86_400)
    assert take(10)
    assert sorted(x.event.data["share"] for x in streams.news()) == [80, 80, 100, 100]
