"""Mailgun v3: `POST /v3/{domain}/messages` and `messages.mime`, `GET /v3/{domain}/events`, and the signed webhooks.

Sources (documentation.mailgun.com/docs/mailgun): api-reference/send/mailgun/messages and …/events,
user-manual/sending-messages/batch-sending, user-manual/webhooks/webhook-payloads and …/securing-webhooks.

The account has every domain except those that begin with `unknown.`. The Events API is in `events.py`, the
Logs API in `logs.py`.
"""

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

from simulator.formats import finished, forms
from simulator.formats.forms import Form
from simulator.formats.mail import render, valid
from simulator.model import Answer, Content, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Refused, Vendor, basic, kept, later, posted, reply
from simulator.vendors.mailgun.events import REF_VARIABLES, events
from simulator.vendors.mailgun.logs import PATH as LOGS_PATH
from simulator.vendors.mailgun.logs import logs
from simulator.vendors.mailgun.words import DETAILS, WORDS

DOMAIN: Final = "mg.posthaste.example"
"""Domain that a credential's secret names, unless it is set otherwise."""
MAX_BODY: Final = 25 * 2**20
MAX_RECIPIENTS: Final = 1000
MAX_OPTIONS: Final = 16 * 1024
ROLES: Final = ("to", "cc", "bcc")
_DOMAINS: Final = re.compile(r"/v4/domains/([^/]{1,253})")
_PATH: Final = re.compile(r"/v3/([^/]{1,253})/(messages|messages\.mime|events(?=$|/))(?:(?<=events)/([^/]+))?")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+")
_PLAIN: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",<>]*)<([^<>\s]*)>|([^\s",<>]+)')
"""One mailbox of the common kinds, with or without angle brackets."""


class Wrong(Refused):
    """A request that Mailgun refuses."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text, _message(status, text))


@dataclass(slots=True)
class Mail(Message):
    """A message as Mailgun keeps it. `shown`: the recipients in its To header, which each recipient sees."""

    shown: str = ""
    domain: str = ""


def _message(status: int, text: str) -> Reply:
    return reply(status, {"message": text})


def _domain(request: Request, name: str) -> Reply:
    """Answer `GET /v4/domains/{name}`, in part."""
    if request.method != "GET":
        return _message(405, "Method not allowed")
    if not _DOMAIN.fullmatch(name) or name.startswith("unknown."):
        return _message(404, "Domain not found")
    return reply(200, {"domain": {"name": name, "state": "active", "type": "custom"}})


class Mailgun(Vendor):
    """The provider `mailgun`; one webhook signing key for all its credentials."""

    name = "mailgun"
    roots = frozenset({"v1", "v3", "v4"})
    default_key = "key-simulator"
    max_body = MAX_BODY
    outcomes = WORDS

    def __init__(self, key_file: Path | None = None) -> None:
        self._key = kept(key_file, lambda: secrets.token_hex(16))

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        user, _, key = basic(request).partition(":")
        authorized = user == "api" and key in context.keys
        if request.path == LOGS_PATH and request.method == "POST":
            return Answer(logs(request, context) if authorized else self.refusal(Mode.UNAUTHORIZED, 401, 0))
        path = _PATH.fullmatch(request.path) or _DOMAINS.fullmatch(request.path)
        if path is None:
            return Answer(Reply(200, [(b"content-type", b"text/html")], b"Mailgun Magnificent API"))
        if not authorized:
            return Answer(self.refusal(Mode.UNAUTHORIZED, 401, 0))
        if path.re is _DOMAINS:
            return Answer(_domain(request, path[1]))
        return self._of_domain(request, context, *path.groups())

    def _of_domain(self, request: Request, context: Context, domain: str, what: str, page: str | None) -> Answer:
        """Answer an authorized call to one of a domain's resources. `what`: `messages`, `messages.mime` or `events`."""
        if not _DOMAIN.fullmatch(domain) or domain.startswith("unknown."):
            raise Wrong(f"Domain not found: {domain}", 404)
        if request.method != ("GET" if what == "events" else "POST"):
            raise Wrong("Method not allowed", 405)
        if what == "events":
            return Answer(events(request, context, domain, page or ""))
        if request.size > MAX_BODY:
            raise Wrong("request size exceeds 25MiB limit", 413)
        try:
            form = forms.parse(request.header(b"content-type"), request.body)
            messages = ACCEPTED[what](form, request.size, f"{context.id}@{domain}", domain)
        except forms.Malformed as e:
            raise Wrong(str(e)) from None
        taken = reply(200, {"id": f"<{context.id}@{domain}>", "message": "Queued. Thank you."})
        return Answer(taken, [] if form.first("o:testmode") in ("yes", "true", "True") else messages)

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:
        """Return Mailgun's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            return later(_message(429, "Domain is not allowed to send: request limit exceeded"), retry_after)
        if mode is Mode.UNAUTHORIZED:
            return Reply(401, [(b"content-type", b"text/plain")], b"Forbidden")
        words = {500: "Internal Server Error", 502: "Bad Gateway", 504: "Endpoint request timed out"}
        return _message(status, words.get(status, "Service Unavailable"))

    # The webhook

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one event; its `v:` values are in `user-variables`."""
        assert isinstance(message, Mail)  # noqa: S101 - this provider makes no other
        headers = {
            "to": message.shown,
            "message-id": message.id,
            "from": message.content.sender,
            "subject": message.subject,
        }
        event = {
            "id": event_id,
            "timestamp": round(at, 6),
            **DETAILS[word],
            "domain": {"name": message.domain},
            "envelope": {"sender": message.content.sender, "transport": "smtp", "targets": message.to},
            "flags": {"is-routed": False, "is-authenticated": True, "is-system-test": False, "is-test-mode": False},
            "message": {"headers": headers, "attachments": [], "size": message.content.size},
            "recipient": message.to,
            "recipient-domain": message.to.rpartition("@")[2],
            "tags": [],
            "campaigns": [],
            "user-variables": dict(message.args),
        }
        if word == "rejected":
            del event["recipient"], event["recipient-domain"]  # it is about the message
        return event

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:
        """Return headers and body of one post, signed over timestamp + token; a repeat has the token of the first."""
        (event,) = events
        token = hashlib.sha256(f"{event['id']} {url}".encode()).hexdigest()[:50]
        timestamp = str(int(at))
        signature = hmac.new(self._key.encode(), (timestamp + token).encode(), hashlib.sha256).hexdigest()
        signed = {"timestamp": timestamp, "token": token, "signature": signature}
        headers = {"Content-Type": "application/json", "User-Agent": "mailgun/treq-1.0"}
        return headers, posted({"signature": signed, "event-data": event})

    def describe(self) -> dict[str, str]:
        """Return what a credential's secret has beside the API key."""
        return {"domain": DOMAIN, "webhook_signing_key": self._key}


# Checks, in the order in which a request is read


def _check_options(form: Form) -> None:
    """Raise `Wrong` for options that are too large, or a header whose name is not ASCII."""
    options = [(n, v) for n, values in form.fields.items() if n[:2] in ("o:", "h:", "v:", "t:") for v in values]
    if sum(len(n.encode()) + len(v.encode()) for n, v in options) > MAX_OPTIONS:
        raise Wrong("Send options (parameters starting with o:, h:, or v:) are limited to 16 kB total")
    for name, _ in options:
        if name.startswith("h:") and not name.isascii():
            raise Wrong(f"Header name must be pure ASCII: {name[2:]}")


def _check_parts(form: Form) -> None:
    """Raise `Wrong` for a request without sender, recipient, subject or body."""
    missing = [name for name in ("from", "to") if not form.first(name).strip()]
    missing += ["subject"] if "subject" not in form.fields and not form.first("template") else []
    if missing:
        raise Wrong(f"{missing[0]} parameter is missing")
    if not (form.first("text") or form.first("html") or form.first("template")):
        raise Wrong("Need at least one of 'text' or 'html' parameters specified")


def _named(form: Form, prefix: str) -> dict[str, str]:
    """Return the last value of each field with a prefix, by the rest of its name."""
    return {name[2:]: values[-1] for name, values in form.fields.items() if name.startswith(prefix)}


def _content(form: Form, sender: str, size: int) -> Content:
    files = tuple(f.filename for f in form.files if f.name in ("attachment", "inline"))
    return Content(sender, form.first("html"), form.first("text"), files, size)


def _ref(variables: Mapping[str, str]) -> str:
    """Return the attempt's ref, by the first name that has one; empty if none has."""
    return next((variables[name] for name in REF_VARIABLES if name in variables), "")


def _messages(form: Form, size: int, message_id: str, domain: str) -> list[Message]:
    """Return the recipients of a request; raise `Wrong`."""
    _check_options(form)
    _check_parts(form)
    (sender, *_) = _addresses(form, "from")
    people = {role: _addresses(form, role) for role in ROLES}
    if sum(map(len, people.values())) > MAX_RECIPIENTS:
        raise Wrong("Too many recipients; max is 1000")
    variables = _variables(form)
    content = _content(form, sender, size)
    args, headers = _named(form, "v:"), _named(form, "h:")
    subject, everybody = form.first("subject"), ", ".join(form.fields["to"])
    messages: list[Message] = []
    for role in ROLES:
        for index, address in enumerate(people[role]):
            values = _values(variables, address) if variables is not None else {}
            own = {name: render(value, values) for name, value in args.items()}
            messages.append(
                Mail(
                    to=address,
                    role=role,
                    ref=_ref(own),
                    subject=render(subject, values),
                    id=message_id,
                    index=index,
                    content=content,
                    args=own,
                    values=values,
                    headers=headers,
                    shown=everybody if variables is None or role != "to" else address,
                    domain=domain,
                )
            )
    return messages


def _finished(form: Form, size: int, message_id: str, domain: str) -> list[Message]:
    """Return the recipients of a finished message; raise `Wrong`."""
    _check_options(form)
    if not form.first("to").strip():
        raise Wrong("to parameter is missing")
    file = next((file for file in form.files if file.name == "message"), None)
    if file is None:
        raise Wrong("message parameter is missing")
    try:
        content, subject = finished.read(file.data, size)
    except ValueError as e:
        raise Wrong(str(e)) from None
    args, shown = _named(form, "v:"), ", ".join(form.fields["to"])
    return [
        Mail(address, "to", _ref(args), subject, message_id, index, content, args, {}, shown=shown, domain=domain)
        for index, address in enumerate(_addresses(form, "to"))
    ]


def _addresses(form: Form, name: str) -> list[str]:
    """Return the addresses of a parameter: several values, each of them several mailboxes with commas between."""
    found: list[str] = []
    for value in form.fields.get(name, ()):
        plain = _PLAIN.fullmatch(value.strip())
        found += [plain[1] or plain[2] or ""] if plain else [address for _, address in getaddresses([value])]
    if not all(valid(address) for address in found):
        raise Wrong(f"{name} parameter is not a valid address. please check documentation")
    return found


def _variables(form: Form) -> dict[str, dict[str, Any]] | None:
    """Return address → variables; None without `recipient-variables`, so that each recipient sees all."""
    if "recipient-variables" not in form.fields:
        return None
    try:
        variables = from_json(form.first("recipient-variables"), allow_inf_nan=False)
    except ValueError:
        variables = None
    if not isinstance(variables, dict) or not all(isinstance(v, dict) for v in variables.values()):
        raise Wrong("'recipient-variables' parameter is not a valid JSON")
    return variables


def _values(variables: dict[str, dict[str, Any]], address: str) -> dict[str, str]:
    """Return tag → text for one recipient; a variable that they do not have stays as it is written."""
    own = {f"%recipient.{name}%": str(value) for name, value in variables.get(address, {}).items()}
    return {**own, "%recipient%": address, "%recipient_email%": address}


ACCEPTED: Final = {"messages": _messages, "messages.mime": _finished}
"""Resource → what accepts a post to it."""
PROVIDER: Final = Mailgun
