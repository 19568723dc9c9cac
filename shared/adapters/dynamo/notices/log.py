"""Entries of the update log, as actions of the transaction that they belong to."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.notices import notice_keys
from shared.adapters.dynamo.notices.keys import marks
from shared.domain.notices.updates import LOG_DAYS, UpdateEntry

DAY_S: Final = 86_400
_TEXTS: Final = ("action", "error", "message")


def entry_item(x: UpdateEntry) -> Item:
    """Return an entry's item; what is empty is left out."""
    out: Item = {
        **notice_keys.entry(x),
        "notifier": s(x.notifier),
        "notice": s(x.notice),
        "id": s(x.id),
        "stamp": n(x.stamp),
        "status": s(x.status),
        "ttl": n(x.stamp // 1000 + LOG_DAYS * DAY_S),
    }
    out |= {name: s(getattr(x, name)) for name in _TEXTS if getattr(x, name)}
    if x.version:
        out["version"] = n(x.version)
    if x.ended:
        out["ended"] = {"BOOL": True}
    return out


def entry(item: Mapping[str, Any]) -> UpdateEntry:
    """Read an entry's item."""
    return UpdateEntry(
        notifier=text(item, "notifier"),
        notice=text(item, "notice"),
        id=text(item, "id"),
        stamp=number(item, "stamp"),
        status=text(item, "status"),
        **{name: text(item, name) for name in _TEXTS},
        version=number(item, "version"),
        ended="ended" in item,
    )


def log_actions(table: str, entries: Sequence[UpdateEntry]) -> list[Item]:
    """Return the actions that add entries of one notifier to its log; none if there are no entries.

    The first one checks that readers have not closed the log beyond them. No entry replaces another.
    """
    if not entries:
        return []
    check = {
        "TableName": table,
        "Key": marks(entries[0].notifier),
        "ConditionExpression": "attribute_not_exists(closed) OR closed < :stamp",
        "ExpressionAttributeValues": {":stamp": n(min(x.stamp for x in entries))},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    puts = [
        {"TableName": table, "Item": entry_item(x), "ConditionExpression": "attribute_not_exists(pk)"} for x in entries
    ]
    return [{"ConditionCheck": check}, *({"Put": x} for x in puts)]


def closed_of(actions: Sequence[Item], codes: Sequence[str], items: Sequence[Item | None]) -> int | None:
    """Return what stamps must be later than, of a transaction that was cancelled; None: the log was no reason.

    Args:
        actions: as they were asked for.
        codes: why each was refused, in their order.
        items: as they were then.
    """
    found = []
    for action, code, item in zip(actions, codes, items, strict=True):
        if code == "ConditionalCheckFailed" and "ConditionCheck" in action:
            found.append(number(item or {}, "closed"))
        elif (
            code == "ConditionalCheckFailed" and "stamp" in action.get("Put", {}).get("Item", {}) and _is_entry(action)
        ):
            found.append(number(action["Put"]["Item"], "stamp"))
    return max(found, default=None)


def _is_entry(action: Item) -> bool:
    return "#UPDATES#" in action["Put"]["Item"]["pk"]["S"]
