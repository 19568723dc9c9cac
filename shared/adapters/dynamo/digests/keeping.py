"""Windows on DynamoDB as the scheduled function walks, changes and removes them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from shared.adapters.dynamo.client import ConditionFailed, InRecords, between
from shared.adapters.dynamo.codec import binary, n, s
from shared.adapters.dynamo.digests import keys
from shared.adapters.dynamo.digests.window_codec import ENDED, window, window_update
from shared.contracts import INDEX_OPEN
from shared.domain.digests.window import DigestWindow, WindowState

_PAGE: Final = 100


class DynamoWindowRetention(InRecords):
    """`ports.WindowRetention` over the table `records`."""

    def due(self, shard: int, now: int) -> Iterable[str]:
        return self._walk(keys.due_slot(shard), now)

    def ending(self, shard: int, since: int, until: int) -> Iterable[tuple[str, int]]:
        found = self._db.query(
            self._table,
            IndexName=INDEX_OPEN,
            KeyConditionExpression="open_pk = :pk AND open_sk BETWEEN :since AND :until",
            ExpressionAttributeValues={
                ":pk": s(keys.due_slot(shard)),
                ":since": s(f"{since:015d}"),
                ":until": s(f"{until:015d}"),  # sorts before each entry of that moment
            },
        )
        for item in found:
            due, _, window_id = item["open_sk"]["S"].partition("#")
            yield window_id, int(due)

    def over(self, shard: int, now: int) -> Iterable[str]:
        return self._walk(keys.end_slot(shard), now)

    def _walk(self, slot: str, now: int) -> Iterable[str]:
        for item in self._db.due(self._table, slot, now):
            yield item["open_sk"]["S"].partition("#")[2]

    def numbered(self, window_: DigestWindow, first: int, last: int) -> Sequence[DigestWindow]:
        """Return the windows of the same key with numbers from `first` to `last`, in order, consistent."""
        if first > last:
            return []
        asked = between(keys.same_key_pk(window_.id), keys.numbered(max(first, 0)), keys.numbered(last))
        return [window(x) for x in self._db.query(self._table, **asked)]

    def change(self, old: DigestWindow, new: DigestWindow) -> bool:
        try:
            self._db.call("update_item", **window_update(self._table, old, new))
        except ConditionFailed as lost:
            return lost.item is not None and window(lost.item) == new  # ours, whose answer was lost
        return True

    def ids(self, window_ids: Collection[str]) -> Mapping[str, bytes]:
        places = {(key["pk"]["S"], key["sk"]["S"]): x for x in window_ids for key in [keys.ids(x)]}
        found = self._db.batch_get(self._table, [keys.ids(x) for x in places.values()])
        return {places[x["pk"]["S"], x["sk"]["S"]]: binary(x, "data") for x in found}

    def keep_ids(self, window_id: str, data: bytes, ttl: int) -> None:
        item = {**keys.ids(window_id), "data": {"B": data}, "ttl": n(ttl)}
        self._db.call("put_item", TableName=self._table, Item=item)

    def keep_parts(self, ids: Collection[str], ttl: int) -> None:
        for part in ids:
            self._db.attempt(
                "update_item",
                TableName=self._table,
                Key=keys.part(part),
                UpdateExpression="SET #ttl = :ttl",
                ConditionExpression="attribute_exists(pk) AND #ttl < :ttl",
                ExpressionAttributeNames={"#ttl": "ttl"},
                ExpressionAttributeValues={":ttl": n(ttl)},
            )  # unless it has gone, or is kept for as long already

    def remove(self, window_: DigestWindow) -> bool:
        """Remove a window with its ids if it is as read; False: it is not."""
        condition = "attribute_not_exists(pk) OR (#version = :version AND #state IN (:processed, :cancelled))"
        action = {
            "TableName": self._table,
            "Key": keys.window(window_.id),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {"#version": "version", "#state": "state"},
            "ExpressionAttributeValues": {
                ":version": n(window_.version),
                **{f":{state.value}": s(state.value) for state in (WindowState.PROCESSED, WindowState.CANCELLED)},
            },
        }
        ids = {"TableName": self._table, "Key": keys.ids(window_.id)}
        if window_.state not in ENDED:
            return False
        return self._db.together([{"Delete": action}, {"Delete": ids}])
