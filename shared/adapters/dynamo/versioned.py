"""Items that are written only if they are as they were read, with further actions of the same transaction."""

from collections.abc import Callable, Sequence
from typing import Generic, Literal, Protocol, TypeVar

from shared.adapters.dynamo import audit, idempotent_writes
from shared.adapters.dynamo.client import FAILED, Cancelled, ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n
from shared.adapters.dynamo.keys import Key
from shared.domain.audit import Event
from shared.domain.ids import new_id
from shared.domain.times import Millis
from shared.ports import Idempotency, Mismatch, Replay, Stored


class Entity(Protocol):
    """An entity with a count of its writes."""

    @property
    def version(self) -> int: ...


V = TypeVar("V", bound=Entity)


class Versioned(Generic[V]):
    """One kind of entity, an item each. The stored item shows whether a write whose answer was lost was made.

    Args:
        item: returns an entity's item, with its key.
        read: returns the entity of an item.
    """

    def __init__(self, db: Dynamo, table: str, item: Callable[[V], Item], read: Callable[[Item], V | None]) -> None:
        self._db = db
        self._table = table
        self._item = item
        self._read = read

    def get(self, key: Key) -> V | None:
        """Return an entity, consistent."""
        item = self._db.get(self._table, key)
        return self._read(item) if item else None

    def put(self, old: V | None, new: V) -> Item:
        """Return the put of an entity, on the condition that it is as read; None: that there is none."""
        return {"TableName": self._table, "Item": self._item(new), **unchanged(old)}

    def write(self, old: V | None, new: V, *, event: Event | None = None, more: Sequence[Item] = ()) -> bool:
        """Write an entity if it is as read.

        Args:
            event: kept in the same transaction.
            more: further actions of that transaction, without conditions.
        """
        return self.apply("Put", self.put(old, new), new, [*more, *self.noted(event)])

    def apply(self, kind: Literal["Put", "Update"], write: Item, new: V, beside: Sequence[Item] = ()) -> bool:
        """Make a conditional write that stores an entity, with further actions of the same transaction."""
        try:
            if beside:
                self._db.call("transact_write_items", TransactItems=[{kind: write}, *beside])
            else:
                self._db.call(f"{kind.lower()}_item", **write)
        except ConditionFailed as lost:
            return self._is(lost.item, new)
        except Cancelled as lost:
            return self._is(_found(lost), new)
        return True

    def save(
        self,
        old: V | None,
        new: V,
        key: Idempotency | None,
        *,
        now: Millis,
        event: Event | None,
        more: Sequence[Item] = (),
    ) -> Stored | Replay | Mismatch | None:
        """Write an entity if it is as read, with an idempotency record. None: it is not as read.

        Args:
            event: kept in the same transaction.
            more: further actions of that transaction, without conditions.
        """
        made = idempotent_writes.earlier(self._db, self._table, key, now)
        if made is not None:
            return made
        actions = [{"Put": self.put(old, new)}, *more, *self.noted(event)]
        try:
            return idempotent_writes.store(self._db, self._table, actions, key, owner=new_id(now), now=now)
        except Cancelled as lost:
            return Stored() if self._is(_found(lost), new) else None

    def delete(self, key: Key, entity: V, *, event: Event | None) -> bool:
        """Remove an entity if it is as read; one that no longer exists counts as removed.

        Args:
            event: kept only if this call removes it.
        """
        gone = {"TableName": self._table, "Key": key, **unchanged(entity)}
        try:
            self._db.call("transact_write_items", TransactItems=[{"Delete": gone}, *self.noted(event)])
        except Cancelled as lost:
            return _found(lost) is None
        return True

    def noted(self, event: Event | None) -> list[Item]:
        """Return the actions that keep an event."""
        return audit.puts(self._db, self._table, event)

    def _is(self, item: Item | None, new: V) -> bool:
        return item is not None and self._read(item) == new


def _found(lost: Cancelled) -> Item | None:
    """Return the stored item of the first action; raises the transaction's error if that action's condition holds."""
    if lost.codes[0] != FAILED:
        raise lost
    return lost.items[0]


def unchanged(old: Entity | None) -> Item:
    """Return the condition that an entity is as read; None: that there is none."""
    condition: Item = {"ConditionExpression": "attribute_not_exists(pk)"}
    if old is not None:
        values = {":version": n(old.version)}
        condition = {"ConditionExpression": "version = :version", "ExpressionAttributeValues": values}
    return condition | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
