"""WhatsApp: one plain text, or a template that the provider knows, from the credential's own number."""

from typing import TYPE_CHECKING, Final

from shared.domain.channels.channel import Channel
from shared.domain.content.templates import TemplateKind

if TYPE_CHECKING:
    from shared.domain.recipients.reader import Read

MAX_TEXT: Final = 1600
"""Characters: the limit of providers, which is below WhatsApp's own."""


class _Whatsapp(Channel):
    def reader(self, region: str = "") -> "Read":
        from shared.domain.recipients.reader import number_reader  # noqa: PLC0415 - senders read no recipients

        return number_reader(region)


WHATSAPP: Final = _Whatsapp(
    name="whatsapp",
    noun="A WhatsApp message",
    units="WhatsApp messages",
    kinds={"body": TemplateKind.TEXT},
    names_sender=False,
    offers_links=False,
    numbers=True,
    example="+14155550100",
    max_text=MAX_TEXT,
    too_long="whatsapp_too_long",
)
