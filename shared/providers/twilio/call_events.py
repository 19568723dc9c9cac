"""Twilio's posts about calls: the status callback of a call's end, and each key that its recipient presses.

Sources (twilio.com/docs): voice/api/call-resource#statuscallback (`CallStatus`, `SipResponseCode`, `AnsweredBy`),
voice/twiml/gather (`Digits`).

A key is answered with TwiML: 1 has the message repeated; after any other key the call ends. 9 is the recipient's wish
to get no more calls. Of other keys, only those that the message offers are words.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from shared.contracts import ProviderEvent
from shared.domain.channels.voice import REPEAT, STOP
from shared.domain.jobs.feedback import ProviderEventKind
from shared.ports import Reading, WebhookReply
from shared.providers._texts import MAX_ID, clean, redacted
from shared.providers.twilio.twiml import HANG_UP, SCRIPT_QUERY, TYPE, Script, document, unpack

STATUSES: Final[Mapping[str, ProviderEventKind]] = {
    "queued": ProviderEventKind.ACCEPTED,
    "initiated": ProviderEventKind.ACCEPTED,
    "ringing": ProviderEventKind.ACCEPTED,
    "in-progress": ProviderEventKind.ACCEPTED,
    "completed": ProviderEventKind.DELIVERED,
    "busy": ProviderEventKind.FAILED_TEMPORARILY,
    "no-answer": ProviderEventKind.FAILED_TEMPORARILY,
    "failed": ProviderEventKind.FAILED_TEMPORARILY,
    "canceled": ProviderEventKind.DROPPED,
}
"""Status of a call → word. A busy phone, an unanswered one and a failed connection are worth another try."""
GONE: Final = frozenset({"410", "604"})
"""SIP: the number exists no more, or nowhere. 404 says as much of one carrier only, which may be wrong."""
FAX: Final = "fax"


def call_words(ref: str, fields: Mapping[str, str], url: str, at: int) -> Reading:
    """Read a post about a call that is ours.

    Args:
        fields: of the form, each with its first value.
        url: that it was posted to.
        at: Unix seconds when it came in.
    """
    sid = clean(fields.get("CallSid", ""), MAX_ID)
    if "Digits" in fields:
        return _key(ref, fields["Digits"], url, at, sid)
    kind = STATUSES.get(fields.get("CallStatus", ""))
    if kind is None:
        return Reading(1, [])
    code = ""
    if kind is ProviderEventKind.DELIVERED:
        kind, code = _answered(fields.get("AnsweredBy", ""))
    elif kind is ProviderEventKind.FAILED_TEMPORARILY:
        kind, code = _failed(fields["CallStatus"], fields.get("SipResponseCode", ""))
    return Reading(1, [ProviderEvent(ref, kind.value, at, sid, code)])


def _answered(by: str) -> tuple[ProviderEventKind, str]:
    """Return the word and the code of a call that was answered."""
    code = "" if by in ("", "human", "unknown") else f"answered_by_{clean(by, MAX_ID)}"
    return (ProviderEventKind.BLOCKED if by == FAX else ProviderEventKind.DELIVERED), code


def _failed(status: str, sip: str) -> tuple[ProviderEventKind, str]:
    """Return the word and the code of a call that was not answered."""
    if status != "failed" or not sip:
        return ProviderEventKind.FAILED_TEMPORARILY, status.replace("-", "_")
    return (
        ProviderEventKind.BOUNCED if sip in GONE else ProviderEventKind.FAILED_TEMPORARILY
    ), f"sip_{clean(sip, MAX_ID)}"


def _key(ref: str, digits: str, url: str, at: int, sid: str) -> Reading:
    script = unpack(parse_qs(url.partition("?")[2]).get(SCRIPT_QUERY, [""])[0])
    if script is None:
        return Reading(1, [], WebhookReply(TYPE, HANG_UP))
    meanings = {REPEAT: "repeat", STOP: "stop", **dict(script.keys)}
    words = []
    if digits in meanings:
        words.append(
            ProviderEvent(
                ref, ProviderEventKind.PRESSED.value, at, sid, digits, redacted(clean(meanings[digits], MAX_ID))
            )
        )
    if digits == STOP:
        words.append(ProviderEvent(ref, ProviderEventKind.STOPPED.value, at, sid, digits))
    return Reading(1, words, WebhookReply(TYPE, _next(script, digits)))


def _next(script: Script, digits: str) -> str:
    """Return what the call does now."""
    again = script.repeated() if digits == REPEAT else None
    return HANG_UP if again is None else document(again)
