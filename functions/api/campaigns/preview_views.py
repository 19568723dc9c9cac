"""A message as it would be sent, as clients read it."""

from typing import Literal

from pydantic import Field

from functions.api.campaigns.views import mailbox_text
from shared.domain.channels.lookup import channel_of
from shared.domain.content import sms
from shared.domain.content.content import Content, Mailbox
from shared.engine.campaigns.preview import Preview
from shared.engine.lane.compose import CannotCompose
from shared.web.views import View


class Hint(View):
    """A character that forces UCS-2."""

    character: str
    offset: int = Field(description="Characters before its first appearance.")
    instead: str | None = Field(description="A replacement in GSM 7, which can be empty; null if there is none.")


class SmsView(View):
    """The cost of a text message."""

    encoding: Literal["gsm7", "ucs2"]
    characters: int
    units: int = Field(description="Septets or UTF-16 code units.")
    segments: int = Field(description="Each takes a slot of the credential's rate.")
    forcing: list[Hint] = Field(description="Characters that force UCS-2, at most 20.")


class PreviewView(View):
    """A message as it would be sent."""

    row: int | None = Field(description="Which recipient of the list; null: there is none, the values are examples.")
    sheet_row: int | None = Field(description="Its row in the uploaded file; null if that is not known.")
    recipient: str
    skip: str | None = Field(description="Why nothing is sent to this recipient.")
    error: str | None = Field(
        description="Why the message cannot be made; then it is empty. `too_large_to_show`: it is sent, but its bodies "
        "are larger than an answer."
    )
    from_: str | None = Field(serialization_alias="from")
    reply_to: str | None
    subject: str
    html: str
    text: str = Field(description="Of an e-mail whose template has none: derived from `html`.")
    headers: dict[str, str]
    sms: SmsView | None


def preview_view(x: Preview, channel: str) -> PreviewView:
    """Return a rendered message as clients see it."""
    made = x.made.content
    content = made if isinstance(made, Content) else Content(Mailbox(""), "")
    return PreviewView(
        row=x.row or None,
        sheet_row=x.sheet_row or None,
        recipient=x.recipient.address,
        skip=x.recipient.skip or None,
        error=made.code if isinstance(made, CannotCompose) else None,
        from_=mailbox_text(content.sender),
        reply_to=mailbox_text(content.reply_to),
        subject=content.subject,
        html=content.html,
        text=content.text,
        headers=dict(content.headers),
        sms=sms_view(content.text, channel) if isinstance(made, Content) else None,
    )


def sms_view(text: str, channel: str) -> SmsView | None:
    """Return the cost of a rendered text; None if the channel divides none."""
    found = channel_of(channel).segments(text)
    if found is None:
        return None
    return SmsView(
        encoding=found.encoding.value,
        characters=found.characters,
        units=found.units,
        segments=found.count,
        forcing=[Hint.model_validate(x) for x in sms.forcing(text)],
    )
