"""SendGrid's Email Logs: `POST /v3/logs`, and `GET /v3/logs/{sg_message_id}`.

Source: github.com/twilio/sendgrid-oai, spec/json/tsg_logs_v3.json. They know of acceptance only; what became of a
message is told by webhooks. A field or operator that is not documented is a 400, so that nobody relies on one.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simulator.model import Context, Reply, Request
from simulator.sendgrid_mail import error

PATH: Final = "/v3/logs"
REF_ARG: Final = "posthaste_ref"
MAX: Final = 1000
DEFAULT: Final = 10
_TERM: Final = re.compile(r'(to_email|subject|sg_message_id) = "([^"\\]*)"')
_TIME: Final = re.compile(r'sg_message_id_created_at (>=|<=|>|<) TIMESTAMP "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"')


def answer(request: Request, context: Context) -> Reply:
    """Answer a search, or for one message."""
    lines = [line for line in context.find("") if line["at"] <= context.at - context.events_late]
    if request.path != PATH:
        name = request.path.removeprefix(f"{PATH}/")
        found = next((line for line in lines if message_id(line) == name), None)
        return error(404, "message not found") if found is None else _reply(_whole(found))
    if request.method != "POST":
        return error(405, "method not allowed")
    try:
        query, limit = _wanted(json.loads(request.body))
        taken = [line for line in reversed(lines) if _takes(query, line)]
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


def _takes(query: str, line: Mapping[str, Any]) -> bool:
    """Tell whether a message is asked for; ValueError for a query that is not documented."""
    values = {"to_email": line["recipient"], "subject": line["subject"], "sg_message_id": message_id(line)}
    result = True
    for term in query.split(" AND ") if query else ():
        if (equal := _TERM.fullmatch(term)) is not None:
            result &= values[equal[1]] == equal[2]
        elif (compared := _TIME.fullmatch(term)) is not None:
            at = datetime.fromisoformat(compared[2]).timestamp()
            result &= line["at"] >= at if compared[1].startswith(">") else line["at"] <= at
        else:
            raise ValueError(term)
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
    return Reply(200, [(b"content-type", b"application/json")], json.dumps(body).encode())
