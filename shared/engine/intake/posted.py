"""Acceptance of a request that another service's API would take: all its messages are one job, or nothing is stored.

A message that goes to several people is one message of the job. Its events are about the first of them. An address of
`to`, `cc` or `bcc` that is suppressed is left out, and the job has it as a message that was skipped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.campaigns.campaign import Message
from shared.domain.channels.email import EMAIL
from shared.domain.characters.invisible import seen
from shared.domain.content.content import Content, Mailbox
from shared.domain.content.personal import MAX_BYTES, Personal, TooLong, personalised
from shared.domain.content.posting import PostedBox, PostedMessage, Posting
from shared.domain.content.templates import UNSUBSCRIBE_URL, variables
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Policy
from shared.domain.jobs.labels import MAX_METADATA, Labels, as_json
from shared.domain.namespaces import namespace
from shared.domain.recipients.addresses import Address, Invalid, parse
from shared.domain.times import FUTURE, Millis, Seconds
from shared.engine.intake.accept import BatchRequest
from shared.engine.intake.addresses import LeftOutRecipient, mailbox
from shared.engine.intake.declined import invalid
from shared.engine.intake.message import check_body
from shared.frozen import dataclass

MAX_NAME: Final = 100
"""Characters of a job's name."""
MAX_TAGS: Final = 200
"""Different tags of a request."""
MAX_PLACES: Final = 1000
"""Places of tags in subject and bodies: with what may come in their place, a message stays well within memory."""
MAX_SEARCH: Final = 200_000_000
"""Characters of a message's tags, times those of subject and bodies. At worst such a search takes 0.1 s."""
NO_RECIPIENT: Final = "no_recipient"
"""Why a copy is not sent: the recipient that it would be a copy for is not sent to."""


@dataclass(frozen=True, slots=True)
class PostedBy:
    """The account that posts, and its API key.

    Attributes:
        account: whose request it is.
        test: made with a test key, or rehearsed.
        by: id of the API key.
        idempotency_key: the client's, or empty.
        fingerprint: hash of the request, for the key.
    """

    account: str
    test: bool
    by: str
    idempotency_key: str = ""
    fingerprint: str = ""

    @property
    def namespace(self) -> str:
        """Whose suppressions count: the account's live or test ones."""
        return namespace(self.account, test=self.test)


@dataclass(frozen=True, slots=True)
class PostedTo:
    """A message with its addresses read. `asked`: as it was asked for."""

    asked: PostedMessage
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    bcc: tuple[Address, ...]

    @property
    def all(self) -> tuple[Address, ...]:
        """All recipients of the message."""
        return (*self.to, *self.cc, *self.bcc)

    def left(self, codes: Mapping[str, str]) -> "PostedTo":
        """Return it for recipients that may be sent to. `codes`: of the others, by normalised address."""

        def wanted(some: Iterable[Address]) -> tuple[Address, ...]:
            return tuple(a for a in some if a.key not in codes)

        return PostedTo(self.asked, wanted(self.to), wanted(self.cc), wanted(self.bcc))


def begin(asked: Posting, now: Seconds) -> Millis:
    """Return when sending begins, Unix milliseconds, 0 for now; `Decline` for a time that nothing waits for.

    Args:
        asked: the request; a time that is over means now.
    """
    if asked.send_at <= now:
        return 0
    if asked.send_at > now + FUTURE:
        raise invalid(asked.fields["send_at"], "Choose a time within a year, in Unix seconds.")
    return int(asked.send_at * 1000)


def request_of(
    asked: Posting, by: PostedBy, messages: Sequence[PostedTo], codes: Mapping[str, str], template: Message | None
) -> BatchRequest:
    """Return the job that a request asks for, at once and by no route yet. It may have no recipient to send to.

    Args:
        messages: of the request, with their addresses read.
        codes: of the addresses that are not to be sent to, by normalised address.
        template: the stored template that the request names; None if it names none.
    """
    _check_tags(asked)
    content, recipients = _made(asked, messages, codes, _content(asked, template))
    return BatchRequest(
        account=by.account,
        test=by.test,
        channel=EMAIL.name,
        route=(),
        content=content,
        recipients=recipients,
        duplicates=0,
        policy=Policy(),
        name=", ".join(asked.labels)[:MAX_NAME],
        labels=_labels(asked),
        idempotency_key=by.idempotency_key,
        fingerprint=by.fingerprint,
        by=by.by,
    )


def left_out(messages: Iterable[PostedTo], codes: Mapping[str, str]) -> list[LeftOutRecipient]:
    """Return why each address of a request is not sent to, if none is.

    Args:
        codes: of the addresses that are not to be sent to, by normalised address.
    """
    return [
        LeftOutRecipient(box.field, address.address, codes.get(address.key, NO_RECIPIENT), address.key)
        for m in messages
        for box, address in zip(m.asked.boxes, m.all, strict=True)
    ]


def _labels(asked: Posting) -> Labels:
    """Return the labels of the job. Larger metadata are only with its messages, which have all of them anyway."""
    small = len(as_json(dict(asked.metadata)).encode()) <= MAX_METADATA
    return Labels("", asked.labels, asked.metadata if small else {})


def box_address(box: PostedBox) -> Address:
    """Return an address with its name; `Decline` for what is none, or a name with a line break."""
    found = parse(box.address)
    if isinstance(found, Address) and box.name:
        quoted = box.name.replace("\\", "\\\\").replace('"', '\\"')
        found = parse(f'"{quoted}" <{found.address}>')
    if isinstance(found, Invalid):
        raise invalid(box.field, found.reason)
    return found


def read(asked: Posting) -> list[PostedTo]:
    """Return the messages of a request with their addresses read; `Decline` for one that is none, or is there twice."""
    found = [_read(m) for m in asked.messages]
    known: set[str] = set()
    for m in found:
        for box, address in zip(m.asked.boxes, m.all, strict=True):
            if address.key in known:
                raise invalid(box.field, "A request has each address only once, among all of to, cc and bcc.")
            known.add(address.key)
    return found


def _read(asked: PostedMessage) -> PostedTo:
    return PostedTo(asked, *(tuple(box_address(box) for box in boxes) for boxes in (asked.to, asked.cc, asked.bcc)))


def _content(asked: Posting, template: Message | None) -> Content:
    shared = Content(
        sender=mailbox(box_address(asked.sender)),
        subject=asked.subject or asked.messages[0].subject,
        html=asked.html,
        text=asked.text,
        reply_to=mailbox(box_address(asked.reply_to)) if asked.reply_to else None,
        headers=asked.headers,
        attachments=asked.attachments,
    )
    if template is not None:
        return _of_template(asked, shared, template)
    if not asked.html and not asked.text:
        raise invalid(asked.fields["body"], "A message needs a text or HTML.")
    check_body(asked.fields["body"], asked.html, asked.text, files=bool(asked.attachments))
    if not all(seen(m.subject or asked.subject) for m in asked.messages):
        raise invalid(asked.fields["subject"], "A message needs a subject: one for all, or one of its own.")
    return shared


def _of_template(asked: Posting, shared: Content, template: Message) -> Content:
    if UNSUBSCRIBE_URL in variables(template.templates(EMAIL.name)):
        raise invalid(asked.fields["template"], "The template has an unsubscription link: use a campaign.")
    return replace(
        shared,
        subject=template.subject,
        html=template.body,
        text=template.text,
        reply_to=shared.reply_to or template.reply_to,
        merge=True,
    )


def _made(
    asked: Posting, messages: Sequence[PostedTo], codes: Mapping[str, str], content: Content
) -> tuple[Content, tuple[Recipient, ...]]:
    """Return content and recipients: what is each recipient's own lies with them, unless there is but one message."""
    single = len(messages) == 1
    recipients: list[Recipient] = []
    for m in messages:
        left = m.left(codes)
        own = _personal(asked, left, content)
        if single:
            content, own = _filled(content, own, m.asked.place), own.known
        if left.to:
            recipients.append(_recipient(m.asked, left.to[0], own))
            content = content if not own.differs else replace(content, personal=True)
        recipients += _skipped(m, left, codes, own.known.values())
    return content, tuple(recipients)


def _filled(content: Content, own: Personal, place: str) -> Content:
    try:
        return personalised(content, own)
    except TooLong:
        raise invalid(place, "The message is too long with its texts.") from None


def _check_answers(asked: Posting, tags: Iterable[str]) -> None:
    """Decline tags in the address of answers: all messages of a job have the same one."""
    to = asked.reply_to
    if to and any(tag in text for tag in tags for text in (to.address, to.name)):
        raise invalid(to.field, "Substitutions are not put into reply_to. Send one request for each of them.")


def _check_tags(asked: Posting) -> None:
    """Decline tags that are too many or too long to search for in each message: a sender serves all accounts."""
    whole = (asked.subject, asked.html, asked.text)
    tags = {tag for m in asked.messages for tag in m.texts}
    _check_answers(asked, tags)
    if len(tags) > MAX_TAGS:
        raise invalid(asked.fields["body"], f"A request has at most {MAX_TAGS} different tags.")
    if sum(text.count(tag) for tag in tags for text in whole) > MAX_PLACES:
        raise invalid(asked.fields["body"], f"Subject and bodies have at most {MAX_PLACES:,} places with a tag.")
    size = sum(map(len, whole))
    for m in asked.messages:
        if sum(map(len, m.texts)) * size > MAX_SEARCH:
            raise invalid(m.place, "The tags are too many or too long for bodies of this length.")


def _personal(asked: Posting, left: PostedTo, content: Content) -> Personal:
    m = left.asked
    subject = m.subject if m.subject != content.subject and not content.merge else ""
    return Personal(
        subject=subject,
        headers=m.headers,
        texts=m.texts,
        beside=_boxes(left.to[1:]),
        cc=_boxes(left.cc),
        bcc=_boxes(left.bcc),
        labels=asked.labels,
        metadata=m.metadata,
    )


def _boxes(addresses: Iterable[Address]) -> tuple[Mailbox, ...]:
    return tuple(mailbox(a) for a in addresses)


def _recipient(asked: PostedMessage, to: Address, own: Personal) -> Recipient:
    values = {**asked.values, **own.values()}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in values.items())
    if size > MAX_BYTES:
        raise invalid(asked.place, f"What is a message's own has at most {MAX_BYTES // 1024} KB.")
    return Recipient(to.address, to.key, to.display, values=values)


def _skipped(m: PostedTo, left: PostedTo, codes: Mapping[str, str], values: dict[str, str]) -> list[Recipient]:
    """Return recipients that are not sent to; without any left in `to`, these are all recipients of the message."""
    gone = m.all if not left.to else [a for a in m.all if a.key in codes]
    return [Recipient(a.address, a.key, a.display, codes.get(a.key, NO_RECIPIENT), values) for a in gone]
