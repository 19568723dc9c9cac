"""Inboxes of notifiers on DynamoDB; a payload that does not fit its item is in the bucket."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import binary, n, number, s, text
from shared.adapters.dynamo.jobs.contents import Blobs
from shared.adapters.dynamo.notices import keys
from shared.adapters.dynamo.notices.notices import notice_puts
from shared.adapters.dynamo.notices.updates import STAMPS, closed_of, log_actions, overtaken
from shared.contracts import INBOX_PREFIX
from shared.domain.notices.inbox import FIRST, KEPT_DAYS, InboxState
from shared.domain.notices.notice import SHARDS, Notice, NoticeChange
from shared.domain.times import Millis
from shared.ports import InboxStep, Retriable

MAX_INLINE: Final = 200_000
"""Bytes of a compressed payload that is stored in its item."""
DAY_S: Final = 86_400
_NAMES: Final = {f"#{name}": name for name in ("last", "payload", "record")}


RACES: Final = 20
"""Numbers that a payload tries while others of its notifier are uploaded at the same time."""


class DynamoInboxes:
    """`ports.Inboxes` over the table `records` and the bucket."""

    def __init__(self, dynamo: Dynamo, *, records: str, files: Blobs) -> None:
        self._db = dynamo
        self._table = records
        self._files = files

    def add(self, notifier: str, body: bytes, now: Millis) -> int:
        """Store a payload under the next number.

        A large one is in the bucket under a random name, so two that meet at one number do not replace each other.

        Raises:
            Retriable: nothing is stored; uploads of others were faster each time.
        """
        mark = secrets.token_hex(8)
        content: Item = {"body": {"B": body}}
        if len(body) > MAX_INLINE:
            name = f"{INBOX_PREFIX}{notifier}/{mark}"
            self._files.put(name, body)
            content = {"blob": s(name)}
        content |= {"mark": s(mark), "at": n(now), "ttl": n(now // 1000 + KEPT_DAYS * DAY_S)}
        for _ in range(RACES):
            last = self.state(notifier).last
            try:
                self._db.call("transact_write_items", TransactItems=self._added(notifier, last, content, now))
            except Cancelled as lost:
                there = lost.items[1]
                if there is not None and text(there, "mark") == mark:
                    return last + 1  # ours, whose answer was lost
                if "ConditionalCheckFailed" not in lost.codes:
                    raise
            else:
                return last + 1
        raise Retriable("others upload all the time")

    def _added(self, notifier: str, last: int, content: Item, now: int) -> list[Item]:
        values: Item = {
            ":next": n(last + 1),
            ":first": n(FIRST),
            ":zero": n(0),
            ":slot": s(keys.inbox_slot(keys.shard_of(notifier))),
            ":since": s(every.aged(now, notifier)),
        }
        update = {
            "TableName": self._table,
            "Key": keys.inbox(notifier),
            "UpdateExpression": "SET #last = :next, #payload = if_not_exists(#payload, :first), "
            "#record = if_not_exists(#record, :zero), open_pk = :slot, open_sk = if_not_exists(open_sk, :since)",
            "ConditionExpression": "#last = :last" if last else "attribute_not_exists(pk)",
            "ExpressionAttributeNames": _NAMES,
            "ExpressionAttributeValues": values | ({":last": n(last)} if last else {}),
        }
        put = {
            "TableName": self._table,
            "Item": {**keys.payload(notifier, last + 1), **content},
            "ConditionExpression": "attribute_not_exists(pk)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return [{"Update": update}, {"Put": put}]

    def state(self, notifier: str) -> InboxState:
        return _state(notifier, self._db.get(self._table, keys.inbox(notifier)) or {})

    def payload(self, notifier: str, number: int) -> bytes:
        item = self._db.get(self._table, keys.payload(notifier, number))
        found = None
        if item is not None:
            found = binary(item, "body") if "body" in item else self._files.get(text(item, "blob"))
        if found is None:
            raise LookupError(f"payload {number} of {notifier} has gone")
        return found

    def advance(
        self, old: InboxState, new: InboxState, changes: Sequence[tuple[Notice | None, NoticeChange]]
    ) -> InboxStep:
        """Write changes, entries and the checkpoint in one transaction.

        Raises:
            Retriable: nothing is written; readers close the log faster than the entries are stamped.
        """
        for _ in range(STAMPS):
            entries = [x for _, change in changes for x in change.entries]
            actions = [
                {"Update": self._moved(old, new)},
                *notice_puts(self._table, changes),
                *log_actions(self._table, entries),
            ]
            try:
                self._db.call("transact_write_items", TransactItems=actions)
            except Cancelled as lost:
                if lost.codes[0] == "ConditionalCheckFailed":
                    return _lost(old, new, _state(old.notifier, lost.items[0] or {}))
                closed = closed_of(actions, lost.codes, lost.items)
                if closed is None:
                    return _changed(lost)
                changes = [(notice, change.after(closed)) for notice, change in changes]
            else:
                return InboxStep.TAKEN
        raise overtaken()

    def _moved(self, old: InboxState, new: InboxState) -> Item:
        """Return the update of the checkpoint; an inbox that becomes empty leaves the index."""
        return {
            "TableName": self._table,
            "Key": keys.inbox(old.notifier),
            "UpdateExpression": "SET #payload = :to, #record = :index" + (" REMOVE open_pk, open_sk" * new.empty),
            "ConditionExpression": "#payload = :payload AND #record = :record AND #last = :last",
            "ExpressionAttributeNames": _NAMES,
            "ExpressionAttributeValues": {
                ":to": n(new.payload),
                ":index": n(new.record),
                ":payload": n(old.payload),
                ":record": n(old.record),
                ":last": n(old.last),
            },
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def waiting(self, now: int, older: int) -> Iterable[str]:
        for shard in range(SHARDS):
            for item in self._db.due(self._table, keys.inbox_slot(shard), max(0, now - older)):
                yield item["open_sk"]["S"].partition("#")[2]


def _state(notifier: str, item: Mapping[str, Any]) -> InboxState:
    return InboxState(notifier, number(item, "last"), number(item, "payload", FIRST), number(item, "record"))


def _lost(old: InboxState, new: InboxState, stored: InboxState) -> InboxStep:
    """Return the result of a step whose inbox is not as read."""
    there = stored.payload, stored.record
    if there == (new.payload, new.record):
        return InboxStep.TAKEN  # by this call, whose answer was lost, or by another that took the same
    return InboxStep.CHANGED if there == (old.payload, old.record) else InboxStep.LATE


def _changed(lost: Cancelled) -> InboxStep:
    if "ConditionalCheckFailed" not in lost.codes:
        raise lost
    return InboxStep.CHANGED
