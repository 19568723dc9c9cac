"""Mails on DynamoDB: one item each, in the table `records`.

| pattern | key |
|---|---|
| a mail | `Z#mail / MAIL` |
| an account's mails, newest first (index `mine`) | `account#mails` / `created_at#mail` |
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import codec, idempotent_writes, indices, keys
from shared.adapters.dynamo.client import FAILED, Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.jobs import contents
from shared.adapters.dynamo.jobs.folding import Accepting
from shared.adapters.dynamo.listing import entries
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.content.content import Content
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.mails.mail import StoredMail
from shared.ports import Idempotency, Mismatch, Replay, Stored

KIND: Final = "mails"
"""Of mails in the index `mine`; `mail` is that of their jobs."""
_FIELDS: Final = Fields(StoredMail, apart=("id", "hosts", "reporting"), always=("expires_at", "ttl", "size", "reports"))
_LISTED: Final = (*_FIELDS.names, "hosts", "reporting")


class DynamoMails(Accepting):
    """`ports.Mails` over the two tables and the bucket."""

    def __init__(self, dynamo: Dynamo, *, records: str, ops: str, blobs: contents.Blobs) -> None:
        super().__init__(dynamo, records=records, ops=ops, blobs=blobs)
        self._items = Versioned(dynamo, records, _item, _mail)

    def open(self, mail: StoredMail, key: Idempotency | None) -> Stored | Replay | Mismatch:
        made = idempotent_writes.earlier(self._db, self._records, key, mail.created_at)
        if made is not None:
            return made
        put = {"Put": self._items.put(None, mail)}
        return idempotent_writes.create(self._db, self._records, [put], key, owner=mail.id, now=mail.created_at)

    def get(self, mail: str) -> StoredMail | None:
        return self._items.get(_key(mail))

    def commit(
        self, old: StoredMail | None, new: StoredMail, made: PreparedJob, content: Content, key: Idempotency | None
    ) -> Stored | Replay | Mismatch | None:
        job = made.job
        earlier = idempotent_writes.earlier(self._db, self._records, key, job.created_at)
        if earlier is not None:
            return earlier
        put, *stats = self._accept(made, content)
        actions = [put, {"Put": self._items.put(old, new)}, *stats]
        try:
            return idempotent_writes.store(self._db, self._records, actions, key, owner=job.id, now=job.created_at)
        except Cancelled as lost:
            if lost.codes[0] == FAILED:
                return Stored()  # the job's id is random: it is our own write, whose answer was lost
            if lost.codes[1] == FAILED:
                return None
            raise

    def change(self, old: StoredMail, new: StoredMail) -> bool:
        return self._items.write(old, new)

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[StoredMail], str]:
        pk = indices.mine_pk(namespace, KIND)
        found, end = entries(self._db, self._records, pk, _key, _LISTED, after=after, limit=limit)
        return [_mail(x) for x in found], end


def _key(mail: str) -> keys.Key:
    return keys.key(f"Z#{mail}", "MAIL")


def _item(x: StoredMail) -> Item:
    """Return a mail's item. The domains are packed: a thousand take few kilobytes."""
    out: Item = {
        **_key(x.id),
        **_FIELDS.item(x),
        "hosts": {"B": zlib.compress(json.dumps(x.hosts, separators=(",", ":")).encode(), 6)},
        "mine_pk": s(indices.mine_pk(x.namespace, KIND)),
        "mine_sk": s(keys.aged(x.created_at, x.id)),
    }
    if x.reporting:
        out["reporting"] = s(json.dumps(x.reporting, separators=(",", ":")))
    return out


def _mail(item: Mapping[str, Any]) -> StoredMail:
    return StoredMail(
        id=item["pk"]["S"][len("Z#") :],
        hosts=tuple(json.loads(zlib.decompress(codec.binary(item, "hosts")))),
        reporting=tuple(json.loads(text(item, "reporting") or "[]")),
        **_FIELDS.read(item),
    )
