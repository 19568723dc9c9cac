"""A message as a recipient gets it, in a page that may do nothing, and the form of one with its preview beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from functions.console.call import ConsoleCall
from functions.console.pages.campaigns.drafting import Written, Wrong, channels, once, shown_mailbox
from functions.console.pages.campaigns.view import without_credential
from functions.console.pages.images.inserting import ShownPicture, shown_pictures
from functions.console.rendering import POLICY
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.content import sms
from shared.domain.content.sms import Segments
from shared.domain.content.templates import RECIPIENT, UNSUBSCRIBE_URL
from shared.domain.lists.header import usable
from shared.engine.lane.compose import CannotCompose
from shared.frozen import dataclass
from shared.web.http import Answer

FRAMED: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' https: data:; font-src https: data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox"
    ),
    "Referrer-Policy": "no-referrer",
}
"""Of a preview: messages have inline styles and pictures; no script runs, and nothing is sent anywhere."""
SHOWING: Final = {"Content-Security-Policy": f"{POLICY}; frame-src 'self'"}
"""Of a page with a preview in it."""
_URL: Final = f"{{{{ {UNSUBSCRIBE_URL} }}}}"
LEAVE: Final = {"html": f'<a href="{_URL}">Unsubscribe</a>', "markdown": f"[Unsubscribe]({_URL})"}
PICTURES: Final = 12
"""Of the account that a form shows; the others are on a page of their own."""
MAX_SHOWN: Final = 1_500_000
"""Characters of a body that are shown: an answer takes 6 MB, and what is escaped is longer."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message in its frame.

    Attributes:
        row: which recipient of the list, 0: example values.
        sheet_row: the recipient's row in the uploaded file; 0: it is not known.
        skip: why this recipient is sent nothing; empty: they are.
        fault: why there is no message; empty: there is.
        segments: of a text message.
        forcing: characters that make it dearer.
    """

    row: int = 0
    recipient: str = ""
    sheet_row: int = 0
    skip: str = ""
    fault: str = ""
    sender: str = ""
    subject: str = ""
    html: str = ""
    text: str = ""
    rich: bool = True
    segments: Segments | None = None
    forcing: str = ""


@dataclass(frozen=True, slots=True)
class MessageForm:
    """Fields that the forms of campaigns and templates share.

    Attributes:
        written: what it says.
        wrong: why it is not accepted.
        channels: their names, and how people call them.
        senders: domains and addresses that the account may send from.
        once: what the form names itself by.
        columns: of the campaign's list, by the names that a placeholder can have.
        pictures: the newest that the account has.
    """

    written: Written
    wrong: Wrong
    channels: Sequence[tuple[str, str]]
    senders: Sequence[str]
    once: str
    columns: Sequence[str] = ()
    pictures: Sequence[ShownPicture] = ()

    @property
    def placeholders(self) -> Sequence[str]:
        """Texts to put into the message: a placeholder of each column."""
        names = (*(name for name in self.columns if name != RECIPIENT), RECIPIENT)
        return tuple(f"{{{{ {name} }}}}" for name in names)

    @property
    def leave(self) -> Mapping[str, str]:
        """The link to unsubscribe, as HTML and as Markdown have it; empty where none is offered."""
        return LEAVE if self.written.by.offers_links else {}


def form_page(
    call: ConsoleCall,
    template: str,
    found: Written,
    wrong: Wrong | None,
    context: Mapping[str, Any],
    columns: Sequence[str] = (),
) -> Answer:
    """Return a page with the form of a message, beside its preview.

    Args:
        wrong: why it was not accepted; None: it has not been sent.
        context: what the page shows besides.
        columns: of the list that the message is for.
    """
    form = MessageForm(
        written=found,
        wrong=wrong or Wrong({}),
        channels=channels(call),
        senders=call.services.campaigns().senders(call.account),
        once=call.form.get("once") or once(call),
        columns=[name for name in columns if usable(name)],
        pictures=shown_pictures(call)[:PICTURES] if found.by.rich else (),
    )
    status = 422 if wrong else 200
    return call.services.pages.page(call, template, {"form": form, **context}, status=status, headers=SHOWING)


def shown(call: ConsoleCall, campaign: Campaign, row: int | None = None, sender: str = "") -> ShownMessage | None:
    """Return a message of a campaign; None if its list has no such recipient.

    Args:
        campaign: stored, or made up for this.
        row: of its list, from 1; None: the first, or example values.
        sender: as typed, if it is not the campaign's.
    """
    service = call.services.campaigns().campaigns
    by = channel_of(campaign.channel)
    try:
        found = service.previews.of(campaign, service.control.content(campaign), row)
    except KeyError:
        return ShownMessage(fault=without_credential(campaign))
    if found is None:
        return None
    to, made = found.recipient, found.made.content
    begun = ShownMessage(found.row, to.address, found.sheet_row, to.skip, rich=by.rich)
    if isinstance(made, CannotCompose):
        return replace(begun, fault=f"The message cannot be made: {made.code}.")
    if len(made.html) + len(made.text) > MAX_SHOWN:
        return replace(begun, fault="It is sent, but it is too large to be shown here.")
    segments = by.segments(made.text)
    return replace(
        begun,
        sender=sender or shown_mailbox(made.sender),
        subject=made.subject,
        html=made.html,
        text=made.text,
        segments=segments,
        forcing=" ".join(hint.character for hint in sms.forcing(made.text)) if segments else "",
    )


def frame(call: ConsoleCall, found: ShownMessage | Wrong) -> Answer:
    """Return what a preview's frame shows: a message, or why there is none."""
    if isinstance(found, Wrong):
        said = " ".join((found.all, *(f"{name.capitalize()}: {text}" for name, text in found.fields.items())))
        found = ShownMessage(fault=said.strip())
    return call.services.pages.page(call, "campaigns/frame.html", {"shown": found}, headers=FRAMED)
