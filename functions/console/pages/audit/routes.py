"""The audit log of an account: who did what and when, newest first."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from functions.console import lists
from functions.console.listing import KEYS, Asked, Filters, ListFilter, ListRows, listed
from functions.console.pages.audit.words import said
from shared.domain.accounts import Scope
from shared.domain.audit import Act, Event
from shared.domain.ids import is_id
from shared.domain.times import day_begins
from shared.frozen import dataclass


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


FILTERS: Final[Filters[AuditRow]] = (
    ListFilter("actor", "Who", most=200, hint="user:octocat"),
    ListFilter("action", "What", tuple(Act), "everything"),
    ListFilter("since", "From (UTC)", kind="date"),
    ListFilter("until", "To (UTC)", kind="date"),
    KEYS,
)


def _audit(at: Asked) -> ListRows[AuditRow]:
    """Return a page of the log."""
    since, until = lists.day(at.call, "since"), lists.day(at.call, "until")
    begin = at.place or (f"{day_begins(until + timedelta(days=1)):015d}" if until else "")
    journal = at.call.services.use_cases.journal
    found, after = journal.page(at.space, kind=at["action"], actor=at["actor"], after=begin, limit=lists.PAGE)
    if since is not None and found and found[-1].at < day_begins(since):
        found, after = [x for x in found if x.at >= day_begins(since)], ""
    return ListRows([AuditRow(x, _link(x, at.call.account)) for x in found], after)


def _link(event: Event, account: str) -> str:
    """Return the page of what an entry is about: live keys' drafts and templates have one while they exist."""
    thing, _, act = event.kind.partition(".")
    shown = thing == "job" or (thing in ("campaign", "template") and act != "deleted" and event.account == account)
    return f"{thing}s/{event.id}" if shown and is_id(event.id) else ""


ROUTES: Final = (listed("/console/{account}/audit", "audit log", "audit/audit.html", FILTERS, _audit, Scope.ADMIN),)
