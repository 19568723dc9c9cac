"""SendGrid v3: `POST /v3/mail/send`, the Email Logs and the signed Event Webhook.

Sources: twilio.com/docs/sendgrid/for-developers/tracking-events/event (events) and
…/getting-started-event-webhook-security-features (signature). `mail.py` has the checks of a mail.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from simulator.formats.keys import p256, spki
from simulator.model import Answer, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Vendor, bearer, later, posted, reply
from simulator.vendors.sendgrid import logs as sendgrid_logs
from simulator.vendors.sendgrid.mail import error, messages

MAX_BODY: Final = 30 * 2**20
SCOPES: Final = "/v3/scopes"
"""The rights of the key that asks."""
METHODS: Final = {"/v3/mail/send": "POST", SCOPES: "GET"}
WORDS: Final = {
    "deliver": ("processed", "delivered"),
    "bounce": ("processed", "bounce"),
    "blocked": ("processed", "blocked"),
    "drop": ("dropped",),
    "defer": ("processed", "deferred", "delivered"),
    "expire": ("processed", "deferred", "expired"),
    "spam": ("processed", "delivered", "spamreport"),
    "unsubscribe": ("processed", "delivered", "group_unsubscribe"),
    "left": ("left",),
    "silent": (),
}
DETAILS: Final[Mapping[str, Mapping[str, str]]] = {
    "processed": {"event": "processed"},
    "delivered": {"event": "delivered", "response": "250 2.0.0 OK"},
    "deferred": {"event": "deferred", "response": "451 4.7.1 try again later", "attempt": "1", "tls": "1"},
    "dropped": {"event": "dropped", "reason": "Bounced Address", "status": "5.0.0"},
    "bounce": {
        "event": "bounce",
        "type": "bounce",
        "status": "5.1.1",
        "reason": "550 5.1.1 The email account that you tried to reach does not exist",
        "bounce_classification": "Invalid Address",
    },
    "blocked": {
        "event": "bounce",
        "type": "blocked",
        "status": "5.7.1",
        "reason": "550 5.7.1 Message rejected due to content",
        "bounce_classification": "Content",
    },
    "expired": {
        "event": "bounce",
        "type": "blocked",
        "status": "4.4.1",
        "reason": "unable to deliver: delivery time expired",
        "bounce_classification": "Mailbox Unavailable",
    },
    "spamreport": {"event": "spamreport"},
    "group_unsubscribe": {"event": "group_unsubscribe", "asm_group_id": "10", "useragent": "Mozilla/5.0"},
    "left": {"event": "dropped", "reason": "Unsubscribed Address", "status": "5.0.0"},
}
"""Our word → what SendGrid's event says."""


class SendGrid(Vendor):
    """The provider `sendgrid`; one signing key pair for all its credentials."""

    name = "sendgrid"
    roots = frozenset({"v3"})
    default_key = "SG.simulator"
    max_body = MAX_BODY
    per_post = 5_000
    outcomes = WORDS

    def __init__(self, key_file: Path | None = None) -> None:
        self._key = p256(key_file)

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        logs = request.path == sendgrid_logs.PATH or request.path.startswith(f"{sendgrid_logs.PATH}/")
        if request.path not in METHODS and not logs:
            return Answer(error(404, "Not Found"))
        if not logs and request.method != METHODS[request.path]:
            return Answer(error(405, "method not allowed"))
        if bearer(request) not in context.keys:
            return Answer(self.refusal(Mode.UNAUTHORIZED, 401, 0))
        if logs:
            return Answer(sendgrid_logs.answer(request, context))
        return self._sent(request, context) if request.path != SCOPES else Answer(reply(200, {"scopes": ["mail.send"]}))

    def _sent(self, request: Request, context: Context) -> Answer:
        """Answer an authorized call that sends."""
        if request.size > MAX_BODY:
            return Answer(error(413, "The JSON payload you have included in your request is too large."))
        if request.header(b"content-type").partition(";")[0].strip().lower() != "application/json":
            return Answer(error(415, "Content-Type should be application/json."))
        found, sandbox = messages(request, context)
        if sandbox:
            return Answer(Reply(200))
        return Answer(Reply(202, [(b"x-message-id", context.id.encode())]), found)

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:
        """Return SendGrid's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            return later(error(429, "too many requests"), retry_after)
        if mode is Mode.UNAUTHORIZED:
            return error(401, "The provided authorization grant is invalid, expired, or revoked")
        return error(status, "Service Unavailable" if mode is Mode.UNAVAILABLE else "Internal Server Error")

    # The webhook

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one element of the webhook's array; custom arguments are beside SendGrid's own fields."""
        return {
            **message.args,
            "email": message.to,
            "timestamp": int(at),
            "smtp-id": f"<{message.id}@geopod-ismtpd-0>",
            **DETAILS[word],
            "sg_event_id": event_id,
            "sg_message_id": f"{message.id}.filterdrecv-{message.index:04d}.{message.seq}.0",
        }

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:  # noqa: ARG002 - others sign it
        """Return headers and body of one post, signed over timestamp + body with ECDSA P-256/SHA-256."""
        body = posted(events)
        timestamp = str(int(at))
        signature = self._key.sign(timestamp.encode() + body, ec.ECDSA(hashes.SHA256()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "SendGrid Event API",
            "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(signature).decode(),
            "X-Twilio-Email-Event-Webhook-Timestamp": timestamp,
        }
        return headers, body

    def describe(self) -> dict[str, str]:
        """Return the public key: base64 of the DER SubjectPublicKeyInfo, as SendGrid's settings page shows it."""
        return {"webhook_public_key": spki(self._key)}


PROVIDER: Final = SendGrid
