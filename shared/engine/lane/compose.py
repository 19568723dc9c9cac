"""The message for one recipient: a job's content with the recipient's values and link, compiled once a job.

A content without placeholders and without an unsubscription is the same for all, so calls may carry several. The same
holds for the recipients of a group of a digest. Any other content is made for each recipient right before the call. It
is made again, to the very same bytes, when a provider is asked about it.
A message that cannot be made is a value, not an exception: the fault concerns only its recipient.
"""

import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shared.domain.channels.channel import Channel
from shared.domain.channels.lookup import channel_of
from shared.domain.characters.invisible import seen
from shared.domain.content.content import GROUP, Content
from shared.domain.content.personal import TooLong, personal_of, personalised
from shared.domain.content.plain_text import text_template
from shared.domain.content.seen import nothing_to_see
from shared.domain.content.templates import (
    RECIPIENT,
    UNSUBSCRIBE_URL,
    InvalidTemplateError,
    Template,
    TemplateKind,
    variables,
)
from shared.domain.content.unsubscribe import Unsubscription
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.frozen import dataclass
from shared.ports import Links

if TYPE_CHECKING:
    from shared.domain.digests.rendering import Groups

MAX_SUBJECT: Final = 998
"""Characters: a header line's (RFC 5322 2.1.1), and SendGrid's, Resend's and SES's limit or more."""
MAX_MESSAGE: Final = 10 * 1024 * 1024
"""Bytes of both bodies in UTF-8. Templates of 1 MB and cells of 8 KB can make more; no provider takes it."""
KEPT: Final = 4 * 1024 * 1024
"""Characters of the messages of groups that a job keeps in memory. The latest ones are kept at any size."""
KEPT_GROUPS: Final = 4
"""Messages of groups that are kept at any size: a process may serve so many chunks of a job at once."""
_UNSENDABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
"""NUL and lone surrogates: no mail carries the first, no UTF-8 the second. Lists in CSV cannot hold them."""


@dataclass(frozen=True, slots=True)
class CannotCompose:
    """Why a recipient's message cannot be made; `code`: stable, in snake_case."""

    code: str


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """A recipient's message.

    Attributes:
        content: what is sent, or why nothing can be.
        slots: of the pacer that its call takes: an SMS's segments, else 1; 0 if there is no call.
        size: characters of bodies and attachments: what a call keeps in memory.
    """

    content: Content | CannotCompose
    slots: int
    size: int


class Composition:
    """A job's content, ready for its recipients; safe for threads.

    Args:
        links: signs recipients' links; needed if the content offers an unsubscription.

    Attributes:
        content: as it is stored.
        shared: what every recipient gets alike; None: each has their own, or that of their group.
        together: calls may carry several recipients.
    """

    def __init__(self, job: Job, content: Content, links: Links | None = None) -> None:
        if content.unsubscribe and links is None:
            raise ValueError("a content that offers an unsubscription needs its links")
        self.content = content
        self._job = job
        self._channel = channel_of(job.channel)
        self._links = links if content.unsubscribe else None
        self._files = sum(len(a.data) for a in content.attachments)
        self._texts: _Texts | None = None
        self._groups: Groups | None = None
        self._kept = _KeptGroups()
        self.shared: RenderedMessage | None = None
        self.together = self._links is None and content.digest is not None
        try:
            if content.digest is not None:
                self._groups = _groups(content)
                return
            self._texts = _Texts.of(self._channel, content) if content.merge else None
        except InvalidTemplateError:  # the stored text was checked; the derived one may be too long
            self.shared = RenderedMessage(CannotCompose("invalid_template"), 0, 0)
            return
        self.shared = self._alike()
        self.together = self.shared is not None

    def _alike(self) -> RenderedMessage | None:
        """Return the message that every recipient gets; None if each has their own."""
        texts = self._texts
        if self._links is not None or self.content.personal or (texts is not None and texts.variables):
            return None
        return self._made(self.content if texts is None else texts.render(self.content, {}))

    def of(self, recipient: Recipient) -> RenderedMessage:
        """Return a recipient's message; the same whenever it is asked.

        Raises:
            Retriable: the link could not be made; nothing has happened.
        """
        if self.shared is not None:
            return self.shared
        if self._groups is not None:
            return self._of_group(self._groups, recipient)
        values = {**recipient.values, RECIPIENT: recipient.address}
        if self.content.personal:
            return self._made(self._personal(recipient, values))
        added: tuple[tuple[str, str], ...] = ()
        if self._links is not None:
            try:
                values[UNSUBSCRIBE_URL] = link = self._link(self._links, recipient)
            except ValueError:  # an address that was not checked; the fault concerns only its row
                return self._made(CannotCompose("invalid_recipient"))
            added = one_click(link)
        if self._texts is None:
            return self._made(replace(self.content, headers=(*self.content.headers, *added)))
        return self._made(self._texts.render(self.content, values, added))

    def _personal(self, recipient: Recipient, values: dict[str, str]) -> Content | CannotCompose:
        """Return the message of a recipient that has parts of its own."""
        content = self.content if self._texts is None else self._texts.render(self.content, values)
        if isinstance(content, CannotCompose):
            return content
        try:
            return self._checked(personalised(content, personal_of(recipient.values)))
        except TooLong:
            return CannotCompose("message_too_large")

    def _of_group(self, groups: "Groups", recipient: Recipient) -> RenderedMessage:
        """Return the message of a recipient's group: the very same object for all of them, unless each has a link."""
        named = recipient.values.get(GROUP, "")
        number = int(named) if named.isdecimal() else len(groups)
        if number >= len(groups):
            return self._made(CannotCompose("invalid_recipient"))
        if self._links is None:
            return self._kept.get(number) or self._kept.keep(number, self._made(self._checked(groups.of(number))))
        try:
            link = self._link(self._links, recipient)
        except ValueError:  # no address that was checked
            return self._made(CannotCompose("invalid_recipient"))
        made = self._checked(groups.of(number, link))
        headers = (*self.content.headers, *one_click(link))
        return self._made(made if isinstance(made, CannotCompose) else replace(made, headers=headers))

    def _checked(self, content: Content) -> Content | CannotCompose:
        if _UNSENDABLE.search(content.html) or _UNSENDABLE.search(content.text):
            return CannotCompose("control_character")
        # Attachments are seen where the body has a text of blanks.
        shows = bool(content.attachments) and bool((content.html or content.text).strip())
        fault = _fault(self._channel, content.subject, content.html, content.text, shows=shows)
        return CannotCompose(fault) if fault else content

    def _link(self, links: Links, recipient: Recipient) -> str:
        job, digest = self._job, self.content.digest
        policy = digest.policy if digest is not None else ""
        wanted = Unsubscription(job.account, recipient.key, job.id, job.test, policy)
        return self.content.unsubscribe + links.sign(wanted)

    def _made(self, content: Content | CannotCompose) -> RenderedMessage:
        if isinstance(content, CannotCompose):
            return RenderedMessage(content, 0, 0)
        text = self._channel.written(content.text)
        if text != content.text:
            content = replace(content, text=text)
        slots = self._channel.slots(text)
        return RenderedMessage(content, slots, len(content.html) + len(content.text) + self._files)


def one_click(link: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a one-click unsubscription (RFC 8058 3.1)."""
    return ("List-Unsubscribe", f"<{link}>"), ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")


@dataclass(frozen=True, slots=True)
class _Texts:
    """The templates of a message.

    Attributes:
        variables: of all of them.
        kept: of the bodies, which keep every character.
        shows: the bodies show something even where all values are empty.
    """

    channel: Channel
    subject: Template
    html: Template
    text: Template
    variables: tuple[str, ...]
    kept: tuple[str, ...]
    shows: bool

    @classmethod
    def of(cls, channel: Channel, content: Content) -> "_Texts":
        subject = Template.parse(content.subject, TemplateKind.SUBJECT)
        html = Template.parse(content.html, TemplateKind.HTML)
        derived = content.html and not content.text
        text = text_template(html) if derived else Template.parse(content.text, channel.text_kind)
        bodies = variables((html, text))
        least = {RECIPIENT: "x"}  # no value but the one that is never empty
        shows = not nothing_to_see(html.render(least), text.render(least))
        return cls(channel, subject, html, text, variables((subject, html, text)), bodies, shows)

    def render(
        self, content: Content, values: dict[str, str], added: tuple[tuple[str, str], ...] = ()
    ) -> Content | CannotCompose:
        if RECIPIENT in self.variables and not values.get(RECIPIENT):
            return CannotCompose("no_recipient")
        for name in self.kept:
            if _UNSENDABLE.search(values.get(name, "")):
                return CannotCompose("control_character")
        subject, html, text = self.subject.render(values), self.html.render(values), self.text.render(values)
        fault = _fault(self.channel, subject, html, text, shows=self.shows)
        if fault:
            return CannotCompose(fault)
        c = content  # `dataclasses.replace` takes three times as long
        headers = (*c.headers, *added) if added else c.headers
        return Content(
            sender=c.sender,
            subject=subject,
            html=html,
            text=text,
            reply_to=c.reply_to,
            cc=c.cc,
            bcc=c.bcc,
            headers=headers,
            attachments=c.attachments,
            unsubscribe=c.unsubscribe,
            speech=c.speech,
            beside=c.beside,
        )


def _groups(content: Content) -> "Groups":
    from shared.domain.digests.rendering import Groups  # noqa: PLC0415 - most senders never meet a digest

    return Groups(content)


class _KeptGroups:
    """The latest messages of a digest's groups; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[int, RenderedMessage] = {}
        self._size = 0

    def get(self, number: int) -> RenderedMessage | None:
        """Return a group's message if it is kept."""
        return self._made.get(number)

    def keep(self, number: int, made: RenderedMessage) -> RenderedMessage:
        """Keep a group's message in place of the oldest ones; return the one that is kept."""
        with self._lock:
            known = self._made.setdefault(number, made)
            if known is made:
                self._size += made.size
            while self._size > KEPT and len(self._made) > KEPT_GROUPS:
                self._size -= self._made.pop(next(iter(self._made))).size
            return known


def _fault(channel: Channel, subject: str, html: str, text: str, *, shows: bool) -> str:
    """Return the code of what keeps a rendered message from being sent; empty if nothing does.

    Args:
        shows: the message surely shows something, so the check for an empty one is not needed.
    """
    if channel.needs_subject and not seen(subject):
        return "subject_missing"  # SendGrid refuses it, spam filters mark it
    if len(subject) > MAX_SUBJECT:
        return "subject_too_long"
    if not shows and nothing_to_see(html, text):
        return "empty_message"
    if 0 < channel.max_text < len(channel.written(text)):
        return channel.too_long
    return "message_too_large" if _bytes(html, text) > MAX_MESSAGE else ""


def _bytes(*texts: str) -> int:
    """Return how many bytes texts take in UTF-8; counted only where it may matter."""
    most = 4 * sum(map(len, texts))
    return most if most <= MAX_MESSAGE else sum(len(t.encode("utf-8", "replace")) for t in texts)
