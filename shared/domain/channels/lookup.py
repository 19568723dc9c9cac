"""The channels, each under its name."""

from collections.abc import Mapping
from typing import Final

from shared.contracts import ANY_CHANNEL
from shared.domain.channels.channel import Channel
from shared.domain.channels.email import EMAIL
from shared.domain.channels.sms import SMS
from shared.domain.channels.voice import VOICE
from shared.domain.channels.whatsapp import WHATSAPP

CHANNELS: Final[Mapping[str, Channel]] = {c.name: c for c in (EMAIL, SMS, VOICE, WHATSAPP)}
"""All channels. A new one is added here and in `channel.ChannelName`."""


def channel_of(name: str) -> Channel:
    """Return a channel.

    Raises:
        ValueError: there is no such channel.
    """
    found = CHANNELS.get(name)
    if found is None:
        raise ValueError(f"no channel {name!r}")
    return found


def carried(name: str) -> tuple[Channel, ...]:
    """Return what a credential carries that declares this channel: all for `any`."""
    if name == ANY_CHANNEL:
        return tuple(CHANNELS.values())
    return (CHANNELS[name],) if name in CHANNELS else ()
