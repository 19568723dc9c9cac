"""A person is erased from deliveries: events about them are left out, and answers that name them."""

import json
from collections.abc import Collection
from dataclasses import replace

from shared.domain.erasure import mentions
from shared.domain.hooks.bodies import packed
from shared.domain.hooks.delivery import HookDelivery


def forgotten(delivery: HookDelivery, names: Collection[str]) -> tuple[HookDelivery, int]:
    """Return a delivery without a person, and in how many places they were.

    Changes of messages name their recipients by their chunks, which are erased themselves. A delivery without any event
    left fails when it is due.
    """
    data, found = _data(delivery, names)
    attempts = tuple(replace(x, answer="") if mentions(x.answer, names) else x for x in delivery.attempts)
    found += sum(1 for old, new in zip(delivery.attempts, attempts, strict=True) if old is not new)
    return replace(delivery, data=data, attempts=attempts), found


def _data(delivery: HookDelivery, names: Collection[str]) -> tuple[str, int]:
    if not delivery.data or not mentions(delivery.data, names):
        return delivery.data, 0
    if not delivery.batch:
        return "", 1
    events = json.loads(delivery.data)
    left = [x for x in events if not mentions(packed(x).decode(), names)]
    return packed(left).decode() if left else "", len(events) - len(left)
