"""The use of accounts' limits on DynamoDB: one item for each account and day, in `records`.

| pattern | key |
|---|---|
| what an account has used of a day | `SPENT#account / 2026-11-20` |
| a share of a limit that is used, for webhooks | `SPENT#account#2026-11-20#email#80 / REACHED` |

A charge is one conditional update, before the transaction that accepts. It checks the account's limits and the key's.
As an action of that transaction it would cost twice as much. It would also turn the plain put of a batch without a key
into a transaction. Two transactions at one item cancel each other, but plain updates wait for each other. An account
makes at most 120 requests that send a second, and an item takes a thousand updates. A crash in between leaves the
charge counted: the account then sends less, never more.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.places import Places
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.spending.limits import KEPT_DAYS, SHARES, Charge, Exceeded, ReachedQuota, Rules, reached
from shared.domain.times import DAY_MS
from shared.ports import Clock, Retriable

_KEY: Final = "k#"
LIMIT: Final = ".limit"
"""The ending of the attribute with a measure's limit, beside the one with what is used."""
DAY_S: Final = DAY_MS // 1000
CACHE: Final = 30.0
"""Seconds that a process remembers an account's rules: changed limits hold from then on."""
MAX_CACHED: Final = 10_000
_REACHED: Final = Fields(ReachedQuota, always=("account", "day", "measure", "share", "limit", "used", "at"))
_LOG: Final = logging.getLogger(__name__)


class DynamoSpending:
    """`ports.Spending`.

    Args:
        table: the name of `records`.
        told: hears of each share of a limit that is used, once, from the process that noted it.
    """

    def __init__(
        self, dynamo: Dynamo, table: str, clock: Clock, told: Callable[[ReachedQuota], None] = lambda _: None
    ) -> None:
        self._told = told
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._noted: set[tuple[str, str, str, int]] = set()

    def take(self, charge: Charge) -> Exceeded | None:
        parts = [(_name(key, measure), amount, most) for key, measure, amount, most in charge.parts()]
        place = keys.spent(charge.account, charge.day)
        if any(amount > most for _, amount, most in parts):
            return self._refused(charge, self._db.get(self._table, place) or {})
        sets, adds, conditions = ["#ttl = :ttl"], [], []
        names, values = {"#ttl": "ttl"}, {":ttl": n(self._now() // 1000 + KEPT_DAYS * DAY_S)}
        for i, (name, amount, most) in enumerate(parts):
            names |= {f"#u{i}": name, f"#l{i}": f"{name}{LIMIT}"}
            values |= {f":a{i}": n(amount), f":l{i}": n(most), f":r{i}": n(most - amount)}
            sets.append(f"#l{i} = :l{i}")
            adds.append(f"#u{i} :a{i}")
            conditions.append(f"(attribute_not_exists(#u{i}) OR #u{i} <= :r{i})")
        try:
            answer = self._db.call(
                "update_item",
                TableName=self._table,
                Key=place,
                UpdateExpression=f"SET {', '.join(sets)} ADD {', '.join(adds)}",
                ConditionExpression=" AND ".join(conditions),
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
                ReturnValues="UPDATED_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return self._refused(charge, lost.item or {})
        for key, measure, _, most in charge.parts():
            used = number(answer["Attributes"], _name(key, measure))
            self._note(charge, key, measure, (most, used), reached(most, used))
        return None

    def give_back(self, charge: Charge) -> None:
        self._db.call("update_item", **give_back(self._table, charge))

    def used(self, account: str, day: str, key: str = "") -> Mapping[str, int]:
        item = self._db.get(self._table, keys.spent(account, day)) or {}
        begin = _name(key, "")
        found = {x[len(begin) :]: int(v["N"]) for x, v in item.items() if "N" in v and x.startswith(begin)}
        return {x: v for x, v in found.items() if x != "ttl" and "#" not in x and not x.endswith(LIMIT)}

    def _refused(self, charge: Charge, item: Item) -> Exceeded:
        """Return the limit that a charge exceeds, and note that it is used up. `item`: the use of the day."""
        for key, measure, amount, most in charge.parts():
            used = number(item, _name(key, measure))
            if used + amount > most:
                self._note(charge, key, measure, (most, used), SHARES)
                return Exceeded(measure, most, used, amount, self._now(), key=bool(key))
        raise ValueError("the charge exceeds no limit")

    def _note(self, charge: Charge, key: str, measure: str, amounts: tuple[int, int], shares: Sequence[int]) -> None:
        """Note shares of a limit that are used, each once a day, with their audit entries; the stream tells webhooks.

        A share that this process has noted costs nothing more. After a fault the next charge notes it.

        Args:
            amounts: the limit and its use.
        """
        for share in shares:
            known = charge.account, charge.day, _name(key, measure), share
            if known in self._noted:
                continue
            default = not key and measure in charge.defaults
            found = ReachedQuota(charge.account, charge.day, measure, key, share, *amounts, self._now(), default)
            try:
                new = self._db.together(self._noting(found, keys.reached(*known)))
            except Retriable:
                _LOG.warning("used share of a limit not noted", extra={"account": charge.account})
                return
            if new:
                self._told(found)
            if len(self._noted) >= MAX_CACHED:
                self._noted.clear()
            self._noted.add(known)

    def _noting(self, found: ReachedQuota, place: Item) -> list[Item]:
        """Return the actions that note a share of a limit, if it is not noted yet, and its audit entry."""
        item = {**place, **_REACHED.item(found), "ttl": n(found.at // 1000 + KEPT_DAYS * DAY_S)}
        put = {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        about: dict[str, str | int] = {
            "quota": found.measure,
            "share": found.share,
            "limit": found.limit,
            "used": found.used,
        }
        event = audited(found.account, found.at, found.key or found.account, Act.LIMIT_REACHED, SYSTEM, about)
        return [{"Put": put}, *audit.puts(self._db, self._table, event)]

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def reached_quota(item: Mapping[str, Any]) -> ReachedQuota:
    """Read a noted share of a limit."""
    return ReachedQuota(**_REACHED.read(item))


def give_back(table: str, charge: Charge) -> Item:
    """Return the update that takes back what was counted; also for a transaction."""
    parts = [(_name(key, measure), amount) for key, measure, amount, _ in charge.parts()]
    return {
        "TableName": table,
        "Key": keys.spent(charge.account, charge.day),
        "UpdateExpression": "ADD " + ", ".join(f"#u{i} :a{i}" for i in range(len(parts))),
        "ExpressionAttributeNames": {f"#u{i}": name for i, (name, _) in enumerate(parts)},
        "ExpressionAttributeValues": {f":a{i}": n(-amount) for i, (_, amount) in enumerate(parts)},
    }


class KnownRules:
    """Limits that operators have set for accounts, as a process remembers it for CACHE seconds.

    Args:
        table: the name of `records`, where an older version also has identities.
    """

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._places = Places(dynamo, table)
        self._clock = clock
        self._known: dict[str, tuple[float, Rules]] = {}

    def of(self, account: str) -> Rules:
        """Return the rules of an account; those of no account are empty."""
        known = self._known.get(account)
        if known is not None and self._clock.now() < known[0]:
            return known[1]
        found, _ = self._places.find([keys.account(account)], consistent=False)
        return self.learn(account, *found)

    def learn(self, account: str, *profiles: Item) -> Rules:
        """Remember and return the rules of an account's profile, which may be read for something else."""
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
        rules = rules_of(profiles[0] if profiles else {})
        self._known[account] = (self._clock.now() + CACHE, rules)
        return rules


def rules_of(profile: Item) -> Rules:
    """Return what operators have set, from an account's profile or its entry in the list."""
    own: dict[str, dict[str, int]] = {}
    for name, most in profile.get("limits", {"M": {}})["M"].items():
        key, _, measure = name.removeprefix(_KEY).rpartition("#")
        own.setdefault(key, {})[measure] = int(most["N"])
    return Rules(
        own.pop("", {}),
        own,
        frozenset(profile.get("sms_countries", {}).get("SS", ())),
        unsearched="unsearched" in profile,
        searched_from=number(profile, "searched_from"),
    )


def limit_updates(table: str, account: str, before: Rules, after: Rules) -> list[Item]:
    """Return the actions that set what an account may spend, if the rules of before are as they were read.

    Args:
        table: the name of the table of identities.
    """
    old, countries = limits_of(before), sorted(after.countries)
    there: Item = {
        "TableName": table,
        "UpdateExpression": "SET limits = :new"
        + (", sms_countries = :countries" if countries else " REMOVE sms_countries"),
        "ConditionExpression": "attribute_exists(pk) AND "
        + ("limits = :old" if old["M"] else "(attribute_not_exists(limits) OR limits = :old)"),
        "ExpressionAttributeValues": {
            ":new": limits_of(after),
            ":old": old,
            **({":countries": {"SS": countries}} if countries else {}),
        },
    }
    return [{"Update": {**there, "Key": place}} for place in (keys.account(account), keys.accounts(account))]


def limits_of(rules: Rules) -> Item:
    """Return the attribute with limits, as `rules_of` reads it."""
    each = {"": rules.limits, **rules.keys}
    return {"M": {_name(key, measure): n(most) for key, limits in each.items() for measure, most in limits.items()}}


def _name(key: str, measure: str) -> str:
    """Return the attribute of what is used of a measure: by the account, or by one of its keys."""
    return f"{_KEY}{key}#{measure}" if key else measure
