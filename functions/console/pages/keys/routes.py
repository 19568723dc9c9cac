"""API keys of the account: what each may do and when it was last used. Operators' commands make, rotate and revoke."""

from dataclasses import dataclass
from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.screen import PageRoute
from shared.domain.accounts import ApiKey, Scope
from shared.domain.times import Millis
from shared.web.http import Answer

STATES: Final = ("in use", "never used", "expired")


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key. `condition`: one of STATES."""

    key: ApiKey
    condition: str


def keys(look: Look) -> Answer:
    """Show a page of the account's keys, oldest first."""
    kind, state = lists.chosen(look, "keys", lists.KEYS), lists.chosen(look, "state", STATES)
    every = [_row(x, look.services.now) for x in look.services.accounts.list_keys(look.account)]
    fitting = [x for x in every if kind in ("", x.key.kind) and state in ("", x.condition)]
    rows, after = lists.cut(look, fitting)
    context = {
        "rows": rows,
        "count": len(fitting),
        "keys": kind,
        "kinds": lists.KEYS,
        "state": state,
        "states": STATES,
        "paging": lists.paging(look, after, keys=kind, state=state),
    }
    return look.services.pages.page(look, "keys/keys.html", context)


def _row(key: ApiKey, now: Millis) -> KeyRow:
    if not key.valid_at(now):
        return KeyRow(key, "expired")
    return KeyRow(key, "in use" if key.used else "never used")


ROUTES: Final = (PageRoute("GET", "/console/{account}/keys", "keys", keys, Scope.ADMIN),)
