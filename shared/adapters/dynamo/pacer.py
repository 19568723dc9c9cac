"""Time slots of credentials, reserved in DynamoDB so that the rate holds whatever the number of workers.

The slot clock (`tat`, Unix microseconds) is the time at which the next slot may start.
Source: docs/protocol.md, "Pace".
"""

from math import inf
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.adapters.dynamo.hints import Notes
from shared.adapters.dynamo.switches import rate_of, switches
from shared.domain.hints import Hint
from shared.domain.pacing import Pace, Slots
from shared.domain.switches import Switches
from shared.ports import Clock

AttributeValue = dict[str, Any]
_MICRO: Final = 1_000_000


class DynamoPacer:
    """`ports.Pacer`: one conditional update a reservation, the likely branch first: the one that was right last time.

    A lone worker finds the credential idle again and again, several always find each other's slots ahead; either way a
    wrong guess costs one write more. The same condition asks what operators have set, which so costs nothing; what is
    new is told by the write that fails.
    """

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._behind: dict[str, bool] = {}
        self._rates: dict[str, AttributeValue] = {}
        """Credential → the present rate in DynamoDB's own words, which a float may only come near to."""
        self._notes = Notes()

    def reserve(
        self, credential: str, k: int, pace: Pace, *, lead: float, until: float = inf, hint: Hint | None = None
    ) -> Slots:
        """Reserve k slots; waits while the credential is reserved too far ahead. A lost answer wastes slots."""
        cost = round(k * pace.spacing * _MICRO)
        idle = not self._behind.get(credential, False)
        begun = self._clock.now()
        while True:
            horizon = pace.ahead(self._clock.now() - begun)
            now = round((self._clock.now() + lead) * _MICRO)
            try:
                if idle:
                    first = self._start(credential, now, cost, pace.present, hint)
                else:
                    first = self._follow(credential, now, cost, pace.present, hint, horizon)
            except ConditionFailed as lost:
                found = self._learn(credential, lost.item or {})
                if found != Switches(rate=pace.present):
                    return Slots(now / _MICRO, pace.spacing, 0, found)
                tat = number(lost.item, "tat") if lost.item else 0
                wait = (tat - now) / _MICRO - horizon
                if wait > 0:
                    if tat / _MICRO > until:
                        return Slots(tat / _MICRO, pace.spacing, 0)
                    self._clock.sleep(wait)
                idle = tat <= now
                continue
            self._behind[credential] = not idle
            return Slots(first / _MICRO, pace.spacing, k)

    def _learn(self, credential: str, item: Item) -> Switches:
        if "rate" in item:
            self._rates[credential] = item["rate"]
        return switches(item)

    def _start(self, credential: str, now: int, cost: int, present: float, hint: Hint | None) -> int:
        """The credential is idle: the slots start now."""
        self._update(
            credential,
            "SET tat = :new",
            "(attribute_not_exists(tat) OR tat <= :now)",
            {":new": n(now + cost), ":now": n(now)},
            present,
            hint,
        )
        return now

    def _follow(self, credential: str, now: int, cost: int, present: float, hint: Hint | None, horizon: float) -> int:
        """Somebody's slots are still to come: these follow them."""
        item = self._update(
            credential,
            "SET tat = tat + :cost",
            "tat > :now AND tat <= :horizon",
            {":cost": n(cost), ":now": n(now), ":horizon": n(now + round(horizon * _MICRO))},
            present,
            hint,
        )
        return number(item, "tat") - cost

    def _update(
        self, credential: str, expression: str, condition: str, values: Item, present: float, hint: Hint | None
    ) -> Item:
        """Write, if nothing is paused and the present rate is that by which the slots were reckoned."""
        asked = "attribute_not_exists(#rate)"
        names = {"#rate": "rate"}
        if hint is not None and self._notes.has_room(credential, hint):
            expression += ", #at = :at"
            names["#at"] = hint.name
            values = {**values, ":at": s(str(hint))}
        if present:
            asked = "#rate = :rate"
            known = self._rates.get(credential, {})
            values = {**values, ":rate": known if rate_of(known) == present else n(present)}
        answer = self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.pacer(credential),
            UpdateExpression=expression,
            ConditionExpression=f"attribute_not_exists(paused) AND {asked} AND {condition}",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        attributes: Item = answer["Attributes"]
        self._notes.learn(credential, attributes)
        return attributes
