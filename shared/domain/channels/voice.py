"""Voice: a call that says one text, or plays a recording, from the credential's own number."""

from typing import TYPE_CHECKING, Final

from shared.domain.channels.channel import Channel
from shared.domain.content.templates import TemplateKind

if TYPE_CHECKING:
    from shared.domain.recipients.reader import Read

MAX_TEXT: Final = 900
"""Characters: about a minute. A provider takes each call's text twice in 4,000 characters (docs/adr/0107)."""

REPEAT: Final = "1"
"""The key that has a call say its text again."""
STOP: Final = "9"
"""The key of recipients who want no more calls."""


class _Voice(Channel):
    def reader(self, region: str = "") -> "Read":
        from shared.domain.recipients.reader import number_reader  # noqa: PLC0415 - senders read no recipients

        return number_reader(region)


VOICE: Final = _Voice(
    name="voice",
    noun="A call",
    units="calls",
    kinds={"body": TemplateKind.TEXT},
    names_sender=False,
    offers_links=False,
    numbers=True,
    example="+14155550100",
    max_text=MAX_TEXT,
    too_long="speech_too_long",
    speaks=True,
)
