"""API keys and senders of accounts in memory: all are there but those that a test takes away."""

from shared.domain.accounts import AccountStatus
from tests.fakes.faults import Tap


class FakeStandings:
    """`ports.AccountStatuses`.

    Attributes:
        revoked: ids of keys that are gone; `removed`: addresses that may not be sent from.
        heirs: a key's id → that of the key that replaced it.
        closed: (account, channel) by which an account may not send.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.revoked: set[str] = set()
        self.removed: set[str] = set()
        self.heirs: dict[str, str] = {}
        self.closed: set[tuple[str, str]] = set()
        self._tap = tap or Tap()

    def read(self, account: str, key: str, sender: str) -> AccountStatus:
        """Return whether a key, or one that replaced it, and a sender are still there."""

        def found() -> AccountStatus:
            last = key
            while last in self.revoked and last in self.heirs:
                last = self.heirs[last]
            return AccountStatus(key=not key or last not in self.revoked, sender=sender not in self.removed)

        return self._tap("standings.read", found)

    def opened(self, account: str, channel: str) -> bool:
        """Return whether a test has left a channel open."""
        return (account, channel) not in self.closed
