"""Where ledgers are, and their updates: in items of their own, or in that of their small job (ADR 245).

A small job has one ledger, whose attributes are in the job's item. Each write of one of the two stays what it is: both
have their own versions. Only what would be two actions of a transaction is one update.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.jobs import transitions
from shared.domain.ids import is_small, is_unlisted
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.frozen import dataclass

_REMOVE: Final = " REMOVE "


@dataclass(frozen=True, slots=True)
class JobTables:
    """The names of the tables that hold jobs and ledgers."""

    records: str
    ops: str

    def ledger(self, job: str, chunk: int) -> tuple[str, keys.Key]:
        """Return the table and the key of the item that holds a ledger."""
        small = is_small(job) and chunk == 0
        return (self.records, keys.job(job)) if small else (self.ops, keys.ledger(job, chunk))


def replaced(tables: JobTables, old: Ledger, new: Ledger, more: Item | None = None) -> Item:
    """Return the update of a ledger, on the condition that its version is unchanged.

    A lease that leaves something waiting puts an unlisted job into the index `open`: its pointer is about to go.

    Args:
        more: further attributes of the item that are set with it.
    """
    table, key = tables.ledger(old.job, old.chunk)
    before, after = codec.ledger_fields(old), codec.ledger_fields(new)
    of = codec.of_ledger(old.job)
    changes = {of + k: v for k, v in after.items() if before.get(k) != v} | (more or {})
    update = codec.guarded(table, key, changes, [of + k for k in before if k not in after], of + "version", old.version)
    if is_unlisted(old.job) and old.status is LedgerStatus.BUSY and new.status is LedgerStatus.IDLE:
        [update] = (x["Update"] for x in together(update, {"Update": transitions.enlist(table, old.job)}))
    return update


def together(ledger: Item, job: Item) -> list[Item]:
    """Return the actions that write a ledger and its job: one for those in the same item.

    Args:
        ledger: an update of a ledger.
        job: `Update` or `ConditionCheck` → what that action takes.
    """
    [(kind, write)] = job.items()
    if (write["TableName"], write["Key"]) != (ledger["TableName"], ledger["Key"]):
        return [{"Update": ledger}, job]
    expression = _joined(ledger["UpdateExpression"], write["UpdateExpression"]) if kind == "Update" else ""
    return [
        {
            "Update": {
                **ledger,
                "UpdateExpression": expression or ledger["UpdateExpression"],
                "ConditionExpression": f"{ledger['ConditionExpression']} AND {write['ConditionExpression']}",
                **{x: {**ledger.get(x, {}), **write.get(x, {})} for x in _ATTRIBUTES if x in ledger or x in write},
            }
        }
    ]


_ATTRIBUTES: Final = ("ExpressionAttributeNames", "ExpressionAttributeValues")


def _joined(one: str, other: str) -> str:
    """Return one expression for two of the form `SET … REMOVE …`."""
    sets, _, removes = one.partition(_REMOVE)
    more_sets, _, more_removes = other.partition(_REMOVE)
    gone = ", ".join(filter(None, [removes, more_removes]))
    return f"{sets}, {more_sets.removeprefix('SET ')}" + (_REMOVE + gone if gone else "")


def leased(tables: JobTables, job: str, chunk: int, lane: str, owner: str, times: Mapping[str, int]) -> Item:
    """Return the update that leases a chunk, if it is idle, here and due. `times`: `now` and `until`, Unix ms."""
    table, key = tables.ledger(job, chunk)
    of = codec.of_ledger(job)
    names = ("status", "owner", "until", "seq", "epoch", "version", "lane", "not_before")
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": (
            "SET #status = :busy, #owner = :owner, #until = :until, #seq = :zero, "
            "#epoch = #epoch + :one, #version = #version + :one"
        ),
        "ConditionExpression": (
            "#status = :idle AND #lane = :lane AND (attribute_not_exists(#not_before) OR #not_before <= :now)"
        ),
        "ExpressionAttributeNames": {f"#{x}": of + x for x in names},
        "ExpressionAttributeValues": {
            ":busy": {"S": "BUSY"},
            ":idle": {"S": "IDLE"},
            ":owner": {"S": owner},
            ":until": codec.n(times["until"]),
            ":zero": codec.n(0),
            ":one": codec.n(1),
            ":lane": {"S": lane},
            ":now": codec.n(times["now"]),
        },
    }


def stored(item: Mapping[str, Any] | None) -> Ledger | None:
    """Read a ledger that a lost condition returned; None if there is none."""
    return codec.ledger(item) if item else None
