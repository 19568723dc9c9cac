"""SMS: one plain text, sent and paced in segments, from the credential's own number or name."""

from typing import TYPE_CHECKING, Final

from shared.domain.channels.channel import Channel
from shared.domain.content.sms import Segments, segments, written
from shared.domain.content.templates import TemplateKind

if TYPE_CHECKING:
    from shared.domain.recipients.reader import Read

MAX_TEXT: Final = 1600
"""Characters: the limit of providers of SMS."""
MOST_SEGMENTS: Final = 24
"""Of so many characters, where each segment has 67."""


class _Sms(Channel):
    def reader(self, region: str = "") -> "Read":
        from shared.domain.recipients.reader import number_reader  # noqa: PLC0415 - senders read no recipients

        return number_reader(region, texts=True)

    def written(self, text: str) -> str:
        return written(text)

    def segments(self, text: str) -> Segments | None:
        return segments(written(text))


SMS: Final = _Sms(
    name="sms",
    noun="An SMS",
    units="segments of SMS",
    kinds={"body": TemplateKind.SMS},
    names_sender=False,
    offers_links=False,
    numbers=True,
    example="+14155550100",
    max_text=MAX_TEXT,
    too_long="sms_too_long",
    most_slots=MOST_SEGMENTS,
)
