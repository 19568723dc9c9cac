"""An entry of the audit log and what it tells of are one: neither is there without the other, however often tried."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from shared.adapters.dynamo.audit import DynamoAcceptances, puts
from shared.adapters.dynamo.client import Cancelled
from shared.domain.audit import EVERYONE, Act, Event, Log, audited, masked, operator
from shared.domain.campaigns.campaign import UploadState
from shared.domain.ids import new_id
from shared.domain.jobs.job import Job
from shared.ports import Stored
from tests.contracts.conftest import ACCOUNT, CONTENT, Parts
from tests.contracts.test_campaigns import Shop
from tests.contracts.test_retry import ASKED, logged
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

ACTOR = "0123456789abcdef"


def told(stores: Stores, account: str = ACCOUNT) -> list[Event]:
    assert list(stores.journal.since(account, Log.EVENTS, 0)) == [], "what people do is no news for their own webhooks"
    return list(stores.journal.since(account, Log.AUDIT, 0))


def entry(job: Job, act: Act, at: int) -> Event:
    return audited(ACCOUNT, at, job.id, act, ACTOR, {"include": "failed"})


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_retry_and_its_event_are_stored_together(stores: Stores, clock: FakeClock, when: When | None) -> None:
    job = logged(stores, clock)
    if when is not None:
        stores.tap.arm(0, when)
    asked = stores.records.set_retry(job, ASKED, event=entry(job, Act.JOB_RETRIED, clock.ms))
    assert asked.won
    assert asked.job == stores.records.job(job.id)
    late = stores.records.set_retry(job, replace(ASKED, asked_at=6), event=entry(job, Act.JOB_RETRIED, clock.ms + 1))
    assert not late.won
    assert asked.job is not None
    assert stores.records.set_retry(asked.job, None, event=entry(job, Act.JOB_STOPPED, clock.ms + 2)).won
    assert told(stores) == [entry(job, Act.JOB_RETRIED, clock.ms), entry(job, Act.JOB_STOPPED, clock.ms + 2)]


@pytest.mark.promise(7)
def test_no_entry_replaces_another(stores: Stores, clock: FakeClock) -> None:
    """Two of one millisecond, thing and kind, by others or about something else; a repeat of one is the same entry."""
    first = audited(ACCOUNT, clock.ms, "thing", Act.CAMPAIGN_CHANGED, ACTOR, {"fields": "name"})
    others = [replace(first, actor="another"), replace(first, data={"fields": "credential"})]
    for event in (first, *others, first, *others):
        stores.journal.write(event)
    assert sorted(told(stores), key=repr) == sorted([first, *others], key=repr)


@pytest.mark.promise(7)
def test_what_is_in_the_place_of_an_entry_is_not_written_over(stores: Stores, clock: FakeClock) -> None:
    """The write of an entry has a condition, whatever its key is made of."""
    if not isinstance(stores, MotoStores):
        return
    event = audited(ACCOUNT, clock.ms, "thing", Act.CAMPAIGN_CHANGED, ACTOR)
    (action,) = puts(stores.dynamo, stores.tables.records, event)
    item = {**action["Put"]["Item"], "actor": {"S": "somebody else"}}
    stores.client.put_item(TableName=action["Put"]["TableName"], Item=item)
    with pytest.raises(Cancelled):
        stores.journal.write(event)
    assert [x.actor for x in told(stores)] == ["somebody else"]


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_campaigns_changes_are_stored_with_their_events(stores: Stores, clock: FakeClock, when: When | None) -> None:
    shop = Shop(stores, clock)
    campaign, upload, after, job = shop.listed()
    if when is not None:
        stores.tap.arm(0, when, where=lambda name: name.endswith(("transact_write_items", "campaigns.send")))
    event = audited(ACCOUNT, clock.ms, job.id, Act.JOB_CREATED, ACTOR)
    made = [shop.campaigns.send(campaign, after, upload, job, CONTENT, None, event=event) for _ in range(2)]
    assert (made[0], stores.tap.fired) == (Stored(), int(when is not None))
    assert told(stores) == [event]
    for n, wanted in ((1, True), (2, False)):
        override = audited(ACCOUNT, clock.ms + n, campaign.id, Act.GUARD_OVERRIDDEN, ACTOR)
        overridden = after.changed(clock.ms + n, guard_off=True)
        assert shop.campaigns.save(after, overridden, event=override) == wanted
    assert [x.kind for x in told(stores)] == ["job.created", "campaign.guard_overridden"]


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_draft_is_made_and_removed_with_its_events(stores: Stores, clock: FakeClock, when: When | None) -> None:
    shop = Shop(stores, clock)
    campaign = shop.campaign()
    made, gone, lost = (
        audited(ACCOUNT, clock.ms + n, campaign.id, act, ACTOR)
        for n, act in enumerate((Act.CAMPAIGN_CREATED, Act.CAMPAIGN_DELETED, Act.CAMPAIGN_DELETED))
    )
    calls: tuple[Callable[[], bool], ...] = (
        lambda: shop.campaigns.create(campaign, None, event=made) == Stored(),
        lambda: not shop.campaigns.delete(campaign.changed(1), event=lost),
        lambda: shop.campaigns.delete(campaign, event=gone),
        lambda: shop.campaigns.delete(campaign, event=lost),
    )
    for call in calls:
        if when is not None:
            stores.tap.arm(0, when)
        assert call()
    assert told(stores) == [made, gone], "of a call that removes nothing there is no entry"


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_list_comes_and_goes_with_its_events(stores: Stores, clock: FakeClock, when: When | None) -> None:
    shop = Shop(stores, clock)
    campaign, read, _, _ = shop.listed()
    waiting = replace(read, id=new_id(clock.ms), state=UploadState.WAITING)
    shop.uploads.add(waiting)
    queued = waiting.changed(state=UploadState.QUEUED)
    closed = campaign.changed(1, uploading=waiting.id)
    ended, freed = queued.changed(state=UploadState.FAILED), closed.changed(2, uploading="")
    added, withdrawn, lost = (
        audited(ACCOUNT, clock.ms + n, campaign.id, act, ACTOR, {"list": waiting.id})
        for n, act in enumerate((Act.LIST_ADDED, Act.LIST_WITHDRAWN, Act.LIST_WITHDRAWN))
    )
    calls: tuple[Callable[[], bool], ...] = (
        lambda: shop.uploads.begin(campaign, closed, waiting, queued, event=added),
        lambda: shop.uploads.end(queued, ended, closed, freed, event=withdrawn),
        lambda: not shop.uploads.end(queued, ended.changed(code="x"), closed, freed, event=lost),
    )
    for call in calls:
        if when is not None:
            stores.tap.arm(0, when)
        assert call()
    assert told(stores) == [added, withdrawn]


@pytest.mark.promise(7)
def test_a_job_is_accepted_with_its_event(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    event = audited(ACCOUNT, clock.ms, "campaign", Act.CAMPAIGN_TESTED, ACTOR, {"job": parts.job.id})
    stores.tap.arm(0, When.REPEATED, where=lambda name: name.endswith(("transact_write_items", "records.accept")))
    made = stores.records.accept(parts.job, parts.chunks, parts.ledgers, CONTENT, None, event=event)
    assert (made, stores.tap.fired) == (Stored(), 1)
    assert told(stores) == [event]


def test_pages_go_from_the_newest_entry_on(stores: Stores, clock: FakeClock) -> None:
    acts = (Act.JOB_STOPPED, Act.JOB_RESUMED)
    actors = (ACTOR, ACTOR, "user:ann")
    events = [audited(EVERYONE, clock.ms + i // 2, "x", acts[i % 2], actors[i % 3], {"n": i}) for i in range(9)]
    for event in events:
        stores.journal.write(event)
    stores.journal.write(audited(ACCOUNT, clock.ms, "x", Act.JOB_STOPPED, ACTOR))
    for kind, actor in product(("", Act.JOB_STOPPED, Act.JOB_RETRIED), ("", "user:ann", "user:ben")):
        found: list[Event] = []
        after = ""
        for _ in range(10):
            page, after = stores.journal.page(EVERYONE, kind=kind, actor=actor, after=after, limit=2)
            found += page
            if not after:
                break
        fitting = [x for x in events if kind in ("", x.kind) and actor in ("", x.actor)]
        wanted = sorted(fitting, key=lambda x: (x.at, x.kind), reverse=True)
        assert found == wanted
        assert after == ""


@pytest.mark.parametrize("where", ["id", "actor", "data"])
def test_an_event_with_an_address_cannot_be_made(where: str) -> None:
    fields = {"id": "x", "actor": ACTOR, "data": {}} | {where: {"n": "ann@x.org"} if where == "data" else "ann@x.org"}
    with pytest.raises(ValueError, match="no address"):
        Event(account=ACCOUNT, at=1, kind="job.stopped", **fields)  # type: ignore[arg-type]  # one of several types
    with pytest.raises(ValueError, match="no kind"):
        Event(ACCOUNT, 1, "x", "Stopped it", ACTOR, {})


def test_an_operator_is_named_as_aws_knows_them_but_for_addresses() -> None:
    plain = operator("arn:aws:iam::123456789012:user/team/deploy")
    assert plain == "operator:123456789012:user/team/deploy"
    session = operator("arn:aws:sts::123456789012:assumed-role/Admin/Ann@Example.com")
    assert session == f"operator:123456789012:assumed-role/Admin/{masked('ann@example.com')}"
    assert masked("ann@example.com") != masked("ben@example.com")
    assert masked("example.com") == "example.com"
    assert len(masked("x" * 200)) == 23


@pytest.mark.promise(7)
def test_a_templates_changes_are_stored_with_their_events(stores: Stores, clock: FakeClock) -> None:
    shop = Shop(stores, clock)
    first = shop.template(test=True)
    second = replace(first, version=2)
    acts = (Act.TEMPLATE_CREATED, Act.TEMPLATE_CHANGED, Act.TEMPLATE_DELETED)
    events = [audited(first.namespace, clock.ms + i, first.id, act, ACTOR) for i, act in enumerate(acts)]
    lost = audited(first.namespace, clock.ms + 9, first.id, Act.TEMPLATE_CHANGED, ACTOR)
    assert shop.templates.create(first, None, event=events[0]) == Stored()
    assert shop.templates.put(first, second, None, event=events[1]) == Stored()
    assert shop.templates.put(first, replace(second, name="other"), None, event=lost) is None
    assert not shop.templates.delete(first, event=lost)
    for event in (events[2], lost):
        assert shop.templates.delete(second, event=event)
    assert told(stores) == []
    assert told(stores, first.namespace) == events


@pytest.mark.promise(7)
def test_of_two_functions_one_writes_the_entry(stores: Stores, clock: FakeClock) -> None:
    """The second, which remembers nothing, finds it, and leaves the moment that the first noted."""
    second = stores.acceptances
    if isinstance(stores, MotoStores):
        second = DynamoAcceptances(stores.dynamo, stores.tables.records, clock)
    for function in (stores.acceptances, second):
        function.note(ACCOUNT, Act.BATCHES_ACCEPTED, ACTOR, ACTOR)
        clock.advance(60)
    (entry,) = stores.journal.since(ACCOUNT, Log.AUDIT, 0)
    assert entry.data == {"first": "2026-09-21T14:13:20.000Z"}
