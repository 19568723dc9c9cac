"""Texts that recipients write to a credential's own number."""

import hashlib
from typing import Final

from shared.domain.audit import RECIPIENT, Event, Log
from shared.frozen import dataclass

KEPT_DAYS: Final = 30
"""Days for which a text is kept."""
MAX_TEXT: Final = 1600
"""Characters of a text: ten parts of an SMS. What is longer is cut."""
RECEIVED: Final = "text.received"
"""Kind of the event of a new text."""


@dataclass(frozen=True, slots=True)
class ReceivedText:
    """A text that somebody wrote.

    Attributes:
        account: of whose credential's number.
        id: of this text in this account; the same for each report of the text.
        credential: whose number it was written to.
        channel: the credential's.
        sender: the number that wrote it, E.164.
        to: the number that it was written to, as the provider says it; empty if it does not.
        text: at most MAX_TEXT characters.
        at: Unix milliseconds.
        wish: what it means for later messages: `stopped`, `started`, or empty.
    """

    account: str
    id: str
    credential: str
    channel: str
    sender: str
    to: str
    text: str
    at: int
    wish: str = ""

    def event(self) -> Event:
        """Return the event for the account's webhooks. It holds no number, and no text."""
        data = {"credential": self.credential, "channel": self.channel, "wish": self.wish}
        return Event(self.account, self.at, self.id, RECEIVED, RECIPIENT, data, logs=(Log.EVENTS,))


def text_id(credential: str, said_by_provider: str, sender: str, text: str) -> str:
    """Return the id of a text: 32 hex digits, the same for each report of one text.

    Args:
        credential: whose number it was written to.
        said_by_provider: the provider's id of the text; empty if it gives none.
        sender: the number that wrote it.
    """
    parts = (credential, said_by_provider) if said_by_provider else (credential, "", sender, text)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
