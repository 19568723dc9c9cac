"""The audit log of an account: who did what and when, newest first."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.pages.audit.words import said
from functions.console.screen import PageRoute
from shared.domain.accounts import Scope
from shared.domain.audit import Act, Event
from shared.domain.ids import is_id
from shared.web.http import Answer

ACTIONS: Final = tuple(act.value for act in Act)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry. `link`: the page of what it is about, below the account; empty: it has none."""

    event: Event
    link: str

    @property
    def words(self) -> str:
        """What happened, in plain words."""
        return said(self.event.kind)

    @property
    def data(self) -> Mapping[str, str | int]:
        """More about it."""
        return self.event.data


def audit(look: Look) -> Answer:
    """Show a page of the log."""
    action, actor = lists.chosen(look, "action", ACTIONS), lists.typed(look, "actor", 200)
    since, until = lists.day(look, "since"), lists.day(look, "until")
    keys = lists.kind_of_keys(look)
    begin = lists.place(look) or (f"{lists.midnight(until + timedelta(days=1)):015d}" if until else "")
    journal = look.services.desks.journal
    found, after = journal.page(lists.space(look), kind=action, actor=actor, after=begin, limit=lists.PAGE)
    if since is not None and found and found[-1].at < lists.midnight(since):
        found, after = [x for x in found if x.at >= lists.midnight(since)], ""
    filters = {"action": action, "actor": actor, "since": _text(since), "until": _text(until)}
    context = {
        "rows": [AuditRow(x, _link(x, look.account)) for x in found],
        "actions": ACTIONS,
        "filters": filters,
        "narrowed": any(filters.values()),
        "keys": keys,
        "kinds": lists.KEYS,
        "paging": lists.paging(look, after, **filters, keys=keys),
    }
    return look.services.pages.page(look, "audit/audit.html", context)


def _link(event: Event, account: str) -> str:
    """Return the page of what an entry is about: live keys' drafts and templates have one while they exist."""
    thing, _, act = event.kind.partition(".")
    shown = thing == "job" or (thing in ("campaign", "template") and act != "deleted" and event.account == account)
    return f"{thing}s/{event.id}" if shown and is_id(event.id) else ""


def _text(day: date | None) -> str:
    return day.isoformat() if day is not None else ""


ROUTES: Final = (PageRoute("GET", "/console/{account}/audit", "audit log", audit, Scope.ADMIN),)
