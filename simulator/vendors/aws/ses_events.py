"""The events that SES publishes about a message, by its fate.

Source: docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-examples.
"""

from collections.abc import Mapping
from typing import Any, Final

from simulator.model import Message
from simulator.vendors._vendor import iso
from simulator.vendors.aws.sns import ACCOUNT

WORDS: Final = {
    "deliver": ("send", "delivery"),
    "bounce": ("send", "bounce"),
    "blocked": ("send", "blocked"),
    "drop": ("send", "suppressed"),
    "reject": ("send", "reject"),
    "defer": ("send", "delay", "delivery"),
    "expire": ("send", "delay", "expired"),
    "spam": ("send", "delivery", "complaint"),
    "away": ("send", "delivery", "away"),
    "unrenderable": ("failure",),
    "silent": (),
}


def _bounce(kind: str, subtype: str, **report: str) -> tuple[str, str, dict[str, Any]]:
    """Return a bounce: event type, the name of its particulars, and these."""
    return "Bounce", "bounce", {"bounceType": kind, "bounceSubType": subtype, "bouncedRecipients": [report]}


EVENTS: Final[Mapping[str, tuple[str, str, dict[str, Any]]]] = {
    "send": ("Send", "send", {}),
    "delivery": ("Delivery", "delivery", {"recipients": [], "smtpResponse": "250 2.0.0 OK", "processingTimeMillis": 9}),
    "delay": (
        "DeliveryDelay",
        "deliveryDelay",
        {
            "delayType": "TransientCommunicationFailure",
            "delayedRecipients": [{"status": "4.4.1", "diagnosticCode": "smtp; 421 4.4.1 Unable to connect"}],
        },
    ),
    "bounce": _bounce(
        "Permanent", "General", status="5.1.1", action="failed", diagnosticCode="smtp; 550 5.1.1 unknown"
    ),
    "suppressed": _bounce(
        "Permanent",
        "OnAccountSuppressionList",
        status="5.1.1",
        action="failed",
        diagnosticCode="Amazon SES did not send the message to this address because it is on the suppression list",
    ),
    "blocked": _bounce(
        "Transient", "ContentRejected", status="5.7.1", action="failed", diagnosticCode="smtp; 554 5.7.1 spam"
    ),
    "expired": _bounce(
        "Transient", "General", status="4.4.7", action="failed", diagnosticCode="smtp; 550 4.4.7 Message expired"
    ),
    "away": _bounce("Transient", "General"),
    "complaint": ("Complaint", "complaint", {"complaintFeedbackType": "abuse", "complainedRecipients": [{}]}),
    "reject": ("Reject", "reject", {"reason": "Bad content"}),
    "failure": ("Rendering Failure", "failure", {"errorMessage": "Attribute 'x' is not present", "templateName": "x"}),
}
"""Our word → event type, the place of its particulars, and these; the recipients' addresses are filled in."""
TIMED: Final = frozenset({"bounce", "complaint", "delivery", "deliveryDelay"})


def event(message: Message, word: str, at: float) -> dict[str, Any]:
    """Return one event about a message, at a time in Unix seconds."""
    kind, where, particulars = EVENTS[word]
    part = {name: _addressed(value, message.to) for name, value in particulars.items()}
    if where in TIMED:
        part["timestamp"] = iso(at)
    mail = {
        "timestamp": iso(message.call.at if message.call else at),
        "source": message.content.sender,
        "sendingAccountId": ACCOUNT,
        "messageId": message.id,
        "destination": [message.to],
        "headersTruncated": False,
        "commonHeaders": {"from": [message.content.sender], "to": [message.to], "subject": message.subject},
        "tags": {name: [value] for name, value in message.args.items()},
    }
    return {"eventType": kind, "mail": mail, where: part}


def _addressed(value: Any, to: str) -> Any:
    """Return particulars with the recipient in them."""
    if not isinstance(value, list):
        return value
    return [{"emailAddress": to, **one} for one in value] or [to]
