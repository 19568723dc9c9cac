"""Resend: `POST /emails` under idempotency keys, and its webhooks, signed as Standard Webhooks are.

Sources (resend.com/docs): api-reference/introduction (`User-Agent`), …/emails/send-email, …/errors,
dashboard/emails/idempotency-keys, webhooks/emails/* (events) and webhooks/verify-webhooks-requests (signature).

Domains are verified, except those that begin with `unknown.`. A key lives 24 hours from the arrival of its call. It is
kept with the message that was taken under it, even if the answer was lost. A reset of the simulator forgets it.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import getaddresses
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from simulator.formats.mail import valid
from simulator.model import Answer, Content, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Refused, Vendor, bearer, iso, kept, later, posted, reply, uuid

JSON_TYPE: Final = "application/json; charset=utf-8"
DOMAINS: Final = "/domains"
METHODS: Final = {"/emails": "POST", DOMAINS: "GET"}
MAX_BODY: Final = 40 * 2**20
MAX_TO: Final = 50
MAX_TAGS: Final = 75
MAX_KEY: Final = 256
KEY_SECONDS: Final = 24 * 3600
PREFIX: Final = "whsec_"
ROLES: Final = ("to", "cc", "bcc")
REF_TAGS: Final = ("posthaste_ref", "ref")
"""Names of the tag that carries our ref."""
TEXTS: Final = frozenset({"from", "subject", "html", "text", "scheduled_at", "topic_id"})
FIELDS: Final = TEXTS | {*ROLES, "reply_to", "headers", "attachments", "tags", "template"}
_TAG: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
_PLAIN: Final = re.compile(r"[^<>,\s]+|[^<>]+ ?<[^<>\s]+>")

WORDS: Final = {
    "deliver": ("sent", "delivered"),
    "bounce": ("sent", "bounce"),
    "blocked": ("sent", "blocked"),
    "drop": ("suppressed",),
    "defer": ("sent", "deferred", "delivered"),
    "expire": ("sent", "deferred", "expired"),
    "spam": ("sent", "delivered", "complained"),
    "fail": ("failed",),
    "silent": (),
}
DETAILS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "sent": ("email.sent", {}),
    "delivered": ("email.delivered", {}),
    "deferred": ("email.delivery_delayed", {}),
    "complained": ("email.complained", {}),
    "bounce": (
        "email.bounced",
        {
            "bounce": {
                "message": "The recipient's email provider sent a hard bounce message.",
                "subType": "General",
                "type": "Permanent",
                "diagnosticCode": ["smtp; 550 5.1.1 The email account that you tried to reach does not exist"],
            }
        },
    ),
    "blocked": (
        "email.bounced",
        {
            "bounce": {
                "message": "The message contains content that the provider doesn't allow.",
                "subType": "ContentRejected",
                "type": "Transient",
                "diagnosticCode": ["smtp; 554 5.7.1 Message rejected due to content"],
            }
        },
    ),
    "expired": (
        "email.bounced",
        {
            "bounce": {
                "message": "The inbox was full.",
                "subType": "MailboxFull",
                "type": "Transient",
                "diagnosticCode": ["smtp; 452 4.2.2 The inbox is out of storage space"],
            }
        },
    ),
    "suppressed": (
        "email.suppressed",
        {
            "suppressed": {
                "message": "Resend has suppressed sending to this address because it is on the account-level"
                " suppression list.",
                "type": "OnAccountSuppressionList",
                "reason": "previous_bounce",
                "diagnosticCode": [],
            }
        },
    ),
    "failed": ("email.failed", {"failed": {"reason": "reached_daily_quota"}}),
}
"""Our word → the type of Resend's event, and what it says beside the mail's own data."""


class Wrong(Refused):
    """A request that Resend refuses."""

    def __init__(self, message: str, name: str = "validation_error", status: int = 422) -> None:
        super().__init__(message, _error(status, name, message))


@dataclass(slots=True)
class Mail(Message):
    """A message as Resend keeps it. `created`: Unix seconds of its acceptance."""

    created: float = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """A used key: the body's digest, and the answer that was given with its messages."""

    digest: bytes
    answer: Answer
    at: float


def _error(status: int, name: str, message: str) -> Reply:
    return reply(status, {"statusCode": status, "name": name, "message": message}, JSON_TYPE)


class Resend(Vendor):
    """The provider `resend`; one webhook signing secret for all its credentials."""

    name = "resend"
    roots = frozenset({"emails", "domains"})
    default_key = "re_simulator"
    max_body = MAX_BODY
    outcomes = WORDS
    wants = (b"accept",)  # without a User-Agent its edge says 403

    def __init__(self, key_file: Path | None = None) -> None:
        self._secret = kept(key_file, lambda: PREFIX + base64.b64encode(secrets.token_bytes(24)).decode())

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        if not request.header(b"user-agent"):
            return Answer(Reply(403, [(b"content-type", b"text/plain")], b"error code: 1010"))
        if request.path not in METHODS:
            raise Wrong("The requested endpoint does not exist.", "not_found", 404)
        if request.method != METHODS[request.path]:
            raise Wrong("Method is not allowed for the requested path.", "method_not_allowed", 405)
        key = bearer(request)
        if not key:
            return Answer(self.refusal(Mode.UNAUTHORIZED, 401, 0))
        if key not in context.keys:
            raise Wrong("API key is invalid", "invalid_api_key", 403)
        if request.path == DOMAINS:
            return Answer(reply(200, {"object": "list", "has_more": False, "data": []}, JSON_TYPE))
        if request.size > MAX_BODY:
            raise Wrong("The request is too large.", status=413)
        return _keyed(request, context)

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:
        """Return Resend's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            text = "Too many requests. You can only make 10 requests per second. See rate limit response headers."
            throttled = later(_error(429, "rate_limit_exceeded", text), retry_after)
            after = f"{retry_after:g}".encode()
            throttled.headers.extend([(b"ratelimit-reset", after), (b"ratelimit-remaining", b"0")])
            return throttled
        if mode is Mode.UNAUTHORIZED:
            return _error(401, "missing_api_key", "Missing API key in the authorization header.")
        if mode is Mode.GATEWAY:
            return _error(status, "application_error", "An unexpected error occurred.")
        return _error(status, "service_unavailable", "API is temporarily unavailable")

    # The webhook

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one event; `id` is the post's and is not part of the body."""
        assert isinstance(message, Mail)  # noqa: S101 - this provider makes no other
        kind, more = DETAILS[word]
        data = {
            "created_at": iso(message.created),
            "email_id": message.id,
            "message_id": f"<{message.id}@eu-west-1.amazonses.com>",
            "from": message.content.sender,
            "to": [message.to],
            "subject": message.subject,
            "tags": dict(message.args),
            **more,
        }
        return {"id": f"msg_{event_id}", "type": kind, "created_at": iso(at), "data": data}

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:  # noqa: ARG002 - others sign it
        """Return headers and body of one post; a repeat has the id of the first and a signature of its own time."""
        (event,) = events
        name, timestamp = event["id"], str(int(at))
        body = posted({k: v for k, v in event.items() if k != "id"})
        key = base64.b64decode(self._secret.removeprefix(PREFIX))
        made = hmac.digest(key, f"{name}.{timestamp}.".encode() + body, hashlib.sha256)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Svix-Webhooks/1.62.0",
            "svix-id": name,
            "svix-timestamp": timestamp,
            "svix-signature": f"v1,{base64.b64encode(made).decode()}",
        }
        return headers, body

    def describe(self) -> dict[str, str]:
        """Return the signing secret, as the webhook's page shows it."""
        return {"webhook_signing_secret": self._secret}


# Idempotency


def _keyed(request: Request, context: Context) -> Answer:
    """Answer a call, as before if its key has been used; raise `Wrong`."""
    if not any(name == b"idempotency-key" for name, _ in request.headers):
        return _taken(request, context)
    key = request.header(b"idempotency-key")
    if not 0 < len(key) <= MAX_KEY:
        text = "Idempotency keys, if present, must have between 1 and 256 characters."
        raise Wrong(text, "invalid_idempotency_key", 400)
    digest = hashlib.sha256(request.body).digest()
    known = context.memory.get(key)
    call = known.answer.messages[0].call if isinstance(known, Kept) else None
    if known is not None and call is not None and context.at - known.at < KEY_SECONDS:
        if not call.finished:
            text = "There is another request in progress with the same idempotency key."
            raise Wrong(text, "concurrent_idempotent_requests", 409)
        if known.digest != digest:
            text = (
                "This idempotency key has been used with this HTTP method and endpoint within the last 24 hours,"
                " but the request body was modified and doesn't match the original request."
            )
            raise Wrong(text, "invalid_idempotent_request", 409)
        return Answer(known.answer.reply)
    answer = _taken(request, context)
    context.memory[key] = Kept(digest, answer, context.at)
    return answer


# Checks, in the order in which a mail is read


def _headers(mail: dict[str, Any]) -> dict[str, str]:
    headers = mail.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(v, str) for v in headers.values()):
        raise Wrong("Invalid `headers` field. Expected an object of strings.")
    return headers


def _taken(request: Request, context: Context) -> Answer:
    """Return the answer to a mail that is in order, with its recipients; raise `Wrong`."""
    mail = _mail(request.body)
    (sender,) = _addresses(mail["from"], "from")
    domain = sender.rpartition("@")[2]
    if domain.startswith("unknown."):
        raise Wrong(f"The {domain} domain is not verified. Please, add and verify your domain", status=403)
    people = {role: _addresses(mail.get(role, []), role) for role in ROLES}
    _addresses(mail.get("reply_to", []), "reply_to")
    if len(people["to"]) > MAX_TO:
        raise Wrong("Invalid `to` field. The maximum is 50.")
    headers = _headers(mail)
    tags = _tags(mail.get("tags", []))
    files = tuple(_attachment(a) for a in _list(mail.get("attachments", []), "attachments"))
    content = Content(str(mail["from"]), mail.get("html", ""), mail.get("text", ""), files, request.size)
    name = uuid(context.id)
    messages: list[Message] = [
        Mail(
            to=address,
            role=role,
            ref=next((tags[tag] for tag in REF_TAGS if tag in tags), ""),
            subject=mail["subject"],
            id=name,
            index=index,
            content=content,
            args=tags,
            values={},
            headers=headers,
            created=context.at,
        )
        for role in ROLES
        for index, address in enumerate(people[role])
    ]
    return Answer(reply(200, {"id": name}, JSON_TYPE, spaced=True), messages)


def _mail(body: bytes) -> dict[str, Any]:
    """Return a body whose fields are known, the required ones there and texts where there are texts."""
    try:
        mail = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise Wrong("The request body is not valid JSON.", status=400) from None
    if not isinstance(mail, dict):
        raise Wrong("The request body is not a JSON object.", status=400)
    _check_fields(mail)
    return mail


def _check_fields(mail: dict[str, Any]) -> None:
    """Raise `Wrong` for unknown fields, missing ones, and texts that are none."""
    for name in mail:
        if name not in FIELDS:
            raise Wrong(f"Unrecognized key in object: `{name}`.")
    for name in ("from", "to", "subject"):
        if not mail.get(name):
            raise Wrong(f"Missing `{name}` field.", "missing_required_field")
    if not (mail.get("html") or mail.get("text") or mail.get("template")):
        raise Wrong("Missing `html` or `text` field.", "missing_required_field")
    for name in sorted(TEXTS):
        if not isinstance(mail.get(name, ""), str):
            raise Wrong(f"Invalid `{name}` field. Expected a string.")


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Wrong(f"Invalid `{name}` field. Expected an array.")
    return value


def _addresses(value: Any, name: str) -> list[str]:
    """Return the addresses of a field: one mailbox, or an array of them."""
    found = []
    for box in [value] if isinstance(value, str) else _list(value, name):
        pairs = getaddresses([box]) if isinstance(box, str) and _mailbox(box) else []
        if len(pairs) != 1 or not valid(pairs[0][1], quotes=False):
            text = "The email address needs to follow the `email@example.com` or `Name <email@example.com>` format."
            raise Wrong(f"Invalid `{name}` field. {text}")
        found.append(pairs[0][1])
    return found


def _mailbox(text: str) -> bool:
    """Tell whether a text is an address, or a name with one in angle brackets; a quoted name may hold anything."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "quoted", text)
    return _PLAIN.fullmatch(bare) is not None


def _tags(value: Any) -> dict[str, str]:
    tags: dict[str, str] = {}
    for tag in _list(value, "tags"):
        name, text = (tag.get("name"), tag.get("value")) if isinstance(tag, dict) else (None, None)
        for part in (name, text):
            if not isinstance(part, str) or _TAG.fullmatch(part) is None:
                raise Wrong("Tags should only contain ASCII letters, numbers, underscores, or dashes.")
        tags[str(name)] = str(text)
    if len(tags) > MAX_TAGS:
        raise Wrong("Invalid `tags` field. The maximum is 75.")
    return tags


def _attachment(value: Any) -> str:
    if not isinstance(value, dict) or not (value.get("content") or value.get("path")):
        raise Wrong("Attachment must have either a `content` or `path`.", "invalid_attachment")
    return str(value.get("filename", ""))


PROVIDER: Final = Resend
