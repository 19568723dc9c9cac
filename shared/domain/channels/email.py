"""E-mail: a subject, HTML with a text part, a sender of the account's, and a link to unsubscribe."""

from typing import Final

from shared.domain.channels.channel import Channel
from shared.domain.content.templates import TemplateKind
from shared.domain.recipients.reader import EmailReader, Read


class _Email(Channel):
    def reader(self, region: str = "") -> Read:
        del region
        return EmailReader().read


EMAIL: Final = _Email(
    name="email",
    noun="An e-mail",
    kinds={"subject": TemplateKind.SUBJECT, "body": TemplateKind.HTML, "text": TemplateKind.TEXT},
    names_sender=True,
    offers_links=True,
    numbers=False,
    example="someone@example.com",
)
