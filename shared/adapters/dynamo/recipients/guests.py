"""Guests: whom an account's team keys may send to. One item an account, since they are few and read together.

`records` has it, because the API writes it. Each change is a compare-and-swap with its entry in the audit log.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.adapters.dynamo.recipients import watermarks
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.namespaces import is_team, owner, team_space
from shared.domain.recipients.address_names import person
from shared.domain.recipients.guests import MAX_GUESTS, Guest
from shared.ports import Clock


def read(db: Dynamo, table: str, account: str) -> Mapping[str, int]:
    """Return an account's guests: normalised address to the moment of its adding (Unix ms), read consistently."""
    return {address: int(at["N"]) for address, at in _guests(db.get(table, _place(account)) or {}).items()}


def strangers(db: Dynamo, table: str, namespace: str, addresses: Collection[str]) -> set[str]:
    """Return the addresses to which the keys of a namespace do not send; only team keys have strangers.

    Args:
        addresses: normalised addresses.
    """
    if not addresses or not is_team(namespace):
        return set()
    return set(addresses) - read(db, table, namespace).keys()


def erase(db: Dynamo, table: str, accounts: Iterable[str], address_key: str, *, dry: bool) -> Iterator[str]:
    """Take a person off the guest lists of accounts; yields the accounts that had them. An erasure audits itself.

    Args:
        address_key: the person's normalised address.
        dry: nothing is changed.
    """
    for account in accounts:
        while address_key in _guests(item := db.get(table, _place(account)) or {}):
            if dry or db.together([_put(table, account, item, _guests(item, {address_key}))]):
                yield account
                break


class Guests:
    """The guest lists of accounts. `table`: the name of `records`."""

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock

    def list(self, account: str) -> list[Guest]:
        """Return an account's guests in the order of their addresses."""
        return [Guest(address, at) for address, at in sorted(read(self._db, self._table, account).items())]

    def add(self, account: str, address_key: str, *, by: str = SYSTEM) -> Guest | None:
        """Add a guest; an existing guest stays as it is. None: the list is full.

        Args:
            address_key: the normalised address or number.
        """
        while True:
            item = self._db.get(self._table, _place(account)) or {}
            there, now = _guests(item), int(self._clock.now() * 1000)
            if address_key in there:
                return Guest(address_key, int(there[address_key]["N"]))
            if len(there) >= MAX_GUESTS:
                return None
            if self._change(account, item, {**there, address_key: n(now)}, Act.GUEST_ADDED, (address_key, by, now)):
                return Guest(address_key, now)

    def remove(self, account: str, address_key: str, *, by: str = SYSTEM) -> bool:
        """Remove a guest: team keys' waiting messages to them are skipped. False: the account has no such guest.

        Args:
            address_key: the normalised address or number.
        """
        while True:
            item = self._db.get(self._table, _place(account)) or {}
            if address_key not in _guests(item):
                return False
            now = int(self._clock.now() * 1000)
            watermarks.suppressing(self._db, self._table, team_space(account), now)  # leases look again
            left = _guests(item, {address_key})
            if self._change(account, item, left, Act.GUEST_REMOVED, (address_key, by, now)):
                return True

    def _change(self, account: str, item: Item, left: Item, act: Act, about: tuple[str, str, int]) -> bool:
        """Write guests with the entry of the audit log, if they are as read.

        Args:
            left: the guests from now on.
            about: the guest's address, the actor, and when (Unix ms).
        """
        address_key, by, now = about
        entry = audited(owner(account), now, person(self._db.names.new(address_key)), act, by)
        put = _put(self._table, account, item, left)
        return self._db.together([put, *audit.puts(self._db, self._table, entry)])


def _place(account: str) -> keys.Key:
    return keys.key(keys.account_pk(owner(account)), "GUESTS")


def _guests(item: Item, without: Collection[str] = ()) -> Item:
    there: Item = item.get("guests", {"M": {}})["M"]
    return {address: at for address, at in there.items() if address not in without}


def _put(table: str, account: str, item: Item, guests: Item) -> Item:
    version = number(item, "version")
    put: Item = {
        "TableName": table,
        "Item": {**_place(account), "guests": {"M": guests}, "version": n(version + 1)},
    }
    if not version:
        return {"Put": {**put, "ConditionExpression": "attribute_not_exists(pk)"}}
    put |= {"ConditionExpression": "version = :version", "ExpressionAttributeValues": {":version": n(version)}}
    return {"Put": put}
