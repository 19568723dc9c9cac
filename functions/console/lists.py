"""The parts that the console's lists share: kinds of jobs and keys, filters, and places, sealed for an account."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, TypeVar
from urllib.parse import urlencode

from functions.console.call import ConsoleCall
from functions.console.screen import Denial
from shared.domain.jobs.job import DIGEST, MAIL, NOTICE
from shared.domain.namespaces import KeyKind, namespace, namespaces_of, team_space
from shared.engine.reports.explained import key_of
from shared.frozen import dataclass

T = TypeVar("T")
KINDS: Final = ("batch", "campaign", DIGEST, NOTICE, MAIL)
"""Kinds of jobs; each has its own place in the index."""
KEYS: Final = tuple(kind.value for kind in KeyKind)
"""Kinds of keys, for each of which an account keeps lists of its own."""
PAGE: Final = 50
_PLACE: Final = re.compile(r"[^\x00-\x1f]{1,400}")
ROW_DIGITS: Final = 9
"""Of the number of a row."""
TIME_DIGITS: Final = 13
"""Of Unix milliseconds, up to the year 2286."""
YEARS: Final = range(1970, 9999)
"""Of days that can be counted in milliseconds, and have a next one."""
BAD_PLACE: Final = Denial(400, "This page of the list is gone", "Begin at the first page.")


def place(call: ConsoleCall) -> str:
    """Return where a page of a list begins; empty at its beginning."""
    cursor = call.request.query.get("cursor", "")
    if not cursor:
        return ""
    found = call.services.links.unseal(_use(call), cursor)
    if found is None or not _PLACE.fullmatch(found):
        raise BAD_PLACE
    return found


def cursor(call: ConsoleCall, after: str) -> str:
    """Return the cursor of a place; empty at the end of a list."""
    return call.services.links.seal(_use(call), after) if after else ""


def chosen(call: ConsoleCall, name: str, among: Sequence[str]) -> str:
    """Return what a filter is set to; empty: everything.

    Args:
        among: what it may be set to.
    """
    found = call.request.query.get(name, "")
    return found if found in among else ""


def recipient_key(text: str) -> str:
    """Return a recipient that was typed as it is compared; empty: all recipients."""
    return key_of(text) if text else ""


def typed(call: ConsoleCall, name: str, most: int = 400) -> str:
    """Return what was typed into a filter, without blanks around it.

    Args:
        most: characters.
    """
    return call.request.query.get(name, "").strip()[:most]


def day(call: ConsoleCall, name: str) -> date | None:
    """Return the day in a filter, as a browser's field for one gives it; None: none, or none that a list could have."""
    try:
        found = date.fromisoformat(typed(call, name))
    except ValueError:
        return None
    return found if found.year in YEARS else None


def kind_of_keys(call: ConsoleCall) -> str:
    """Return the kind of keys whose list is asked for, by a filter or by a form; that of live keys by default."""
    found = call.form.get("keys") or call.request.query.get("keys", "")
    return found if found in KEYS else KeyKind.LIVE.value


def space(call: ConsoleCall) -> str:
    """Return the namespace whose list is asked for."""
    return _space(call.account, kind_of_keys(call))


def spaces(call: ConsoleCall) -> Sequence[str]:
    """Return the namespaces of the kind of keys that a list is narrowed to, else of every kind."""
    keys = chosen(call, "keys", KEYS)
    return (_space(call.account, keys),) if keys else namespaces_of(call.account)


def _space(account: str, keys: str) -> str:
    whose = team_space(account) if keys == KeyKind.TEAM else account
    return namespace(whose, test=keys == KeyKind.TEST)


@dataclass(frozen=True, slots=True)
class ListPages:
    """Where else a list can be read: queries of addresses, each empty where there is nothing to go to.

    Attributes:
        first: of its first page.
        next: of its next page.
    """

    first: str
    next: str


def paging(call: ConsoleCall, after: str, filters: Mapping[str, str]) -> ListPages:
    """Return the pages around the one that is shown.

    Args:
        after: the place to continue from; empty at the end.
        filters: filter → its value; an empty one is left out.
    """
    kept = {name: value for name, value in filters.items() if value}
    first = urlencode(kept) or "all="
    return ListPages(
        first=f"?{first}" if call.request.query.get("cursor") else "",
        next=f"?{urlencode({**kept, 'cursor': cursor(call, after)})}" if after else "",
    )


def cut(call: ConsoleCall, rows: Sequence[T]) -> tuple[Sequence[T], str]:
    """Return the page of a short list that is read at once, and the place to continue from, empty at its end."""
    begin = numbered(call)
    end = begin + PAGE
    return rows[begin:end], str(end) if end < len(rows) else ""


def numbered(call: ConsoleCall) -> int:
    """Return the number of the first row of a page, in a list whose places are numbers."""
    begin = number(place(call) or "0", ROW_DIGITS)
    if begin is None:
        raise BAD_PLACE
    return begin


def number(text: str, digits: int) -> int | None:
    """Return a number as it is written in an address or a form; None: it is none, or too long.

    Args:
        digits: the most that it may have.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def _use(call: ConsoleCall) -> str:
    return f"posthaste console cursor 1 {call.path.get('account', '*')}"
