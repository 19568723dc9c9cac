"""Changes that were handed on to webhooks, on DynamoDB, in the table `records`.

| pattern | key |
|---|---|
| changes of a chunk that were handed on | `HC#job#00012 / TOLD#now`, `TOLD#later` |
| was this event handed on? until then with its data | `HT#event / TOLD` |

The partition of a chunk's details has only details: earlier versions read all of it. The cells that are begun for
endpoints with batches are compressed, so that the item of a chunk of 500 takes one write unit. Earlier versions do not
read them.
"""

import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, InRecords, Item
from shared.adapters.dynamo.codec import n, s, text
from shared.adapters.dynamo.fields import Fields
from shared.domain.hooks.announced import AnnouncedStates
from shared.domain.hooks.kinds import HookPace
from shared.domain.times import Millis

_FIELDS: Final = Fields(AnnouncedStates, apart=("job", "chunk"), names={"cells": "told"})


class DynamoAnnouncements(InRecords):
    """`ports.Announcements` over the table `records`."""

    def read(self, places: Collection[tuple[str, int]], pace: HookPace) -> Mapping[tuple[str, int], AnnouncedStates]:
        wanted = [_key(job, chunk, pace) for job, chunk in dict.fromkeys(places)]
        found = [_told(x) for x in self._db.batch_get(self._table, wanted)]
        return {(x.job, x.chunk): x for x in found}

    def begin(self, was: AnnouncedStates, cells: bytes, at: Millis, pace: HookPace) -> AnnouncedStates | None:
        update = {
            "UpdateExpression": "SET begun = if_not_exists(begun, :cells), begun_at = if_not_exists(begun_at, :at), "
            "#ttl = :ttl",
            "ConditionExpression": "#at = :was" if was.at else "attribute_not_exists(#at)",
            "ExpressionAttributeNames": {"#at": "at", "#ttl": "ttl"},
            "ExpressionAttributeValues": {":cells": {"B": _packed(cells, pace)}, ":at": n(at), ":ttl": n(was.ttl)}
            | ({":was": n(was.at)} if was.at else {}),
        }
        try:
            return _told(self._update(was, pace, update))
        except ConditionFailed:
            return None

    def finish(self, begun: AnnouncedStates, pace: HookPace) -> None:
        update = {
            "UpdateExpression": "SET told = :cells, #at = :at REMOVE begun, begun_at",
            "ConditionExpression": "begun_at = :at",
            "ExpressionAttributeNames": {"#at": "at"},
            "ExpressionAttributeValues": {":cells": {"B": begun.begun}, ":at": n(begun.begun_at)},
        }
        with suppress(ConditionFailed):  # another has noted it
            self._update(begun, pace, update)

    def _update(self, x: AnnouncedStates, pace: HookPace, update: Item) -> Item:
        key = _key(x.job, x.chunk, pace)
        answer = self._db.call("update_item", TableName=self._table, Key=key, ReturnValues="ALL_NEW", **update)
        item: Item = answer["Attributes"]
        return item

    def known(self, ids: Collection[str]) -> set[str]:
        found = self._db.batch_get(self._table, [_event_key(x) for x in dict.fromkeys(ids)])
        return {x["pk"]["S"].partition("#")[2] for x in found if "data" not in x}

    def claim(self, name: str, data: str, ttl: int) -> str:
        try:
            self._db.call(
                "put_item",
                TableName=self._table,
                Item={**_event_key(name), "data": s(data), "ttl": n(ttl)},
                ConditionExpression="attribute_not_exists(pk)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return text(lost.item or {}, "data")
        return data

    def note(self, ids: Collection[str], ttl: int) -> None:
        self._db.batch_put([(self._table, {**_event_key(x), "ttl": n(ttl)}) for x in dict.fromkeys(ids)])


def _key(job: str, chunk: int, pace: HookPace) -> keys.Key:
    return keys.key(f"HC#{job}#{chunk:05d}", f"TOLD#{pace.value}")


def _packed(cells: bytes, pace: HookPace) -> bytes:
    """Return what is begun of a chunk as it is stored."""
    return zlib.compress(cells) if pace is HookPace.LATER else cells


def _event_key(name: str) -> keys.Key:
    return keys.key(f"HT#{name}", "TOLD")


def _told(item: Item) -> AnnouncedStates:
    _, job, chunk = item["pk"]["S"].split("#")
    told = AnnouncedStates(job, int(chunk), **_FIELDS.read(item))
    if told.begun and item["sk"] == _key(job, int(chunk), HookPace.LATER)["sk"]:
        return replace(told, begun=zlib.decompress(told.begun))
    return told
