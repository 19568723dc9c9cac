"""The content of an e-mail job, stored once for any number of recipients."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, field, fields, replace
from typing import Any, Final

from shared.frozen import dataclass

GROUP: Final = "group"
"""The value of a digest's recipient that is the number of its group, in decimal."""


def checked_base64(data: str) -> str:
    """Return a text that is base64; ValueError for what is none."""
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("Not valid base64") from None
    return data


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
class Speech:
    """How a call says its text.

    Attributes:
        language: BCP 47, such as `en-AU`; empty: the provider's own.
        voice: name of a voice; empty: the provider's own for the language.
        audio_url: https address of a recording that is played instead, where the provider plays one.
        keys: keys that the recipient may press, and what each means to the account.
    """

    language: str = ""
    voice: str = ""
    audio_url: str = ""
    keys: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any] | None) -> "Speech | None":
        """Return what was stored as JSON of its fields; None if there is none."""
        if not raw:
            return None
        own = {name: raw[name] for name in ("language", "voice", "audio_url") if name in raw}
        return cls(**own, keys=tuple((key, meaning) for key, meaning in raw.get("keys", ())))


@dataclass(frozen=True, slots=True)
class DigestLines:
    """The parts of a digest's messages: a line for each event, rendered once, and the lines of each group.

    The columns have one entry for each event, in the order of the digest.

    Attributes:
        html: the event's line in HTML; empty where the channel has only text.
        text: the same as plain text.
        types: the event's type.
        times: the event's time as it is shown.
        key: the batch key of the events.
        max_lines: the most lines that a message shows; it counts the others.
        groups: for each group of recipients, the numbers of its lines from 0, ascending.
        policy: the prefix of the policy, which a recipient may unsubscribe from.
    """

    html: tuple[str, ...]
    text: tuple[str, ...]
    types: tuple[str, ...]
    times: tuple[str, ...]
    key: str
    max_lines: int
    groups: tuple[tuple[int, ...], ...] = ()
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A message that its author has finished (RFC 5322): its bytes lie in the bucket.

    Attributes:
        mail_from: the envelope's sender; empty: the null return path of a notification.
        name: of the bytes in the bucket.
        etag: of that version, without quotes.
        size: in bytes.
    """

    mail_from: str
    name: str
    etag: str
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """What a job's messages say. `html` and `text`: at least one is there.

    `beside`, `cc` and `bcc` are only in the content of one recipient.

    Attributes:
        merge: subject, `html` and `text` are templates, filled in for each recipient.
        unsubscribe: the address that each recipient's token is appended to for a one-click unsubscription, such as
            `https://mail.example.com/unsubscribe/`; empty: none is offered.
        speech: how `text` is said in a call; None in a message that is read.
        digest: what the messages of a digest are made of; None in all other jobs.
        finished: the message as its author wrote it; then `sender` and `subject` repeat its header, and nothing is made
            of them. None: the message is made of the other fields.
        beside: further recipients of the message, whom `To` shows after its recipient.
        personal: recipients have parts of their own, see `shared.domain.content.personal`.
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
    speech: Speech | None = None
    digest: DigestLines | None = None
    finished: Finished | None = None
    beside: tuple[Mailbox, ...] = ()
    personal: bool = False

    @property
    def copied(self) -> bool:
        """Whether other people also get the recipient's message."""
        return bool(self.beside or self.cc or self.bcc)


def pack(content: Content) -> bytes:
    """Serialise: JSON, compressed."""
    document = asdict(replace(content, digest=None))
    if content.speech is None:
        del document["speech"]  # an e-mail is stored as it was before there were calls
    del document["digest"]  # likewise before there were digests
    if content.digest is not None:
        document["digest"] = {f.name: getattr(content.digest, f.name) for f in fields(content.digest)}
    if content.finished is None:
        del document["finished"]  # likewise before there were mails
    for name in ("beside", "personal"):
        if not document[name]:
            del document[name]  # likewise before recipients had parts of their own
    if content.beside or content.personal:
        document["merged"] = document.pop("merge")  # older senders fail, instead of sending what belongs to no one
    return zlib.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), 6)


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
        merge=raw["merged"] if "merged" in raw else raw["merge"],
        unsubscribe=raw["unsubscribe"],
        speech=Speech.read(raw.get("speech")),
        digest=_digest(raw.get("digest")),
        finished=Finished(**raw["finished"]) if raw.get("finished") else None,
        beside=tuple(Mailbox(**m) for m in raw.get("beside", ())),
        personal=raw.get("personal", False),
    )


def _digest(raw: dict[str, Any] | None) -> DigestLines | None:
    if not raw:
        return None
    columns = {name: tuple(raw[name]) for name in ("html", "text", "types", "times")}
    groups = tuple(map(tuple, raw["groups"]))
    return DigestLines(**columns, key=raw["key"], max_lines=raw["max_lines"], groups=groups, policy=raw["policy"])
