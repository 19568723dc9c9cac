"""The items of `records` that an erasure reads, and the blanking of problems of uploaded lists and of deliveries."""

import base64
import json
import re
from collections.abc import Collection
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import s
from shared.adapters.dynamo.digests.keys import PART
from shared.adapters.dynamo.hooks import keys as hook_keys
from shared.adapters.dynamo.hooks.queue import delivery_of, packed_body
from shared.adapters.dynamo.notices.keys import PAYLOAD_PREFIX
from shared.domain.erasure import mentions
from shared.domain.hooks.erasing import forgotten
from shared.domain.jobs.outcomes import ERASED

DELIVERIES: Final = (hook_keys.pending_pk(""), hook_keys.ended_pk(""))
"""The beginnings of the partition keys of deliveries of webhooks."""
SCAN: Final[dict[str, Any]] = {
    "FilterExpression": "begins_with(sk, :chunk) OR sk IN (:content, :part) OR begins_with(sk, :payload) "
    "OR attribute_exists(shown) OR begins_with(pk, :waits) OR begins_with(pk, :ended)",
    "ProjectionExpression": "pk, sk, recipients, account, shown, #data, #blob, #body, #id, created_at, due",
    "ExpressionAttributeNames": {"#data": "data", "#blob": "blob", "#body": "body", "#id": "id"},
    "ExpressionAttributeValues": {
        ":chunk": s(keys.CHUNK_PREFIX),
        ":content": s("CONTENT"),
        ":part": s(PART),
        ":payload": s(PAYLOAD_PREFIX),
        ":waits": s(DELIVERIES[0]),
        ":ended": s(DELIVERIES[1]),
    },
}
DIGITS: Final = 8
"""Digits at the end of a number by which it is found, however its beginning was written."""


def token_of(key: Item) -> str:
    """Return a text for a place in the table."""
    return base64.urlsafe_b64encode(json.dumps([key["pk"]["S"], key["sk"]["S"]]).encode()).decode().rstrip("=")


def place_of(token: str) -> keys.Key:
    """Read what `token_of` wrote; ValueError on anything else."""
    pk, sk = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    return keys.key(str(pk), str(sk))


def unshown(item: Item, names: Collection[str]) -> tuple[Item, int]:
    """Return the attribute of a step's refused values without those that name a person, and how many did.

    Args:
        item: the item of a step's problems.
    """
    rows = campaign_codec.shown(item)
    found = {i for i, (_, value) in enumerate(rows) if value != ERASED and _names(value, names)}
    left = [(row, ERASED if i in found else value) for i, (row, value) in enumerate(rows)]
    return campaign_codec.shown_item(left), len(found)


def _names(value: str, names: Collection[str]) -> bool:
    digits = re.sub(r"\D", "", value)
    numbers = [name[-DIGITS:] for name in names if name.startswith("+")]
    return mentions(value, names) or any(number in digits for number in numbers)


def is_delivery(item: Item) -> bool:
    """Tell whether an item is a delivery of a webhook."""
    place: str = item["pk"]["S"]
    return place.startswith(DELIVERIES)


def unposted(item: Item, names: Collection[str]) -> tuple[Item, int]:
    """Return the attribute of a delivery without a person, and in how many places they were."""
    left, found = forgotten(delivery_of(item), names)
    return {"body": packed_body(left)}, found
