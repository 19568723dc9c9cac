"""Messages: those of a job, those to one recipient over all jobs, and one with its timeline."""

from dataclasses import replace
from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.lists import BAD_PLACE
from functions.console.pages.jobs.routes import owned
from functions.console.pages.jobs.view import title_of
from functions.console.pages.messages.view import moments
from functions.console.screen import PageRoute, absent
from shared.domain.ids import parse_message_id
from shared.domain.jobs.states import MessageState, Status
from shared.domain.recipients import addresses
from shared.engine.reports.attempts import AttemptFate
from shared.engine.reports.message_log import Filter, Position
from shared.engine.reports.search import Hit, MessageSearch, SearchPlace
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
ATTEMPTS: Final = tuple(fate.value for fate in AttemptFate)
MAX_RECIPIENT: Final = 400
"""Characters."""


def of_job(look: Look) -> Answer:
    """Show a page of a job's messages, in the order of its list."""
    row = owned(look)
    state = lists.chosen(look, "state", tuple(STATES))
    credential = lists.chosen(look, "credential", row.job.route)
    attempt = lists.chosen(look, "attempt", ATTEMPTS)
    typed, key = _recipient(look)
    fate = AttemptFate(attempt) if attempt else None
    wanted = replace(STATES.get(state, Filter()), recipient=key, credential=credential, fate=fate)
    found, after = look.services.logs.lines(row.job, wanted, start=_start(look), limit=lists.PAGE)
    context = {
        "row": row,
        "lines": found,
        "states": tuple(STATES),
        "state": state,
        "credential": credential,
        "attempts": ATTEMPTS,
        "attempt": attempt,
        "recipient": typed,
        "paging": lists.paging(
            look,
            f"{after[0]}.{after[1]}" if after else "",
            state=state,
            credential=credential,
            attempt=attempt,
            recipient=typed,
        ),
    }
    return look.services.pages.page(look, "messages/of_job.html", context)


def search(look: Look) -> Answer:
    """Show messages to one recipient over all jobs of the account, newest first."""
    typed, key = _recipient(look)
    keys, spaces = lists.spaces(look)
    hits: list[Hit] = []
    after = ""
    if key:
        finder = MessageSearch(look.services.listing, look.services.logs, look.services.reads.map)
        hits, more = finder.find(spaces, lists.KINDS, key, _search_place(look))
        after = f"{more.after} {more.skip} {more.chunk} {more.index}" if more else ""
    context = {
        "recipient": typed,
        "hits": hits,
        "title_of": title_of,
        "keys": keys,
        "kinds": lists.KEYS,
        "paging": lists.paging(look, after, recipient=typed, keys=keys),
    }
    return look.services.pages.page(look, "messages/messages.html", context)


def message(look: Look) -> Answer:
    """Show one message and all that happened to it."""
    row = owned(look)
    place = parse_message_id(look.path["message"])
    found = look.services.logs.line(row.job, *place) if place else None
    if found is None:
        raise absent("message")
    context = {"row": row, "line": found, "moments": moments(row.job, found), "inbox": look.services.console.inbox}
    return look.services.pages.page(look, "messages/message.html", context)


def _recipient(look: Look) -> tuple[str, str]:
    """Return the recipient to search for, as typed and as compared; empty: all recipients."""
    typed = look.request.query.get("recipient", "").strip()[:MAX_RECIPIENT]
    if not typed:
        return "", ""
    parsed = addresses.parse(typed)
    return typed, parsed.key if isinstance(parsed, addresses.Address) else parsed.text


def _start(look: Look) -> Position:
    found = lists.place(look)
    if not found:
        return (0, 0)
    place = parse_message_id(found)
    if place is None:
        raise BAD_PLACE
    return place


def _search_place(look: Look) -> SearchPlace:
    found = lists.place(look)
    if not found:
        return SearchPlace()
    after, *numbers = found.rsplit(" ", 3)
    try:
        skip, chunk, index = map(int, numbers)
    except ValueError:
        raise BAD_PLACE from None
    return SearchPlace(after, skip, chunk, index)


ROUTES: Final = (
    PageRoute("GET", "/console/{account}/messages", "messages", search),
    PageRoute("GET", "/console/{account}/jobs/{job}/messages", "messages of a job", of_job),
    PageRoute("GET", "/console/{account}/jobs/{job}/messages/{message}", "message", message),
)
