"""Postmark: `POST /email/batch` and `/email`, `GET /server`, the list of outbound messages, and webhooks.

Sources (postmarkapp.com): developer/api/overview (statuses, error codes), …/api/email-api, …/api/messages-api,
…/webhooks/* (events), support/article/1125-custom-metadata-faq and 1180-what-does-errorcode-300-mean.

Senders are confirmed, except those whose domain begins with `unknown.`. Recipients whose local part is `inactive` are
on the suppression list. The answer to a batch is 200 with any messages.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from email.utils import getaddresses
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic_core import from_json

from simulator.formats.mail import valid
from simulator.model import Answer, Content, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Refused, Vendor, iso, kept, later, posted, reply, uuid

MAX_BODY: Final = 50 * 2**20
MAX_BATCH: Final = 500
MAX_PEOPLE: Final = 50
MAX_COUNT: Final = 500
MAX_PAGES: Final = 10_000
MAX_METADATA: Final = 10
MAX_NAME, MAX_VALUE = 20, 80
"""Characters of a name and of a value of metadata."""
STREAMS: Final = frozenset({"outbound", "broadcast"})
FIELDS: Final = frozenset(
    {"From", "To", "Cc", "Bcc", "Subject", "Tag", "HtmlBody", "TextBody", "ReplyTo", "Headers", "Attachments"}
    | {"TrackOpens", "TrackLinks", "Metadata", "MessageStream"}
)
REF: Final = "posthaste_ref"
"""Name of the metadata that carries our ref."""
FILTERS: Final = frozenset({"count", "offset", "recipient", "fromemail", "tag", "status", "subject", "messagestream"})

WORDS: Final = {
    "deliver": ("delivered",),
    "bounce": ("bounce",),
    "blocked": ("blocked",),
    "drop": ("deactivated",),
    "defer": ("deferred", "delivered"),
    "expire": ("deferred", "expired"),
    "spam": ("delivered", "complained"),
    "unsubscribe": ("delivered", "unsubscribed"),
    "open": ("delivered", "opened"),
    "silent": (),
}
BOUNCES: Final[Mapping[str, tuple[str, int, str]]] = {
    "bounce": ("HardBounce", 1, "The server was unable to deliver your message (ex: unknown user, mailbox not found)."),
    "deferred": ("Transient", 2, "The server could not temporarily deliver your message."),
    "expired": ("SoftBounce", 4096, "Unable to temporarily deliver message (i.e. mailbox full)."),
    "blocked": ("Blocked", 100006, "Blocked from this ISP due to content or blacklisting."),
    "deactivated": ("ManuallyDeactivated", 100002, "The email was manually deactivated."),
    "complained": ("SpamComplaint", 100001, "The subscriber explicitly marked this message as spam."),
}
"""Our word → type, code and description of the bounce."""


class Wrong(Refused):
    """A message or a request that Postmark refuses. `result`: the error code and its text."""

    def __init__(self, code: int, message: str, status: int = 422) -> None:
        self.result = {"ErrorCode": code, "Message": message}
        super().__init__(message, _reply(status, self.result))


def _reply(status: int, body: Any) -> Reply:
    return reply(status, body, "application/json; charset=utf-8")


class Postmark(Vendor):
    """The provider `postmark`; one user name and password for the webhooks of all its credentials."""

    name = "postmark"
    roots = frozenset({"email", "messages", "server"})
    default_key = "00000000-0000-4000-8000-000000000001"
    max_body = MAX_BODY
    wants = (b"accept",)
    outcomes = WORDS

    def __init__(self, key_file: Path | None = None) -> None:
        self._auth = kept(key_file, lambda: f"postmark:{secrets.token_urlsafe(24)}")

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        if request.header(b"x-postmark-server-token") not in context.keys:
            return Answer(self.refusal(Mode.UNAUTHORIZED, 401, 0))
        if request.size > MAX_BODY:
            raise Wrong(0, "Payload too large.", 413)
        match request.method, request.path:
            case "POST", "/email/batch":
                return _batch(request, context)
            case "POST", "/email":
                return _single(request, context)
            case "GET", "/server":
                return Answer(_reply(200, {"ID": 23, "Name": "Simulated", "DeliveryType": "Live"}))
            case "GET", "/messages/outbound":
                return Answer(_reply(200, _search(request, context)))
            case _:
                raise Wrong(404, "The requested resource does not exist.", 404)

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:
        """Return Postmark's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            return later(_reply(429, {"ErrorCode": 429, "Message": "Rate Limit Exceeded."}), retry_after)
        if mode is Mode.UNAUTHORIZED:
            text = "No Account or Server API tokens were supplied in the HTTP headers, or they are not valid."
            return _reply(401, {"ErrorCode": 10, "Message": text})
        if mode is Mode.GATEWAY:
            return _reply(status, {"ErrorCode": 0, "Message": "Internal Server Error."})
        return _reply(status, {"ErrorCode": 100, "Message": "The Postmark API is offline for maintenance."})

    # The webhook

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one event as Postmark posts it."""
        said = {
            "MessageID": message.id,
            "ServerID": 23,
            "MessageStream": "outbound",
            "Tag": "",
            "Metadata": dict(message.args),
        }
        match word:
            case "delivered":
                details = "smtp;250 2.0.0 OK"
                mine: dict[str, Any] = {
                    "RecordType": "Delivery",
                    "Recipient": message.to,
                    "DeliveredAt": _iso(at),
                    "Details": details,
                }
            case "unsubscribed":
                mine = {"RecordType": "SubscriptionChange", "Recipient": message.to, "ChangedAt": _iso(at)}
                mine |= {"Origin": "Recipient", "SuppressSending": True, "SuppressionReason": "ManualSuppression"}
            case "opened":
                mine = {"RecordType": "Open", "Recipient": message.to, "ReceivedAt": _iso(at), "FirstOpen": True}
            case _:
                kind, code, description = BOUNCES[word]
                mine = {
                    "RecordType": "SpamComplaint" if word == "complained" else "Bounce",
                    "ID": int(hashlib.sha256(event_id.encode()).hexdigest()[:12], 16),
                    "Type": kind,
                    "TypeCode": code,
                    "Description": description,
                    "Details": f"smtp;550 {message.to}",
                    "Email": message.to,
                    "From": message.content.sender,
                    "BouncedAt": _iso(at),
                    "Inactive": word in ("bounce", "complained"),
                }
        return {**mine, **said}

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:  # noqa: ARG002 - others sign them
        """Return headers and body of one post, as for a URL with user name and password."""
        (event,) = events
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Postmark",
            "Authorization": f"Basic {base64.b64encode(self._auth.encode()).decode()}",
        }
        return headers, posted(event)

    def describe(self) -> dict[str, str]:
        """Return the user name and password of the webhook's URL."""
        return {"webhook_auth": self._auth}


def _iso(at: float) -> str:
    return iso(at, "microseconds")


# Sending


def _single(request: Request, context: Context) -> Answer:
    mail = _json(request.body)
    if not isinstance(mail, dict):
        raise Wrong(403, "Incompatible JSON: an object is expected.")
    result, messages = _taken(mail, request, context, 0)
    return Answer(_reply(200, result), messages)


def _batch(request: Request, context: Context) -> Answer:
    """Answer a batch: each message has a result of its own, in order."""
    mails = _json(request.body)
    if not isinstance(mails, list):
        raise Wrong(403, "Incompatible JSON: an array is expected.")
    if len(mails) > MAX_BATCH:
        raise Wrong(410, "Too many batch messages: at most 500 per call.")
    results, messages = [], []
    for index, mail in enumerate(mails):
        try:
            if not isinstance(mail, dict):
                raise Wrong(403, "Incompatible JSON: an object is expected.")  # noqa: TRY301 - one of many results
            result, mine = _taken(mail, request, context, index)
            results.append(result)
            messages += mine
        except Wrong as e:
            results.append(e.result)
    return Answer(_reply(200, results), messages)


def _json(body: bytes) -> Any:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        raise Wrong(402, "Received invalid JSON input.") from None


def _check_sender(mail: Mapping[str, Any]) -> None:
    """Raise `Wrong` for a sender that the account may not use."""
    (sender,) = _addresses(mail, "From") or ("",)
    if sender.rpartition("@")[2].startswith("unknown."):
        raise Wrong(400, f"The 'From' address you supplied ({mail['From']}) is not a Sender Signature on your account.")


def _content(mail: Mapping[str, Any], size: int) -> Content:
    files = tuple(a["Name"] for a in _objects(mail, "Attachments", "Name", "Content", "ContentType"))
    return Content(str(mail["From"]), mail.get("HtmlBody", ""), mail.get("TextBody", ""), files, size)


def _taken(
    mail: Mapping[str, Any], request: Request, context: Context, index: int
) -> tuple[dict[str, Any], list[Message]]:
    """Return the result of a message that is in order, with its recipients; raise `Wrong`."""
    mail = {name: value for name, value in mail.items() if value is not None}  # null is as good as left out
    _check(mail)
    _check_sender(mail)
    people, inactive = _people(mail)
    metadata = _metadata(mail.get("Metadata") or {})
    headers = {h["Name"]: h["Value"] for h in _objects(mail, "Headers", "Name", "Value")}
    content = _content(mail, request.size)
    name = uuid(f"{context.id}-{index}")
    messages = [
        Message(
            to=address,
            role=role,
            ref=metadata.get(REF, ""),
            subject=mail.get("Subject", ""),
            id=name,
            index=index,
            content=content,
            args=metadata,
            values={},
            headers=headers,
        )
        for role, some in people.items()
        for address in some
        if address not in inactive
    ]
    text = "OK" if not inactive else f"Message OK, but will not deliver to these inactive addresses: {inactive[0]}."
    at = _iso(context.at)
    return {"To": mail["To"], "SubmittedAt": at, "MessageID": name, "ErrorCode": 0, "Message": text}, messages


def _people(mail: Mapping[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the addresses by role, and those of them that are inactive; raise `Wrong` if all are, or too many."""
    people = {role: _addresses(mail, role.capitalize()) for role in ("to", "cc", "bcc")}
    _addresses(mail, "ReplyTo")
    everybody = [address for some in people.values() for address in some]
    if len(everybody) > MAX_PEOPLE:
        raise Wrong(300, "Too many recipients: at most 50 in To, Cc and Bcc together.")
    inactive = [address for address in everybody if address.partition("@")[0] == "inactive"]
    if len(inactive) == len(everybody):
        raise Wrong(
            406,
            "You tried to send to recipient(s) that have been marked as inactive. Found inactive addresses: "
            f"{', '.join(inactive)}. Inactive recipients are ones that have generated a hard bounce, a spam complaint, "
            "or a manual suppression.",
        )
    return people, inactive


def _check(mail: Mapping[str, Any]) -> None:
    """Check names and types of a message's fields, and that it says something."""
    for name, value in mail.items():
        if name not in FIELDS:
            raise Wrong(403, f"Incompatible JSON: the field {name} is not known.")
        if name not in ("Headers", "Attachments", "Metadata", "TrackOpens") and not isinstance(value, str):
            raise Wrong(403, f"Incompatible JSON: {name} is not a text.")
    if not mail.get("HtmlBody") and not mail.get("TextBody"):
        raise Wrong(300, "Provide either email TextBody or HtmlBody or both.")
    if mail.get("MessageStream", "outbound") not in STREAMS:
        raise Wrong(1235, "The 'MessageStream' provided does not exist on this server.")


def _addresses(mail: Mapping[str, Any], field: str) -> list[str]:
    """Return the addresses of a field, separated by commas; `From` and `To` are needed, and `From` is one."""
    text = mail.get(field, "")
    if not text:
        if field in ("From", "To"):
            raise Wrong(300, f"Zero recipients or no sender specified: '{field}' is empty.")
        return []
    found = [address for _, address in getaddresses([text])]
    if not all(valid(address, quotes=False) and address.isascii() for address in found) or (
        field == "From" and len(found) != 1
    ):
        raise Wrong(300, f"Invalid '{field}' address: '{text}'.")
    return found


def _metadata(value: Any) -> dict[str, str]:
    """Return metadata whose names and values are as short as documented."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise Wrong(403, "Incompatible JSON: Metadata is not an object of texts.")
    if len(value) > MAX_METADATA or any(len(k) > MAX_NAME or len(v) > MAX_VALUE for k, v in value.items()):
        raise Wrong(300, "Metadata has too many fields, or one that is too long.")
    return dict(value)


def _objects(mail: Mapping[str, Any], field: str, *names: str) -> list[dict[str, str]]:
    """Return a field's objects, all of which have texts by these names."""
    value = mail.get(field) or []
    if not isinstance(value, list) or not all(
        isinstance(one, dict) and all(isinstance(one.get(name), str) for name in names) for one in value
    ):
        raise Wrong(403, f"Incompatible JSON: {field} is not an array of objects with {', '.join(names)}.")
    return value


# The list of messages


def _search(request: Request, context: Context) -> dict[str, Any]:
    """Answer a search: by the documented filters, of which one may be about metadata."""
    query = dict(parse_qsl(request.query.decode("latin-1"), keep_blank_values=True))
    by = [name for name in query if name.startswith("metadata_")]
    offset, count = _page(query, by)
    lines = context.accepted.to([query["recipient"]]) if "recipient" in query else context.accepted.all()
    found = [
        line
        for line in reversed(lines)
        if line["at"] <= context.at - context.events_late
        and line["role"] == "to"
        and all(name == f"metadata_{REF}" and line["ref"] == query[name] for name in by)
    ]
    return {"TotalCount": len(found), "Messages": [_listed(line) for line in found[offset : offset + count]]}


def _page(query: Mapping[str, str], by: Sequence[str]) -> tuple[int, int]:
    """Return offset and count of a search whose filters are in order, or raise `Wrong`. `by`: those about metadata."""
    unknown = query.keys() - FILTERS - set(by)
    count, offset = query.get("count", ""), query.get("offset", "")
    if unknown or len(by) > 1 or not count.isdecimal() or not offset.isdecimal():
        raise Wrong(300, "The query is not documented.")
    if not 0 < int(count) <= MAX_COUNT or int(count) + int(offset) > MAX_PAGES:
        raise Wrong(300, "count is at most 500, and count and offset together at most 10,000.")
    return int(offset), int(count)


def _listed(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Tag": "",
        "MessageID": line["message_id"],
        "MessageStream": "outbound",
        "To": [{"Email": line["recipient"], "Name": None}],
        "Recipients": [line["recipient"]],
        "ReceivedAt": _iso(line["at"]),
        "Subject": line["subject"],
        "Attachments": [],
        "Status": "Sent",
        "TrackOpens": False,
        "TrackLinks": "None",
        "Metadata": {REF: line["ref"]} if line["ref"] else {},
    }


PROVIDER: Final = Postmark
