"""Reads templates, with every check that does not depend on a list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from shared.domain.campaigns.campaign import MAX_PACKED, Message
from shared.domain.campaigns.variants import Variants
from shared.domain.channels.channel import Channel
from shared.domain.channels.lookup import channel_of
from shared.domain.characters.invisible import seen
from shared.domain.content.content import Content, Speech
from shared.domain.content.plain_text import text_template
from shared.domain.content.seen import nothing_to_see, seen_in
from shared.domain.content.templates import (
    RECIPIENT,
    UNSUBSCRIBE_URL,
    InvalidTemplateError,
    Template,
    TemplateKind,
    variables,
)
from shared.domain.recipients.addresses import Address
from shared.engine.intake.addresses import address_of, mailbox
from shared.engine.intake.declined import Decline, FieldFault, invalid
from shared.engine.intake.request import SendRequest
from shared.frozen import dataclass

NOTHING_SEEN: Final = "Nothing of it can be seen. Write a text, or add an image."


@dataclass(frozen=True, slots=True)
class Draft:
    """A message with placeholders, as its owner wrote it; None is what was left out."""

    body: str
    subject: str | None = None
    text: str | None = None
    sender: str | None = None
    reply_to: str | None = None
    speech: Speech | None = None


def sender_in(draft: Draft, channel: str, prefix: str) -> Address | None:
    """Return the sender of an e-mail's draft, None if it has none. Raises Decline for an invalid address.

    Args:
        prefix: what comes before the field's name in its path, as in `template.`.
    """
    if not channel_of(channel).names_sender or draft.sender is None:
        return None
    return address_of(f"{prefix}from", draft.sender)


def message_of(draft: Draft, channel: str, sender: Address | None, prefix: str) -> Message:
    """Return a draft as a message. Raises Decline if its template is invalid or too large.

    Args:
        sender: the sender of an e-mail; None for other channels.
        prefix: what comes before the field's name in its path, as in `template.`.
    """
    by = channel_of(channel)
    if draft.speech is not None and not by.speaks:
        raise invalid(f"{prefix}speech", f"{by.noun} is read, not said.")
    message = _addressed(draft, sender, prefix) if by.names_sender else _short(draft, by, prefix)
    _check_templates(message, by.kinds, prefix)
    if len(message.pack()) > MAX_PACKED:
        raise invalid(f"{prefix}body", "The template is too large: compressed it may have 300,000 bytes.")
    return message


def by_template(asked: SendRequest, by: Channel) -> SendRequest:
    """Return a batch that says what its template says. Raises Decline if the request also says something itself."""
    stored = asked.template
    if stored is None:
        _check_no_params(asked)
        return asked
    own = (("subject", asked.subject), ("body", asked.html), ("voice", asked.speech), ("text", asked.text))
    for field, value in own:
        if value:
            raise invalid(field, "The template says this. Leave it out.")
    if by.rich:
        if stored.channel != by.name:
            raise invalid("template_id", f"The template is for another channel than {by.name}.")
        message = stored.message
        return replace(asked, subject=message.subject, html=message.body, text=message.text)
    text = stored.texts.get(by.name)
    if text is None:
        raise invalid("template_id", f"The template has no text for the channel {by.name}.")
    return replace(asked, text=text, speech=stored.speech or Speech() if by.speaks else None)


def _check_no_params(asked: SendRequest) -> None:
    given = [("params", asked.params), *((f"to.{entry}.params", own.params) for entry, own in asked.own.items())]
    for field, params in given:
        if params:
            raise invalid(field, "Give `template_id`: only a template has placeholders.")


def names_in(content: Content, by: Channel) -> tuple[str, ...]:
    """Return the names of the values that a content needs of each recipient; Decline if it lacks its link."""
    if not content.merge:
        return ()
    parts = (content.subject, TemplateKind.SUBJECT), (content.html, TemplateKind.HTML), (content.text, by.text_kind)
    found = variables(Template.parse(text, kind) for text, kind in parts if text)
    if UNSUBSCRIBE_URL in found and not content.unsubscribe:
        raise invalid("unsubscribe", "The template has an unsubscription link. Give `unsubscribe: true`.")
    return tuple(name for name in found if name not in (RECIPIENT, UNSUBSCRIBE_URL))


def check_mail(asked: SendRequest) -> None:
    """Raise Decline if a batch by e-mail lacks a part, or has one of another channel."""
    if not asked.html and not asked.text:
        raise invalid("body", "Give at least one of `body` and `text`.")
    check_body("body" if asked.html else "text", asked.html, asked.text, files=bool(asked.attachments))
    if not seen(asked.subject):
        raise invalid("subject", "An e-mail needs a subject.")
    if asked.speech is not None:
        raise invalid("voice", "An e-mail cannot have `voice`.")


def check_body(field: str, html: str, text: str, *, files: bool) -> None:
    """Raise Decline if bodies without placeholders show nothing.

    Args:
        html: the HTML body; empty if there is none.
        files: attachments go with them, which are seen where the body is blank.
    """
    if not files and nothing_to_see(html, text):
        raise invalid(field, NOTHING_SEEN)


def check_seen(template: Template, field: str) -> None:
    """Raise Decline if a template shows nothing, with any values. `field`: where it was given."""
    shown = template.render(dict.fromkeys(template.variables, "x"))
    if not (seen_in if template.kind is TemplateKind.HTML else seen)(shown):
        raise invalid(field, NOTHING_SEEN)


def check_subject(draft: Draft, channel: str, prefix: str) -> None:
    """Raise Decline if an e-mail has no subject.

    Args:
        prefix: what comes before the field's name in its path, as in `template.`.
    """
    by = channel_of(channel)
    if by.needs_subject and not seen(draft.subject or ""):
        raise invalid(f"{prefix}subject", f"{by.noun} needs a subject.")


def check_variants(own: str, variants: Variants) -> None:
    """Raise Decline for a variant that is invalid, or of the template's own channel.

    Args:
        own: the template's channel, whose text is its body.
    """
    for by, part, text in variants.parts:
        field = f"{by.name}.{part}"
        if by.name == own:
            raise invalid(field, f"{by.noun} of this template is its body.")
        template = _parsed(text, by.text_kind, field)
        check_seen(template, field)
        if by.max_text and not template.variables and len(by.written(text)) > by.max_text:
            raise invalid(field, f"{by.noun} has at most {by.max_text} characters.")


def _parsed(text: str, kind: TemplateKind, field: str) -> Template:
    try:
        return Template.parse(text, kind)
    except InvalidTemplateError as error:
        faults = [FieldFault(field, f.message, f.code.value, f.offset, f.line, f.column) for f in error.faults]
        raise Decline("invalid_template", *faults) from None


def _addressed(draft: Draft, sender: Address | None, prefix: str) -> Message:
    reply_to = address_of(f"{prefix}reply_to", draft.reply_to) if draft.reply_to is not None else None
    return Message(
        subject=draft.subject or "",
        body=draft.body,
        text=draft.text or "",
        sender=mailbox(sender) if sender else None,
        reply_to=mailbox(reply_to) if reply_to else None,
    )


def _short(draft: Draft, by: Channel, prefix: str) -> Message:
    for name, value in (("subject", draft.subject), ("text", draft.text), ("reply_to", draft.reply_to)):
        if value is not None:
            raise invalid(prefix + name, f"{by.noun} has only a body.")
    if draft.sender is not None:
        raise invalid(f"{prefix}from", f"{by.noun} comes from its credential's own sender.")
    return Message(body=draft.body, speech=draft.speech)


def _check_templates(message: Message, kinds: Mapping[str, TemplateKind], prefix: str) -> None:
    faults: list[FieldFault] = []
    for name, kind in kinds.items():
        try:
            template = Template.parse(getattr(message, name), kind)
            if kind is TemplateKind.HTML and not message.text:
                text_template(template)  # the derived text may also be too large
        except InvalidTemplateError as error:
            faults += [
                FieldFault(prefix + name, f.message, f.code.value, f.offset, f.line, f.column) for f in error.faults
            ]
    if faults:
        raise Decline("invalid_template", *faults)
    if not (message.speech and message.speech.audio_url):
        check_seen(Template.parse(message.body, kinds["body"]), f"{prefix}body")
