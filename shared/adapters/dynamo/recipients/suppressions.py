"""Suppressed addresses, and those that unsubscribed, on DynamoDB: two lists of the same form for each namespace.

Each entry is two items. One is under the hash of the normalised address, for "is it suppressed?". The other is under
its time, for lists and for senders that ask for new entries. Both hold the address itself, since the list's owner may
read it.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import number, s
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.adapters.dynamo.recipients import guests, watermarks
from shared.contracts import AUDIT_DAYS
from shared.domain.audit import RECIPIENT, SYSTEM, Act, Event, audited, masked, person
from shared.domain.content.unsubscribe import Unsubscription, undoable
from shared.domain.recipients.addresses import address_hash
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
    digest = address_hash(new.address)
    fields = _FIELDS.item(replace(new, policy="")) | ({} if heard else {"unheard": {"BOOL": True}})
    if isinstance(reach, DigestsOf):
        fields["policy"] = s(reach.policy)
    first: Item = {"TableName": table, "Item": {**keys.suppression(namespace, digest, reach), **fields}}
    first["ConditionExpression"] = "attribute_not_exists(pk)"
    second: Item = {"TableName": table, "Item": {**keys.suppression_log(namespace, new.at, digest, reach), **fields}}
    return db.together([{"Put": first}, {"Put": second}, *audit.puts(db, table, event)])


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
    digest = address_hash(address_key)
    tried = False
    while True:
        item = db.get(table, keys.suppression(namespace, digest, reach))
        if item is None:
            return tried
        if not wanted(suppression_of(item)):
            return False
        by_hash: Item = {"TableName": table, "Key": keys.suppression(namespace, digest, reach)}
        by_hash |= {"ConditionExpression": "#at = :at AND reason = :reason", "ExpressionAttributeNames": {"#at": "at"}}
        by_hash["ExpressionAttributeValues"] = {":at": item["at"], ":reason": item["reason"]}
        by_time = {"TableName": table, "Key": keys.suppression_log(namespace, number(item, "at"), digest, reach)}
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
    by_digest = {address_hash(k): k for k in addresses}
    if len(by_digest) > WORTH:
        found: dict[str, AnyReach] = {}
        for reach in sorted(reaches, key=lambda x: x is Reach.ALL):
            found |= dict.fromkeys(_entered(db, table, namespace, reach, by_digest), reach)
        return {by_digest[digest]: reach for digest, reach in found.items()}
    return _looked_up(db, table, namespace, by_digest, reaches)


def _looked_up(
    db: Dynamo, table: str, namespace: str, by_digest: Mapping[str, str], reaches: Collection[AnyReach]
) -> dict[str, AnyReach]:
    """Do the same for few addresses: entries of all lists in the same calls.

    Args:
        by_digest: normalised addresses by their hashes.
    """
    found = _entries(db, table, namespace, by_digest, reaches)
    return {k: reach for reach, k, _ in sorted(found, key=lambda x: x[0] is Reach.ALL)}


def _entries(
    db: Dynamo, table: str, namespace: str, by_digest: Mapping[str, str], reaches: Collection[AnyReach]
) -> list[tuple[AnyReach, str, Item]]:
    """Return the entries of few addresses, in no order: the list, the normalised address, the item.

    Args:
        by_digest: normalised addresses by their hashes.
    """
    wanted = [(reach, k, keys.suppression(namespace, d, reach)) for reach in reaches for d, k in by_digest.items()]
    places = {_place(key): (reach, k) for reach, k, key in wanted}
    return [(*places[_place(x)], x) for x in db.batch_get(table, [key for _, _, key in wanted])]


def _place(item: Item) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def _entered(db: Dynamo, table: str, namespace: str, reach: AnyReach, digests: Collection[str]) -> Collection[str]:
    """Return which hashes of addresses are in a list, read consistently.

    Entries are in the order of their hashes, so that a page decides on all addresses up to its last entry.

    Args:
        digests: hashes of normalised addresses.
    """
    place = keys.suppression(namespace, "", reach)
    pk, ending = place["pk"], place["sk"]["S"]
    wanted = {f"{digest}{ending}": digest for digest in digests}
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
    found |= {x["sk"]["S"] for x in db.batch_get(table, [{"pk": pk, "sk": s(name)} for name in left])}
    return [wanted[name] for name in found]


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
        entries += [(at, digest) for at, _, digest in (x["sk"]["S"].partition("#") for x in page["Items"])]
        if "LastEvaluatedKey" not in page:
            return Recent([digest for _, digest in entries], None)
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    return Recent([digest for _, digest in entries], int(entries[-1][0]))


class Suppressions:
    """Suppressions and unsubscriptions by namespace: of an account's live keys, or of its test keys.

    Args:
        client: a low-level boto3 DynamoDB client.
        audit_days: for how long an entry of the audit log is kept.
        homes: where the audit log is kept.
    """

    def __init__(
        self, client: Any, table: str, clock: Clock, *, audit_days: int = AUDIT_DAYS, homes: Homes = IN_RECORDS
    ) -> None:
        self._db = Dynamo(client, sleep=clock.sleep, audit_days=audit_days, homes=homes)
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
        added = _event(namespace, now, address_key, Act.SUPPRESSION_ADDED, reach, by)
        changed = _event(namespace, now, address_key, Act.SUPPRESSION_CHANGED, reach, by)
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
        digest = address_hash(address_key)
        update = {
            "TableName": self._table,
            "UpdateExpression": "SET reason = :reason",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":reason": s(reason)},
        }
        both = keys.suppression(namespace, digest, reach), keys.suppression_log(namespace, known.at, digest, reach)
        updates = [{"Update": {**update, "Key": key}} for key in both]
        return self._db.together([*updates, *audit.puts(self._db, self._table, event)])

    def get(self, namespace: str, address_key: str, *, reach: AnyReach = Reach.ALL) -> Suppression | None:
        """Return an entry, read consistently. None: the address has none.

        Args:
            address_key: the normalised address.
        """
        item = self._db.get(self._table, keys.suppression(namespace, address_hash(address_key), reach))
        return suppression_of(item) if item else None

    def delete(self, namespace: str, address_key: str, *, reach: AnyReach = Reach.ALL, by: str = SYSTEM) -> bool:
        """Allow an address again, with an entry in the audit log. False: it had no entry.

        Args:
            address_key: the normalised address.
        """
        event = _event(namespace, int(self._clock.now() * 1000), address_key, Act.SUPPRESSION_REMOVED, reach, by)
        return remove(self._db, self._table, reach, namespace, address_key, event=event)

    def undoable(self, wanted: Unsubscription, found: Suppression) -> bool:
        """Tell whether a link may still take back the unsubscription of its address."""
        now = int(self._clock.now() * 1000)
        return undoable(wanted, reason=found.reason, job=found.job, at=found.at, now=now)

    def undo(self, wanted: Unsubscription) -> bool:
        """Undo a link's unsubscription within a day, with an entry in the audit log; False if there is none to undo."""
        now, address = int(self._clock.now() * 1000), wanted.address
        event = audited(wanted.account, now, person(address), Act.UNDONE, RECIPIENT, {"job": wanted.job})
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
        by_digest = {address_hash(k): k for k in address_keys}
        return {by_digest[x] for x in _entered(self._db, self._table, namespace, reach, by_digest)}

    def entries(
        self, namespace: str, address_keys: Collection[str], reaches: Collection[AnyReach]
    ) -> Mapping[str, tuple[AnyReach, Suppression]]:
        weight = {reach: n for n, reach in enumerate(reaches)}
        by_digest = {address_hash(k): k for k in address_keys}
        found = _entries(self._db, self._table, namespace, by_digest, reaches)
        ordered = sorted(found, key=lambda x: weight[x[0]], reverse=True)
        return {k: (reach, suppression_of(item)) for reach, k, item in ordered}

    def strangers(self, namespace: str, address_keys: Iterable[str]) -> set[str]:
        return guests.strangers(self._db, self._table, namespace, set(address_keys))


def _event(namespace: str, now: int, address_key: str, act: Act, reach: AnyReach, by: str) -> Event:
    """Return the event of a change by a key. It does not contain the reason, which is the client's text."""
    data: dict[str, str | int] = {"scope": reach.kind.value}
    if isinstance(reach, DigestsOf):
        data["policy"] = masked(reach.policy)
    return audited(namespace, now, person(address_key), act, by, data)


def suppression_of(item: Item) -> Suppression:
    """Read an entry, of either of its two items."""
    return Suppression(**_FIELDS.read(item))
