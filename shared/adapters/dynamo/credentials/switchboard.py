"""Operators' switches on DynamoDB: on the items that senders read anyway, each change with its entry in an audit log.

A credential's switches are beside its slots in `ops`. Those of accounts and of everything are control items in
`records`.
"""

from typing import Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.credentials.quotas import FULL
from shared.adapters.dynamo.credentials.switches import LOWERED, switches
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.contracts import AUDIT_DAYS, MIN_RATE
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.lanes.breaker import BreakerState
from shared.domain.lanes.switches import AS_DECLARED, Hold, Switch, Switches
from shared.frozen import dataclass
from shared.ports import Clock

_FORGET: Final = f"REMOVE {', '.join((*LOWERED, *FULL))}"
_LEARNT: Final = "attribute_exists(hold_until) OR attribute_exists(full_until)"
_MARKS: Final = ("paused", "suspended")


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting of a switch. `reason` and `since` (Unix ms) of a pause: empty and 0 where there is none."""

    switches: Switches = AS_DECLARED
    reason: str = ""
    since: int = 0


class DynamoHolds:
    """`ports.Holds`."""

    def __init__(self, dynamo: Dynamo, *, records: str, ops: str) -> None:
        self._db = dynamo
        self._records = records
        self._ops = ops

    def read(self, account: str, lane: str) -> Hold:
        """Return whether an account's work on a lane is held back: one consistent read of three items."""
        controls = [keys.account_control(account), keys.system_control()]
        wanted = {self._records: {"Keys": controls, "ConsistentRead": True}}
        if lane:
            wanted[self._ops] = {"Keys": [keys.pacer(lane)], "ConsistentRead": True}
        items = self._db.batch_get_from(wanted)
        paused = any(mark in x for x in items for mark in _MARKS) or any(switches(x).paused for x in items)
        resumed_at, full_until = (max((number(x, at) for x in items), default=0) for at in ("resumed_at", "full_until"))
        return Hold(paused, resumed_at, full_until)


class Switchboard:
    """Pauses, resumes and slows sending, for operators.

    Args:
        client: a low-level boto3 DynamoDB client.
        audit_days: for how long an entry of the audit log is kept.
        homes: where the audit log is kept.
    """

    def __init__(
        self,
        client: Any,
        *,
        records: str,
        ops: str,
        clock: Clock,
        audit_days: int = AUDIT_DAYS,
        homes: Homes = IN_RECORDS,
    ) -> None:
        self._db = Dynamo(client, sleep=clock.sleep, audit_days=audit_days, homes=homes)
        self._records = records
        self._ops = ops
        self._clock = clock

    def pause(self, switch: Switch, *, by: str, reason: str) -> bool:
        """Pause. Senders learn it with their next window. False if it was paused already; that reason stays.

        Raises:
            ValueError: the reason contains an address.
        """
        update = self._update(switch, "SET paused = :reason, paused_at = :now", "attribute_not_exists(paused)")
        now = self._now()
        update["ExpressionAttributeValues"] = {":reason": s(reason), ":now": n(now)}
        acts = (Act.CREDENTIAL_PAUSED, Act.ACCOUNT_PAUSED, Act.ALL_PAUSED)
        return self._write(update, switch, now, acts, by, {"reason": reason})

    def resume(self, switch: Switch, *, by: str, reason: str) -> bool:
        """End a pause. False: there was none. The stream record of the audit entry's copy starts the waiting jobs.

        Args:
            switch: the credential, account or whole deployment.
            reason: why; free text without addresses.

        Raises:
            ValueError: the reason contains an address.
        """
        change = "SET resumed_at = :now REMOVE paused, paused_at"
        update = self._update(switch, change, "attribute_exists(paused)")
        now = self._now()
        update["ExpressionAttributeValues"] = {":now": n(now)}
        acts = (Act.CREDENTIAL_RESUMED, Act.ACCOUNT_RESUMED, Act.ALL_RESUMED)
        return self._write(update, switch, now, acts, by, {"reason": reason})

    def set_rate(self, credential: str, rate: float, *, ceiling: float, by: str, reason: str) -> bool:
        """Set a credential's present rate; forget what refusals have lowered, and that its quota is used up.

        Returns:
            False if nothing changes.

        Args:
            rate: messages per second; 0: as declared.
            ceiling: the declared rate.

        Raises:
            ValueError: the rate is below MIN_RATE or above the ceiling, or the reason contains an address.
        """
        if rate and not MIN_RATE <= rate <= ceiling:
            raise ValueError(f"a rate is from {MIN_RATE:g} to {ceiling:g} messages per second")
        switch = Switch(credential=credential)
        if rate:
            change, condition = "SET #rate = :rate", "attribute_not_exists(#rate) OR #rate <> :rate"
            update = self._update(switch, f"{change} {_FORGET}", f"{condition} OR {_LEARNT}")
            update["ExpressionAttributeValues"] = {":rate": n(rate)}
        else:
            condition = f"attribute_exists(#rate) OR {_LEARNT}"
            update = self._update(switch, f"{_FORGET}, #rate", condition)
        update["ExpressionAttributeNames"] = {"#rate": "rate"}
        told = {"rate": f"{rate:g}" if rate else "declared", "ceiling": f"{ceiling:g}", "reason": reason}
        return self._write(update, switch, self._now(), (Act.RATE_SET,), by, told)

    def close_breaker(self, credential: str, *, by: str, reason: str) -> bool:
        """Close a credential's circuit breaker; False if it is closed, or never opened.

        The version rises, so that workers that remember the open breaker accept the change with their next read.

        Raises:
            ValueError: the reason contains an address.
        """
        now = self._now()
        update: Item = {
            "TableName": self._ops,
            "Key": keys.breaker(credential),
            "UpdateExpression": "SET #state = :closed, since = :now, version = version + :one"
            " REMOVE #delay, probe_at, probes, prober, successes",
            "ConditionExpression": "attribute_exists(pk) AND #state <> :closed",
            "ExpressionAttributeNames": {"#state": "state", "#delay": "delay"},
            "ExpressionAttributeValues": {":closed": s(BreakerState.CLOSED.value), ":now": n(now), ":one": n(1)},
        }
        return self._write(update, Switch(credential=credential), now, (Act.BREAKER_CLOSED,), by, {"reason": reason})

    def read(self, *asked: Switch) -> dict[Switch, Setting]:
        """Return the settings of switches, consistent."""
        found: dict[str, Item] = {}
        for table in (self._records, self._ops):
            wanted = [self._place(t)[1] for t in asked if self._place(t)[0] == table]
            found |= {_name(x): x for x in self._db.batch_get(table, wanted)} if wanted else {}
        return {t: _setting(found.get(_name(self._place(t)[1]), {})) for t in asked}

    def _place(self, switch: Switch) -> tuple[str, keys.Key]:
        if switch.credential:
            return self._ops, keys.pacer(switch.credential)
        return self._records, keys.account_control(switch.account) if switch.account else keys.system_control()

    def _update(self, switch: Switch, change: str, condition: str) -> Item:
        table, key = self._place(switch)
        return {"TableName": table, "Key": key, "UpdateExpression": change, "ConditionExpression": condition}

    def _write(
        self, update: Item, switch: Switch, now: int, acts: tuple[Act, ...], by: str, told: dict[str, str]
    ) -> bool:
        """Make a change and its audit entry, or neither; `acts`: those of a credential, an account and everything."""
        act = acts[0 if switch.credential else 1 if switch.account else 2]
        name = switch.credential or switch.account or EVERYONE
        event = audited(switch.account or EVERYONE, now, name, act, by, told)
        actions = [{"Update": update}, *audit.puts(self._db, self._records, event)]
        return self._db.together(actions)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _name(item: Item) -> str:
    return f"{item['pk']['S']}/{item['sk']['S']}"


def _setting(item: Item) -> Setting:
    return Setting(switches(item), text(item, "paused"), number(item, "paused_at"))
