"""Mailgun's Logs API: `POST /v1/analytics/logs`, and its pages.

Sources: documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/logs/post-v1-analytics-logs;
github.com/mailgun/mailgun-mcp-server, src/openapi.yaml (fields) and src/custom-tools (names of filters).

It shows acceptance only; webhooks report the fate of a message. A field or filter that Mailgun's own sources do not
name gives a 400, so that no client relies on one.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from simulator.model import Context, Reply, Request
from simulator.vendors._vendor import reply
from simulator.vendors.mailgun.events import REF_VARIABLES

PATH: Final = "/v1/analytics/logs"
MAX_ITEMS: Final = 100
FIELDS: Final = frozenset(
    {"start", "end", "duration", "events", "metric_events", "filter", "include_subaccounts", "include_totals"}
    | {"pagination"}
)
FILTERS: Final = frozenset({"recipient", "domain", "message_id"})


def logs(request: Request, context: Context) -> Reply:
    """Answer a search, or for a page of one."""
    try:
        body = _body(request.body)
        start, end = (parsedate_to_datetime(body[name]).timestamp() for name in ("start", "end"))
        wanted = _terms(body)
        pages = body.get("pagination", {})
        limit, first, rising = _paging(pages)
    except (ValueError, TypeError, KeyError, AttributeError):
        return reply(400, {"message": "invalid request"}, spaced=True)
    found = _found(wanted, context, start, min(end + 1, context.at - context.events_late))
    shown = (found if rising else found[::-1])[first : first + limit]
    following = {"next": str(first + limit)} if shown else {}
    answer = {
        "start": body["start"],
        "end": body["end"],
        "items": shown,
        "pagination": {"first": "0", "last": "0", "previous": "0", "total": len(found), **following},
    }
    return reply(200, answer)


def _found(
    wanted: list[tuple[str, frozenset[str]]], context: Context, start: float, latest: float
) -> list[dict[str, Any]]:
    """Return the items of a span (Unix seconds) for which all terms hold, the oldest first."""
    named = [values for name, values in wanted if name == "recipient"]
    lines = context.accepted.to(named[0]) if named else context.accepted.all()
    items = [_item(line) for line in lines if start <= line["at"] <= latest]
    return [item for item in items if _takes(wanted, item)]


def _body(raw: bytes) -> dict[str, Any]:
    """Return a question; ValueError for one with a field that is not documented."""
    body = json.loads(raw)
    if set(body) - FIELDS:
        raise ValueError(body)
    return dict(body)


def _takes(wanted: list[tuple[str, frozenset[str]]], item: dict[str, Any]) -> bool:
    """Tell whether all terms hold for an item."""
    return all(_values(item)[name] in values for name, values in wanted)


def _terms(body: Mapping[str, Any]) -> list[tuple[str, frozenset[str]]]:
    return [_term(term) for term in body.get("filter", {}).get("AND", [])]


def _term(term: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """Return a filter's name and any of the values that it takes; ValueError for one that is not documented."""
    if term["attribute"] not in FILTERS or term["comparator"] != "=":
        raise ValueError(term)
    return term["attribute"], frozenset(value["value"] for value in term["values"])


def _paging(pages: Mapping[str, Any]) -> tuple[int, int, bool]:
    """Return a page's size, its first item, and whether the oldest come first."""
    limit, sort = pages.get("limit", MAX_ITEMS), pages.get("sort", "timestamp:desc")
    if not 1 <= limit <= MAX_ITEMS or sort not in ("timestamp:asc", "timestamp:desc"):
        raise ValueError(pages)
    return limit, int(pages.get("token", "0")), sort == "timestamp:asc"


def _values(item: Mapping[str, Any]) -> Mapping[str, str]:
    name = item["message"]["headers"]["message-id"]
    return {"recipient": item["recipient"], "domain": item["domain"]["name"], "message_id": name}


def _item(line: Mapping[str, Any]) -> dict[str, Any]:
    variables = {REF_VARIABLES[0]: line["ref"]} if line["ref"] else {}
    return {
        "id": f"{line['message_id'].partition('@')[0]}.{line['seq']}",
        "event": "accepted",
        "@timestamp": datetime.fromtimestamp(line["at"], UTC).isoformat(timespec="milliseconds"),
        "domain": {"name": line["message_id"].partition("@")[2]},
        "recipient": line["recipient"],
        "message": {"headers": {"message-id": line["message_id"], "subject": line["subject"]}},
        "user-variables": json.dumps(variables),
    }
