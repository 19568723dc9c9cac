"""Both directions of a window's item.

Every event rewrites the item, so what is empty is left out, ids of parts are binary, and an item of 200 parts takes at
most three write units.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import indices
from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, s, text, update
from shared.adapters.dynamo.digests import keys
from shared.adapters.dynamo.fields import Fields
from shared.domain.digests.window import DigestWindow, WindowState, shard_of

ENDED: Final = frozenset({WindowState.PROCESSED, WindowState.CANCELLED})
_FIELDS: Final = Fields(
    DigestWindow,
    apart=("id", "number", "due_at", "parts"),
    always=("key", "prefix", "events", "size", "policy_version"),
    names={"policy_version": "policy"},
)


def part_value(part: str) -> Item:
    """Return the id of a part as the window's item has it."""
    return {"B": urlsafe_b64decode(part)}


def open_place(x: DigestWindow) -> Item:
    """Return the attributes by which a window is in the index `open`; none if it is not."""
    if not x.due_at:
        return {}
    shard = shard_of(x.id)
    slot = keys.end_slot(shard) if x.state in ENDED else keys.due_slot(shard)
    return {"open_pk": s(slot), "open_sk": s(every.aged(x.due_at, x.id))}


def window_item(x: DigestWindow) -> Item:
    """Return a window's item, with the keys of its indices."""
    return {**keys.window(x.id), **_fields(x)}


def _fields(x: DigestWindow) -> Item:
    return {
        **_FIELDS.item(x),
        "parts": {"L": [part_value(p) for p in x.parts]},
        "mine_pk": s(indices.mine_pk(x.namespace, keys.KIND)),
        "mine_sk": s(every.aged(x.opened_at, x.id)),
        **open_place(x),
    }


def window(item: Mapping[str, Any]) -> DigestWindow:
    """Read a window, also one whose parts were not read."""
    name = keys.window_id({"pk": item["pk"], "sk": item["sk"]})
    due = text(item, "open_sk").partition("#")[0]
    parts = item["parts"]["L"] if "parts" in item else ()
    return DigestWindow(
        id=name,
        number=0 if "urgent" in item else int(name.rpartition("-")[2]),
        due_at=int(due) if due else 0,
        parts=tuple(urlsafe_b64encode(bytes(p["B"])).decode() for p in parts),
        **_FIELDS.read(item),
    )


def window_update(table: str, old: DigestWindow, new: DigestWindow, *, versioned: bool = True) -> Item:
    """Return the update of a window: what differs is written, on the condition that its state is unchanged.

    Args:
        new: as it is to be stored, but for its version, which is one more than the stored one.
        versioned: the version has to be unchanged, too.
    """
    before, after = _fields(old), _fields(new)
    changes = {k: v for k, v in after.items() if before.get(k) != v and k != "version"}
    expression, names, values = update(changes, [k for k in before if k not in after])
    condition = "#state = :state" + " AND #version = :version" * versioned
    return {
        "TableName": table,
        "Key": keys.window(old.id),
        "UpdateExpression": expression.replace("SET ", "SET #version = #version + :one, ", 1),
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {**names, "#version": "version", "#state": "state"},
        "ExpressionAttributeValues": {
            **values,
            ":one": n(1),
            ":state": s(old.state.value),
            **({":version": n(old.version)} if versioned else {}),
        },
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
