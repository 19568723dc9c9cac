"""Postmark's list of outbound messages: whether it has taken an attempt. It proves acceptance, never absence.

Sources (postmarkapp.com): developer/api/messages-api (parameters, retention of 7 to 365 days) and
support/article/1125-custom-metadata-faq (search by one field of metadata). Nowhere is it said when the list is
complete, so what is not in it may still have been taken (docs/adr/0106-postmark-is-called-in-batches.md).
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from shared.domain.jobs.outcomes import Accepted, Finding, Unknown
from shared.domain.times import Seconds
from shared.ports import Http, Response, Target
from shared.providers._common import REF_ARG, doubt, fault, inquire, own_answer
from shared.providers._texts import MAX_ID, clean

RESOLVES_WITHIN: Final = 24 * 3600.0
"""Seconds; messages are kept for a week at least, and the questions end after a day."""
COUNT: Final = 50
"""Messages of one answer: an attempt is one of them, unless the search ignores its filter."""
_FOUND: Final = 200


def look_up(
    http: Http, url: str, headers: Mapping[str, str], target: Target, *, age: float, deadline: Seconds
) -> Finding:
    """Search the messages for an attempt's ref.

    Args:
        headers: with the authorization.
        age: seconds since it was made, at the least.
        deadline: Unix seconds by which the answer must have come.

    Returns:
        Accepted with Postmark's id if a message carries the attempt; otherwise Unknown.
    """
    if age > RESOLVES_WITHIN:
        return Unknown("too_late")
    query = urlencode({"count": COUNT, "offset": 0, f"metadata_{REF_ARG}": target.ref})
    response = inquire(http, "GET", f"{url}?{query}", headers=headers, body=b"", deadline=deadline)
    if not isinstance(response, Response):
        return doubt(response)
    if response.status != _FOUND:
        return doubt(fault(response.status))
    messages = own_answer(response.body).get("Messages")
    if not isinstance(messages, list):
        return Unknown("malformed_answer")
    for message in messages:
        metadata = message.get("Metadata") if isinstance(message, dict) else None
        if isinstance(metadata, dict) and metadata.get(REF_ARG) == target.ref:
            name = clean(message.get("MessageID"), MAX_ID)
            return Accepted(name) if name else Unknown("malformed_answer")
    return Unknown("not_found")
