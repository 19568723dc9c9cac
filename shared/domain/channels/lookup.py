"""The channels by name."""

from collections.abc import Mapping
from typing import Final

from shared.contracts import ANY_CHANNEL
from shared.domain.channels.channel import Channel
from shared.domain.channels.email import EMAIL
from shared.domain.channels.sms import SMS

CHANNELS: Final[Mapping[str, Channel]] = {c.name: c for c in (EMAIL, SMS)}
"""All channels. A new one is added here, and in `channel.ChannelName` if its name is not planned yet."""


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
    """Return what a credential carries that declares this channel: all for `any`, none for one that is only planned."""
    if name == ANY_CHANNEL:
        return tuple(CHANNELS.values())
    return (CHANNELS[name],) if name in CHANNELS else ()
