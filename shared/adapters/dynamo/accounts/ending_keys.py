"""Announcements of API keys that end soon: the API writes them, and their stream tells the owner's endpoints.

Apart from the keys themselves, so that the function that reads the stream loads nothing of them.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n
from shared.adapters.dynamo.fields import Fields
from shared.domain.access.ends import EndingKey

_FIELDS: Final = Fields(EndingKey)
KEPT_S: Final = 86_400
"""Seconds that it is kept after the key's end."""


def announcement(table: str, digest: str, ending: EndingKey) -> Item:
    """Return the action that announces a key's end, if this was not announced for so few days before.

    Args:
        digest: SHA-256 of the key's text, hex.
    """
    return {
        "Put": {
            "TableName": table,
            "Item": {
                **keys.ending_key(digest),
                **_FIELDS.item(ending),
                "ttl": n(ending.expires // 1000 + KEPT_S),
            },
            "ConditionExpression": "attribute_not_exists(pk) OR expires <> :expires OR #days > :days",
            "ExpressionAttributeNames": {"#days": "days"},
            "ExpressionAttributeValues": {":expires": n(ending.expires), ":days": n(ending.days)},
        }
    }


def announced(item: Mapping[str, Any]) -> EndingKey:
    """Read what was announced."""
    return EndingKey(**_FIELDS.read(item))
