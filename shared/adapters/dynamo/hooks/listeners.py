"""Which namespaces have endpoints, on DynamoDB: one small item for many namespaces."""

from typing import Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo
from shared.domain.hooks.endpoint import UNHEARD_S
from shared.ports import Clock

KEPT: Final = UNHEARD_S
"""Seconds for which a process remembers which namespaces have endpoints."""


class DynamoListeners:
    """`ports.Listeners` over the table `records`: eventually consistent, remembered for some seconds.

    Args:
        clock: measures how long answers have been remembered.
    """

    def __init__(self, dynamo: Dynamo, *, records: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = records
        self._clock = clock
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    def has(self, namespace: str) -> bool:
        place = keys.listeners(namespace)
        name, now = place["pk"]["S"], self._clock.now()
        known = self._known.get(name)
        if known is None or known[0] + KEPT <= now:
            item = self._db.get(self._table, place, consistent=False)
            known = self._known[name] = (now, codec.listed(item))
        return namespace in known[1]
