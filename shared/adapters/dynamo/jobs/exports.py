"""What is known of exports, on DynamoDB."""

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.domain.exports import Export, ExportState


class DynamoExports:
    """`ports.Exports` over the table `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def get(self, export: str) -> Export | None:
        """Return an export, consistent."""
        item = self._db.get(self._table, keys.export(export))
        return _export(item) if item else None

    def save(self, old: Export | None, new: Export) -> bool:
        """Write an export if it is as read; a write of our own whose answer was lost counts."""
        condition: Item = {"ConditionExpression": "attribute_not_exists(pk)"}
        if old is not None:
            values = {":version": n(old.version)}
            condition = {"ConditionExpression": "version = :version", "ExpressionAttributeValues": values}
        try:
            self._db.call(
                "put_item",
                TableName=self._table,
                Item=_item(new),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **condition,
            )
        except ConditionFailed as lost:
            return lost.item is not None and _export(lost.item) == new
        return True


def _item(x: Export) -> Item:
    """Return an export's item. None of its attributes is called `state`: only jobs have one (the stream's filter)."""
    out: Item = {
        **keys.export(x.id),
        "account": s(x.account),
        "run": s(x.run),
        "jobs": {"L": [s(job) for job in x.jobs]},
        "versions": {"L": [n(v) for v in x.versions]},
        "phase": s(x.state.value),
        "columns": {"L": [s(c) for c in x.columns]},
        **({"later": {"BOOL": True}} if x.later else {}),
        "parts": {"L": [s(etag) for etag in x.parts]},
        "upload": s(x.upload),
        "owner": s(x.owner),
        **({"file": s(x.file)} if x.file else {}),
        **({"starts": n(x.starts)} if x.starts else {}),
        **({"code": s(x.code)} if x.code else {}),
    }
    numbers = ("begun_at", "chunks", "ttl", "until", "job", "chunk", "done", "rows", "finished_at", "version")
    return out | {name: n(getattr(x, name)) for name in numbers}


def _export(item: Item) -> Export:
    return Export(
        id=item["pk"]["S"][2:],
        account=item["account"]["S"],
        run=item["run"]["S"],
        jobs=tuple(x["S"] for x in item["jobs"]["L"]),
        versions=tuple(int(x["N"]) for x in item["versions"]["L"]),
        state=ExportState(item["phase"]["S"]),
        columns=tuple(x["S"] for x in item["columns"]["L"]),
        later="later" in item,
        parts=tuple(x["S"] for x in item["parts"]["L"]),
        upload=item["upload"]["S"],
        owner=item["owner"]["S"],
        file=codec.text(item, "file"),
        starts=codec.number(item, "starts"),
        code=codec.text(item, "code"),
        begun_at=codec.number(item, "begun_at"),
        chunks=codec.number(item, "chunks"),
        ttl=codec.number(item, "ttl"),
        until=codec.number(item, "until"),
        job=codec.number(item, "job"),
        chunk=codec.number(item, "chunk"),
        done=codec.number(item, "done"),
        rows=codec.number(item, "rows"),
        finished_at=codec.number(item, "finished_at"),
        version=codec.number(item, "version"),
    )
