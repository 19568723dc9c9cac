"""A notifier's waiting work: payloads in its inbox, and notices for their next run."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from shared.adapters.dynamo.client import BATCH_READ, Dynamo
from shared.adapters.dynamo.codec import s, text
from shared.adapters.dynamo.notices import keys
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.contracts import INDEX_OPEN

LOOKED_FOR_PAGE: Final = 2_000
"""Most entries of the index that a page reads: some 200 KB."""
LOOKED: Final = 100_000
"""Most entries of the index that a count reads: some ten pages. They are of all notifiers of the shard."""


class DynamoWaiting:
    """`ports.WaitingNotices` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._notices = DynamoNotices(dynamo, records=records)

    def any(self, notifier: str) -> bool:
        """Return whether a payload or a notice waits; walks the due notices of the notifier's shard."""
        inbox = self._db.get(self._table, keys.inbox(notifier))
        if inbox is not None and text(inbox, "open_pk"):
            return True
        return next(self._of(notifier, self._due(notifier)), None) is not None

    def count(self, notifier: str, most: int) -> int:
        """Return how many notices wait, at most `most`, among the first LOOKED that are due in the notifier's shard."""
        looked = islice(self._due(notifier), LOOKED)
        return sum(1 for _ in islice(self._of(notifier, looked), most))

    def page(self, notifier: str, *, after: str, limit: int) -> tuple[list[str], str]:
        looked = list(islice(self._due(notifier, after), LOOKED_FOR_PAGE))
        whose = set(self._of(notifier, looked))
        found = [x for x in looked if _uuid(x) in whose]
        some = found[:limit]
        if len(found) > limit:
            return [_uuid(x) for x in some], text(some[-1], "open_sk")
        return [_uuid(x) for x in some], text(looked[-1], "open_sk") if len(looked) == LOOKED_FOR_PAGE else ""

    def _due(self, notifier: str, after: str = "") -> Iterator[Mapping[str, Any]]:
        """Walk the entries of the notifier's shard in the index of what is due, oldest first.

        Args:
            after: a sort key of the index to begin after; empty: its beginning.
        """
        condition, values = "open_pk = :pk", {":pk": s(keys.due_slot(keys.shard_of(notifier)))}
        if after:
            condition, values = f"{condition} AND open_sk > :after", {**values, ":after": s(after)}
        yield from self._db.query(
            self._table,
            IndexName=INDEX_OPEN,
            KeyConditionExpression=condition,
            ProjectionExpression="open_sk, campaign",
            ExpressionAttributeValues=values,
        )

    def _of(self, notifier: str, entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yield the keys of the notifier's entries. Entries of an older version do not name their notifier."""
        walk = iter(entries)
        while some := list(islice(walk, BATCH_READ)):
            unnamed = [_uuid(x) for x in some if "campaign" not in x]
            yield from (_uuid(x) for x in some if text(x, "campaign") == notifier)
            if unnamed:
                yield from (x.uuid for x in self._notices.read(unnamed).values() if x.notifier == notifier)


def _uuid(entry: Mapping[str, Any]) -> str:
    uuid: str = entry["open_sk"]["S"].partition("#")[2]
    return uuid
