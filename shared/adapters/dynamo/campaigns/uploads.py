"""Uploaded lists on DynamoDB: uploads, their campaign's lock, and the chunks, ledgers and problems read from them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import ledger_item, n, s
from shared.adapters.dynamo.searching import search_pages
from shared.adapters.dynamo.versioned import Versioned
from shared.contracts import INDEX_MINE, INDEX_OPEN
from shared.domain.audit import Event
from shared.domain.campaigns.campaign import Campaign, Upload
from shared.domain.jobs.ledger import Ledger
from shared.domain.lists.uploads import BadRow, PackedChunk
from shared.domain.searching.marks import marks_to

SAME: Final = 20
"""The most uploads of the same file that a query reads."""
TRANSACTION: Final = 100
"""Ledgers in one transaction: DynamoDB's limit."""


class DynamoUploads:
    """`ports.Uploads` over the two tables."""

    def __init__(self, dynamo: Dynamo, *, records: str, ops: str) -> None:
        self._db = dynamo
        self._records = records
        self._ops = ops
        self._items = Versioned(dynamo, records, campaign_codec.upload_item, campaign_codec.upload)

    def add(self, upload: Upload) -> None:
        self._db.call("put_item", TableName=self._records, Item=campaign_codec.upload_item(upload))

    def get(self, campaign: str, upload: str) -> Upload | None:
        return self._items.get(keys.upload(campaign, upload))

    def of(self, campaign: str) -> list[Upload]:
        items = self._db.partition(self._records, keys.campaign_pk(campaign), keys.UPLOAD_PREFIX)
        return [campaign_codec.upload(x) for x in items]

    def same(self, namespace: str, sha256: str) -> list[Upload]:
        """Return the newest uploads of a file: a query of the index, and a read for each."""
        items = self._db.query(
            self._records,
            IndexName=INDEX_MINE,
            KeyConditionExpression="mine_pk = :pk AND begins_with(mine_sk, :sha)",
            ExpressionAttributeValues={":pk": s(campaign_codec.lists_pk(namespace)), ":sha": s(f"{sha256}#")},
            ScanIndexForward=False,
            Limit=SAME,
        )
        found = (self._db.get(self._records, {"pk": x["pk"], "sk": x["sk"]}) for x in islice(items, SAME))
        return [campaign_codec.upload(x) for x in found if x is not None]

    def save(self, old: Upload, new: Upload) -> bool:
        return self._items.apply("Update", campaign_codec.upload_update(self._records, old, new), new)

    def begin(
        self, old: Campaign, new: Campaign, upload: Upload, queued: Upload, *, event: Event | None = None
    ) -> bool:
        return self._both(upload, queued, old, new, event)

    def end(
        self, upload: Upload, ended: Upload, campaign: Campaign, freed: Campaign, *, event: Event | None = None
    ) -> bool:
        return self._both(upload, ended, campaign, freed, event)

    def _both(self, upload: Upload, new: Upload, campaign: Campaign, changed: Campaign, event: Event | None) -> bool:
        actions = [
            {"Update": campaign_codec.upload_update(self._records, upload, new)},
            {"Update": campaign_codec.campaign_update(self._records, campaign, changed)},
            *self._items.noted(event),
        ]
        if self._db.together(actions):
            return True
        return self.get(upload.campaign, upload.id) == new  # our own write, whose answer was lost

    def unread(self) -> Iterator[tuple[str, str]]:
        """Walk the uploads that are to be read, oldest first; eventually consistent, so a hint."""
        for item in self._db.query(
            self._records,
            IndexName=INDEX_OPEN,
            KeyConditionExpression="open_pk = :pk",
            ExpressionAttributeValues={":pk": s(indices.INGEST_SLOT)},
        ):
            _, campaign, upload = item["open_sk"]["S"].split("#")
            yield campaign, upload

    def store(self, upload: Upload, chunks: Sequence[PackedChunk], ledgers: Sequence[Ledger]) -> None:
        """Store chunks and their ledgers, in this order.

        Chunks are written in calls of 25 without a condition, ledgers in transactions of 100. A transaction costs two
        write units a ledger instead of one. But single writes would take a third of an ingest's processor time and most
        of its waiting.
        """
        found = (
            search_pages.chunk_item(upload.id, x.number, marks_to(upload.namespace, x.keys), upload.ttl)
            for x in chunks
            if x.keys
        )
        self._db.batch_put([(self._records, item) for item in (*(_chunk_item(upload, x) for x in chunks), *found)])
        for start in range(0, len(ledgers), TRANSACTION):
            self._put_new([ledger_item(x) for x in ledgers[start : start + TRANSACTION]], upload.version)

    def _put_new(self, items: list[Item], version: int) -> None:
        """Put ledgers in one transaction, except those that this lease or a later one has written already."""
        while items:
            puts = [{"Put": _fenced(self._ops, item, "ingest", version)} for item in items]
            try:
                self._db.call("transact_write_items", TransactItems=puts)
            except Cancelled as lost:
                if "ConditionalCheckFailed" not in lost.codes:
                    raise
                items = [x for x, code in zip(items, lost.codes, strict=True) if code != "ConditionalCheckFailed"]
            else:
                return

    def note(self, upload: Upload, number: int, problems: Sequence[BadRow]) -> None:
        item = campaign_codec.problems_item(upload, number, problems)
        put = _fenced(self._records, item, "version", upload.version)
        self._db.attempt("put_item", **put)  # unless it is there, by this lease or a later one

    def problems(self, upload: Upload, *, after: int, limit: int) -> tuple[list[BadRow], int]:
        """Return problems by row; there are at most some thousands of an upload, so all are read."""
        items = self._db.partition(self._records, keys.campaign_pk(upload.campaign), keys.problems_prefix(upload.id))
        found = [p for item in islice(items, upload.problems) for p in campaign_codec.problems(item)]
        more = len(found) > after + limit
        return found[after : after + limit], after + limit if more else 0


def _chunk_item(upload: Upload, x: PackedChunk) -> Item:
    item: Item = {**keys.chunk(upload.id, x.number), "recipients": {"B": x.data}, "ttl": n(upload.ttl)}
    return item | ({"zone": s(x.zone)} if x.zone else {}) | ({"rows": {"B": x.rows}} if x.rows else {})


def _fenced(table: str, item: Item, name: str, fence: int) -> Item:
    """Return the put of an item unless there is one whose attribute `name` is not below the fence."""
    return {
        "TableName": table,
        "Item": {**item, name: n(fence)},
        "ConditionExpression": "attribute_not_exists(pk) OR #fence < :fence",
        "ExpressionAttributeNames": {"#fence": name},
        "ExpressionAttributeValues": {":fence": n(fence)},
    }
