"""Variants of a stored template: its text message and its call, beside the message of its own channel."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from shared.domain.channels.channel import Channel
from shared.domain.channels.sms import SMS
from shared.domain.channels.voice import VOICE
from shared.domain.content.content import Speech
from shared.domain.content.templates import Template
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Variants:
    """Texts with placeholders; an empty one is not there.

    Attributes:
        sms: of a text message.
        say: of a call.
        speech: how the call says it.
    """

    sms: str = ""
    say: str = ""
    speech: Speech | None = None

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that are there, by the channel's name."""
        return {channel.name: text for channel, _, text in self.parts}

    @property
    def parts(self) -> Sequence[tuple[Channel, str, str]]:
        """The texts that are there: channel, name of the text's field, text."""
        every = (SMS, "text", self.sms), (VOICE, "say", self.say)
        return [part for part in every if part[2]]

    def templates(self) -> tuple[Template, ...]:
        """Return them compiled.

        Raises:
            templates.InvalidTemplateError: one of them is refused; those of a stored template are not.
        """
        return tuple(Template.parse(text, channel.text_kind) for channel, _, text in self.parts)

    def pack(self) -> bytes:
        """Serialise: JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, data: bytes) -> "Variants":
        """Read what `pack` wrote."""
        raw = json.loads(data)
        return cls(**{**raw, "speech": Speech.read(raw["speech"])})


NONE: Final = Variants()
"""A template that speaks by its own channel only."""
