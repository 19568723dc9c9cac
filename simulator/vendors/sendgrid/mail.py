"""The checks that SendGrid makes of a mail, in its order and words.

Sources: twilio.com/docs/sendgrid/api-reference/mail-send (limits), …/mail-send/errors (messages).
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json

from simulator.formats.mail import render, valid
from simulator.model import Content, Context, Message, Reply, Request
from simulator.vendors._vendor import Refused, reply

HELP: Final = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html"
MAX_RECIPIENTS: Final = 1000
MAX_ARGS: Final = 10_000
"""Bytes of all custom arguments that travel with one recipient."""

RESERVED: Final = frozenset(
    [
        *("x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding"),
        *("to", "from", "subject", "reply-to", "cc", "bcc"),
    ]
)
FIELDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("personalizations", "reply_to_list", "content", "attachments", "categories"), list),
    **dict.fromkeys(("from", "reply_to", "headers", "custom_args", "asm", "sections"), dict),
    **dict.fromkeys(("mail_settings", "tracking_settings"), dict),
    **dict.fromkeys(("subject", "template_id", "batch_id", "ip_pool_name"), str),
    "send_at": int,
}
PERSONAL_FIELDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("to", "cc", "bcc"), list),
    **dict.fromkeys(("from", "headers", "substitutions", "dynamic_template_data", "custom_args"), dict),
    "subject": str,
    "send_at": int,
}
ROLES: Final = ("to", "cc", "bcc")
JSON_NAMES: Final = {list: "array", dict: "object", str: "string", int: "integer"}
REF_ARGS: Final = ("posthaste_ref", "ref")
"""Names of the custom argument that carries our ref."""


class Wrong(Refused):
    """A request SendGrid refuses with 400."""

    def __init__(self, message: str, field: str | None = None, anchor: str = "") -> None:
        super().__init__(message, error(400, message, field, HELP + anchor if anchor else None))


def error(status: int, message: str, field: str | None = None, link: str | None = None) -> Reply:
    """Return an answer with one error, in SendGrid's form."""
    return reply(status, {"errors": [{"message": message, "field": field, "help": link}]})


def messages(request: Request, context: Context) -> tuple[list[Message], bool]:
    """Return the recipients of a mail, and whether it is for the sandbox.

    Raises:
        Wrong: SendGrid refuses it.
    """
    try:
        mail = from_json(request.body, allow_inf_nan=False)
    except ValueError:
        raise Wrong("Bad Request") from None
    if not isinstance(mail, dict):
        raise Wrong("Bad Request")
    _known(mail, FIELDS, "")
    personalizations = mail.get("personalizations")
    if not personalizations:
        raise Wrong(
            "The personalizations field is required and must have at least one personalization.",
            "personalizations",
            "#-Personalizations-Errors",
        )
    if len(personalizations) > MAX_RECIPIENTS:
        raise Wrong(
            f"The personalization block is limited to 1000 personalizations per API request. You have provided"
            f" {len(personalizations)} personalizations. Please consider splitting this into multiple requests and"
            " resending your request.",
            "personalizations",
            "#-Personalizations-Errors",
        )
    sender = _sender(mail)
    content = _content(mail, sender, request.size)
    if "headers" in mail:
        _headers(mail["headers"], "headers")
    seen: set[str] = set()
    found: list[Message] = []
    for index, personal in enumerate(personalizations):
        found += _personalization(mail, personal, index, seen, content, context)
        if len(found) > MAX_RECIPIENTS:
            raise Wrong(
                "There is a limit of 1000 total recipients (to + cc + bcc) per request.",
                "personalizations",
                "#message.recipient-errors",
            )
    settings = mail.get("mail_settings")
    return found, settings == {"sandbox_mode": {"enable": True}}


def _known(value: dict[str, Any], fields: Mapping[str, type], where: str) -> None:
    """Refuse fields SendGrid does not know, and values of another JSON type."""
    for name, item in value.items():
        wanted = fields.get(name)
        if wanted is None:
            raise Wrong(f"Additional property {name} is not allowed", f"{where}{name}")
        if not isinstance(item, wanted):
            raise Wrong(f"Invalid type. Expected: {JSON_NAMES[wanted]}.", f"{where}{name}")


def _texts(value: Mapping[str, Any], where: str) -> None:
    """Refuse values that are not strings."""
    for name, item in value.items():
        if not isinstance(item, str):
            raise Wrong("Invalid type. Expected: string.", f"{where}.{name}")


def _sender(mail: dict[str, Any]) -> str:
    sender = mail.get("from")
    if not isinstance(sender, dict) or not sender.get("email"):
        raise Wrong(
            "The from object must be provided for every email send. It is an object that requires the email parameter,"
            ' but may also contain a name parameter.  e.g. {"email" : "example@example.com"}  or'
            ' {"email" : "example@example.com", "name" : "Example Recipient"}.',
            "from.email",
            "#message.from",
        )
    if not valid(sender["email"]):
        raise Wrong("The from email does not contain a valid address.", "from.email", "#message.from")
    for i, reply_to in enumerate([mail["reply_to"]] if "reply_to" in mail else mail.get("reply_to_list", [])):
        if not isinstance(reply_to, dict) or not valid(reply_to.get("email")):
            field = "reply_to.email" if "reply_to" in mail else f"reply_to_list.{i}.email"
            raise Wrong("The reply_to email does not contain a valid address.", field, "#message.reply_to")
    return str(sender["email"])


def _check_part(part: Any, index: int) -> None:
    """Raise `Wrong` for a block of the content without type or value."""
    if not isinstance(part, dict) or not isinstance(part.get("type"), str) or not part["type"]:
        raise Wrong("The content type is required for each content block.", f"content.{index}.type", "#message.content")
    if not isinstance(part.get("value"), str) or not part["value"]:
        raise Wrong(
            "The content value must be a string at least one character in length.",
            f"content.{index}.value",
            "#message.content.value",
        )


def _content(mail: dict[str, Any], sender: str, size: int) -> Content:
    parts = mail.get("content")
    if not parts and not mail.get("template_id"):
        raise Wrong(
            "Unless a valid template_id is provided, the content parameter is required. There must be at least one"
            " defined content block. We typically suggest both text/plain and text/html blocks are included, but only"
            " one block is required.",
            "content",
            "#message.content",
        )
    bodies: dict[str, str] = {}
    for i, part in enumerate(parts or []):
        _check_part(part, i)
        if (part["type"] == "text/plain" and i) or (part["type"] == "text/html" and set(bodies) - {"text/plain"}):
            raise Wrong(
                "If present, text/plain and text/html may only be provided once, text/plain first,"
                " before any other type.",
                f"content.{i}.type",
                "#message.content.type",
            )
        bodies[part["type"]] = part["value"]
    files = tuple(_attachment(a, i) for i, a in enumerate(mail.get("attachments", [])))
    return Content(sender, bodies.get("text/html", ""), bodies.get("text/plain", ""), files, size)


def _attachment(value: Any, i: int) -> str:
    if not isinstance(value, dict) or not value.get("content") or not value.get("filename"):
        raise Wrong(
            "The attachment content and filename are required.", f"attachments.{i}.content", "#message.attachments"
        )
    return str(value["filename"])


def _headers(value: dict[str, Any], where: str) -> None:
    _texts(value, where)
    for name in value:
        if name.lower() in RESERVED:
            raise Wrong(f"The header {name} is reserved and cannot be set.", where, "#message.headers")


def _subject(mail: dict[str, Any], personal: dict[str, Any]) -> str:
    subject = personal.get("subject") or mail.get("subject")
    if not subject and not mail.get("template_id"):
        raise Wrong(
            "The subject is required. You can get around this requirement if you use a template with a subject defined"
            " or if every personalization has a subject defined.",
            "subject",
            "#message.subject",
        )
    return subject or ""


def _address(person: Any, where: str, role: str, index: int) -> str:
    address = person.get("email") if isinstance(person, dict) else None
    if not isinstance(address, str) or not valid(address):
        raise Wrong(
            "Does not contain a valid address.",
            f"{where}.{role}.{index}.email",
            f"#message.personalizations.{role}",
        )
    return address


def _personalization(
    mail: dict[str, Any], personal: Any, index: int, seen: set[str], content: Content, context: Context
) -> list[Message]:
    """Return the messages of one personalization; `seen`: lower-cased addresses of the whole call so far."""
    where = f"personalizations.{index}"
    if not isinstance(personal, dict) or not personal.get("to"):
        raise Wrong(
            "The to array is required for all personalization objects, and must have at least one email object with a"
            " valid email address.",
            f"{where}.to",
            "#message.personalizations.to",
        )
    _known(personal, PERSONAL_FIELDS, f"{where}.")
    subject = _subject(mail, personal)
    if "headers" in personal:
        _headers(personal["headers"], f"{where}.headers")
    headers = {**mail.get("headers", {}), **personal.get("headers", {})}
    args = {**mail.get("custom_args", {}), **personal.get("custom_args", {})}
    _fits(args, where)
    values = _values(personal, where)
    subject = render(subject, values)
    ref = next((args[name] for name in REF_ARGS if name in args), "")
    messages: list[Message] = []
    here: set[str] = set()
    for role in ROLES:
        for i, person in enumerate(personal.get(role, ())):
            address = _address(person, where, role, i)
            key = address.lower()
            if key in seen:
                raise _twice(address, f"{where}.{role}", here=key in here)
            here.add(key)
            seen.add(key)
            messages.append(
                Message(address, role, ref, subject, context.id, index, content, args, values, headers=headers)
            )
    return messages


def _values(personal: dict[str, Any], where: str) -> dict[str, str]:
    """Return tag → text: substitutions as they are, dynamic data as its placeholders."""
    values: dict[str, str] = personal.get("substitutions", {})
    _texts(values, f"{where}.substitutions")
    if "dynamic_template_data" in personal:
        values = dict(values)
        for name, value in personal["dynamic_template_data"].items():
            values["{{" + name + "}}"] = values["{{ " + name + " }}"] = str(value)
    return values


def _twice(address: str, where: str, *, here: bool) -> Wrong:
    """Return the refusal of an address that was there before, in the same personalization (`here`) or another."""
    if here:
        text = (
            "Each email address in the personalization block should be unique between to, cc, and bcc. We found the"
            f" first duplicate instance of [{address}] in the {where} field."
        )
        return Wrong(text, where.rpartition(".")[0], "#message.recipient-errors")
    text = (
        "Each unique email address in the personalizations array should only be included once. You have included"
        f" {address} more than once."
    )
    return Wrong(text, "personalizations", "#message.recipient-errors")


def _fits(args: dict[str, Any], where: str) -> None:
    _texts(args, f"{where}.custom_args")
    # A character is at most six bytes of JSON: only long arguments need the exact size.
    if 6 * sum(len(k) + len(v) + 1 for k, v in args.items()) <= MAX_ARGS:
        return
    if len(json.dumps(args, separators=(",", ":"), ensure_ascii=False).encode()) > MAX_ARGS:
        message = "The custom_args of a personalization may not exceed 10000 bytes."
        raise Wrong(message, f"{where}.custom_args", "#message.custom_args")
