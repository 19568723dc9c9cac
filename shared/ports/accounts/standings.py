"""Whether the API key and the sender by which a job was accepted still hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain.accounts import Standing


class Standings(Protocol):
    """The API keys and senders of accounts, as a job that starts needs them."""

    def read(self, account: str, key: str, sender: str) -> Standing:
        """Return whether a key and a sender are still there, consistent: one call, a few if the key was rotated.

        Args:
            key: id of an API key, empty for none.
            sender: an address, empty for none.
        """
        ...

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender, as `Senders.opened`."""
        ...
