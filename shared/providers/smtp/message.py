"""A message as SMTP carries it (RFC 5322, MIME): what all mails of a content share, and what is each one's own.

The standard library's `email` makes the body under its policy SMTP, all of it 7-bit, so that no server has to know
8BITMIME. The code here writes the header lines: that policy turns a long word such as the link of List-Unsubscribe into
encoded words. RFC 2047 forbids them there, and no reader undoes them.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email import policy
from email.header import Header
from email.message import MIMEPart
from email.utils import format_datetime
from typing import Final

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.times import Seconds

REF_HEADER: Final = "X-Posthaste-Ref"
MAX_LINE: Final = 998
"""Characters of a line: RFC 5322 2.1.1."""
FOLD: Final = 76
RESERVED: Final = frozenset(
    {
        *("bcc", "cc", "date", "from", "message-id", "received", "reply-to", "return-path", "sender", "subject", "to"),
        *("content-transfer-encoding", "content-type", "mime-version", "x-posthaste-ref"),
    }
)
"""Headers that are set here, or by servers."""
POLICY: Final = policy.SMTP.clone(cte_type="7bit")
_NAME: Final = re.compile(r"[!-9;-~]{1,76}")
_KIND: Final = re.compile(r"([a-z0-9!#$&^_.+-]{1,100})/([a-z0-9!#$&^_.+-]{1,100})", re.IGNORECASE)
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""Controls, all line breaks there are, and lone surrogates. The joiner of an emoji's parts is not among them."""
_NOT_ASCII: Final = bytes(range(128, 256))
_WRAPPED: Final = frozenset({"message", "multipart"})
"""Types that may not be base64 (RFC 2045 6.4): such files travel as octets."""


class Unsendable(ValueError):
    """The content cannot be written as a message; `str(error)`: a stable snake_case code."""


def common(content: Content) -> bytes:
    """Return what all mails of a content share: headers, an empty line and the body. Raises Unsendable."""
    headers = [_line("From", mailbox(content.sender)), _line("Subject", _text("Subject", content.subject))]
    if content.reply_to:
        headers.append(_line("Reply-To", mailbox(content.reply_to)))
    for name, value in content.headers:
        if _NAME.fullmatch(name) is None or name.lower() in RESERVED:
            raise Unsendable("invalid_headers")
        headers.append(_line(name, _text(name, value)))
    return "".join(headers).encode("utf-8", "replace") + _body(content)


def own(to: Iterable[Mailbox], cc: Iterable[Mailbox], ref: str, sender: str, now: Seconds) -> bytes:
    """Return the header lines that only one mail has; they come before the common part.

    Args:
        to: the recipient, and whom else `To` shows.
        cc: who else sees it.
        ref: the attempt's; it names the Message-ID, so each call of this attempt has the same one.
        sender: the address whose domain names the Message-ID.
    """
    date = format_datetime(datetime.fromtimestamp(int(now), tz=UTC))
    lines = [_line("Date", date), _line("Message-ID", message_id(ref, sender)), _line(REF_HEADER, ref)]
    lines.append(_line("To", ",\r\n ".join(map(mailbox, to))))
    copies = [mailbox(box) for box in cc]
    if copies:
        lines.append(_line("Cc", ",\r\n ".join(copies)))
    return "".join(lines).encode("utf-8", "replace")


def message_id(ref: str, sender: str) -> str:
    """Return an attempt's Message-ID (RFC 5322 3.6.4)."""
    domain = sender.rpartition("@")[2]
    return f"<{ref}@{domain if re.fullmatch(r'[A-Za-z0-9.-]+', domain) else 'posthaste.invalid'}>"


def mailbox(box: Mailbox) -> str:
    """Return an address with its name: a quoted string (RFC 5322 3.2.4), or encoded words (RFC 2047) if not ASCII."""
    name = _BREAKS.sub(" ", box.display).strip()
    if not name:
        return box.address
    if not name.isascii() or len(name) > FOLD or "=?" in name:
        return f"{_words(name, len('Reply-To'))}\r\n <{box.address}>"
    name = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{name}" <{box.address}>'


def _line(name: str, value: str) -> str:
    return f"{name}: {value}\r\n"


def _text(name: str, value: str) -> str:
    """Return a text as the value of an unstructured header: as it is if it is ASCII and fits, else encoded words."""
    value = _BREAKS.sub(" ", value).strip()
    if value.isascii() and len(name) + 2 + len(value) <= MAX_LINE and "=?" not in value:
        return value
    return _words(value, len(name))


def _words(text: str, used: int) -> str:
    return Header(text, "utf-8", maxlinelen=FOLD, header_name="x" * used).encode(linesep="\r\n")


# The body


def _body(content: Content) -> bytes:
    """Return the body with the headers that describe it, in lines of at most 998 characters."""
    inline = [a for a in content.attachments if a.content_id and content.html]
    message = MIMEPart(policy=POLICY)
    if content.text and content.html:
        _write(message, content.text, "plain")
        message.make_alternative()
        message.attach(_html(content.html, inline))
    elif content.html:
        _write(message, content.html, "html")
        _relate(message, inline)
    else:
        _write(message, content.text, "plain")
    for attachment in content.attachments:
        if attachment not in inline:
            data, main, sub = _file(attachment)
            message.add_attachment(data, maintype=main, subtype=sub, filename=_filename(attachment))
    message["MIME-Version"] = "1.0"
    return message.as_bytes(policy=POLICY)


def _html(html: str, inline: Iterable[Attachment]) -> MIMEPart:
    part = MIMEPart(policy=POLICY)
    _write(part, html, "html")
    _relate(part, inline)
    return part


def _write(part: MIMEPart, text: str, subtype: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    part.set_content(text, subtype=subtype, cte=_coding(text))


def _relate(part: MIMEPart, inline: Iterable[Attachment]) -> None:
    for attachment in inline:
        data, main, sub = _file(attachment)
        cid = f"<{_BREAKS.sub('', attachment.content_id).strip('<> ')}>"
        part.add_related(
            data, maintype=main, subtype=sub, cid=cid, filename=_filename(attachment), disposition="inline"
        )


def _coding(text: str) -> str:
    """Return the shorter of the transfer encodings that every server passes on: quoted-printable for most scripts."""
    data = text.encode()
    odd = len(data) - len(data.translate(None, _NOT_ASCII))
    return "base64" if odd * 6 > len(data) else "quoted-printable"  # three characters for one, or four for three


def _filename(attachment: Attachment) -> str:
    return _BREAKS.sub(" ", attachment.filename).strip() or "attachment"


def _file(attachment: Attachment) -> tuple[bytes, str, str]:
    try:
        data = base64.b64decode(attachment.data, validate=True)
    except (binascii.Error, ValueError):
        raise Unsendable("invalid_attachments") from None
    found = _KIND.fullmatch(attachment.content_type.partition(";")[0].strip())
    if found is None or found[1].lower() in _WRAPPED:
        return data, "application", "octet-stream"
    return data, found[1].lower(), found[2].lower()
