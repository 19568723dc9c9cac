"""The content of an e-mail job, stored once whatever the number of recipients."""

import json
import zlib
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file sent with every message. `data`: base64 text; `content_id` makes it an inline image."""

    filename: str
    content_type: str
    data: str
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address with its display name."""

    address: str
    display: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a job's messages say. `html` and `text`: at least one is there; `cc`, `bcc` only with one recipient.

    Attributes:
        merge: subject, `html` and `text` are templates, filled in for each recipient.
        unsubscribe: the address that each recipient's token is appended to for a one-click unsubscription, such as
            `https://mail.example.com/unsubscribe/`; empty: none is offered.
    """

    sender: Mailbox
    subject: str
    html: str = ""
    text: str = ""
    reply_to: Mailbox | None = None
    cc: tuple[Mailbox, ...] = ()
    bcc: tuple[Mailbox, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    attachments: tuple[Attachment, ...] = field(default=())
    merge: bool = False
    unsubscribe: str = ""


def pack(content: Content) -> bytes:
    """Serialise: JSON, compressed."""
    return zlib.compress(json.dumps(asdict(content), ensure_ascii=False, separators=(",", ":")).encode(), 6)


def unpack(data: bytes) -> Content:
    """Read what `pack` wrote."""
    raw = json.loads(zlib.decompress(data))
    return Content(
        sender=Mailbox(**raw["sender"]),
        subject=raw["subject"],
        html=raw["html"],
        text=raw["text"],
        reply_to=Mailbox(**raw["reply_to"]) if raw["reply_to"] else None,
        cc=tuple(Mailbox(**m) for m in raw["cc"]),
        bcc=tuple(Mailbox(**m) for m in raw["bcc"]),
        headers=tuple((k, v) for k, v in raw["headers"]),
        attachments=tuple(Attachment(**a) for a in raw["attachments"]),
        merge=raw["merge"],
        unsubscribe=raw["unsubscribe"],
    )
