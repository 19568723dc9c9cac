"""The moments of a namespace's latest suppression and unsubscription, by which senders tell whether there is news."""

from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.domain.recipients.suppressions import Reach

_NAMES: Final = {Reach.ALL: "at", Reach.CAMPAIGNS: "unsubscribed"}


def suppressing(db: Dynamo, table: str, namespace: str, now: int, reach: Reach = Reach.ALL) -> None:
    """Note that an address is about to be suppressed, or to unsubscribe, at `now` (Unix ms).

    It comes before the suppression itself, so that no crash leaves one that nobody looks for, and not within its
    transaction, since many suppressions of one namespace at once would stand in each other's way.
    """
    try:
        db.call(
            "update_item",
            TableName=table,
            Key=keys.latest_suppression(namespace),
            UpdateExpression="SET #at = :now",
            ConditionExpression="attribute_not_exists(#at) OR #at < :now",
            ExpressionAttributeNames={"#at": _NAMES[reach]},
            ExpressionAttributeValues={":now": n(now)},
        )
    except ConditionFailed:
        return  # a later one is noted


def latest(item: Item) -> dict[Reach, int]:
    """Read the item: the moments in Unix milliseconds, 0 for never."""
    return {reach: number(item, name) for reach, name in _NAMES.items()}
