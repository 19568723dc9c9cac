"""API keys of the account: what each may do and when it was last used."""

from typing import Final

from functions.console import lists
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed, states
from functions.console.pages.pressing import may_press
from shared.domain.accounts import ApiKey, Scope
from shared.domain.times import Millis
from shared.frozen import dataclass

STATES: Final = ("in use", "never used", "ends soon", "expired")


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key. `condition`: one of STATES."""

    key: ApiKey
    condition: str


FILTERS: Final[Filters[KeyRow]] = (
    ListFilter("keys", "Kind", lists.KEYS, "every kind", lambda x: x.key.kind),
    states(STATES, lambda x: x.condition),
)


def _keys(at: Asked) -> ListRows[KeyRow]:
    """Return the account's keys, oldest first."""
    services = at.call.services
    rows = [_row(x, services.now) for x in services.accounts.list_keys(at.call.account)]
    return ListRows(rows, whole=True, more={"buttons": may_press(at.call, key_admin=True)})


def _row(key: ApiKey, now: Millis) -> KeyRow:
    if not key.valid_at(now):
        return KeyRow(key, "expired")
    if key.ending(now) is not None:
        return KeyRow(key, "ends soon")
    return KeyRow(key, "in use" if key.used else "never used")


ROUTES: Final = (listed("/console/{account}/keys", "keys", "keys/keys.html", FILTERS, _keys, Scope.ADMIN),)
