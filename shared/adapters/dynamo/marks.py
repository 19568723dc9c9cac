"""The moment of an account's latest suppression, by which senders tell whether there is anything new to read."""

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo
from shared.adapters.dynamo.codec import n


def suppressing(db: Dynamo, table: str, account: str, now: int) -> None:
    """Note that an address is about to be suppressed at `now` (Unix ms).

    It comes before the suppression itself, so that no crash leaves one that nobody looks for, and not within its
    transaction, since many suppressions of one account at once would stand in each other's way.
    """
    try:
        db.call(
            "update_item",
            TableName=table,
            Key=keys.latest_suppression(account),
            UpdateExpression="SET #at = :now",
            ConditionExpression="attribute_not_exists(#at) OR #at < :now",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={":now": n(now)},
        )
    except ConditionFailed:
        return  # a later one is noted
