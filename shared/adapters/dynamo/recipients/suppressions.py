"""Suppressed addresses, and those that unsubscribed, on DynamoDB: two lists of the same form for each namespace.

Each entry is two items. One is under the name of the normalised address (`recipients.address_names`), for "is it
suppressed?". The other is under its time, for lists and for senders that ask for new entries. Both hold the address
itself, since the list's owner may read it. While names are moved to another key, an entry may have either of two
names. The earlier one is read first, since an entry is moved from it to the later one.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import number, s
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.adapters.dynamo.recipients import guests, watermarks
from shared.contracts import AUDIT_DAYS
from shared.domain.audit import RECIPIENT, SYSTEM, Act, Event, audited, masked
from shared.domain.content.unsubscribe import Unsubscription, undoable
from shared.domain.recipients.address_names import Names, generation_of, person
from shared.domain.recipients.suppressions import AnyReach, DigestsOf, Reach, Suppression, left
from shared.domain.times import Millis
from shared.ports import After, Clock, Limit, Recent

_FIELDS: Final = Fields(Suppression, always=("address", "reason", "at"))
BY_KEY: Final = 300
"""Up to this many addresses are read one by one (a unit each, 100 a call). For more, the list is read in pages of up to
1 MB or some 6,000 entries each."""
WORTH: Final = 2_000
"""Addresses that a page has to decide on. A page that decides on fewer is the last: the list is long for so few
addresses. The addresses behind it are read one by one."""
LOG_PAGES: Final = 2
"""Pages of the log, 1 MB or some 4,000 entries each, that are read in one go."""


def add(
    db: Dynamo,
    table: str,
    reach: AnyReach,
    namespace: str,
    new: Suppression,
    event: Event | None = None,
    *,
    heard: bool = True,
) -> bool:
    """Store an entry. False: the address has one already. The watermark has to be set before.

    Args:
        event: what is written to the audit log with it; None for none.
        heard: whether webhooks may hear of the entry.
    """
    name = db.names.new(new.address)
    fields = _FIELDS.item(replace(new, policy="")) | ({} if heard else {"unheard": {"BOOL": True}})
    if isinstance(reach, DigestsOf):
        fields["policy"] = s(reach.policy)
    first: Item = {"TableName": table, "Item": {**keys.suppression(namespace, name, reach), **fields}}
    first["ConditionExpression"] = "attribute_not_exists(pk)"
    second: Item = {"TableName": table, "Item": {**keys.suppression_log(namespace, new.at, name, reach), **fields}}
    others = [keys.suppression(namespace, x, reach) for x in db.names.all(new.address) if x != name]
    checks = [{"TableName": table, "Key": x, "ConditionExpression": "attribute_not_exists(pk)"} for x in others]
    beside = [{"ConditionCheck": x} for x in checks]
    return db.together([{"Put": first}, {"Put": second}, *beside, *audit.puts(db, table, event)])


def find(db: Dynamo, table: str, namespace: str, address_key: str, reach: AnyReach) -> tuple[str, Item] | None:
    """Return an address's entry under the name that it has, read consistently; None if it has none."""
    for name in db.names.all(address_key):
        item = db.get(table, keys.suppression(namespace, name, reach))
        if item is not None:
            return name, item
    return None


def remove(
    db: Dynamo,
    table: str,
    reach: AnyReach,
    namespace: str,
    address_key: str,
    wanted: Callable[[Suppression], bool] = lambda _: True,
    event: Event | None = None,
) -> bool:
    """Remove an address's entry, even if other calls add or remove it meanwhile.

    Args:
        address_key: the normalised address.
        wanted: whether an entry is to be removed; it is removed only if it is still as checked.

    Returns:
        False if there was none, or none that is wanted.
    """
    tried = False
    while True:
        found = find(db, table, namespace, address_key, reach)
        if found is None:
            return tried
        name, item = found
        if not wanted(suppression_of(item)):
            return False
        by_hash: Item = {"TableName": table, "Key": keys.suppression(namespace, name, reach)}
        by_hash |= {"ConditionExpression": "#at = :at AND reason = :reason", "ExpressionAttributeNames": {"#at": "at"}}
        by_hash["ExpressionAttributeValues"] = {":at": item["at"], ":reason": item["reason"]}
        by_time = {"TableName": table, "Key": keys.suppression_log(namespace, number(item, "at"), name, reach)}
        tried = True
        if db.together([{"Delete": by_hash}, {"Delete": by_time}, *audit.puts(db, table, event)]):
            return True


def among(
    db: Dynamo, table: str, namespace: str, addresses: Collection[str], reaches: Collection[AnyReach]
) -> dict[str, AnyReach]:
    """Return which addresses have an entry, and in which list. `ALL` wins over other lists.

    Few addresses cost a read by key each; for many, the lists are read. A page takes as much time as WORTH addresses.

    Args:
        addresses: normalised addresses.
    """
    owners = db.names.owners(addresses)
    if len(addresses) > WORTH:
        found: dict[str, AnyReach] = {}
        for reach in sorted(reaches, key=lambda x: x is Reach.ALL):
            found |= dict.fromkeys(_entered(db, table, namespace, reach, owners), reach)
        return found
    entries = _entries(db, table, namespace, owners, reaches)
    return {k: reach for reach, k, _ in sorted(entries, key=lambda x: x[0] is Reach.ALL)}


def _entries(
    db: Dynamo, table: str, namespace: str, owners: Sequence[Mapping[str, str]], reaches: Collection[AnyReach]
) -> list[tuple[AnyReach, str, Item]]:
    """Return the entries of few addresses, in no order: the list, the normalised address, the item.

    Args:
        owners: of each generation, name → normalised address (`Names.owners`). One call reads items in no order. So
            another one reads those of a later generation.
    """
    found: list[tuple[AnyReach, str, Item]] = []
    for by_name in owners:
        wanted = [(reach, k, keys.suppression(namespace, x, reach)) for reach in reaches for x, k in by_name.items()]
        places = {_place(key): (reach, k) for reach, k, key in wanted}
        found += [(*places[_place(x)], x) for x in db.batch_get(table, [key for _, _, key in wanted])]
    return found


def _place(item: Item) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def _entered(
    db: Dynamo, table: str, namespace: str, reach: AnyReach, owners: Sequence[Mapping[str, str]]
) -> Collection[str]:
    """Return which addresses are in a list, read consistently.

    Entries are in the order of their names, so that a page decides on all addresses up to its last entry. Names of
    earlier generations come first.

    Args:
        owners: as `_entries` takes it.
    """
    place = keys.suppression(namespace, "", reach)
    pk, ending = place["pk"], place["sk"]["S"]
    wanted = {f"{name}{ending}": k for by_name in owners for name, k in by_name.items()}
    left, found = sorted(wanted), set[str]()
    query: Item = {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": pk},
        "ProjectionExpression": "sk",
        "ConsistentRead": True,
    }
    while len(left) > BY_KEY:
        page = db.call("query", TableName=table, **query)
        found |= wanted.keys() & {x["sk"]["S"] for x in page["Items"]}
        if "LastEvaluatedKey" not in page:
            left = []
            break
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        decided = bisect_right(left, page["LastEvaluatedKey"]["sk"]["S"])
        left = left[decided:]
        if decided < WORTH:
            break
    found |= _singly(db, table, pk, left)
    return {wanted[name] for name in found}


def _singly(db: Dynamo, table: str, pk: Item, names: Iterable[str]) -> set[str]:
    """Return which names are in a list, by reading each; `names`: those of earlier generations come first."""
    parts = (list(part) for _, part in groupby(names, generation_of))
    return {x["sk"]["S"] for part in parts for x in db.batch_get(table, [{"pk": pk, "sk": s(name)} for name in part])}


def since(db: Dynamo, table: str, reach: AnyReach, namespace: str, moment: Millis) -> Recent:
    """Return the entries of a list's log from a moment on, up to LOG_PAGES pages."""
    query: Item = {
        "KeyConditionExpression": "pk = :pk AND sk >= :since",
        "ExpressionAttributeValues": {
            ":pk": keys.suppression_log(namespace, 0, "", reach)["pk"],
            ":since": s(f"{moment:015d}"),
        },
        "ProjectionExpression": "sk",
        "ConsistentRead": True,
    }
    entries: list[tuple[str, str]] = []
    for _ in range(LOG_PAGES):
        page = db.call("query", TableName=table, **query)
        entries += [(at, name) for at, _, name in (x["sk"]["S"].partition("#") for x in page["Items"])]
        if "LastEvaluatedKey" not in page:
            return Recent([name for _, name in entries], None)
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    return Recent([name for _, name in entries], int(entries[-1][0]))


class Suppressions:
    """Suppressions and unsubscriptions by namespace: of an account's live keys, or of its test keys.

    Args:
        client: a low-level boto3 DynamoDB client.
        audit_days: for how long an entry of the audit log is kept.
        homes: where the audit log is kept.
        names: what addresses are stored as; None: by no key.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        clock: Clock,
        *,
        audit_days: int = AUDIT_DAYS,
        homes: Homes = IN_RECORDS,
        names: Names | None = None,
    ) -> None:
        self._db = Dynamo(client, sleep=clock.sleep, audit_days=audit_days, homes=homes, names=names)
        self._table = table
        self._clock = clock

    def put(
        self, namespace: str, address_key: str, reason: str, *, reach: AnyReach = Reach.ALL, by: str = SYSTEM
    ) -> Suppression:
        """Suppress an address, given as its normalised key, or unsubscribe it, and return what is stored.

        Repeating it changes at most the reason: the first time stays. Each change has an entry in the audit log.

        Args:
            address_key: the normalised address or number.
            reason: why, in the words of the list's owner.
        """
        now = int(self._clock.now() * 1000)
        new = Suppression(address_key, reason, now, policy=reach.policy if isinstance(reach, DigestsOf) else "")
        whom = person(self._db.names.new(address_key))
        added = _event(namespace, now, whom, Act.SUPPRESSION_ADDED, reach, by)
        changed = _event(namespace, now, whom, Act.SUPPRESSION_CHANGED, reach, by)
        noted = False
        while True:
            if not noted and self.get(namespace, address_key, reach=reach) is None:
                watermarks.suppressing(self._db, self._table, namespace, now, reach)
                noted = True
            if add(self._db, self._table, reach, namespace, new, added):
                if not noted:  # it was there, and was taken away just now
                    watermarks.suppressing(self._db, self._table, namespace, now, reach)
                return new
            known = self.get(namespace, address_key, reach=reach)
            if known is None:
                continue
            if known.reason == reason or self._rename(namespace, address_key, known, reason, reach, changed):
                return replace(known, reason=reason)

    def _rename(
        self, namespace: str, address_key: str, known: Suppression, reason: str, reach: AnyReach, event: Event
    ) -> bool:
        """Change the reason of an entry; False if it no longer exists. An erased one no longer holds its address."""
        found = find(self._db, self._table, namespace, address_key, reach)
        if found is None:
            return False
        update = {
            "TableName": self._table,
            "UpdateExpression": "SET reason = :reason",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":reason": s(reason)},
        }
        both = keys.suppression(namespace, found[0], reach), keys.suppression_log(namespace, known.at, found[0], reach)
        updates = [{"Update": {**update, "Key": key}} for key in both]
        return self._db.together([*updates, *audit.puts(self._db, self._table, event)])

    def get(self, namespace: str, address_key: str, *, reach: AnyReach = Reach.ALL) -> Suppression | None:
        """Return an entry, read consistently. None: the address has none.

        Args:
            address_key: the normalised address.
        """
        found = find(self._db, self._table, namespace, address_key, reach)
        return suppression_of(found[1]) if found else None

    def delete(self, namespace: str, address_key: str, *, reach: AnyReach = Reach.ALL, by: str = SYSTEM) -> bool:
        """Allow an address again, with an entry in the audit log. False: it had no entry.

        Args:
            address_key: the normalised address.
        """
        whom = person(self._db.names.new(address_key))
        event = _event(namespace, int(self._clock.now() * 1000), whom, Act.SUPPRESSION_REMOVED, reach, by)
        return remove(self._db, self._table, reach, namespace, address_key, event=event)

    def undoable(self, wanted: Unsubscription, found: Suppression) -> bool:
        """Tell whether a link may still take back the unsubscription of its address."""
        now = int(self._clock.now() * 1000)
        return undoable(wanted, reason=found.reason, job=found.job, at=found.at, now=now)

    def undo(self, wanted: Unsubscription) -> bool:
        """Undo a link's unsubscription within a day, with an entry in the audit log; False if there is none to undo."""
        now, address, told = int(self._clock.now() * 1000), wanted.address, {"job": wanted.job}
        event = audited(wanted.account, now, person(self._db.names.new(address)), Act.UNDONE, RECIPIENT, told)
        check = partial(self.undoable, wanted)
        return remove(self._db, self._table, left(wanted.policy), wanted.account, address, check, event)

    def page(
        self, namespace: str, *, after: After = "", limit: Limit, reach: AnyReach = Reach.ALL
    ) -> tuple[list[Suppression], str]:
        """Return up to `limit` entries, newest first, and the place to continue from, empty at the end."""
        condition, values = "pk = :pk", {":pk": keys.suppression_log(namespace, 0, "", reach)["pk"]}
        if after:
            condition, values = "pk = :pk AND sk < :after", {**values, ":after": s(after)}
        page = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
        )
        items: list[Item] = page["Items"]
        return [suppression_of(x) for x in items], items[-1]["sk"]["S"] if "LastEvaluatedKey" in page else ""

    def check(self, namespace: str, address_keys: Iterable[str], *, reach: AnyReach = Reach.ALL) -> set[str]:
        return set(_entered(self._db, self._table, namespace, reach, self._db.names.owners(list(address_keys))))

    def entries(
        self, namespace: str, address_keys: Collection[str], reaches: Collection[AnyReach]
    ) -> Mapping[str, tuple[AnyReach, Suppression]]:
        weight = {reach: n for n, reach in enumerate(reaches)}
        found = _entries(self._db, self._table, namespace, self._db.names.owners(address_keys), reaches)
        ordered = sorted(found, key=lambda x: weight[x[0]], reverse=True)
        return {k: (reach, suppression_of(item)) for reach, k, item in ordered}

    def strangers(self, namespace: str, address_keys: Iterable[str]) -> set[str]:
        return guests.strangers(self._db, self._table, namespace, set(address_keys))


def _event(namespace: str, now: int, whom: str, act: Act, reach: AnyReach, by: str) -> Event:
    """Return the event of a change by a key. It does not contain the reason, which is the client's text."""
    data: dict[str, str | int] = {"scope": reach.kind.value}
    if isinstance(reach, DigestsOf):
        data["policy"] = masked(reach.policy)
    return audited(namespace, now, whom, act, by, data)


def suppression_of(item: Item) -> Suppression:
    """Read an entry, of either of its two items."""
    return Suppression(**_FIELDS.read(item))
