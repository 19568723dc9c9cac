"""`ports.Approvals` on DynamoDB: what an account asks of its lists, and the campaigns that wait.

A campaign that waits has its request within itself, so that no write of the campaign leaves it behind.
"""

from typing import Final

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.campaigns.campaign_codec import campaign
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.versioned import Versioned, unchanged
from shared.contracts import INDEX_OPEN
from shared.domain.audit import Event
from shared.domain.campaigns.approval import ApprovalLimit, ApprovalPolicy
from shared.domain.campaigns.campaign import Campaign

MOST: Final = 1000
"""Campaigns that are listed at most."""
_POLICY: Final = Fields(ApprovalPolicy, apart=("account", "limit", "proposal"), always=("version",))


def policy_key(account: str) -> keys.Key:
    """Return the key of an account's policy."""
    return keys.key(keys.account_pk(account), "APPROVALS")


def policy_of(account: str, item: Item | None) -> ApprovalPolicy:
    """Read an account's policy. None: it has none, so that no list waits."""
    if item is None:
        return ApprovalPolicy(account)
    fields = _POLICY.read(item)
    return ApprovalPolicy(account, limit=_limit(item, "above"), proposal=_limit(item, "proposed_above"), **fields)


def policy_put(table: str, old: ApprovalPolicy, new: ApprovalPolicy) -> Item:
    """Return the put of a policy, on the condition that it is as read."""
    return {"TableName": table, "Item": _item(new), **unchanged(old if old.version else None)}


def _item(x: ApprovalPolicy) -> Item:
    item = {**policy_key(x.account), **_POLICY.item(x)}
    for name, limit in (("above", x.limit), ("proposed_above", x.proposal)):
        if limit.on:
            item[name] = n(limit.above)
    return item


def _limit(item: Item, name: str) -> ApprovalLimit:
    """Read a limit: without the attribute there is none."""
    return ApprovalLimit(name in item, number(item, name))


def _read(item: Item) -> ApprovalPolicy:
    return policy_of(item["pk"]["S"].removeprefix(keys.account_pk("")), item)


class DynamoApprovals:
    """`ports.Approvals` over the table `records`."""

    def __init__(self, dynamo: Dynamo, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._items = Versioned(dynamo, records, _item, _read)

    def policy(self, account: str) -> ApprovalPolicy:
        return self._items.get(policy_key(account)) or ApprovalPolicy(account)

    def change(self, old: ApprovalPolicy, new: ApprovalPolicy, *, event: Event) -> bool:
        return self._items.write(old if old.version else None, new, event=event)

    def waiting(self, namespace: str) -> list[Campaign]:
        """Return campaigns that wait: a query of the index, and a read of each that it names."""
        found = self._db.query(
            self._table,
            IndexName=INDEX_OPEN,
            KeyConditionExpression="open_pk = :pk",
            ExpressionAttributeValues={":pk": s(indices.approvals_slot(namespace))},
        )
        named = [keys.campaign(x["open_sk"]["S"].rpartition("#")[2]) for x, _ in zip(found, range(MOST), strict=False)]
        every = [x for x in map(campaign, self._db.batch_get(self._table, named)) if x.waiting]
        return sorted(every, key=lambda x: (x.waiting.at if x.waiting else 0, x.id))
