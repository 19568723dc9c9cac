"""Which names of addresses a deployment stores: one item, and the keys in a secret.

Source: docs/adr/0258. The item is `NAMES / STATE` of `records`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.secrets import KEPT_EMPTY
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.recipients.address_names import NameKeys, Names, NamesState
from shared.domain.times import Millis
from shared.ports import Clock, MalformedSecret

if TYPE_CHECKING:
    from shared.adapters.dynamo.client import Dynamo, Item

KEPT: Final = 300.0
"""Seconds that a process remembers the state: far less than `SWITCH_MS`, so that all know of a target in time."""
WRONG: Final = "the secret of addresses has not the keys of their stored names"


class KeyedNames(Names):
    """Names by the keys of the deployment's secret; safe for threads: two may read the same at once.

    A process reads the item at most every KEPT seconds, and the secret once. While no target was ever announced, names
    have no key, and the secret is not read.

    Args:
        dynamo: a caller of its own, since another one carries these names.
        table: the name of `records`.
        secret: reads the secret, no older than some seconds.
    """

    def __init__(
        self, dynamo: "Dynamo", table: str, secret: Callable[[float], Mapping[str, str]], clock: Clock
    ) -> None:
        self._db = dynamo
        self._table = table
        self._secret = secret
        self._clock = clock
        self._known: tuple[float, NamesState, NameKeys] | None = None

    def now(self) -> Millis:
        return int(self._clock.now() * 1000)

    def known(self) -> tuple[NamesState, NameKeys]:
        """Return the state and its keys.

        Raises:
            MalformedSecret: the secret has not the keys by which names were stored. Nothing may be sent then.
            Retriable: the secret or the state cannot be read just now.
        """
        known, now = self._known, self._clock.now()
        if known is None or now >= known[0]:
            state = self.read()
            known = self._known = (now + KEPT, state, self.checked(state, known[2] if known else None))
        return known[1:]

    def read(self) -> NamesState:
        """Return the state as it is stored now."""
        return read_state(self._db, self._table)

    def checked(self, state: NamesState, known: NameKeys | None = None) -> NameKeys:
        """Return the keys of a state.

        Args:
            known: returned if they are those.
        """
        if not state.checks:  # nothing has a key, and a deploy may still be giving functions the right to read it
            return NameKeys()
        if known is not None and known.checks == state.checks:
            return known
        found = self.every_key()
        if found.checks[: len(state.checks)] != state.checks:
            raise MalformedSecret(WRONG)
        return NameKeys(found.keys[: len(state.checks)])

    def every_key(self) -> NameKeys:
        """Return all keys of the secret, also those that no stored name needs yet; none if it has no value.

        Raises:
            MalformedSecret: it has something else, or too short a key.
            Retriable: the secret cannot be read just now.
        """
        return keys_of(self._secret(KEPT_EMPTY))

    def begin(self, *, empty: Callable[[], bool]) -> bool:
        """Let a deployment without accounts use all keys from its first name on; False if nothing had to be changed.

        Call it before an account is made: nothing is named before the first one.

        Args:
            empty: returns whether there is no account yet.
        """
        if self.read() != NamesState() or not empty():
            return False
        found = self.every_key()
        if not found.keys:  # code is deployed a moment before the secret
            return False
        latest = len(found.keys)
        new = NamesState(latest, latest, self.now(), found.checks, ended=self.now())
        self._known = None
        return self._put(NamesState(), new)

    def announce(self, by: str) -> NamesState:
        """Announce that names are moved to the latest key, with an entry of the audit log; return the state.

        Nothing is announced while names are being moved, or if they have the latest key.

        Raises:
            MalformedSecret: the secret lacks keys of stored names, or has none.
        """
        while True:
            state, found = self.read(), self.every_key()
            if found.checks[: len(state.checks)] != state.checks or not found.keys:
                raise MalformedSecret(WRONG)
            if not state.settled or state.target == len(found.keys):
                return state
            now, latest = self.now(), len(found.keys)
            new = NamesState(state.floor, latest, now, found.checks)
            event = audited(EVERYONE, now, "addresses", Act.NAMES_ANNOUNCED, by, {"generation": latest})
            if self._put(state, new, audit.puts(self._db, self._table, event)):
                return new

    def reached(self, state: NamesState, place: str, moved: int) -> NamesState:
        """Note up to which account names were moved, and how many since the note before; return what is stored then.

        Nothing is noted of a move that another call has settled.
        """
        self._db.attempt(
            "update_item",
            TableName=self._table,
            Key=keys.names(),
            UpdateExpression="SET place = :place ADD moved :moved",
            ConditionExpression="#at = :at AND #floor = :floor",
            ExpressionAttributeNames={"#at": "at", "#floor": "floor"},
            ExpressionAttributeValues={
                ":place": s(place),
                ":moved": n(moved),
                ":at": n(state.at),
                ":floor": n(state.floor),
            },
        )
        return self.read()

    def settle(self, state: NamesState, by: str) -> NamesState:
        """Note that all names are of the target, with an entry of the audit log; return what is stored then.

        Call it only after a whole pass over all accounts that began `MOVE_MS` after the announcement.
        """
        now = self.now()
        new = replace(state, floor=state.target, place="", ended=now)
        told = {"generation": state.target, "moved": state.moved}
        event = audited(EVERYONE, now, "addresses", Act.NAMES_MOVED, by, told)
        self._put(state, new, audit.puts(self._db, self._table, event))
        return self.read()

    def _put(self, known: NamesState, new: NamesState, beside: "list[Item] | None" = None) -> bool:
        """Write the state with entries of the audit log; False if it is no longer as known."""
        put: Item = {"TableName": self._table, "Item": {**keys.names(), **_item_of(new)}}
        if known == NamesState():
            put["ConditionExpression"] = "attribute_not_exists(pk)"
        else:
            put["ConditionExpression"] = "#at = :at AND #floor = :floor"
            put["ExpressionAttributeNames"] = {"#at": "at", "#floor": "floor"}
            put["ExpressionAttributeValues"] = {":at": n(known.at), ":floor": n(known.floor)}
        return self._db.together([{"Put": put}, *(beside or [])])


def keys_of(secret: Mapping[str, str]) -> NameKeys:
    """Return the keys of a secret; none if it has no value. MalformedSecret: it has too many, or too short a one."""
    if not secret:
        return NameKeys()
    try:
        return NameKeys((*reversed(secret.get("previous", "").split()), secret.get("current", "")))
    except ValueError:
        raise MalformedSecret("the secret of addresses has too many keys, or too short a one") from None


def read_state(db: "Dynamo", table: str) -> NamesState:
    """Return the state as it is stored now. `table`: the name of `records`."""
    item = db.get(table, keys.names()) or {}
    return NamesState(
        floor=number(item, "floor"),
        target=number(item, "target"),
        at=number(item, "at"),
        checks=tuple(text(item, "checks").split()),
        place=text(item, "place"),
        moved=number(item, "moved"),
        ended=number(item, "ended"),
    )


def _item_of(x: NamesState) -> dict[str, Any]:
    return {
        "floor": n(x.floor),
        "target": n(x.target),
        "at": n(x.at),
        "checks": s(" ".join(x.checks)),
        "place": s(x.place),
        "moved": n(x.moved),
        "ended": n(x.ended),
    }
