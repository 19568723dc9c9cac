"""The present state of credentials: reserved slots, switches and breakers, from the table `ops`."""

from collections.abc import Sequence
from typing import Any

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import number
from shared.adapters.dynamo.credentials.quotas import stored_of
from shared.adapters.dynamo.credentials.switches import switches
from shared.domain.lanes.state import CredentialState
from shared.ports import Clock


class CredentialStates:
    """Reads credentials' states.

    Args:
        client: a low-level boto3 DynamoDB client.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._clock = clock

    def read(self, credentials: Sequence[str]) -> dict[str, CredentialState]:
        """Return the state of each credential: one call per 50 of them; a moment old."""
        wanted = [key for c in credentials for key in (keys.pacer(c), keys.breaker(c))]
        found = {
            (item["pk"]["S"], item["sk"]["S"]): item
            for item in self._db.batch_get(self._table, wanted, consistent=False)
        }
        now = self._clock.now()
        out = {}
        for c in credentials:
            pacer, breaker = (found.get((k["pk"]["S"], k["sk"]["S"])) for k in (keys.pacer(c), keys.breaker(c)))
            pacer = pacer or {}
            out[c] = CredentialState(
                breaker=codec.breaker(c, breaker),
                ahead=max(0.0, number(pacer, "tat") / 1_000_000 - now),
                switches=switches(pacer),
                at=now,
                full_until=number(pacer, "full_until"),
                used=stored_of(pacer),
            )
        return out
