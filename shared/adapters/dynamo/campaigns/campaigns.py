"""Campaigns on DynamoDB, and the transaction that turns a list into a job."""

from collections.abc import Sequence
from typing import Final

from shared.adapters.dynamo import codec, idempotent_writes, keys
from shared.adapters.dynamo.campaigns import approvals, campaign_codec
from shared.adapters.dynamo.campaigns.campaign_codec import (
    campaign_item,
    campaign_update,
    listed,
    mine_pk,
    upload_update,
)
from shared.adapters.dynamo.client import FAILED, Cancelled, Dynamo, Item
from shared.adapters.dynamo.jobs import contents, folding
from shared.adapters.dynamo.listing import entries
from shared.adapters.dynamo.searching import search_pages
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.audit import Event
from shared.domain.campaigns.approval import ApprovalPolicy
from shared.domain.campaigns.campaign import Campaign, Upload, UploadState
from shared.domain.content.content import Content
from shared.domain.ids import new_id
from shared.domain.jobs.job import Job
from shared.domain.namespaces import is_team
from shared.ports import Idempotency, Listed, Mismatch, Replay, Stored

_LISTED: Final = (
    *("account", "test", "name", "channel", "credential", "created_at", "updated_at", "unsubscribe", "version"),
    *("template", "template_version", "uploading", "ready", "columns", "jobs", "guard_off", "unfit", "asked"),
)
"""Attributes that a list of campaigns needs: all but the message."""


class DynamoCampaigns:
    """`ports.Campaigns` over the table `records` and the bucket."""

    def __init__(self, dynamo: Dynamo, *, records: str, blobs: contents.Blobs) -> None:
        self._db = dynamo
        self._table = records
        self._blobs = blobs
        self._items = Versioned(dynamo, records, campaign_item, campaign_codec.campaign)

    def create(
        self, campaign: Campaign, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        now = campaign.created_at
        made = idempotent_writes.earlier(self._db, self._table, key, now)
        if made is not None:
            return made
        actions = [{"Put": self._items.put(None, campaign)}, *self._items.noted(event)]
        return idempotent_writes.create(self._db, self._table, actions, key, owner=campaign.id, now=now)

    def get(self, campaign: str) -> Campaign | None:
        return self._items.get(keys.campaign(campaign))

    def sent(self, campaign: str) -> Sequence[str]:
        found = self.get(campaign)
        return found.jobs if found is not None else ()

    def save(self, old: Campaign, new: Campaign, *, event: Event | None = None) -> bool:
        return self._items.apply("Update", campaign_update(self._table, old, new), new, self._items.noted(event))

    def delete(self, campaign: Campaign, *, event: Event | None = None) -> bool:
        """Remove a campaign if it is as read; the items read from its lists expire with their TTL."""
        return self._items.delete(keys.campaign(campaign.id), campaign, event=event)

    def page(self, account: str, *, test: bool, after: str, limit: int) -> tuple[list[Listed], str]:
        pk = mine_pk(account, test=test)
        found, end = entries(self._db, self._table, pk, keys.campaign, _LISTED, after=after, limit=limit)
        return [x for x in map(listed, found) if x.campaign.account == account], end

    def to_send(self, campaign: Campaign) -> tuple[Upload | None, ApprovalPolicy]:
        """Return the list and the policy by one call."""
        free = campaign.test or is_team(campaign.account)
        wanted = [] if free else [approvals.policy_key(campaign.account)]
        wanted += [keys.upload(campaign.id, campaign.ready)] if campaign.ready else []
        found = {x["pk"]["S"]: x for x in self._db.batch_get(self._table, wanted)}
        listed_as = found.get(keys.campaign(campaign.id)["pk"]["S"])
        policy = approvals.policy_of(campaign.account, found.get(keys.account_pk(campaign.account)))
        return campaign_codec.upload(listed_as) if listed_as else None, policy

    def ask(
        self, old: Campaign, new: Campaign, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        now = new.updated_at
        made = idempotent_writes.earlier(self._db, self._table, key, now)
        if made is not None:
            return made
        actions: list[Item] = [{"Update": campaign_update(self._table, old, new)}, *self._items.noted(event)]
        try:
            return idempotent_writes.store(self._db, self._table, actions, key, owner=new_id(now), now=now)
        except Cancelled as lost:
            if FAILED not in lost.codes:
                raise
            item = lost.items[0]
            return Stored() if key is None and item and campaign_codec.campaign(item) == new else None

    def send(
        self,
        old: Campaign,
        new: Campaign,
        upload: Upload,
        job: Job,
        content: Content,
        key: Idempotency | None,
        *,
        event: Event | None = None,
        beside: Event | None = None,
        spent: tuple[ApprovalPolicy, ApprovalPolicy] | None = None,
    ) -> Stored | Replay | Mismatch | None:
        """Turn a list into a job. The content is stored first; content without a job expires with its TTL."""
        made = idempotent_writes.earlier(self._db, self._table, key, job.created_at)
        if made is not None:
            return made
        parts = [*contents.items(job, (), content, self._blobs), *search_pages.list_items(job)]
        self._db.batch_put([(self._table, x) for x in parts])
        put = folding.put_job(self._table, codec.job_item(job))
        put["Put"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        actions: list[Item] = [
            {"Update": campaign_update(self._table, old, new)},
            {"Update": upload_update(self._table, upload, upload.changed(state=UploadState.SENT))},
            put,
            *folding.first_stats(self._table, job),
            *self._items.noted(event),
            *self._items.noted(beside),
            *([{"Put": approvals.policy_put(self._table, *spent)}] if spent else []),
        ]
        try:
            # The job's id is the list's, so it does not tell two calls for the same list apart.
            owner = new_id(job.created_at)
            return idempotent_writes.store(self._db, self._table, actions, key, owner=owner, now=job.created_at)
        except Cancelled as lost:
            if FAILED not in lost.codes:
                raise
            return Stored() if key is None and _is(lost.items[2], job) else None


def _is(item: Item | None, job: Job) -> bool:
    """Tell whether a stored job is the one that was to be written: then its write's answer was lost."""
    if item is None:
        return False
    stored = codec.job(item)
    return all(getattr(stored, name) == getattr(job, name) for name in ("created_at", "not_before", "rate", "name"))
