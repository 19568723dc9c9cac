"""Windows on DynamoDB as their owners list them."""

import heapq
from typing import Any, Final

from shared.adapters.dynamo import indices
from shared.adapters.dynamo.client import InRecords, Item, between
from shared.adapters.dynamo.digests import keys
from shared.adapters.dynamo.digests.window_codec import window
from shared.adapters.dynamo.listing import entries
from shared.domain.digests.window import DigestWindow

_READ: Final = (
    *("key", "account", "test", "state", "opened_at", "closes_at", "closed_at", "open_sk", "events", "size"),
    *("prefix", "policy", "urgent", "job", "groups", "duplicates", "failures", "fault", "processed_at", "version"),
)
"""All but the ids of parts."""
_NAMES: Final = {f"#{i}": name for i, name in enumerate(("pk", "sk", *_READ))}
_AFTER_ALL: Final = "~"
"""Sorts after the sort key of any window."""


class DynamoWindowPages(InRecords):
    """`ports.WindowPages` over the table `records`."""

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[DigestWindow], str]:
        pk = indices.mine_pk(namespace, keys.KIND)
        found, end = entries(self._db, self._table, pk, keys.window, _READ, after=after, limit=limit)
        return [x for x in map(window, found) if x.namespace == namespace], end

    def of_key(self, namespace: str, key: str, *, after: str, limit: int) -> tuple[list[DigestWindow], str]:
        """Return windows of a batch key, newest first, and the place to continue from, empty at the end.

        Numbered windows and those of urgent events are two ranges of one partition, merged by when they were opened.
        The place is the lowest sort key that was taken from each range.
        """
        pk = keys.windows_pk(namespace, key)
        seen = after.split(",") if after else ("", "")
        places = dict(zip((keys.WINDOW_PREFIX, keys.URGENT_PREFIX), seen, strict=True))
        ranges = [self._below(pk, prefix, place, limit + 1) for prefix, place in places.items()]
        merged = list(heapq.merge(*ranges, key=lambda x: window(x).opened_at, reverse=True))
        for item in merged[:limit]:
            name: str = item["sk"]["S"]
            places[name[: len(keys.WINDOW_PREFIX)]] = name
        return [window(x) for x in merged[:limit]], ",".join(places.values()) if len(merged) > limit else ""

    def _below(self, pk: str, prefix: str, place: str, limit: int) -> list[Item]:
        """Return items of windows whose sort key begins with a prefix, below a place."""
        answer: Any = self._db.call(
            "query",
            TableName=self._table,
            **between(pk, prefix, place or prefix + _AFTER_ALL),
            ProjectionExpression=", ".join(_NAMES),
            ExpressionAttributeNames=_NAMES,
            ScanIndexForward=False,
            Limit=limit + 1,
        )
        return [x for x in answer["Items"] if x["sk"]["S"] != place][:limit]
