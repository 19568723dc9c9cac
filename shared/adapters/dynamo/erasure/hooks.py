"""A person's data in deliveries of webhooks."""

from collections.abc import Collection

from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.hooks import keys
from shared.adapters.dynamo.hooks.queue import delivery_of, packed_body
from shared.domain.hooks.erasing import forgotten

PREFIXES = (keys.pending_pk(""), keys.ended_pk(""))
"""The beginnings of the partition keys of deliveries."""


def is_delivery(item: Item) -> bool:
    """Tell whether an item is a delivery of a webhook."""
    place: str = item["pk"]["S"]
    return place.startswith(PREFIXES)


def unposted(item: Item, names: Collection[str]) -> tuple[Item, int]:
    """Return the attribute of a delivery without a person, and in how many places they were."""
    left, found = forgotten(delivery_of(item), names)
    return {"body": packed_body(left)}, found
