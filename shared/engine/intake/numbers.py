"""Batches by channels whose recipients are phone numbers: the numbers, and what a short message or a call says."""

from collections.abc import Sequence

from shared.domain.channels.channel import Channel
from shared.domain.characters.invisible import seen
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.recipients.reader import RecipientFault
from shared.engine.intake.addresses import shown
from shared.engine.intake.declined import invalid
from shared.engine.intake.request import SendRequest


def numbers_of(texts: Sequence[str], by: Channel, region: str) -> tuple[tuple[Recipient, ...], tuple[int, ...]]:
    """Return the distinct recipients in the order given, and of each text the place of its recipient.

    Args:
        texts: numbers as the client wrote them.
        region: country whose numbers need no country code; empty: all need one.
    """
    read = by.reader(region)
    found: dict[str, Recipient] = {}
    numbers: dict[str, int] = {}
    places: list[int] = []
    for text in texts:
        one = read(text)
        if isinstance(one, RecipientFault):
            kept = shown(text)
            same, made = f"?{kept.strip()}", Recipient(kept, kept, skip=one.code)
        else:
            address, same, display = one
            made = Recipient(address, same, display)
        found.setdefault(same, made)
        places.append(numbers.setdefault(same, len(numbers)))
    return tuple(found.values()), tuple(places)


def short_content(asked: SendRequest, by: Channel) -> Content:
    """Return what a batch by such a channel says. Raises Decline for what the channel does not have."""
    given = (
        ("from", asked.sender),
        ("subject", asked.subject),
        ("body", asked.html),
        ("reply_to", asked.reply_to),
        ("cc", asked.cc),
        ("bcc", asked.bcc),
        ("headers", asked.headers),
        ("attachments", asked.attachments),
        ("unsubscribe", asked.unsubscribe),
    )
    for field, value in given:
        if value:
            raise invalid(field, f"{by.noun} has no such field.")
    field = "voice.say" if by.speaks else "text"
    if by.speaks != (asked.speech is not None):
        raise invalid("voice", f"{by.noun} {'needs' if by.speaks else 'cannot have'} `voice`.")
    if not seen(asked.text):
        raise invalid(field, f"{by.noun} needs a text.")
    merge = asked.template is not None
    if not merge and 0 < by.max_text < len(by.written(asked.text)):
        raise invalid(field, f"{by.noun} has at most {by.max_text} characters.")
    return Content(sender=Mailbox(""), subject="", text=asked.text, speech=asked.speech, merge=merge)
