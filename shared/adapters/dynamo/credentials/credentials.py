"""What is going on at the credentials: slots reserved, switches and breakers, from the table `ops`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import number
from shared.adapters.dynamo.credentials.switches import switches
from shared.domain.lanes.breaker import Breaker
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.ports import Clock


@dataclass(frozen=True, slots=True)
class CredentialState:
    """`ahead`: seconds of slots reserved and not yet past; `switches`: what holds it back; `at`: Unix seconds."""

    breaker: Breaker
    ahead: float = 0.0
    switches: Switches = AS_DECLARED
    at: float = 0.0

    def rate(self, declared: float) -> float:
        """Return the rate in force: what operators have set, and what its provider's refusals have left of that."""
        return self.switches.lowered.within(self.switches.within(declared), self.at)


class CredentialStates:
    """Reads credentials' states.

    Args:
        client: a low-level boto3 DynamoDB client.
        table: the name of the table `ops`.
        clock: the time.
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
            )
        return out
