"""SendGrid's Email Logs: `POST /v3/logs`, and `GET /v3/logs/{sg_message_id}`.

Source: github.com/twilio/sendgrid-oai, spec/json/tsg_logs_v3.json. They show acceptance only; webhooks report the
fate of a message. A field or operator that is not documented gives a 400, so that no client relies on one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from simulator.model import Accepted, Context, Reply, Request
from simulator.vendors._vendor import reply
from simulator.vendors.sendgrid.mail import error

PATH: Final = "/v3/logs"
REF_ARG: Final = "posthaste_ref"
MAX: Final = 1000
DEFAULT: Final = 10
_TERM: Final = re.compile(r'(to_email|subject|sg_message_id) = "([^"\\]*)"')
_TIME: Final = re.compile(r'sg_message_id_created_at (>=|<=|>|<) TIMESTAMP "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"')


def answer(request: Request, context: Context) -> Reply:
    """Answer a search, or for one message."""
    latest = context.at - context.events_late
    if request.path != PATH:
        found = _named(request.path.removeprefix(f"{PATH}/"), context.accepted)
        return error(404, "message not found") if found is None or found["at"] > latest else _reply(_whole(found))
    if request.method != "POST":
        return error(405, "method not allowed")
    try:
        query, limit = _wanted(json.loads(request.body))
        taken = _found(_terms(query), context, latest)
    except (ValueError, TypeError, AttributeError):
        return error(400, "invalid query")
    return _reply({"messages": [_summary(line) for line in taken[:limit]]})


def _wanted(body: Any) -> tuple[str, int]:
    """Return the query and the limit of a search; ValueError for a body that is not documented."""
    query, limit = body.get("query", ""), body.get("limit", DEFAULT)
    if set(body) - {"query", "limit", "subusers"} or not 1 <= limit <= MAX:
        raise ValueError(body)
    return query, limit


def message_id(line: Mapping[str, Any]) -> str:
    """Return SendGrid's own id of a message; it begins with what `X-Message-Id` said."""
    return f"{line['message_id']}.recvd-simulator-{line['seq']}.0"


def _named(name: str, accepted: Accepted) -> dict[str, Any] | None:
    """Return the line of a message by SendGrid's own id, which ends with its number and a recipient's."""
    number = name.rpartition("-")[2].partition(".")[0]
    line = accepted.line(int(number)) if number.isdecimal() else None
    return line if line is not None and message_id(line) == name else None


def _found(terms: list[tuple[str, str, str]], context: Context, latest: float) -> list[dict[str, Any]]:
    """Return the messages that a query takes, newest first."""
    names = [value for field, operator, value in terms if (field, operator) == ("to_email", "=")]
    lines = context.accepted.to(names[:1]) if names else context.accepted.all()
    return [line for line in reversed(lines) if line["at"] <= latest and _takes(terms, line)]


def _terms(query: str) -> list[tuple[str, str, str]]:
    """Return field, operator and value of each term; ValueError for a query that is not documented."""
    found = []
    for term in query.split(" AND ") if query else ():
        if (equal := _TERM.fullmatch(term)) is not None:
            found.append((equal[1], "=", equal[2]))
        elif (compared := _TIME.fullmatch(term)) is not None:
            found.append(("", compared[1], compared[2]))
        else:
            raise ValueError(term)
    return found


def _takes(terms: Sequence[tuple[str, str, str]], line: Mapping[str, Any]) -> bool:
    """Tell whether all terms hold for a message; ValueError for a time that does not exist."""
    values = {"to_email": line["recipient"], "subject": line["subject"], "sg_message_id": message_id(line)}
    result = True
    for field, operator, value in terms:
        if field:
            result &= values[field] == value
        else:
            at = datetime.fromisoformat(value).timestamp()
            result &= line["at"] >= at if operator.startswith(">") else line["at"] <= at
    return result


def _summary(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "from_email": "",
        "sg_message_id": message_id(line),
        "subject": line["subject"],
        "to_email": line["recipient"],
        "status": "processed",
        "sg_message_id_created_at": datetime.fromtimestamp(line["at"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _whole(line: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in _summary(line).items() if name != "sg_message_id_created_at"}
    arguments = {REF_ARG: line["ref"]} if line["ref"] else {}
    return {**shown, "api_key_id": "", "client_ip": "192.0.2.1", "events": [], "custom_args": arguments}


def _reply(body: Mapping[str, Any]) -> Reply:
    return reply(200, body, spaced=True)
