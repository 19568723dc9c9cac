"""SendGrid's Email Logs: whether it has taken an attempt. They prove acceptance, never absence.

Sources: github.com/twilio/sendgrid-oai, spec/json/tsg_logs_v3.json (fields, operators, answers);
twilio.com/docs/sendgrid/api-reference/email-logs ("near real time", 30 days, no pages). An API key needs the right to
read them; one without it is answered 403. Nowhere is it said when a list is complete, so what is not in it may still
have been taken (docs/adr/0083-presence-by-sendgrids-logs.md).
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from shared.domain.jobs.outcomes import Accepted, Finding, Unknown
from shared.domain.times import Seconds
from shared.ports import Http, Response, Target
from shared.providers._common import REF_ARG, doubt, fault, inquire, parsed
from shared.providers._texts import MAX_ID, clean

RESOLVES_WITHIN: Final = 24 * 3600.0
"""Seconds; the logs keep a month, and the questions end after a day."""
EARLIER: Final = 3600.0
"""Seconds before an attempt's recorded time that are searched: a record may be as young as the end of its lease."""
AHEAD: Final = 60.0
"""Seconds that SendGrid's clock may be ahead of ours."""
LIMIT: Final = 1000
MAX_READ: Final = 10
"""Messages to one recipient in one question; the next question is another chance."""
FORBIDDEN: Final = Unknown("look_up_forbidden")
"""The key may not read the logs: an operator may grant it, or leave it."""
_SIMPLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*@[A-Za-z0-9.-]+")
"""Addresses that need no escaping in a query; how others are written is not documented."""
_FOUND: Final = 200


def look_up(
    http: Http, url: str, headers: Mapping[str, str], target: Target, *, at: float, now: Seconds, deadline: Seconds
) -> Finding:
    """Search the recipient's messages around a time for an attempt's ref.

    Args:
        headers: with the authorization.
        at: Unix seconds when it was made, at the latest.
        deadline: Unix seconds by which the last answer must have come.

    Returns:
        Accepted with SendGrid's id if a message carries the attempt; otherwise Unknown.
    """
    if now - at > RESOLVES_WITHIN:
        return Unknown("too_late")
    address = target.recipient.address
    if _SIMPLE.fullmatch(address) is None:
        return Unknown("cannot_look_up")
    left = MAX_READ
    for spelling in dict.fromkeys((address, address.lower())):  # queries are case-sensitive
        query = (
            f'to_email = "{spelling}" AND sg_message_id_created_at >= TIMESTAMP "{_moment(at - EARLIER)}"'
            f' AND sg_message_id_created_at <= TIMESTAMP "{_moment(now + AHEAD)}"'
        )
        body = json.dumps({"query": query, "limit": LIMIT}).encode()
        found = _ask(http, "POST", url, headers, body, deadline)
        if isinstance(found, Unknown):
            return found
        names = _names(found)
        if names is None:
            return Unknown("malformed_answer")
        for name in names[:left]:
            message = _ask(http, "GET", f"{url}/{quote(name, safe='')}", headers, b"", deadline)
            if isinstance(message, Unknown):
                return message
            arguments = message.get("custom_args")
            if isinstance(arguments, dict) and arguments.get(REF_ARG) == target.ref:
                return Accepted(clean(name, MAX_ID).partition(".")[0])
        left -= len(names[:left])
    return Unknown("not_found")


def _ask(
    http: Http, method: str, url: str, headers: Mapping[str, str], body: bytes, deadline: Seconds
) -> Mapping[str, Any] | Unknown:
    """Return the object that an answer is, or why there is none."""
    response = inquire(http, method, url, headers=headers, body=body, deadline=deadline)
    if not isinstance(response, Response):
        return doubt(response)
    if response.status in (401, 403):
        return FORBIDDEN
    if response.status != _FOUND:
        return doubt(fault(response.status))
    answer = parsed(response.body)
    return answer if isinstance(answer, dict) else Unknown("malformed_answer")


def _names(answer: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the ids of a page's messages; None if the page is not SendGrid's."""
    messages = answer.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        return None
    names = [m.get("sg_message_id") for m in messages]
    return [n for n in names if isinstance(n, str) and n]


def _moment(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
