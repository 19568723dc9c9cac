"""Mailgun's Logs API: whether it has taken an attempt. Its logs prove acceptance, never absence.

Sources: documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/logs/post-v1-analytics-logs (fields, pages);
github.com/mailgun/mailgun-mcp-server, src/custom-tools/investigate-message-delivery.ts (the filters `recipient` and
`domain`, the form of items). It takes keys of the account; others are refused.

`user-variables` is "a string" there, whose form is not documented. An object in JSON is read, and an object; any
other form is no proof. Nor do the pages say when a log is complete. Mailgun may have taken a message that its log
lacks (docs/adr/0088-mailgun-logs-come-first.md).
"""

import json
from collections.abc import Iterable, Mapping
from email.utils import formatdate
from typing import Any, Final

from shared.domain.jobs.outcomes import Accepted, Finding, Unknown
from shared.domain.times import Seconds
from shared.ports import Http, Response
from shared.providers._common import REF_ARG, doubt, fault, inquire, own_answer, parsed
from shared.providers._texts import clean
from shared.providers.mailgun.events import MAX_MESSAGE_ID

PATH: Final = "/v1/analytics/logs"
LIMIT: Final = 100
"""Items of a page; more are refused."""
MAX_PAGES: Final = 3
"""Of each spelling of an address; the next question is another chance."""
_FOUND: Final = 200


def search(
    http: Http,
    base_url: str,
    headers: Mapping[str, str],
    *,
    domain: str,
    spellings: Iterable[str],
    ref: str,
    span: tuple[float, float],
    deadline: Seconds,
) -> Finding:
    """Search the logs of a recipient for an attempt.

    Args:
        base_url: of the API, without a path.
        headers: with the authorization.
        spellings: of the recipient's address; each is asked for by itself.
        span: the first and the last moment that are searched, in Unix seconds.
        deadline: Unix seconds by which the last answer must have come.

    Returns:
        Accepted with Mailgun's id if an item carries the attempt; otherwise Unknown.
    """
    asking = {**headers, "Content-Type": "application/json"}
    for spelling in spellings:
        token = ""
        for _ in range(MAX_PAGES):
            body = _question(domain, spelling, span, token)
            response = inquire(http, "POST", base_url + PATH, headers=asking, body=body, deadline=deadline)
            if not isinstance(response, Response):
                return doubt(response)
            if response.status != _FOUND:
                return doubt(fault(response.status))
            page = _read(response.body)
            if page is None:
                return Unknown("malformed_answer")
            items, following = page
            found = _of_attempt(items, ref)
            if found is not None:
                return Accepted(_message_id(found))
            if not items or not following or following == token:
                break
            token = following
    return Unknown("not_found")


def _question(domain: str, recipient: str, span: tuple[float, float], token: str) -> bytes:
    """Return the body of a search. `token`: of the page; empty: the first."""
    wanted = {"recipient": recipient, "domain": domain}
    terms = [
        {"attribute": name, "comparator": "=", "values": [{"label": value, "value": value}]}
        for name, value in wanted.items()
    ]
    start, end = (formatdate(moment) for moment in span)
    pages = {"sort": "timestamp:asc", "limit": LIMIT, **({"token": token} if token else {})}
    question = {"start": start, "end": end, "filter": {"AND": terms}, "include_totals": False, "pagination": pages}
    return json.dumps(question).encode()


def _read(body: bytes) -> tuple[list[Mapping[str, Any]], str] | None:
    """Return a page's items and the token of the next page; None if the body is not Mailgun's."""
    answer = own_answer(body)
    items = answer.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    paging = answer.get("pagination")
    following = paging.get("next") if isinstance(paging, dict) else None
    return items, following if isinstance(following, str) else ""


def _of_attempt(items: Iterable[Mapping[str, Any]], ref: str) -> Mapping[str, Any] | None:
    """Return the item about an attempt; None if there is none."""
    return next((item for item in items if _variables(item).get(REF_ARG) == ref), None)


def _variables(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that a message carries; empty if they cannot be read."""
    found = item.get("user-variables")
    if isinstance(found, str):
        found = parsed(found)
    return found if isinstance(found, dict) else {}


def _message_id(item: Mapping[str, Any]) -> str:
    message = item.get("message")
    headers = message.get("headers") if isinstance(message, dict) else None
    name = headers.get("message-id") if isinstance(headers, dict) else None
    return clean(name, MAX_MESSAGE_ID).strip("<> ")
