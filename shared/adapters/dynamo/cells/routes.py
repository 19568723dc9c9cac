"""Routes of callers to cells, in the router's own table: `K#<id of a key>` or `N#<notifier>` → `cell`, for `DAYS`."""

from typing import Any, Final

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import n, s
from shared.ports import Clock
from shared.ports.cells import CellRoutes

DAYS: Final = 90
"""After its note a route is forgotten, so that callers who are gone leave nothing behind."""
_DAY_S: Final = 86_400


class DynamoCellRoutes(CellRoutes):
    """`ports.CellRoutes`, one item for each caller.

    Args:
        client: a low-level boto3 DynamoDB client.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._clock = clock

    def get(self, caller: str) -> str | None:
        found = self._db.get(self._table, {"pk": s(caller)}, consistent=False)
        if found is None or int(found["ttl"]["N"]) <= self._clock.now():
            return None
        return str(found["cell"]["S"])

    def put(self, caller: str, cell: str) -> None:
        ends = int(self._clock.now()) + DAYS * _DAY_S
        self._db.call("put_item", TableName=self._table, Item={"pk": s(caller), "cell": s(cell), "ttl": n(ends)})
