"""Mailgun's Events API: `GET /v3/{domain}/events`, and its pages.

Sources (documentation.mailgun.com/docs/mailgun): api-reference/send/mailgun/events, user-manual/events/time-range
and …/filter-expressions.

It shows acceptance only; webhooks report the fate of a message. A field that Mailgun does not document gives a 400, so
that no client relies on one. Of filter expressions there are words, quoted or not, and `OR`; a recipient's case
matters, as nothing says that it does not.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from simulator.model import Context, Reply, Request
from simulator.vendors._vendor import reply

REF_VARIABLES: Final = ("posthaste_ref", "ref")
"""Names of the `v:` value that carries our ref."""
MAX_EVENTS: Final = 300
DEFAULT_EVENTS: Final = 100
FIELDS: Final = frozenset(
    [
        *("begin", "end", "ascending", "limit", "pretty", "event", "list", "attachment", "from", "message-id"),
        *("subject", "to", "size", "recipient", "recipients", "tags", "severity"),
    ]
)
_WORD: Final = re.compile(r'"([^"]*)"|(\S+)')


class Invalid(Exception):
    """A query that Mailgun refuses with 400."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for. `begin`, `end`: Unix seconds; `filters`: field → any of these values."""

    begin: float
    end: float
    ascending: bool
    limit: int
    filters: Mapping[str, frozenset[str]]

    def takes(self, event: Mapping[str, Any]) -> bool:
        """Tell whether an event is asked for."""
        headers = event["message"]["headers"]
        values = {
            "event": event["event"],
            "recipient": event["recipient"],
            "message-id": headers["message-id"],
            "subject": headers["subject"],
        }
        low, high = min(self.begin, self.end), max(self.begin, self.end)
        return low <= event["timestamp"] <= high and all(
            values.get(field) in wanted for field, wanted in self.filters.items()
        )


def events(request: Request, context: Context, domain: str, page: str) -> Reply:
    """Answer a query, or for a page of one. `page`: its name, as the answer before gave it; empty: the first."""
    try:
        text, after = _page(page) if page else (request.query.decode("latin-1"), None)
        query = _query(text, context.at)
    except Invalid as e:
        return _reply(400, {"message": str(e)})
    found = _found(query, context, domain, after)
    shown = found[: query.limit]
    end = 2**53 if query.ascending else 0
    last = shown[-1][0] if shown else (end if after is None else after)
    place = f"http://{request.header(b'host')}/mailgun/{context.credential}/v3/{domain}/events"
    following = f"{place}/{_name(text, last)}"
    paging = {"previous": f"{place}/{_name(text, end)}", "first": f"{place}?{text}", "last": following}
    return _reply(200, {"items": [event for _, event in shown], "paging": {**paging, "next": following}})


def _event(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "event": "accepted",
        "id": f"{line['message_id'].partition('@')[0]}.{line['seq']}",
        "timestamp": line["at"],
        "log-level": "info",
        "method": "HTTP",
        "recipient": line["recipient"],
        "message": {"headers": {"message-id": line["message_id"], "subject": line["subject"]}},
        "user-variables": {REF_VARIABLES[0]: line["ref"]} if line["ref"] else {},
    }


def _found(query: Query, context: Context, domain: str, after: int | None) -> list[tuple[int, dict[str, Any]]]:
    """Return a query's events in its order, each with its number. `after`: the last one of the page before."""
    named = query.filters.get("recipient")
    lines = context.accepted.all() if named is None else context.accepted.to(named)
    latest = context.at - context.events_late
    there = [x for x in lines if x["message_id"].endswith(f"@{domain}") and x["at"] <= latest]
    found = [(line["seq"], event) for line in there if query.takes(event := _event(line))]
    if not query.ascending:
        found.reverse()
    return found if after is None else [x for x in found if _comes_after(x[0], after, ascending=query.ascending)]


def _comes_after(seq: int, last: int, *, ascending: bool) -> bool:
    return seq > last if ascending else seq < last


def _query(text: str, now: float) -> Query:
    wanted = dict(parse_qsl(text, keep_blank_values=True))
    unknown = sorted(set(wanted) - FIELDS)
    if unknown:
        raise Invalid(f"unknown filter field: {unknown[0]}")
    begin, end = _bounds(wanted, now)
    limit = wanted.get("limit", str(DEFAULT_EVENTS))
    if not limit.isdecimal() or not 0 < int(limit) <= MAX_EVENTS:
        raise Invalid("'limit' parameter is not a number between 1 and 300")
    named = {name: wanted[name] for name in wanted if name in ("event", "recipient", "message-id", "subject")}
    filters = {name: _values(value) for name, value in named.items()}
    return Query(begin, end, end > begin, int(limit), filters)


def _bounds(wanted: Mapping[str, str], now: float) -> tuple[float, float]:
    """Return where a query begins and ends, in Unix seconds."""
    begin = _time(wanted.get("begin", ""), now)
    ascending = wanted.get("ascending", "")
    if "end" in wanted:
        end = _time(wanted["end"], now)
    elif "begin" in wanted and ascending not in ("yes", "no"):
        raise Invalid("either 'end' or 'ascending' must be given")
    else:
        end = float("inf") if ascending == "yes" else 0.0
    return 0.0 if "begin" not in wanted and ascending == "yes" else begin, end


def _values(expression: str) -> frozenset[str]:
    """Return the values of a filter expression; `Invalid` for what is not made of words and `OR`."""
    words = [quoted or plain.strip("<>") for quoted, plain in _WORD.findall(expression)]
    if not words or len(words) % 2 == 0 or any(word != "OR" for word in words[1::2]):
        raise Invalid("invalid filter expression")
    return frozenset(words[::2])


def _time(text: str, now: float) -> float:
    if not text:
        return now
    try:
        return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else parsedate_to_datetime(text).timestamp()
    except ValueError:
        raise Invalid("invalid timestamp") from None


def _name(text: str, after: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([text, after]).encode()).decode()


def _page(name: str) -> tuple[str, int]:
    try:
        text, after = json.loads(base64.urlsafe_b64decode(name))
    except (binascii.Error, ValueError, TypeError):
        raise Invalid("invalid page") from None
    return str(text), int(after)


def _reply(status: int, body: Mapping[str, Any]) -> Reply:
    return reply(status, body)
