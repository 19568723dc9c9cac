"""Messages: those of a job, those to one person or about one thing over all jobs, and one with its timeline."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, answer, listed, states
from functions.console.lists import BAD_PLACE
from functions.console.pages.jobs.routes import owned
from functions.console.pages.jobs.view import title_of
from functions.console.pages.messages.view import moments
from functions.console.screen import PageRoute, absent
from shared.domain.ids import parse_message_id
from shared.domain.jobs.labels import MAX_REFERENCE, MAX_TAG
from shared.domain.jobs.states import MessageState, Status
from shared.domain.times import day_begins
from shared.engine.reports.attempts import AttemptFate
from shared.engine.reports.candidates import Search
from shared.engine.reports.explained import explained
from shared.engine.reports.message_log import Filter, LogLine, Position
from shared.engine.reports.search import Hit, SearchPlace
from shared.web.http import Answer

FATES: Final = {
    "success": Filter(statuses=frozenset({Status.SUCCESS})),
    "without an end": Filter(
        states=frozenset({MessageState.QUEUED, MessageState.SENDING, MessageState.SENT, MessageState.UNKNOWN}),
        statuses=frozenset(Status) - {Status.SUCCESS},
    ),
}
"""Filters that stand for several states, as the daily figures sum them up."""
STATES: Final = {**{state.value: Filter(states=frozenset({state})) for state in MessageState}, **FATES}
SEARCH: Final[Filters[Hit]] = (
    ListFilter("recipient", "E-mail address or telephone number", kind="search"),
    ListFilter("reference", "Reference", most=MAX_REFERENCE),
    ListFilter("tag", "Tag", most=MAX_TAG),
    states(tuple(STATES)),
    ListFilter("since", "Taken from (UTC)", kind="date", folded=True),
    ListFilter("until", "Taken until (UTC)", kind="date", folded=True),
    ListFilter("keys", "Keys", lists.KEYS, "every kind", folded=True),
)
BY: Final = ("recipient", "reference", "tag", "since", "until")
"""Filters of which one is needed: the others narrow what it finds."""


def of_job(call: ConsoleCall) -> Answer:
    """Show a page of a job's messages, in the order of its list."""
    row = owned(call)
    filters: Filters[LogLine] = (
        states(tuple(STATES)),
        ListFilter("credential", "Tried by", row.job.route, "any credential"),
        ListFilter("attempt", "Result", tuple(AttemptFate), "any result"),
        ListFilter("recipient", "Recipient", kind="search"),
    )

    def read(at: Asked) -> ListRows[LogLine]:
        fate = AttemptFate(at["attempt"]) if at["attempt"] else None
        wanted = STATES.get(at["state"], Filter())
        wanted = replace(wanted, recipient=lists.recipient_key(at["recipient"]), credential=at["credential"], fate=fate)
        found, after = call.services.logs.lines(row.job, wanted, start=_start(call), limit=lists.PAGE)
        return ListRows(found, f"{after[0]}.{after[1]}" if after else "", more={"of": row})

    return answer(call, "messages/of_job.html", filters, read)


def _search(at: Asked) -> ListRows[Hit]:
    """Return messages over all jobs of the account, newest first."""
    key, services = lists.recipient_key(at["recipient"]), at.call.services
    asks = any(at[name] for name in BY)
    more = {"title_of": title_of, "asks": asks}
    if not asks or (at["recipient"] and not key):
        return ListRows([], more=more)
    since, until = lists.day(at.call, "since"), lists.day(at.call, "until")
    wanted = Search(
        lists.spaces(at.call),
        lists.KINDS,
        replace(STATES.get(at["state"], Filter()), recipient=key),
        at["reference"],
        at["tag"],
        since=day_begins(since) if since else 0,
        until=day_begins(until + timedelta(days=1)) if until else 0,
    )
    hits, place = services.search.find(wanted, _search_place(at.call), limit=lists.PAGE)
    return ListRows(hits, place.text if place else "", more=more)


def message(call: ConsoleCall) -> Answer:
    """Show one message and all that happened to it."""
    row = owned(call)
    place = parse_message_id(call.path["message"])
    found = call.services.logs.line(row.job, *place) if place else None
    if found is None:
        raise absent("message")
    entries = explained(row.job, [found], call.services.use_cases.suppressions, call.services.records)
    context = {
        "row": row,
        "line": found,
        "moments": moments(row.job, found),
        "inbox": call.services.console.inbox,
        "entry": entries.get(found.message),
    }
    return call.services.pages.page(call, "messages/message.html", context)


def _start(call: ConsoleCall) -> Position:
    found = lists.place(call)
    if not found:
        return (0, 0)
    place = parse_message_id(found)
    if place is None:
        raise BAD_PLACE
    return place


def _search_place(call: ConsoleCall) -> SearchPlace | None:
    try:
        return SearchPlace.read(lists.place(call))
    except ValueError:
        raise BAD_PLACE from None


ROUTES: Final = (
    listed("/console/{account}/messages", "messages", "messages/messages.html", SEARCH, _search),
    PageRoute("GET", "/console/{account}/jobs/{job}/messages", "messages of a job", of_job),
    PageRoute("GET", "/console/{account}/jobs/{job}/messages/{message}", "message", message),
)
