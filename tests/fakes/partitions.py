"""A low-level DynamoDB client that throttles as DynamoDB does: each partition takes 1,000 write units a second.

Neither moto nor the local cloud does. Sources (DynamoDB's developer guide): "Warm throughput scenarios" (1,000 units a
partition; rising sort keys do not split it), BatchWriteItem (what does not fit is handed back; if nothing fits, that is
an error), TransactWriteItems (twice the units; one action that does not fit cancels all). The five minutes of burst
that AWS may give are left out: that is the worst case.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from botocore.exceptions import ClientError

from benchmarks.rig.sizes import TRANSACTION, write_units
from shared.ports import Clock

UNITS: Final = 1000.0
"""Write units that a partition takes a second."""
Partition = tuple[str, str]
"""Table and partition key."""


class Throttling:
    """A client in front of another one.

    Attributes:
        throttled: how often each operation was refused, or not done whole.
        taken: partition → units written.
    """

    def __init__(self, client: Any, clock: Clock, *, units: float = UNITS) -> None:
        self.throttled: Counter[str] = Counter()
        self.taken: Counter[Partition] = Counter()
        self._client = client
        self._clock = clock
        self._units = units
        self._left: dict[Partition, float] = defaultdict(lambda: units)
        self._at: dict[Partition, float] = {}

    def __getattr__(self, method: str) -> Any:
        return getattr(self._client, method)

    def put_item(self, **kwargs: Any) -> Any:
        """Put an item, if its partition has room."""
        self._one("put_item", kwargs["TableName"], kwargs["Item"], write_units(None, kwargs["Item"]))
        return self._client.put_item(**kwargs)

    def update_item(self, **kwargs: Any) -> Any:
        """Update an item, if its partition has room for the item as it is."""
        units = self._stored(kwargs["TableName"], kwargs["Key"])
        self._one("update_item", kwargs["TableName"], kwargs["Key"], units)
        return self._client.update_item(**kwargs)

    def batch_write_item(self, **kwargs: Any) -> Any:
        """Put the items that there is room for, and hand back the others."""
        fits: dict[str, list[Any]] = {}
        rest: dict[str, list[Any]] = {}
        for table, requests in kwargs["RequestItems"].items():
            for request in requests:
                item = request["PutRequest"]["Item"]
                there = self._take({(table, item["pk"]["S"]): write_units(None, item)})
                (fits if there else rest).setdefault(table, []).append(request)
        if rest:
            self.throttled["batch_write_item"] += 1
        if not fits:
            self._refuse("batch_write_item")
        answer = self._client.batch_write_item(**{**kwargs, "RequestItems": fits})
        return {**answer, "UnprocessedItems": rest} if rest else answer

    def transact_write_items(self, **kwargs: Any) -> Any:
        """Do all actions, or none if there is no room for one of them."""
        wanted: Counter[Partition] = Counter()
        places = []
        for action in kwargs["TransactItems"]:
            ((kind, what),) = action.items()
            key = what["Item"] if kind == "Put" else what["Key"]
            place = what["TableName"], key["pk"]["S"]
            units = write_units(None, key) if kind == "Put" else self._stored(what["TableName"], what["Key"])
            wanted[place] += TRANSACTION * units
            places.append(place)
        full = {place for place, units in wanted.items() if units > self._room(place)}
        if full:
            self.throttled["transact_write_items"] += 1
            reasons = [{"Code": "ThrottlingError" if place in full else "None"} for place in places]
            answer: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
            raise ClientError(answer, "TransactWriteItems")
        self._take(wanted)
        return self._client.transact_write_items(**kwargs)

    def _stored(self, table: str, key: Mapping[str, Any]) -> int:
        """Return the units of a write of an item as it is stored."""
        plain = {name: key[name] for name in ("pk", "sk")}
        return write_units(self._client.get_item(TableName=table, Key=plain, ConsistentRead=True).get("Item"), None)

    def _one(self, method: str, table: str, key: Mapping[str, Any], units: int) -> None:
        if not self._take({(table, key["pk"]["S"]): units}):
            self.throttled[method] += 1
            self._refuse(method)

    def _refuse(self, method: str) -> NoReturn:
        raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, method)

    def _room(self, place: Partition) -> float:
        """Return the units that a partition takes now; what it took a second ago is forgotten by and by."""
        now = self._clock.now()
        since = now - self._at.get(place, now)
        self._at[place] = now
        self._left[place] = min(self._units, self._left[place] + since * self._units)
        return self._left[place]

    def _take(self, wanted: Mapping[Partition, int]) -> bool:
        if any(units > self._room(place) for place, units in wanted.items()):
            return False
        for place, units in wanted.items():
            self._left[place] -= units
            self.taken[place] += units
        return True
