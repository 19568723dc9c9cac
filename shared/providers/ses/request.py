"""Requests to SES: a content's part, made and hashed once, and each call's own part.

Sources (docs.aws.amazon.com/ses/latest): APIReference-V2/API_SendEmail and …/API_SendBulkEmail (fields, limits),
dg/send-personalized-email-api (inline templates); handlebarsjs.com/guide/expressions.html (tags, escaping).
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Rejected, cannot_carry
from shared.frozen import dataclass
from shared.ports import Target
from shared.providers._common import REF_ARG, SMTPUTF8, TO_ARG, copies, digest
from shared.providers._mailbox import in_ascii
from shared.providers._texts import clean
from shared.providers.ses.events import CREDENTIAL_ARG

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_HEADERS: Final = 15
MAX_HEADER: Final = 996
"""Characters of a header's name and value together (APIReference-V2/API_MessageHeader)."""
MAX_FILENAME: Final = 255
MAX_SHORT: Final = 78
"""Characters of an attachment's type and content id."""
WORD_BYTES: Final = 45
"""Of text in one encoded word: 60 characters of base64, of the 75 that RFC 2047 allows for the whole."""
_VALUE: Final = re.compile(r"[ -~]{1,995}")
_TAGS: Final = re.compile(r"[{}\\]*\{\{[{}\\]*")
"""The beginning of a tag for Handlebars, with all characters that could change its meaning."""


@dataclass(frozen=True, slots=True)
class Part:
    """The beginning of a body, and its hash. `refused`: SES cannot send such a content."""

    body: bytes
    hash: "_Hash"
    refused: Rejected | None = None


def simple(content: Content, configuration_set: str) -> Part:
    """Return a content's part of a SendEmail."""
    bodies = {"Text": content.text, "Html": content.html}
    message = {
        "Subject": {"Data": content.subject, "Charset": "UTF-8"},
        "Body": {name: {"Data": text, "Charset": "UTF-8"} for name, text in bodies.items() if text},
        **_extras(content),
    }
    return _part(content, configuration_set, {"Content": {"Simple": message}})


def bulk(content: Content, configuration_set: str) -> Part:
    """Return a content's part of a SendBulkEmail: an inline template."""
    values: dict[str, str] = {}
    texts = {"Subject": content.subject, "Text": content.text, "Html": content.html}
    template = {
        "TemplateContent": {name: literal(text, values) for name, text in texts.items() if text},
        "TemplateData": json.dumps(values),
        **_extras(content),
    }
    return _part(content, configuration_set, {"DefaultContent": {"Template": template}})


def entry(content: Content, target: Target, credential: str) -> bytes:
    """Return the end of a SendEmail request: the recipient, and the tags of its events.

    Args:
        credential: the credential's id, as a tag.
    """
    to = target.recipient.address
    boxes = {"ToAddresses": [_mailbox(to, target.recipient.display)]}
    named = tags(target.ref, credential)
    if content.copied:
        for role, found in copies(content, to):
            name = f"{role.title()}Addresses"
            boxes[name] = [*boxes.get(name, ()), *(_mailbox(b.address, b.display) for b in found)]
        named.append({"Name": TO_ARG, "Value": digest(target.ref, to)})
    return f'"Destination":{json.dumps(boxes)},"EmailTags":{json.dumps(named)}}}'.encode()


def entries(targets: Sequence[Target], credential: str) -> bytes:
    """Return the end of a SendBulkEmail; every entry has all its tags, as a replacement leaves none of the default."""
    made = [
        {
            "Destination": {"ToAddresses": [_mailbox(t.recipient.address, t.recipient.display)]},
            "ReplacementTags": tags(t.ref, credential),
        }
        for t in targets
    ]
    return f'"BulkEmailEntries":{json.dumps(made, separators=(",", ":"))}}}'.encode()


def tags(ref: str, credential: str) -> list[dict[str, str]]:
    """Return the tags that events of an attempt carry."""
    found = {REF_ARG: ref, **({CREDENTIAL_ARG: credential} if credential else {})}
    return [{"Name": name, "Value": value} for name, value in found.items()]


def _part(content: Content, configuration_set: str, own: Mapping[str, Any]) -> Part:
    mail: dict[str, Any] = {"FromEmailAddress": _mailbox(content.sender.address, content.sender.display), **own}
    if configuration_set:
        mail["ConfigurationSetName"] = configuration_set
    if content.reply_to:
        mail["ReplyToAddresses"] = [_mailbox(content.reply_to.address, content.reply_to.display)]
    text = json.dumps(mail, ensure_ascii=False, separators=(",", ":"))[:-1] + ","
    body = text.encode("utf-8", "replace")
    return Part(body, hashlib.sha256(body), _refused(content))


def _extras(content: Content) -> dict[str, Any]:
    """Return headers and attachments, which both operations take alike."""
    extras: dict[str, Any] = {}
    if content.headers:
        extras["Headers"] = [{"Name": name, "Value": value} for name, value in content.headers]
    if content.attachments:
        extras["Attachments"] = [
            {
                "RawContent": a.data,
                "FileName": a.filename,
                "ContentType": a.content_type,
                "ContentDisposition": "INLINE" if a.content_id else "ATTACHMENT",
                "ContentTransferEncoding": "BASE64",
                **({"ContentId": a.content_id} if a.content_id else {}),
            }
            for a in content.attachments
        ]
    return extras


def _refused(content: Content) -> Rejected | None:
    """Return why SES cannot send a content, as far as that is known before it is asked; other providers may."""
    if not in_ascii(content):
        return SMTPUTF8
    code = ""
    if len(content.headers) > MAX_HEADERS or not all(_fits(name, value) for name, value in content.headers):
        code = "headers_not_allowed"
    if any(
        len(a.filename) > MAX_FILENAME or len(a.content_type) > MAX_SHORT or len(a.content_id) > MAX_SHORT
        for a in content.attachments
    ):
        code = "attachments_not_allowed"
    return cannot_carry(code) if code else None


def _fits(name: str, value: str) -> bool:
    return _VALUE.fullmatch(value) is not None and len(name) + len(value) <= MAX_HEADER


def literal(text: str, values: dict[str, str]) -> str:
    r"""Return a template that renders to the very text; each apparent tag in it is a value.

    Braces and backslashes next to a tag's beginning go with it: `{{{`, `}}}` and `\{{` mean something else each.
    """

    def tag(found: re.Match[str]) -> str:
        known = next((name for name, value in values.items() if value == found[0]), "")
        name = known or f"b{len(values)}"
        values[name] = found[0]
        return f"{{{{{name}}}}}"

    return _TAGS.sub(tag, text) if "{{" in text else text


def _mailbox(address: str, display: str) -> str:
    """Return an address with its name: a quoted string (RFC 5322, 3.2.4), or encoded words (RFC 2047)."""
    if not display:
        return address
    name = clean(display, len(display))
    if name.isascii():
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + f'" <{address}>'
    words, part = [], b""
    for character in name:
        encoded = character.encode("utf-8", "replace")
        if len(part) + len(encoded) > WORD_BYTES:
            words.append(part)
            part = b""
        part += encoded
    texts = [f"=?UTF-8?B?{base64.b64encode(word).decode()}?=" for word in (*words, part)]
    return f"{' '.join(texts)} <{address}>"
