"""Campaigns and stored templates: compare-and-swaps, idempotency, and the transaction that makes a list a job."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.adapters.dynamo.campaigns.templates import DynamoTemplates
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.domain.campaigns.campaign import Campaign, Message, StoredTemplate, Upload, UploadState
from shared.domain.content.content import Content, Mailbox
from shared.domain.ids import new_id
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import COUNT_KEYS, JobState
from shared.domain.lists.rows import Position
from shared.domain.lists.uploads import Checkpoint, ListCounts, Options
from shared.ports import Campaigns, Idempotency, Mismatch, Replay, Stored, Templates, Uploads
from tests.contracts.conftest import ACCOUNT, key
from tests.fakes.campaigns import FakeCampaigns, FakeTemplates
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap, When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores
from tests.fakes.uploads import FakeUploads

MESSAGE = Message(
    "Hello {{ name }}",
    "<p>{{ name }}</p>",
    "{{name}}",
    Mailbox("news@example.com", "News"),
    Mailbox("help@example.com"),
)


class Shop:
    """Campaigns, uploads and templates over one of the stores."""

    def __init__(self, stores: Stores, clock: FakeClock) -> None:
        self.clock = clock
        self.stores = stores
        self.tap: Tap = stores.tap
        self.campaigns: Campaigns
        self.templates: Templates
        self.uploads: Uploads
        if isinstance(stores, FakeStores):
            uploads = FakeUploads({}, stores.records.chunks, stores.ledgers, self.tap, stores.records.journal)
            self.uploads = uploads
            self.campaigns = FakeCampaigns(uploads, stores.records, stores.ledgers, self.tap)
            self.templates = FakeTemplates(stores.records, stores.ledgers, self.tap)
        else:
            assert isinstance(stores, MotoStores)
            table = stores.tables.records
            self.uploads = DynamoUploads(stores.dynamo, records=table, ops=stores.tables.ops)
            self.campaigns = DynamoCampaigns(stores.dynamo, records=table, blobs=stores.blobs)
            self.templates = DynamoTemplates(stores.dynamo, records=table)

    def campaign(self, **changes: Any) -> Campaign:
        """Return a campaign that is not stored."""
        now = self.clock.ms
        whole = Campaign(new_id(now), ACCOUNT, False, "October", "email", "one", MESSAGE, now, updated_at=now)
        return replace(whole, **changes)

    def stored(self, **changes: Any) -> Campaign:
        """Store a campaign."""
        campaign = self.campaign(**changes)
        assert self.campaigns.create(campaign, None) == Stored()
        return campaign

    def template(self, **changes: Any) -> StoredTemplate:
        """Return a template that is not stored."""
        now = self.clock.ms
        return replace(StoredTemplate(new_id(now), ACCOUNT, "Welcome", "email", MESSAGE, now, now), **changes)

    def listed(self, **changes: Any) -> tuple[Campaign, Upload, Campaign, Job]:
        """Store a campaign with a list that is read; return both, the campaign as it will be, and the job."""
        now = self.clock.ms
        campaign = self.campaign()
        upload = Upload(
            id=new_id(now),
            campaign=campaign.id,
            account=ACCOUNT,
            test=False,
            channel="email",
            credential="one",
            blob="uploads/x",
            state=UploadState.READY,
            created_at=now,
            ttl=now // 1000 + 1000,
            columns=("recipient", "name"),
            skipped={"suppressed": 1},
            checkpoint=Checkpoint(Position(row=5), 1, ListCounts(5, 5), 5, Options("email")),
        )
        campaign = replace(campaign, ready=upload.id, columns=upload.columns)
        assert self.campaigns.create(campaign, None) == Stored()
        self.uploads.add(upload)
        return campaign, upload, campaign.changed(now, ready="", jobs=(upload.id,)), self.job(upload, **changes)

    def job(self, upload: Upload, **changes: Any) -> Job:
        """Return the job of a list."""
        job = Job(
            id=upload.id,
            account=ACCOUNT,
            kind="campaign",
            channel="email",
            test=False,
            route=("one",),
            providers=("sendgrid",),
            total=5,
            chunks=1,
            created_at=self.clock.ms,
            ttl=upload.ttl,
            state=JobState.READY,
            counts=dict.fromkeys(COUNT_KEYS, 0) | {"queued": 4, "skipped": 1},
            by={"one": (0,) * len(BY_KEYS)},
            campaign=upload.campaign,
            name="October",
            rate=5.0,
        )
        return replace(job, **changes)


CONTENT = Content(Mailbox("news@example.com"), "Hello {{ name }}", text="{{ name }}", merge=True)


@pytest.fixture
def shop(stores: Stores, clock: FakeClock) -> Shop:
    return Shop(stores, clock)


# Campaigns


def test_templates_of_live_and_of_test_keys_are_listed_apart(shop: Shop) -> None:
    live, tried = shop.template(), shop.template(test=True)
    for made in (live, tried):
        assert shop.templates.create(made, None) == Stored()
        assert shop.templates.get(made.id) == made
        assert [x.id for x in shop.templates.page(made.namespace, after="", limit=9)[0]] == [made.id]


def test_a_campaign_is_kept_as_it_is(shop: Shop) -> None:
    whole = shop.campaign(
        test=True,
        template="t",
        template_version=3,
        uploading="u",
        ready="r",
        columns=("recipient", "name"),
        jobs=("a", "b"),
        guard_off=True,
        unsubscribe=False,
    )
    assert shop.campaigns.create(whole, None) == Stored()
    assert shop.campaigns.get(whole.id) == whole
    bare = shop.campaign(message=Message(body="x"), channel="sms")
    assert shop.campaigns.create(bare, None) == Stored()
    assert shop.campaigns.get(bare.id) == bare
    assert shop.campaigns.get("0" * 26) is None


def test_of_two_writers_one_wins(shop: Shop) -> None:
    campaign = shop.stored()
    first, second = campaign.changed(1, name="first", columns=("a",)), campaign.changed(2, name="second")
    assert shop.campaigns.save(campaign, first)
    assert not shop.campaigns.save(campaign, second)
    assert shop.campaigns.get(campaign.id) == first
    assert shop.campaigns.save(first, first.changed(3, columns=()))
    stored = shop.campaigns.get(campaign.id)
    assert stored is not None
    assert (stored.columns, stored.version) == ((), 3)


@pytest.mark.parametrize("what", ["save", "delete"])
def test_a_write_whose_answer_was_lost_is_known_again(shop: Shop, what: str) -> None:
    campaign = shop.stored()
    shop.tap.arm(0, When.REPEATED)
    done = shop.campaigns.save(campaign, campaign.changed(5)) if what == "save" else shop.campaigns.delete(campaign)
    assert done


def test_a_campaign_is_removed_only_as_it_was_read(shop: Shop) -> None:
    campaign = shop.stored()
    changed = campaign.changed(5)
    assert shop.campaigns.save(campaign, changed)
    assert not shop.campaigns.delete(campaign)
    assert shop.campaigns.get(campaign.id) == changed
    assert shop.campaigns.delete(changed)
    assert shop.campaigns.get(campaign.id) is None
    assert not shop.campaigns.save(changed, changed.changed(6))
    assert shop.campaigns.get(campaign.id) is None


def test_a_repeated_campaign_is_the_first_one(shop: Shop, clock: FakeClock) -> None:
    first, second = shop.campaign(), shop.campaign()
    assert shop.campaigns.create(first, key(clock)) == Stored()
    assert shop.campaigns.create(second, key(clock, answer="second")) == Replay("first")
    assert shop.campaigns.create(second, key(clock, fingerprint="other")) == Mismatch()
    assert shop.campaigns.get(second.id) is None


def test_a_creation_whose_answer_was_lost_happened_once(shop: Shop, clock: FakeClock) -> None:
    shop.tap.arm(0, When.REPEATED, where=lambda name: name.endswith(("transact_write_items", "campaigns.create")))
    campaign = shop.campaign()
    assert shop.campaigns.create(campaign, key(clock)) == Stored()
    assert shop.tap.fired == 1
    assert shop.campaigns.get(campaign.id) == campaign


def test_pages_go_from_the_newest_on_without_messages_and_tests_apart(shop: Shop, clock: FakeClock) -> None:
    made = []
    for i in range(5):
        clock.advance(1)
        made.append(shop.stored(name=str(i)))
    shop.stored(test=True, name="test")
    shop.stored(account="acc_000000000002")
    first, after = shop.campaigns.page(ACCOUNT, test=False, after="", limit=2)
    assert [x.campaign for x in first] == [replace(x, message=Message()) for x in (made[4], made[3])]
    second, after = shop.campaigns.page(ACCOUNT, test=False, after=after, limit=3)
    assert [x.campaign.name for x in second] == ["2", "1", "0"]
    assert after == ""
    tests, _ = shop.campaigns.page(ACCOUNT, test=True, after="", limit=9)
    assert [x.campaign.name for x in tests] == ["test"]


def test_a_list_shows_whether_a_campaign_fits_its_columns(shop: Shop) -> None:
    campaign = shop.stored(ready="r", columns=("recipient",))

    def fits() -> list[bool]:
        return [x.fits for x in shop.campaigns.page(ACCOUNT, test=False, after="", limit=9)[0]]

    assert fits() == [False]
    assert shop.campaigns.save(campaign, campaign.changed(5, columns=("recipient", "name")))
    assert fits() == [True]


def test_what_uploads_change_of_a_campaign_is_its_own(shop: Shop) -> None:
    campaign, upload, _, _ = shop.listed()
    queued = upload.changed(state=UploadState.QUEUED)
    locked = campaign.changed(5, uploading=upload.id)
    assert shop.uploads.begin(campaign, locked, upload, queued)
    assert shop.campaigns.get(campaign.id) == locked
    assert not shop.campaigns.save(campaign, campaign.changed(6, name="late"))


# Sending


def send(shop: Shop, made: tuple[Campaign, Upload, Campaign, Job], key: Idempotency | None = None) -> Any:
    campaign, upload, after, job = made
    return shop.campaigns.send(campaign, after, upload, job, CONTENT, key)


def test_a_list_becomes_a_job(shop: Shop) -> None:
    made = shop.listed()
    campaign, upload, after, job = made
    assert send(shop, made) == Stored()
    assert shop.campaigns.get(campaign.id) == after
    stored = shop.uploads.get(campaign.id, upload.id)
    assert stored == upload.changed(state=UploadState.SENT)
    assert (list(shop.campaigns.sent(campaign.id)), list(shop.campaigns.sent("none"))) == ([job.id], [])
    assert shop.stores.records.job(job.id) == job
    assert shop.stores.records.content(job.id) == CONTENT
    assert shop.stores.stats(ACCOUNT) == {"queued": 4, "skipped": 1}
    assert [x.job for x in shop.stores.records.open_on("one", running=False)] == [job.id]
    assert shop.campaigns.page(ACCOUNT, test=False, after="", limit=9)[0][0].campaign.jobs == (job.id,)


def test_a_test_campaign_s_job_is_not_in_the_stats(shop: Shop) -> None:
    assert send(shop, shop.listed(test=True, route=("test",), by={"test": (0,) * len(BY_KEYS)})) == Stored()
    assert shop.stores.stats(ACCOUNT) == {}


@pytest.mark.parametrize("moved", ["campaign", "upload"])
def test_nothing_is_sent_of_what_has_moved_on(shop: Shop, moved: str) -> None:
    made = shop.listed()
    campaign, upload, _, job = made
    if moved == "campaign":
        assert shop.campaigns.save(campaign, campaign.changed(5, name="other"))
    else:
        assert shop.uploads.save(upload, upload.changed())
    assert send(shop, made) is None
    assert shop.stores.records.job(job.id) is None
    assert shop.stores.stats(ACCOUNT) == {}


@pytest.mark.promise(7)
def test_a_list_is_sent_once(shop: Shop, clock: FakeClock) -> None:
    made = shop.listed()
    assert send(shop, made) == Stored()
    clock.advance(1)
    later = (*made[:3], replace(made[3], created_at=clock.ms, rate=1.0))
    assert send(shop, later) is None
    assert send(shop, later, key(clock)) is None
    stored = shop.stores.records.job(made[3].id)
    assert stored is not None
    assert stored.rate == 5.0
    assert shop.stores.stats(ACCOUNT) == {"queued": 4, "skipped": 1}


@pytest.mark.promise(7)
@pytest.mark.parametrize("keyed", [True, False])
def test_a_send_whose_answer_was_lost_is_known_again(shop: Shop, clock: FakeClock, *, keyed: bool) -> None:
    made = shop.listed()
    shop.tap.arm(0, When.REPEATED, where=lambda name: name.endswith(("transact_write_items", "campaigns.send")))
    assert send(shop, made, key(clock) if keyed else None) == Stored()
    assert shop.tap.fired == 1
    assert shop.stores.stats(ACCOUNT) == {"queued": 4, "skipped": 1}


@pytest.mark.promise(7)
def test_a_repeated_send_gets_the_first_answer(shop: Shop, clock: FakeClock) -> None:
    made = shop.listed()
    assert send(shop, made, key(clock)) == Stored()
    assert send(shop, made, key(clock, answer="second")) == Replay("first")
    assert send(shop, made, key(clock, fingerprint="other")) == Mismatch()
    assert send(shop, made, key(clock, name="k2")) is None


# Templates


def test_a_template_keeps_its_versions(shop: Shop, clock: FakeClock) -> None:
    first = shop.template()
    assert shop.templates.create(first, None) == Stored()
    clock.advance(1)
    second = replace(first, version=2, name="Hello", message=Message("s", "b"), saved_at=clock.ms)
    assert shop.templates.put(first, second, None) == Stored()
    assert shop.templates.put(first, replace(second, name="lost", saved_at=clock.ms + 1), None) is None
    assert shop.templates.get(first.id) == second
    assert [shop.templates.get(first.id, v) for v in (1, 2, 3)] == [first, second, None]
    assert shop.templates.get("0" * 26) is None
    third = replace(second, version=3)
    assert shop.templates.put(second, third, None) == Stored()

    def bare(x: StoredTemplate) -> StoredTemplate:
        return replace(x, message=Message())

    assert shop.templates.versions(first.id, before=0, limit=2) == [bare(third), bare(second)]
    assert shop.templates.versions(first.id, before=2, limit=2) == [bare(first)]
    assert shop.templates.versions("0" * 26, before=0, limit=2) == []


def test_pages_of_templates_hold_the_latest_versions(shop: Shop, clock: FakeClock) -> None:
    made = []
    for i in range(4):
        clock.advance(1)
        made.append(shop.template(name=str(i)))
        assert shop.templates.create(made[-1], None) == Stored()
    assert shop.templates.create(shop.template(account="acc_000000000002"), None) == Stored()
    assert shop.templates.put(made[0], replace(made[0], version=2, name="new"), None) == Stored()
    first, after = shop.templates.page(ACCOUNT, after="", limit=3)
    assert [x.name for x in first] == ["3", "2", "1"]
    assert {x.message for x in first} == {Message()}
    second, after = shop.templates.page(ACCOUNT, after=after, limit=3)
    assert ([(x.name, x.version) for x in second], after) == ([("new", 2)], "")


@pytest.mark.promise(7)
def test_a_repeated_template_is_the_first_one(shop: Shop, clock: FakeClock) -> None:
    first = shop.template()
    assert shop.templates.create(first, key(clock)) == Stored()
    assert shop.templates.create(shop.template(), key(clock)) == Replay("first")
    assert shop.templates.create(shop.template(), key(clock, fingerprint="other")) == Mismatch()
    next_ = replace(first, version=2, name="next")
    assert shop.templates.put(first, next_, key(clock, name="k2", answer="v2")) == Stored()
    assert shop.templates.put(first, next_, key(clock, name="k2")) == Replay("v2")
    assert shop.templates.put(next_, replace(next_, version=3), key(clock, "other", name="k2")) == Mismatch()


@pytest.mark.parametrize("keyed", [True, False])
def test_a_version_whose_answer_was_lost_is_made_once(shop: Shop, clock: FakeClock, *, keyed: bool) -> None:
    first = shop.template()
    assert shop.templates.create(first, None) == Stored()
    shop.tap.arm(0, When.REPEATED, where=lambda name: name.endswith(("transact_write_items", "templates.put")))
    assert shop.templates.put(first, replace(first, version=2), key(clock) if keyed else None) == Stored()
    assert len(shop.templates.versions(first.id, before=0, limit=9)) == 2


def test_a_template_is_removed_with_its_versions_only_as_it_was_read(shop: Shop) -> None:
    first = shop.template()
    second = replace(first, version=2)
    assert shop.templates.create(first, None) == Stored()
    assert shop.templates.put(first, second, None) == Stored()
    assert not shop.templates.delete(first)
    assert shop.templates.delete(second)
    assert shop.templates.delete(second)
    assert [shop.templates.get(first.id, v) for v in (None, 1, 2)] == [None] * 3
    assert shop.templates.page(ACCOUNT, after="", limit=9) == ([], "")
    assert shop.templates.put(second, replace(second, version=3), None) is None
