"""Twilio's Calls resource: `POST /2010-04-01/Accounts/{sid}/Calls.json` with inline TwiML, and what a call reports.

Sources (twilio.com/docs): voice/api/call-resource (fields, answer, statuses), iam/test-credentials (magic numbers),
voice/twiml/gather (`Digits`).

Numbers that Twilio documents for tests are refused as they are there. A phone has the behaviours of SMS and more:
`busy`, `late` (rings long), `third` (answers at the third call), `machine`, `fax` and `gone`. `press_N` presses a key.
A key is posted to the address of the TwiML's `Gather`, before the call ends.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final
from urllib.parse import parse_qsl, urlsplit
from xml.etree.ElementTree import Element, ParseError, fromstring

from simulator.formats.forms import Form
from simulator.model import Answer, Content, Context, Message, Reply
from simulator.vendors._vendor import hexadecimal
from simulator.vendors.twilio.api import ACCOUNT, API, E164, REF_QUERY, Wrong, shown

FIELDS: Final = frozenset({"To", "From", "Twiml", "StatusCallback", "Timeout", "MachineDetection"})
DETECTIONS: Final = frozenset({"Enable", "DetectMessageEnd"})
MAX_TWIML: Final = 4000
MAX_TIMEOUT: Final = 600
THIRD: Final = 3
RECIPIENTS: Final = {
    "+15005550001": (21217, "Phone number does not appear to be valid"),
    "+15005550002": (21214, "'To' phone number cannot be reached"),
    "+15005550003": (21215, "Account not authorized to call {to}"),
    "+15005550004": (21216, "Account not allowed to call {to}"),
}
SENDERS: Final = {
    "+15005550001": (21212, "Invalid From Number (caller ID): {from_}"),
    "+15005550007": (21210, "'From' phone number not verified"),
}
KEYS: Final = {f"press_{key}": key for key in "0123456789"}
WORDS: Final = {
    "call:deliver": ("completed",),
    "call:read": ("completed",),
    "call:bounce": ("failed_404",),
    "call:landline": ("completed",),
    "call:blocked": ("failed_603",),
    "call:drop": ("canceled",),
    "call:defer": ("queued", "initiated", "ringing", "in-progress", "completed"),
    "call:expire": ("no-answer",),
    "call:spam": ("in-progress", "press_9", "completed"),
    "call:segment": ("completed",),
    "call:lost_segment": ("completed",),
    "call:cancel": ("canceled",),
    "call:busy": ("busy",),
    "call:late": ("initiated", "ringing", "no-answer"),
    "call:third": ("third",),
    "call:machine": ("completed_machine_end_beep",),
    "call:fax": ("completed_fax",),
    "call:gone": ("failed_604",),
    "call:silent": (),
    **{f"call:{name}": ("in-progress", name, "completed") for name in KEYS},
}
"""Behaviour → statuses, each with a SIP code or what answered, where there is one."""


@dataclass(slots=True)
class PhoneCall(Message):
    """A call. `times`: how often this number was called, with this call."""

    times: int = 1


def created(form: Form, size: int, context: Context) -> Answer:
    """Answer a request for a call; raise `Wrong`."""
    for name, values in form.fields.items():
        if name not in FIELDS or len(values) > 1:
            raise Wrong(20001, f"Unexpected parameter {name}")
    to, sender, callback = form.first("To"), form.first("From"), form.first("StatusCallback")
    _check_numbers(to, sender)
    spoken, action = _twiml(form.first("Twiml"))
    _check_options(form)
    if callback and (urlsplit(callback).scheme not in ("http", "https") or not urlsplit(callback).hostname):
        raise Wrong(21609, f"The 'StatusCallback' URL {callback} is not a valid URL.")
    times = context.memory[to] = context.memory.get(to, 0) + 1
    found = PhoneCall(
        to=to,
        role="to",
        ref=dict(parse_qsl(urlsplit(callback).query)).get(REF_QUERY, ""),
        subject="Call",
        id="CA" + hexadecimal(context.id),
        index=0,
        content=Content(sender, "", spoken, (), size),
        args={},
        values={},
        callback=callback,
        callbacks=dict.fromkeys(KEYS, action) if action else {},
        family="call:",
        times=times,
    )
    return Answer(_shown(found, context.at), [found])


def event(call: PhoneCall, word: str) -> dict[str, str]:
    """Return the fields of one post about a call."""
    fields = {
        "AccountSid": ACCOUNT,
        "ApiVersion": API,
        "CallSid": call.id,
        "Direction": "outbound-api",
        "From": call.content.sender,
        "To": call.to,
    }
    if word in KEYS:
        return {**fields, "CallStatus": "in-progress", "Digits": KEYS[word], "FinishedOnKey": ""}
    if word == "third":
        word = "completed" if call.times >= THIRD else "no-answer"
    status, _, more = word.partition("_")
    fields["CallStatus"] = status
    if status == "completed":
        return {**fields, "CallDuration": "20", "AnsweredBy": more or "human"}
    return {**fields, **({"SipResponseCode": more} if more else {})}


def _check_numbers(to: str, sender: str) -> None:
    if not to:
        raise Wrong(21201, "No 'To' number is specified")
    if to in RECIPIENTS:
        code, message = RECIPIENTS[to]
        raise Wrong(code, message.format(to=to))
    if not E164.fullmatch(to):
        raise Wrong(21211, f"Invalid 'To' Phone Number: {to}")
    if sender in SENDERS:
        code, message = SENDERS[sender]
        raise Wrong(code, message.format(from_=sender))
    if not E164.fullmatch(sender):
        raise Wrong(21212 if sender else 21213, f"Invalid From Number (caller ID): {sender}")


def _check_options(form: Form) -> None:
    timeout, detection = form.first("Timeout"), form.first("MachineDetection")
    if timeout and not (timeout.isascii() and timeout.isdigit() and 0 < int(timeout) <= MAX_TIMEOUT):
        raise Wrong(21208, "Invalid Timeout")
    if detection and detection not in DETECTIONS:
        raise Wrong(21209, "Invalid MachineDetection")


def _twiml(text: str) -> tuple[str, str]:
    """Return what a call says or plays, and where it reports keys; raise `Wrong`."""
    if not text or len(text) > MAX_TWIML:
        raise Wrong(21205, "Url or Twiml is missing, or the Twiml is too long.")
    try:
        root = fromstring(text.encode())  # noqa: S314 - on loopback, of our own making
    except ParseError as found:
        raise Wrong(12100, f"Document parse failure: {found}") from None
    if root.tag != "Response":
        raise Wrong(12100, "Document parse failure: there is no Response")
    gather = root.find("Gather")
    spoken = " ".join([_said(e) for e in root.iter() if e.tag in ("Say", "Play")])
    return spoken, gather.get("action", "") if gather is not None else ""


def _said(element: Element) -> str:
    return f"[{element.text}]" if element.tag == "Play" else element.text or ""


def _shown(call: PhoneCall, at: float) -> Reply:
    """Return the call as Twilio shows it."""
    moment = format_datetime(datetime.fromtimestamp(at, UTC))
    uri = f"/{API}/Accounts/{ACCOUNT}/Calls/{call.id}"
    body: dict[str, object] = {
        "account_sid": ACCOUNT,
        "answered_by": None,
        "api_version": API,
        "caller_name": None,
        "date_created": moment,
        "date_updated": moment,
        "direction": "outbound-api",
        "duration": None,
        "end_time": None,
        "forwarded_from": None,
        "from": call.content.sender,
        "from_formatted": call.content.sender,
        "group_sid": None,
        "parent_call_sid": None,
        "phone_number_sid": None,
        "price": None,
        "price_unit": "USD",
        "queue_time": "0",
        "sid": call.id,
        "start_time": None,
        "status": "queued",
        "subresource_uris": {},
        "to": call.to,
        "to_formatted": call.to,
        "trunk_sid": None,
        "uri": f"{uri}.json",
    }
    return shown(201, body)
