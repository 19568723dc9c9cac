"""Mailgun's feedback: one signed event per post.

Sources (documentation.mailgun.com/docs/mailgun/user-manual): webhooks/securing-webhooks (signature),
webhooks/webhook-payloads (bodies), events/event-types (events).
The secret's `webhook_signing_key`: the HTTP webhook signing key, not the API key; several, separated by commas, while
it is changed. The signature covers timestamp and token, not the body: so each is believed with one body only.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.outcomes import UNSUBSCRIBED
from shared.domain.times import Seconds
from shared.ports import BadEvents, BadSignature, Reading, Seal
from shared.providers._common import REF_ARG, TO_ARG, digest, keys, parsed, posted_json
from shared.providers._texts import MAX_AT, MAX_TEXT, check_age, clean, digits, redacted

MAX_AGE: Final = 24 * 3600.0
"""Seconds. Mailgun retries for 8 hours and does not say whether it signs each try anew. A replay of the same event is
harmless: (ref, word, time) identifies a word. Another event under the same token is refused: see `seal`."""
MAX_TOKEN: Final = 200
"""Characters; Mailgun's tokens have 50."""
MAX_MESSAGE_ID: Final = 200
"""Characters: about 40 and a domain."""
MAX_CODE: Final = 100

EVENTS: Final[Mapping[str, ProviderEventKind]] = {
    "accepted": ProviderEventKind.ACCEPTED,
    "rejected": ProviderEventKind.DROPPED,
    "delivered": ProviderEventKind.DELIVERED,
    "complained": ProviderEventKind.COMPLAINED,
    "unsubscribed": ProviderEventKind.UNSUBSCRIBED,
}
"""Severity and reason divide `failed`. The others (opened, clicked, stored) change nothing."""
FAILURES: Final[Mapping[str, ProviderEventKind]] = {
    "bounce": ProviderEventKind.BOUNCED,
    "delayed-bounce": ProviderEventKind.BOUNCED,
    "suppress-bounce": ProviderEventKind.BOUNCED,  # not delivered to a previously bounced address
    "suppress-complaint": ProviderEventKind.COMPLAINED,  # nor to one that complained
    "suppress-unsubscribe": ProviderEventKind.DROPPED,  # nor to an unsubscribed one
    "old": ProviderEventKind.FAILED_TEMPORARILY,  # tried until the time for it was over
}
"""Reasons of a permanent failure. If Mailgun remembers that an address bounced or complained, that is true for every
provider: such words are hard and suppress. An opt-out (LEFT) keeps campaigns away, while another provider may carry
other messages. For any other reason (generic, espblock, ...) the code decides: see `_failure`."""
_ENHANCED: Final = re.compile(r"5\.[2-9]\.|4")
"""Codes that say something else than that there is no such mailbox."""
LEFT: Final = "suppress-unsubscribe"


class MailgunWebhooks:
    """Reads Mailgun's posts. Implements `ports.WebhookReader`; safe for threads."""

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:  # noqa: ARG002 - of the port
        """Check HMAC-SHA256 over timestamp + token with any of the secret's keys, in constant time.

        An event of a subaccount has a `parent-signature` too, by the key of the account above. One of both is enough.

        Raises:
            BadSignature: `no_key`, `unsigned`, `too_old`, `too_new` or `wrong_signature`.
        """
        known = keys(secret.get("webhook_signing_key", ""))
        if not known:
            raise BadSignature("no_key")
        timestamp, token, signatures = _signature(body)
        if not digits(timestamp) or not token or not signatures:
            raise BadSignature("unsigned")
        check_age(int(timestamp), now, most=MAX_AGE)
        signed = (timestamp + token).encode("utf-8", "replace")
        made = [hmac.digest(key.encode("utf-8", "replace"), signed, "sha256") for key in known]
        # No early end: how long it takes tells nothing about which key or signature came near.
        if not sum([hmac.compare_digest(ours, theirs) for ours in made for theirs in signatures]):
            raise BadSignature("wrong_signature")

    def seal(self, body: bytes) -> Seal:
        """Tell timestamp and token, and what is read of the body; see `ports.Sealing`.

        The signature covers both joined, and so does the seal: where one ends decides nothing. A post that is
        repeated may be written in another order.

        Raises:
            BadEvents: the body is nested too deeply.
        """
        timestamp, token, _ = _signature(body)
        try:
            said = json.dumps([timestamp, json.loads(body).get("event-data")], sort_keys=True)
        except RecursionError:  # what is read is not written by the same depth
            raise BadEvents("not_json") from None
        return Seal(_digest(timestamp + token), _digest(said), int(timestamp) + int(MAX_AGE))

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:  # noqa: ARG002 - of the port
        """Return the word of a post, if it is ours. An event without a time of its own gets that of the signature.

        Raises:
            BadEvents: the body is not a JSON object with an object `event-data`.
        """
        post = posted_json(body)
        event = post.get("event-data") if isinstance(post, dict) else None
        if not isinstance(event, dict):
            raise BadEvents("no_event_data")
        signed = _text(_inner(post, "signature").get("timestamp"))
        word = _word(event, int(signed) if digits(signed) else 0)
        return Reading(1, [] if word is None else [word])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _signature(body: bytes) -> tuple[str, str, list[bytes]]:
    """Return timestamp, token and the signatures of a post; empty where there is none."""
    post = parsed(body)
    given = _inner(post, "signature")
    signatures = []
    for name in ("signature", "parent-signature"):
        text = given.get(name)
        if isinstance(text, str) and len(text) == 64 and text.isascii():  # noqa: PLR2004 - SHA-256 in hexadecimal
            try:
                signatures.append(bytes.fromhex(text))
            except ValueError:
                continue
    token = given.get("token")
    token = token if isinstance(token, str) and len(token) <= MAX_TOKEN else ""
    return _text(given.get("timestamp")), token, signatures


def _inner(value: object, name: str) -> Mapping[str, Any]:
    """Return an object within an object; empty if there is none."""
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _text(value: object) -> str:
    """Return a number or text as text."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_AT:
        return str(value)
    return value if isinstance(value, str) else ""


def _word(event: Mapping[str, Any], signed_at: int) -> ProviderEvent | None:
    """Normalise one event; None if it is not ours or changes nothing."""
    variables = _inner(event, "user-variables")
    ref = variables.get(REF_ARG)
    name = event.get("event")
    if not isinstance(ref, str) or not isinstance(name, str) or Ref.parse(ref) is None:
        return None
    status = _inner(event, "delivery-status")
    reason, code = clean(event.get("reason"), MAX_CODE), _code(status)
    kind = _failure(event, reason, code, status) if name == "failed" else EVENTS.get(name)
    if kind is None:
        return None
    code = _meant(reason, code, failed=name == "failed")
    at = event.get("timestamp")
    if not isinstance(at, int | float) or not 0 < at <= MAX_AT:
        at = signed_at
    words = status.get("message") or status.get("description") or _inner(event, "reject").get("reason")
    message = clean(_inner(_inner(event, "message"), "headers").get("message-id"), MAX_MESSAGE_ID).strip("<>")
    recipient = event.get("recipient")
    detail, secondary = redacted(clean(words, MAX_TEXT), recipient), _of_copy(ref, variables, recipient)
    return ProviderEvent(ref, kind.value, int(at), message, code, detail, secondary)


def _code(status: Mapping[str, Any]) -> str:
    """Return the code of a delivery's status; empty if there is none."""
    code = clean(status.get("enhanced-code"), MAX_CODE) or clean(_text(status.get("code")), MAX_CODE)
    return "" if code == "0" else code  # Mailgun's word for none


def _meant(reason: str, code: str, *, failed: bool) -> str:
    """Return the code that an event is stored under: its reason, where that says more than its code."""
    if reason == LEFT:
        return UNSUBSCRIBED
    return reason.replace("-", "_") if reason.startswith("suppress-") or (failed and not code) else code


def _of_copy(ref: str, variables: Mapping[str, Any], recipient: object) -> bool:
    """Tell whether an event is about somebody who got a copy of the message."""
    return isinstance(recipient, str) and TO_ARG in variables and variables[TO_ARG] != digest(ref, recipient)


def _is_hard(event: Mapping[str, Any], code: str) -> bool:
    """Tell whether a failure is about the mailbox, with any reason of Mailgun's.

    Its own sample of a bounce that came as a mail, after the delivery, has the reason `generic`.
    """
    if code.startswith("5.1."):
        return True
    return _inner(event, "flags").get("is-delayed-bounce") is True and not _ENHANCED.match(code)


def _failure(event: Mapping[str, Any], reason: str, code: str, status: Mapping[str, Any]) -> ProviderEventKind:
    """Judge a failed delivery.

    A bounce that Mailgun itself calls soft (a full mailbox, a refused content) says nothing against the mailbox. A code
    of the 400s at the end is a temporary failure that was tried for long; otherwise the receiver refused the message.
    """
    if event.get("severity") == "temporary":
        return ProviderEventKind.DEFERRED
    kind = FAILURES.get(reason)
    if kind is None and not reason.startswith("suppress-") and _is_hard(event, code):
        kind = ProviderEventKind.BOUNCED
    if kind is ProviderEventKind.BOUNCED and status.get("bounce-type") == "soft":
        kind = None
    if kind is not None:
        return kind
    if reason.startswith("suppress-"):
        return ProviderEventKind.DROPPED
    return ProviderEventKind.FAILED_TEMPORARILY if code.startswith("4") else ProviderEventKind.BLOCKED
