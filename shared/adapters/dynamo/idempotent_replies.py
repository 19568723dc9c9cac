"""Answers already given under an idempotency key, for requests that would no longer be valid if made anew."""

from typing import Any

from shared.adapters.dynamo import idempotent_writes
from shared.adapters.dynamo.client import Dynamo
from shared.ports import Clock, Idempotency, Mismatch, Replay, Stored


class IdempotentReplies:
    """Reads the records that acceptance writes, and writes those of requests without a transaction of their own.

    Args:
        client: a low-level boto3 DynamoDB client.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._clock = clock

    def earlier(self, account: str, key: str, fingerprint: str) -> Replay | Mismatch | None:
        """Return the answer of an earlier request with this key. None: there was none, or it has expired.

        Args:
            fingerprint: the hash of the request, compared with that of the earlier one.
        """
        asked = Idempotency(account, key, fingerprint, answer="", expires=0)
        return idempotent_writes.earlier(self._db, self._table, asked, int(self._clock.now() * 1000))

    def keep(self, key: Idempotency, owner: str) -> Stored | Replay | Mismatch:
        """Store the answer of a request that is about to be carried out, unless there is an earlier one.

        `owner`: a random id of the thing that it makes. It identifies a write whose answer was lost.
        """
        return idempotent_writes.store(self._db, self._table, (), key, owner=owner, now=int(self._clock.now() * 1000))
