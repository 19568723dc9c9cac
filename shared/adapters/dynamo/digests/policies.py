"""Digest policies on DynamoDB: a small item for each, and one for each of its versions, which holds the texts.

The policies of a namespace are in one partition by prefix. A search from the batch key downwards finds the one with the
key's longest prefix, in a read or two, however many policies there are.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from shared.adapters.dynamo.client import InRecords, Item, between
from shared.adapters.dynamo.codec import binary, number
from shared.adapters.dynamo.digests import keys
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.audit import Event
from shared.domain.digests.policy import SETTINGS, DigestPolicy, settings
from shared.ports import Idempotency, Mismatch, Replay, Stored

_FIELDS: Final = Fields(DigestPolicy, apart=("namespace", *SETTINGS))


class DynamoDigestPolicies(InRecords):
    """`ports.DigestPolicies` over the table `records`."""

    def save(
        self, old: DigestPolicy | None, new: DigestPolicy, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        place = keys.policy_version(new.namespace, new.prefix, new.version)
        version = {"TableName": self._table, "Item": {**place, **_FIELDS.item(new), "data": {"B": new.pack()}}}
        items = Versioned(self._db, self._table, _head, partial(self._whole, new.namespace))
        return items.save(old, new, key, now=new.saved_at, event=event, more=[{"Put": version}])

    def get(self, namespace: str, prefix: str) -> DigestPolicy | None:
        item = self._db.get(self._table, keys.policy(namespace, prefix))
        return self._whole(namespace, item) if item else None

    def at(self, namespace: str, prefix: str, version: int) -> DigestPolicy | None:
        item = self._db.get(self._table, keys.policy_version(namespace, prefix, version))
        return _policy(namespace, item) if item else None

    def find(self, namespace: str, key: str) -> DigestPolicy | None:
        """Return the policy with the longest prefix of a batch key, consistent; None if none has one.

        The last policy in order up to the key is the longest prefix, or shows how long a prefix can be at most.
        """
        longest = key
        while longest:
            found = self._last(namespace, longest)
            if found is None:
                return None
            prefix = _prefix(found)
            if key.startswith(prefix):
                if "deleted" not in found:
                    return self._whole(namespace, found)
                longest = prefix[:-1]
            else:
                longest = _common(prefix, longest)
        return None

    def _last(self, namespace: str, most: str) -> Item | None:
        """Return the item of the last policy whose prefix is not behind a text."""
        page = self._db.call(
            "query",
            TableName=self._table,
            **between(keys.policies_pk(namespace), keys.POLICY_PREFIX, keys.POLICY_PREFIX + most),
            ScanIndexForward=False,
            Limit=1,
        )
        items: Sequence[Item] = page["Items"]
        return items[0] if items else None

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[DigestPolicy], str]:
        heads: list[Item] = []
        pk = keys.policies_pk(namespace)
        for item in self._db.partition(self._table, pk, keys.POLICY_PREFIX):
            if _prefix(item) > after and "deleted" not in item:
                heads.append(item)
            if len(heads) > limit:
                break
        wanted = [keys.policy_version(namespace, _prefix(x), number(x, "version")) for x in heads[:limit]]
        found = sorted((_policy(namespace, x) for x in self._db.batch_get(self._table, wanted)), key=lambda x: x.prefix)
        return found, _prefix(heads[limit - 1]) if len(heads) > limit else ""

    def _whole(self, namespace: str, head: Item) -> DigestPolicy | None:
        return self.at(namespace, _prefix(head), number(head, "version"))


def _head(x: DigestPolicy) -> Item:
    return {**keys.policy(x.namespace, x.prefix), **_FIELDS.item(x)}


def _common(one: str, other: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(c for c, _ in same)


def _prefix(item: Mapping[str, Any]) -> str:
    prefix: str = item["prefix"]["S"]
    return prefix


def _policy(namespace: str, item: Mapping[str, Any]) -> DigestPolicy:
    return DigestPolicy(namespace=namespace, **_FIELDS.read(item), **settings(binary(item, "data")))
