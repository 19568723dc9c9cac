"""The moments of a namespace's latest suppression and unsubscription, by which senders tell whether there is news."""

from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.domain.recipients.suppressions import AnyReach, Reach
from shared.domain.times import Millis

_NAMES: Final = {
    Reach.ALL: "at",
    Reach.CAMPAIGNS: "unsubscribed",
    Reach.SMS: "stopped_sms",
    Reach.VOICE: "stopped_voice",
    Reach.WHATSAPP: "stopped_whatsapp",
    Reach.DIGESTS: "unsubscribed_digests",
}


def suppressing(db: Dynamo, table: str, namespace: str, now: Millis, reach: AnyReach = Reach.ALL) -> None:
    """Record that an address is about to be suppressed, or to unsubscribe.

    This write precedes the suppression, so that no crash leaves a suppression that readers miss. It is not in the same
    transaction, because many suppressions of one namespace at once would conflict.
    """
    db.attempt(
        "update_item",
        TableName=table,
        Key=keys.latest_suppression(namespace),
        UpdateExpression="SET #at = :now",
        ConditionExpression="attribute_not_exists(#at) OR #at < :now",
        ExpressionAttributeNames={"#at": _NAMES[reach.kind]},
        ExpressionAttributeValues={":now": n(now)},
    )  # unless a later one is noted


def latest(item: Item) -> dict[Reach, int]:
    """Read the item: the moments in Unix milliseconds, 0 for never."""
    return {reach: number(item, name) for reach, name in _NAMES.items()}
