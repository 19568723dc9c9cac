"""Answers already given under an idempotency key, for requests that would no longer be valid if made anew."""

import hashlib
from typing import Any

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import number, text
from shared.ports import Clock, Mismatch, Replay


class Answers:
    """Reads the records that acceptance writes.

    Args:
        client: a low-level boto3 DynamoDB client.
        table: the name of the table `records`.
        clock: the time.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._clock = clock

    def earlier(self, account: str, key: str, fingerprint: str) -> Replay | Mismatch | None:
        """Return what an earlier request with this key answered; None if there was none, or it has expired."""
        item = self._db.get(self._table, keys.idempotency(account, hashlib.sha256(key.encode()).hexdigest()))
        if item is None or number(item, "expires") < int(self._clock.now() * 1000):
            return None
        return Replay(text(item, "answer")) if text(item, "fingerprint") == fingerprint else Mismatch()
