"""moto without what costs it most: two of these costs grow with the square of what a test has stored.

To undo a transaction, moto first copies every table that it touches, once for each operation. A transaction of 100
operations copies a table 100 times, with all its items. Here it keeps only the items that the transaction may change.
For each message that it hands out, moto counts all messages of the queue a dozen times, to learn for how long they are
kept. It asks for the time by way of two dates, twice for each message of the queue. And it looks for each of the ten
types of a DynamoDB value by several names in every value that it returns.

And it does a write at a time: two threads of moto may both find that a condition holds, and both write.
"""

import copy
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from moto.core.serialize import AttributePicker, AttributePickerContext
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.sqs import models as sqs

_ORIGINAL = DynamoDBBackend.transact_write_items
_WRITES = ("put_item", "update_item", "delete_item", "transact_write_items")
_LOCK = threading.RLock()
_PICK = AttributePicker.__call__
_TYPES = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})


def install() -> None:
    """Have moto spare these costs in this process; a repeat changes nothing."""
    DynamoDBBackend.transact_write_items = _transact_write_items  # type: ignore[method-assign]
    for name in _WRITES:
        setattr(DynamoDBBackend, name, _at_once(getattr(DynamoDBBackend, name)))
    Table.__deepcopy__ = _itself  # type: ignore[attr-defined]
    sqs.SQSBackend.is_message_valid_based_on_retention_period = _is_kept  # type: ignore[method-assign]
    AttributePicker.__call__ = _picked  # type: ignore[method-assign]
    vars(sqs)["unix_time_millis"] = lambda: time.time() * 1000


def _at_once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of which no other thread sees the middle."""
    if hasattr(method, "__wrapped__"):
        return method

    @wraps(method)
    def locked(*args: Any, **kwargs: Any) -> Any:
        with _LOCK:
            return method(*args, **kwargs)

    return locked


def _picked(self: AttributePicker, context: AttributePickerContext) -> Any:
    """Return a member of a structure; a value of DynamoDB has its one type by its own name."""
    found = context.obj
    if type(found) is dict and len(found) == 1 and not _TYPES.isdisjoint(found) and context.key in _TYPES:
        return found.get(context.key)
    return _PICK(self, context)


def _is_kept(self: sqs.SQSBackend, queue_name: str, message: sqs.Message) -> bool:
    kept: float = self.get_queue(queue_name).message_retention_period  # type: ignore[attr-defined]
    return kept + message.sent_timestamp / 1000 > time.time()  # type: ignore[operator]


def _itself(table: Table, _memo: dict[int, Any]) -> Table:
    """Stand for the copy that moto would put back: `_undone` has put the items back by then."""
    return table


def _transact_write_items(self: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    with _undone(self.tables, transact_items):
        _ORIGINAL(self, transact_items)


@contextmanager
def _undone(tables: Mapping[str, Table], operations: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Put back what a transaction touches if it fails."""
    touched = [
        _Touched(tables[operation["TableName"]], operation)
        for each in operations
        for operation in each.values()
        if operation.get("TableName") in tables
    ]
    with ExitStack() as stack:
        for each in touched:
            stack.callback(each.put_back)
        yield
        stack.pop_all()


class _Touched:
    """An item of a table with a sort key that a transaction may change, and the table's stream."""

    def __init__(self, table: Table, operation: Mapping[str, Any]) -> None:
        key = operation.get("Key") or operation.get("Item") or {}
        self._table = table
        self._hash, self._range = (DynamoType(key[x]) for x in (table.hash_key_attr, table.range_key_attr))
        self._before = copy.deepcopy(table.get_item(self._hash, self._range))
        self._streamed = len(table.stream_shard.items) if table.stream_shard else 0

    def put_back(self) -> None:
        """Let the item and the stream be as they were."""
        partition: dict[DynamoType, Any] = self._table.items[self._hash]
        if self._before is None:
            partition.pop(self._range, None)
        else:
            partition[self._range] = self._before
        if self._table.stream_shard:
            del self._table.stream_shard.items[self._streamed :]
