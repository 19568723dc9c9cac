"""Why a transaction with entries of the update log was cancelled."""

from collections.abc import Sequence
from typing import Final

from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import number
from shared.adapters.dynamo.notices.updates import log_actions
from shared.ports import Retriable

__all__ = ["STAMPS", "closed_of", "log_actions", "overtaken"]
STAMPS: Final = 20
"""How often a transaction's entries are stamped. Readers close the log at most once a second, 5 s behind the clock."""
_LOG = "#UPDATES#"


def closed_of(actions: Sequence[Item], codes: Sequence[str], items: Sequence[Item | None]) -> int | None:
    """Return the stamp that later ones must exceed after a transaction was cancelled; None: the log was no reason.

    Args:
        actions: the actions of the transaction.
        codes: why each was refused, in their order.
    """
    found = []
    for action, code, item in zip(actions, codes, items, strict=True):
        if code != "ConditionalCheckFailed":
            continue
        put = action.get("Put", {}).get("Item", {})
        if "ConditionCheck" in action:
            found.append(number(item or {}, "closed"))
        elif put and _LOG in put["pk"]["S"]:
            found.append(int(put["sk"]["S"].partition("#")[0]))
    return max(found, default=None)


def overtaken() -> Retriable:
    """Return the fault of a transaction whose entries got STAMPS stamps, all of them in the closed part of the log."""
    return Retriable("the log is closed past every stamp")
