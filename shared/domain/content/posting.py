"""A request to send e-mail in the terms of another service's API, as its reader understands it.

Readers have the names of that service; `shared.engine.intake.posted` has the rules of acceptance. Each address and text
has the place in the request where it was, so that a refusal names what its client wrote.
"""

from collections.abc import Mapping
from dataclasses import field

from shared.domain.content.content import Attachment
from shared.domain.times import Seconds
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class PostedBox:
    """An address. `field`: its path in the request."""

    address: str
    name: str
    field: str


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """One message of a request; all who get it see `to` and `cc`.

    Attributes:
        place: its path in the request; empty if the request is this one message.
        to: at least one.
        subject: empty: that of the request.
        headers: instead of those of the request with the same name, or more.
        texts: tag → what comes in its place in subject and bodies.
        values: of the placeholders of a stored template.
        metadata: the owner's own data, which events repeat.
    """

    place: str
    to: tuple[PostedBox, ...]
    cc: tuple[PostedBox, ...] = ()
    bcc: tuple[PostedBox, ...] = ()
    subject: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def to_field(self) -> str:
        """The path of `to` in the request."""
        return f"{self.place}.to" if self.place else self.to[0].field

    @property
    def boxes(self) -> tuple[PostedBox, ...]:
        """All addresses of the message."""
        return (*self.to, *self.cc, *self.bcc)


@dataclass(frozen=True, slots=True)
class Posting:
    """A request.

    Attributes:
        messages: at least one.
        template: id of a stored template, which then has subject and bodies; empty: they are here.
        labels: the owner's words for all messages.
        metadata: the owner's own data that all messages have.
        send_at: Unix seconds; 0, or a time that is over: now.
        rehearsed: nothing reaches a provider, as with a test key.
        fields: part of a message (`subject`, `body`, `send_at`, `template`) → its path in the request.
    """

    sender: PostedBox
    messages: tuple[PostedMessage, ...]
    subject: str = ""
    html: str = ""
    text: str = ""
    reply_to: PostedBox | None = None
    headers: tuple[tuple[str, str], ...] = ()
    attachments: tuple[Attachment, ...] = ()
    template: str = ""
    labels: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    send_at: Seconds = 0
    rehearsed: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
