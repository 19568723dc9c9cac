"""E-mail: a subject, HTML with a text part, a sender of the account's, and a link to unsubscribe."""

from typing import TYPE_CHECKING, Final

from shared.domain.channels.channel import Channel
from shared.domain.content.templates import TemplateKind

if TYPE_CHECKING:
    from shared.domain.recipients.reader import Read


class _Email(Channel):
    def reader(self, region: str = "") -> "Read":
        from shared.domain.recipients.reader import EmailReader  # noqa: PLC0415 - senders read no recipients

        del region
        return EmailReader().read


EMAIL: Final = _Email(
    name="email",
    noun="An e-mail",
    units="e-mails",
    kinds={"subject": TemplateKind.SUBJECT, "body": TemplateKind.HTML, "text": TemplateKind.TEXT},
    names_sender=True,
    offers_links=True,
    numbers=False,
    example="someone@example.com",
)
