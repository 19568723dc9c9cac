"""Amazon SES v2: SendEmail, SendBulkEmail, and the events as SNS posts or publishes them.

Source: docs.aws.amazon.com/ses/latest/APIReference-V2 (operations, errors, statuses). Botocore's own
service model checks requests, and its own signer their signatures (version 4).

The account has every identity except domains that begin with `unverified.`, and every configuration set except those
whose name begins with `unknown`. In a call of several, `throttled@…` and `transient@…` have a refusal of their own.

A webhook target with a fragment, `http://KEY:SECRET@host:port/#arn:aws:sns:…`, is an SNS endpoint: events are published
to that topic, as SES does it. Any other target gets signed posts, as SNS makes them.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from botocore.session import get_session
from botocore.validate import ParamValidator

from simulator.formats import finished
from simulator.formats.mail import valid
from simulator.model import Answer, Content, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Refused, reply
from simulator.vendors.aws.ses_events import WORDS, event
from simulator.vendors.aws.signing import refused
from simulator.vendors.aws.sns import REGION, AwsVendor

MAX_BODY: Final = 53 * 2**20
"""40 MB of message in base64."""
MAX_INLINE: Final = 10**6
MAX_ENTRIES: Final = 50
MAX_RECIPIENTS: Final = 50
TIMED_OUT: Final = 504
OPERATIONS: Final = {
    "/v2/email/outbound-emails": "SendEmail",
    "/v2/email/outbound-bulk-emails": "SendBulkEmail",
}
ACCOUNT: Final = "GetAccount"
STATUSES: Final = {"throttled": "ACCOUNT_THROTTLED", "transient": "TRANSIENT_FAILURE"}
ROLES: Final = (("to", "ToAddresses"), ("cc", "CcAddresses"), ("bcc", "BccAddresses"))
REF_TAGS: Final = ("posthaste_ref", "ref")
_TAG: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
_HEADER: Final = re.compile(r"[!-9;-@A-~]{1,126}")
_VALUE: Final = re.compile(r"[ -~]{1,995}")
_MUSTACHE: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_MAILBOX: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*|[^<>"]*)<((?:"(?:[^"\\]|\\.)*"@)?[^<>\s]*)>')


class Wrong(Refused):
    """A request SES refuses: the error's name, its text, and the status."""

    def __init__(self, name: str, text: str, status: int = 400) -> None:
        super().__init__(text, _error(status, name, text))


def _error(status: int, name: str, text: str) -> Reply:
    headers = [(b"content-type", b"application/json"), (b"x-amzn-errortype", name.encode())]
    return Reply(status, headers, json.dumps({"message": text}).encode())


class Ses(AwsVendor):
    """The provider `ses`: one AWS account, one topic."""

    name = "ses"
    roots = frozenset({"v2"})
    max_body = MAX_BODY
    outcomes = WORDS
    subject = "Amazon SES Email Event Notification"

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        operation = _operation(request)
        _authenticate(request, context)
        if operation == ACCOUNT:
            return Answer(reply(200, {"SendingEnabled": True}))
        mail = _parsed(operation, request)
        one = operation == "SendEmail"
        return _one(mail, request.size, context) if one else _many(mail, request.size, context)

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:  # noqa: ARG002 - SES does not say how long
        """Return SES's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            return _error(429, "TooManyRequestsException", "Maximum sending rate exceeded.")
        if mode is Mode.UNAUTHORIZED:
            return _error(403, "UnrecognizedClientException", "The security token included in the request is invalid.")
        if mode is Mode.GATEWAY:
            return _error(status, "InternalFailure", "Endpoint request timed out" if status == TIMED_OUT else "")
        return _error(status, "ServiceUnavailableException", "Service is not available. Please retry.")

    # The events

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one event, and the id of its notification."""
        return {"id": event_id, "event": event(message, word, at)}


# Checks, in the order in which a request is read


def _operation(request: Request) -> str:
    if (request.method, request.path) == ("GET", "/v2/email/account"):
        return ACCOUNT
    found = OPERATIONS.get(request.path)
    if found is None or request.method != "POST":
        raise Wrong("UnknownOperationException", "", 404)
    return found


def _authenticate(request: Request, context: Context) -> None:
    """Check signature version 4; raise `Wrong`."""
    found = refused(request, context, provider=Ses.name, service="ses")
    if found is not None:
        raise Wrong(*found, 403)


@cache
def _shapes() -> dict[str, Any]:
    model = get_session().get_service_model("sesv2")
    return {name: model.operation_model(name).input_shape for name in OPERATIONS.values()}


def _parsed(operation: str, request: Request) -> dict[str, Any]:
    """Return the request's fields as the service model allows them; raise `Wrong`."""
    if request.size > MAX_BODY:
        raise Wrong("RequestEntityTooLargeException", "Request size exceeded", 413)
    try:
        mail = json.loads(request.body)
    except (ValueError, RecursionError):
        mail = None
    if not isinstance(mail, dict):
        raise Wrong("SerializationException", "")
    report = ParamValidator().validate(mail, _shapes()[operation])
    if report.has_errors():
        raise Wrong("BadRequestException", report.generate_report())
    if "Raw" not in mail.get("Content", {}):  # its header names the sender
        _verified(_address(mail.get("FromEmailAddress", "")))
    name = mail.get("ConfigurationSetName", "")
    if name.startswith("unknown"):
        raise Wrong("NotFoundException", f"Configuration set <{name}> does not exist.", 404)
    for reply_to in mail.get("ReplyToAddresses", []):
        _address(reply_to)
    return mail


def _verified(sender: str) -> None:
    """Raise `Wrong` for a sender that the account has not verified."""
    if sender.rpartition("@")[2].startswith("unverified."):
        text = f"Email address is not verified. The following identities failed the check in region {REGION}: {sender}"
        raise Wrong("MessageRejected", text)


def _address(text: str) -> str:
    """Return the address of a mailbox; raise `Wrong`."""
    found = _MAILBOX.fullmatch(text)
    address = found[1] if found else text.strip()
    if not text.isascii() or not valid(address):
        raise Wrong("BadRequestException", "Missing final '@domain'")
    return address


def _people(destination: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    people = [(role, _address(text)) for role, name in ROLES for text in destination.get(name, [])]
    if not 1 <= len(people) <= MAX_RECIPIENTS:
        raise Wrong("BadRequestException", f"Recipient count exceeds {MAX_RECIPIENTS}, or there is none.")
    return people


def _tags(tags: list[Mapping[str, str]]) -> dict[str, str]:
    found = {tag["Name"]: tag["Value"] for tag in tags}
    if len(found) < len(tags) or not all(_TAG.fullmatch(text) for pair in found.items() for text in pair):
        raise Wrong("BadRequestException", "Invalid tag: use alphanumeric ASCII characters, '_' or '-' only.")
    return found


def _extras(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Check headers and attachments; return the names of files."""
    headers = content.get("Headers", [])
    if len(headers) > 15 or not all(_HEADER.fullmatch(h["Name"]) and _VALUE.fullmatch(h["Value"]) for h in headers):  # noqa: PLR2004
        raise Wrong("BadRequestException", "Invalid header.")
    files = content.get("Attachments", [])
    for file in files:
        try:
            base64.b64decode(file["RawContent"], validate=True)
        except ValueError:
            raise Wrong("SerializationException", "") from None
    return tuple(file["FileName"] for file in files)


def _one(mail: Mapping[str, Any], size: int, context: Context) -> Answer:
    contents = mail["Content"]
    if "Raw" in contents:
        return _raw(mail, contents["Raw"]["Data"], size, context)
    simple = contents.get("Simple")
    if simple is None:
        raise Wrong("BadRequestException", "The simulator knows Simple and Raw contents only.")
    body = {name: part["Data"] for name, part in simple["Body"].items()}
    if not any(body.values()):
        raise Wrong("BadRequestException", "The message has no body.")
    people = _people(mail.get("Destination", {}))
    content = Content(
        _address(mail["FromEmailAddress"]), body.get("Html", ""), body.get("Text", ""), _extras(simple), size
    )
    tags = _all_tags(mail, mail.get("EmailTags", []))
    message_id = _message_id(context.id, 0)
    messages = [
        _message(address, role, 0, message_id, simple["Subject"]["Data"], content, tags) for role, address in people
    ]
    headers = {h["Name"]: h["Value"] for h in simple.get("Headers", [])}
    for message in messages:
        message.headers = headers
    return Answer(reply(200, {"MessageId": message_id}), messages)


def _raw(mail: Mapping[str, Any], encoded: str, size: int, context: Context) -> Answer:
    """Accept a finished message for the envelope's recipients; its header names the sender."""
    try:
        content, subject = finished.read(base64.b64decode(encoded, validate=True), size)
    except ValueError as e:
        raise Wrong("BadRequestException", str(e)) from None
    _verified(_address(mail.get("FromEmailAddress", content.sender)))
    people = _people(mail.get("Destination", {}))
    tags = _all_tags(mail, mail.get("EmailTags", []))
    message_id = _message_id(context.id, 0)
    messages = [_message(address, role, 0, message_id, subject, content, tags) for role, address in people]
    return Answer(reply(200, {"MessageId": message_id}), messages)


def _many(mail: Mapping[str, Any], size: int, context: Context) -> Answer:
    template = mail["DefaultContent"].get("Template", {})
    if "TemplateContent" not in template:
        raise Wrong("NotFoundException", "Template does not exist.", 404)
    entries = mail["BulkEmailEntries"]
    if not 1 <= len(entries) <= MAX_ENTRIES or size > MAX_INLINE:
        raise Wrong("BadRequestException", f"At most {MAX_ENTRIES} entries and {MAX_INLINE} bytes.")
    sender, files, texts = _address(mail["FromEmailAddress"]), _extras(template), template["TemplateContent"]
    data = _data(template.get("TemplateData", "{}"))
    common = Content(sender, render(texts, "Html", data), render(texts, "Text", data), files, size)
    people = [_people(entry["Destination"]) for entry in entries]
    messages: list[Message] = []
    results = []
    for index, entry in enumerate(entries):
        status, text = _status(people[index])
        if status != "SUCCESS":
            results.append({"Status": status, "Error": text})
            continue
        message_id = _message_id(context.id, index)
        results.append({"Status": status, "MessageId": message_id})
        replaced = entry.get("ReplacementEmailContent", {}).get("ReplacementTemplate", {})
        own = {**data, **_data(replaced.get("ReplacementTemplateData", "{}"))}
        content = common
        if own != data:
            content = Content(sender, render(texts, "Html", own), render(texts, "Text", own), files, size)
        tags = _all_tags(mail, entry.get("ReplacementTags", mail.get("DefaultEmailTags", [])))
        subject = render(texts, "Subject", own)
        messages += [_message(a, role, index, message_id, subject, content, tags) for role, a in people[index]]
    return Answer(reply(200, {"BulkEmailEntryResults": results}), messages)


def _status(people: list[tuple[str, str]]) -> tuple[str, str]:
    """Return an entry's own status and text."""
    local, _, domain = people[0][1].partition("@")
    if domain.startswith("unverified."):
        return "MESSAGE_REJECTED", "Email address is not verified."
    status = STATUSES.get(local.partition("+")[0], "SUCCESS")
    return status, "" if status == "SUCCESS" else "Please try again."


def _all_tags(mail: Mapping[str, Any], tags: list[Mapping[str, str]]) -> dict[str, str]:
    """Return a message's tags, with those that SES adds itself."""
    found = _tags(tags)
    name = mail.get("ConfigurationSetName", "")
    return {**found, "ses:configuration-set": name} if name else found


def _message(
    to: str, role: str, index: int, message_id: str, subject: str, content: Content, tags: dict[str, str]
) -> Message:
    ref = next((tags[name] for name in REF_TAGS if name in tags), "")
    return Message(to, role, ref, subject, message_id, index, content, tags, {})


def _message_id(token: str, index: int) -> str:
    return f"{hashlib.sha256(f'{token} {index}'.encode()).hexdigest()[:44]}-000000"


def _data(text: str) -> dict[str, str]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Wrong("BadRequestException", "Template data is not a JSON object.")
    return {name: str(value) for name, value in data.items()}


def render(texts: Mapping[str, str], name: str, data: Mapping[str, str]) -> str:
    """Return a template's text with its variables replaced, each once; raise `Wrong` if other braces are left."""
    text = texts.get(name, "")
    rest = _MUSTACHE.sub("", text)
    if "{{" in rest:
        raise Wrong("BadRequestException", "The template could not be parsed.")
    return _MUSTACHE.sub(lambda tag: data.get(tag[1], ""), text)


PROVIDER: Final = Ses
