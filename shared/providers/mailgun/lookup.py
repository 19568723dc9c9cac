"""Whether Mailgun ever took an attempt: by its Logs API, and where that shows nothing by its Events API.

Mailgun calls the Events API deprecated. Only its list is documented to be complete after a while, so only that list
proves absence (docs/adr/0088-mailgun-logs-come-first.md). The Logs API is in `logs`.

Sources (documentation.mailgun.com/docs/mailgun): api-reference/send/mailgun/events (fields, paging),
user-manual/events/event-polling (when a result can be trusted), …/filter-field and …/filter-expressions.

The search uses only documented filters, time and recipient. The code here compares our `v:` value, because a filter
that Mailgun does not know might hide a message, and absence must be proven.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from shared.domain.ids import Ref
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Unknown
from shared.domain.times import Seconds
from shared.ports import Http, Response, Target
from shared.providers._common import REF_ARG, doubt, fault, inquire, own_answer
from shared.providers._texts import clean
from shared.providers.mailgun.events import MAX_MESSAGE_ID
from shared.providers.mailgun.logs import search

RESOLVES_WITHIN: Final = 23 * 3600.0
"""Seconds. The least that Mailgun keeps events is a day (accounts without a plan)."""
SETTLED: Final = 1800.0 + 120.0
"""Seconds after an attempt until its absence is proof. Events reach the storage late and out of order; a page is
trustworthy from "half an hour" on (event-polling). Two minutes more, for a request that Mailgun itself took late."""
EARLIER: Final = 3600.0
"""Seconds before an attempt's recorded time that are searched: a record may be as young as the end of its lease."""
AHEAD: Final = 60.0
"""Seconds that Mailgun's clock may be ahead of ours."""
LIMIT: Final = 300
MAX_PAGES: Final = 20
"""6,000 events about one recipient in a day; with more the fate stays open."""
_SIMPLE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]*@)([A-Za-z0-9.-]+)")
"""Addresses that mean themselves in a filter expression; what it would make of others is not documented."""
_PAGE: Final = re.compile(r"/events/([A-Za-z0-9_=%.~-]{1,4096})$")

_FOUND: Final = 200


def look_up(
    http: Http,
    base_url: str,
    domain: str,
    headers: Mapping[str, str],
    target: Target,
    *,
    at: float,
    now: Seconds,
    deadline: Seconds,
) -> Finding:
    """Search the logs and then the events about a recipient for an attempt's ref.

    Args:
        base_url: of the API, without a path.
        headers: with the authorization; they go nowhere else than to `base_url`.
        at: Unix seconds when it was made, at the latest.
        deadline: Unix seconds by which the last answer must have come.

    Returns:
        Accepted with Mailgun's id if a log or event is about the attempt, since both are about accepted messages.
        Absent if there is no event, late enough to be proof. Unknown otherwise.
    """
    if now - at > RESOLVES_WITHIN:
        return Unknown("too_late")
    address = _SIMPLE.fullmatch(target.recipient.address)
    if address is None:
        return Unknown("cannot_look_up")
    # whether case matters is not documented, nor in which the address is kept
    spellings = dict.fromkeys((address[0], address[1] + address[2].lower(), address[0].lower()))
    span = (at - EARLIER, now + AHEAD)
    found = search(
        http,
        base_url,
        headers,
        domain=domain,
        spellings=spellings,
        ref=target.ref,
        span=span,
        deadline=now + (deadline - now) / 2,  # the other half is for the events
    )
    if isinstance(found, Accepted):
        return found
    wanted = {
        "begin": f"{span[0]:.0f}",
        "end": f"{span[1]:.0f}",
        "limit": str(LIMIT),
        "recipient": " OR ".join(spellings),
    }
    url = f"{base_url}/v3/{domain}/events"
    found = _events(http, url, urlencode(wanted), headers, target.ref, deadline)
    return Unknown("too_early") if isinstance(found, Absent) and now - at < SETTLED else found


def _events(http: Http, url: str, query: str, headers: Mapping[str, str], ref: str, deadline: Seconds) -> Finding:
    """Search the events for an attempt, page by page until an empty one; Absent if they have none by then."""
    page = f"{url}?{query}"
    for _ in range(MAX_PAGES):
        response = inquire(http, "GET", page, headers=headers, body=b"", deadline=deadline)
        if not isinstance(response, Response):
            return doubt(response)
        if response.status != _FOUND:
            return doubt(fault(response.status))
        items, following = _read(response.body)
        if items is None:
            return Unknown("malformed_answer")
        if not items:
            return Absent()
        finding = _find(items, ref)
        if finding is not None:
            return finding
        if not following:
            return Unknown("malformed_answer")
        page = f"{url}/{following}"
    return Unknown("too_many_events")


def _read(body: bytes) -> tuple[list[Mapping[str, Any]] | None, str]:
    """Return a page's events, and the name of the next page; None if the body is not Mailgun's."""
    answer = own_answer(body)
    items = answer.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None, ""
    paging = answer.get("paging")
    following = paging.get("next") if isinstance(paging, dict) else None
    found = _PAGE.search(following) if isinstance(following, str) else None
    return items, found[1] if found else ""


def _find(items: list[Mapping[str, Any]], ref: str) -> Finding | None:
    """Return what a page says of an attempt; None if nothing."""
    for item in items:
        variables = item.get("user-variables")
        value = variables.get(REF_ARG) if isinstance(variables, dict) else None
        if value == ref:
            message = item.get("message")
            headers = message.get("headers") if isinstance(message, dict) else None
            name = headers.get("message-id") if isinstance(headers, dict) else None
            return Accepted(clean(name, MAX_MESSAGE_ID).strip("<> "))
        if value is not None and (not isinstance(value, str) or Ref.parse(value) is None):
            return Unknown("unreadable_event")  # ours, and it does not say which attempt: it may be this one
    return None
