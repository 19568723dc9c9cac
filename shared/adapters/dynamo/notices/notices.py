"""Notices on DynamoDB: one item each, in the table `records`."""

from collections.abc import Collection, Iterable, Sequence

from shared.adapters.dynamo.client import Cancelled, ConditionFailed, InRecords, Item
from shared.adapters.dynamo.codec import n
from shared.adapters.dynamo.listing import newest
from shared.adapters.dynamo.notices import keys, notice_codec
from shared.adapters.dynamo.notices.updates import STAMPS, closed_of, log_actions, overtaken
from shared.domain.notices.notice import Notice, NoticeChange

_PAGE = 100


class DynamoNotices(InRecords):
    """`ports.Notices` over the table `records`."""

    def read(self, uuids: Collection[str]) -> dict[str, Notice]:
        items = self._db.batch_get(self._table, [keys.notice(x) for x in dict.fromkeys(uuids)])
        return {x.uuid: x for x in map(notice_codec.notice, items)}

    def write(self, old: Notice | None, change: NoticeChange) -> bool:
        """Write a change in one transaction with its entries; a single put if there are none."""
        if change.notice is not None and not change.entries:
            return self._put(old, change)
        for _ in range(STAMPS):
            puts = notice_puts(self._table, [(old, change)])
            actions = [*puts, *log_actions(self._table, change.entries)]
            try:
                self._db.call("transact_write_items", TransactItems=actions)
            except Cancelled as lost:
                if puts and lost.codes[0] == "ConditionalCheckFailed":
                    return _is_ours(lost.items[0], change)
                closed = closed_of(actions, lost.codes, lost.items)
                if closed is None:
                    return False
                change = change.after(closed)
            else:
                return True
        raise overtaken()

    def _put(self, old: Notice | None, change: NoticeChange) -> bool:
        (action,) = notice_puts(self._table, [(old, change)])
        try:
            self._db.call("put_item", **action["Put"])
        except ConditionFailed as lost:
            return _is_ours(lost.item, change)
        return True

    def write_all(self, changes: Sequence[tuple[Notice, NoticeChange]]) -> bool:
        for _ in range(STAMPS):
            puts = notice_puts(self._table, changes)
            actions = [*puts, *log_actions(self._table, [x for _, change in changes for x in change.entries])]
            try:
                self._db.call("transact_write_items", TransactItems=actions)
            except Cancelled as lost:
                moved = "ConditionalCheckFailed" in lost.codes[: len(puts)]
                closed = None if moved else closed_of(actions, lost.codes, lost.items)
                if closed is None:
                    return False
                changes = [(old, change.after(closed)) for old, change in changes]
            else:
                return True
        raise overtaken()

    def shorten(self, notice: Notice, until: int) -> None:
        self._db.attempt(
            "update_item",
            TableName=self._table,
            Key=keys.notice(notice.uuid),
            UpdateExpression="SET #ttl = :until",
            ConditionExpression="version = :version AND #ttl > :until",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":until": n(until), ":version": n(notice.version)},
        )  # unless it has changed, or is kept no longer than that

    def due(self, shard: int, now: int) -> Iterable[str]:
        for item in self._db.due(self._table, keys.due_slot(shard), now):
            yield item["open_sk"]["S"].partition("#")[2]

    def of_number(self, account: str, phone: str) -> Iterable[str]:
        after = ""
        while True:
            page = newest(self._db, self._table, keys.number_pk(account, phone), after, _PAGE)
            yield from (x.partition("#")[2] for x in page)
            if len(page) < _PAGE:
                return
            after = page[-1]


def notice_puts(table: str, changes: Sequence[tuple[Notice | None, NoticeChange]]) -> list[Item]:
    """Return the actions that store notices, each if it is still as read; those without a notice have none."""
    return [
        {
            "Put": {
                "TableName": table,
                "Item": notice_codec.notice_item(change.notice),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                **_unchanged(old),
            }
        }
        for old, change in changes
        if change.notice is not None
    ]


def _is_ours(stored: Item | None, change: NoticeChange) -> bool:
    """Tell whether the refused write had stored the notice before, with an answer that was lost."""
    return stored is not None and notice_codec.notice(stored) == change.notice


def _unchanged(old: Notice | None) -> Item:
    """Return the condition that a notice is as read; one that counts as absent may have been deleted since."""
    if old is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    condition = "version = :version" if not old.ttl else "version = :version OR attribute_not_exists(pk)"
    return {"ConditionExpression": condition, "ExpressionAttributeValues": {":version": n(old.version)}}
