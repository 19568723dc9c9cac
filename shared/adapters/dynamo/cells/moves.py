"""The states of an account that moves to another deployment. Each change is one transaction with its audit entry.

An account begins to move in its old place: it is suspended there, and says that it waits. It is opened in the new place
after it has left the old one. So it never sends in both.
"""

from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import CACHE, Accounts
from shared.adapters.dynamo.accounts.api_keys import DAY_S
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, number, s
from shared.domain.accounts import Place
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.times import Millis

QUIET_MS: Final[Millis] = int(CACHE * 2000)
"""A process accepts for up to CACHE seconds after a suspension; as long again, and all that it accepted is listed."""
_MOVING: Final = "moves to another cell"


class MovingAccounts(Accounts):
    """Accounts, and how they leave and arrive."""

    def begin_move(self, account: str, to: str, *, by: str = SYSTEM) -> bool:
        """Suspend an account that moves; False if it is suspended, leaves or moves already.

        Args:
            to: the address of the other deployment.
        """
        now = self._now()
        condition = "attribute_exists(pk) AND attribute_not_exists(place) AND attribute_not_exists(leaves_at)"
        values = {":place": s(Place.MOVING), ":to": s(to)}
        suspend = self._control(account, "SET suspended = :reason, suspended_at = :now", "attribute_not_exists")
        suspend["Update"]["ExpressionAttributeValues"] = {":reason": s(_MOVING), ":now": n(now)}
        change = self._placing(account, condition, "SET place = :place, elsewhere = :to", values)
        return self._together([*change, suspend], audited(account, now, account, Act.MOVE_BEGUN, by, {"to": to}))

    def cancel_move(self, account: str, *, by: str = SYSTEM) -> bool:
        """Let an account stay that has not left; False if it does not move, or has left."""
        now = self._now()
        change = self._placing(account, "place = :moving", "REMOVE place, elsewhere", {":moving": s(Place.MOVING)})
        event = audited(account, now, account, Act.MOVE_CANCELLED, by)
        return self._together([*change, self._resume(account, now)], event)

    def quiet_at(self, account: str) -> Millis:
        """Return from when on no process accepts anything for a suspended account, Unix milliseconds."""
        found = self._db.get(self._table, keys.account_control(account)) or {}
        return number(found, "suspended_at") + QUIET_MS

    def leave(self, account: str, *, by: str = SYSTEM) -> bool:
        """Let an account be gone: its keys are refused with the word that it moved. False if it does not move.

        A repeat does what is left. A process takes a key for up to CACHE seconds more, for calls that do not send.
        """
        now = self._now()
        values = {":moving": s(Place.MOVING), ":moved": s(Place.MOVED)}
        change = self._placing(account, "place IN (:moving, :moved)", "SET place = :moved", values)
        if not self._together(change, audited(account, now, account, Act.ACCOUNT_MOVED, by)):
            return False
        for mirror in list(self._mirrors(account)):
            self._forget(account, mirror["digest"]["S"], now)
        return True

    def open_arrived(self, account: str, *, by: str = SYSTEM) -> bool:
        """Let an account that has arrived send; False if none arrives."""
        now = self._now()
        change = self._placing(account, "place = :here", "REMOVE place, elsewhere", {":here": s(Place.ARRIVING)})
        event = audited(account, now, account, Act.ACCOUNT_ARRIVED, by)
        return self._together([*change, self._resume(account, now)], event)

    def _forget(self, account: str, digest: str, now: Millis) -> None:
        """Delete a key, and note that it moved. A key is not sent for again, so the note stays as an audit entry."""
        note: Item = {
            "TableName": self._table,
            "Key": keys.api_key_use(digest),
            "UpdateExpression": "SET moved = :now, #ttl = :ttl",
            "ExpressionAttributeNames": {"#ttl": "ttl"},
            "ExpressionAttributeValues": {":now": n(now), ":ttl": n(now // 1000 + self._db.audit_days * DAY_S)},
        }
        both = keys.account_key(account, digest), keys.api_key(digest)
        deletes: list[Item] = [{"Delete": {"TableName": self._home, "Key": place}} for place in both]
        self._db.together([*deletes, *self._places.twins(deletes), {"Update": note}])

    def _placing(self, account: str, condition: str, change: str, values: Item) -> list[Item]:
        """Return a change of the profile and of its entry in the list."""
        both = keys.account(account), keys.accounts(account)
        there: Item = {
            "TableName": self._home,
            "ConditionExpression": condition,
            "UpdateExpression": change,
            "ExpressionAttributeValues": values,
        }
        return [{"Update": {**there, "Key": place}} for place in both]

    def _resume(self, account: str, now: Millis) -> Item:
        update = self._control(account, "SET resumed_at = :now REMOVE suspended, suspended_at", "attribute_exists")
        update["Update"]["ExpressionAttributeValues"] = {":now": n(now)}
        return update
