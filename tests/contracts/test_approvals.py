"""Requests for approval and policies: kept as they are, decided once, and counted once."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.campaigns.approvals import DynamoApprovals
from shared.domain.audit import Act, Event, audited
from shared.domain.campaigns.approval import ApprovalLimit, ApprovalPolicy, Decided, Decision, PendingApproval, Who
from shared.domain.campaigns.campaign import Campaign
from shared.ports import Approvals, Mismatch, Replay, Stored
from tests.contracts.conftest import ACCOUNT, key
from tests.contracts.test_campaigns import CONTENT, Shop
from tests.fakes.campaigns import FakeCampaigns
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

POLICY = ApprovalPolicy(ACCOUNT).limited(ApprovalLimit(True, 10))


@pytest.fixture
def shop(stores: Stores, clock: FakeClock) -> Shop:
    return Shop(stores, clock)


@pytest.fixture
def approvals(shop: Shop) -> Approvals:
    if isinstance(shop.campaigns, FakeCampaigns):
        return shop.campaigns
    assert isinstance(shop.stores, MotoStores)
    return DynamoApprovals(shop.stores.dynamo, shop.stores.tables.records)


def asked(shop: Shop, campaign: Campaign, **changes: Any) -> Campaign:
    """Return a campaign with a request."""
    found = PendingApproval("0" * 32, campaign.version + 1, "key", shop.clock.ms, rows=5, skipped=1)
    return replace(campaign.changed(shop.clock.ms), asked=replace(found, **changes))


def event(shop: Shop, campaign: Campaign) -> Event:
    return audited(ACCOUNT, shop.clock.ms, campaign.id, Act.APPROVAL_ASKED, "key")


def changed(shop: Shop, approvals: Approvals, old: ApprovalPolicy, new: ApprovalPolicy) -> bool:
    return approvals.change(old, new, event=audited(ACCOUNT, shop.clock.ms, ACCOUNT, Act.LIMIT_SET, "key"))


def test_a_request_is_kept_as_it_is_and_listed(shop: Shop, approvals: Approvals) -> None:
    campaign = shop.stored()
    waits = asked(shop, campaign, rate=0.5, not_before=shop.clock.ms + 1000, person="p")
    assert shop.campaigns.ask(campaign, waits, None, event=event(shop, campaign)) == Stored()
    assert shop.campaigns.get(campaign.id) == waits
    assert approvals.waiting(ACCOUNT) == [waits]
    assert approvals.waiting(f"{ACCOUNT}#TEST") == []
    (listed, *_), _ = shop.campaigns.page(ACCOUNT, test=False, after="", limit=9)
    assert listed.campaign.waiting == waits.waiting
    decided = Decided("0" * 32, Decision.REFUSED, "other", "key", "list", shop.clock.ms, "because")
    refused = waits.changed(shop.clock.ms, decided=decided)
    assert shop.campaigns.save(waits, refused)
    assert shop.campaigns.get(campaign.id) == refused
    assert approvals.waiting(ACCOUNT) == []


def test_requests_are_listed_oldest_first(shop: Shop, approvals: Approvals, clock: FakeClock) -> None:
    campaigns = [shop.stored() for _ in range(3)]
    for campaign in reversed(campaigns):
        clock.advance(1)
        shop.campaigns.ask(campaign, asked(shop, campaign), None, event=event(shop, campaign))
    assert [x.id for x in approvals.waiting(ACCOUNT)] == [x.id for x in reversed(campaigns)]


def test_a_request_of_another_version_counts_no_more(shop: Shop, approvals: Approvals) -> None:
    """A version of Posthaste before this one edits the campaign, and leaves the request."""
    campaign = shop.stored()
    waits = asked(shop, campaign)
    shop.campaigns.ask(campaign, waits, None, event=event(shop, campaign))
    assert shop.campaigns.save(waits, replace(waits, version=waits.version + 1, name="Other"))
    found = shop.campaigns.get(campaign.id)
    assert found is not None
    assert (found.asked, found.waiting) == (waits.asked, None)
    assert approvals.waiting(ACCOUNT) == []


def test_a_repeated_request_gets_the_first_answer(shop: Shop, clock: FakeClock) -> None:
    campaign = shop.stored()
    waits, record = asked(shop, campaign), key(clock, answer="first")
    assert shop.campaigns.ask(campaign, waits, record, event=event(shop, campaign)) == Stored()
    again = key(clock, answer="second")
    assert shop.campaigns.ask(campaign, waits, again, event=event(shop, campaign)) == Replay("first")
    other = replace(again, fingerprint="other")
    assert shop.campaigns.ask(campaign, waits, other, event=event(shop, campaign)) == Mismatch()


def test_a_request_about_what_has_moved_on_is_not_made(shop: Shop) -> None:
    campaign = shop.stored()
    assert shop.campaigns.save(campaign, campaign.changed(shop.clock.ms, name="Other"))
    made = shop.campaigns.ask(campaign, asked(shop, campaign), None, event=event(shop, campaign))
    assert made is None


def test_a_policy_is_kept_as_it_is(shop: Shop, approvals: Approvals) -> None:
    assert approvals.policy(ACCOUNT) == ApprovalPolicy(ACCOUNT)
    assert changed(shop, approvals, ApprovalPolicy(ACCOUNT), POLICY)
    proposed = POLICY.with_proposal(ApprovalLimit(), Who("key", "p"), shop.clock.ms).spent(3, shop.clock.ms)
    assert changed(shop, approvals, POLICY, proposed)
    assert approvals.policy(ACCOUNT) == proposed
    assert not changed(shop, approvals, POLICY, POLICY.limited(ApprovalLimit()))
    assert approvals.policy(ACCOUNT) == proposed


def test_a_policy_whose_answer_was_lost_is_known_again(shop: Shop, approvals: Approvals) -> None:
    shop.tap.arm(1, When.REPEATED)
    assert changed(shop, approvals, ApprovalPolicy(ACCOUNT), POLICY)


def test_a_list_and_its_policy_are_read_together(shop: Shop, approvals: Approvals) -> None:
    campaign, upload, _, _ = shop.listed()
    assert shop.campaigns.to_send(campaign) == (upload, ApprovalPolicy(ACCOUNT))
    assert changed(shop, approvals, ApprovalPolicy(ACCOUNT), POLICY)
    assert shop.campaigns.to_send(campaign) == (upload, POLICY)
    assert shop.campaigns.to_send(replace(campaign, ready="")) == (None, POLICY)
    assert shop.campaigns.to_send(replace(campaign, test=True))[1].limit == ApprovalLimit()
    assert shop.campaigns.to_send(replace(campaign, account=f"{ACCOUNT}-team"))[1].limit == ApprovalLimit()


def test_rows_are_counted_with_the_list_that_is_sent(shop: Shop, approvals: Approvals) -> None:
    assert changed(shop, approvals, ApprovalPolicy(ACCOUNT), POLICY)
    one, other = shop.listed(), shop.listed()
    spent = POLICY, POLICY.spent(5, shop.clock.ms)
    for made, wanted in ((one, Stored()), (other, None)):
        old, upload, new, job = made
        assert shop.campaigns.send(old, new, upload, job, CONTENT, None, spent=spent) == wanted
    assert approvals.policy(ACCOUNT).sent_at(shop.clock.ms) == 5
    assert shop.stores.records.job(one[3].id) is not None
    assert shop.stores.records.job(other[3].id) is None
