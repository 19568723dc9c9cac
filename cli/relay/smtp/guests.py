"""The clients connected to the relay: how many, from where, and how often a login from there has failed.

A stranger is a session that has not logged in where a login is required. Strangers cannot keep others out: they have
seconds to log in. When there is no room for another session, the relay ends the oldest one of the network with the
most.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Protocol

from shared.domain.times import Seconds

MOST_SESSIONS: Final = 200
MOST_STRANGERS: Final = 100
"""Sessions that have not logged in, from all networks."""
MOST_OF_NETWORK: Final = 100
"""Sessions from one network where a login is required; on a relay without one, all programs may share a machine."""
MOST_STRANGERS_OF_NETWORK: Final = 24
MOST_FAILURES: Final = 30
"""Failed logins of a network in `MEMORY`; until its end no login from there is checked."""
MEMORY: Final[Seconds] = 600.0
DELAYS: Final[tuple[Seconds, ...]] = (1, 2, 4, 8)
"""Until a failed login is answered; the last one again and again."""
MOST_NETWORKS: Final = 10_000
"""Whose failures are in memory."""


class Connected(Protocol):
    """A session."""

    def drop(self) -> None:
        """Close the connection at once, also if the client reads nothing."""
        ...


def network_of(peer: Any) -> str:
    """Return the network of a client as text: its IPv4 address, or the 64 bits of IPv6 that one site has.

    `peer`: of asyncio's `peername`.
    """
    try:
        address = ipaddress.ip_address(str(peer[0]).partition("%")[0])
    except (TypeError, IndexError, ValueError):
        return "an unknown address"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class ConnectedSessions:
    """The sessions of a relay, in one event loop. `asks`: whether a login is required."""

    def __init__(self, *, asks: bool) -> None:
        self._asks = asks
        self._strangers: dict[Connected, str] = {}  # the oldest first
        self._known: dict[Connected, str] = {}

    def enter(self, guest: Connected, network: str) -> bool:
        """Take a new session; False if there is no room for it. A stranger may have to leave."""
        if not self._asks:
            return self._add(self._known, guest, network)
        if self._of(network) >= MOST_OF_NETWORK:
            return False
        strangers = Counter(self._strangers.values())
        if strangers[network] >= MOST_STRANGERS_OF_NETWORK:
            self._evict(network)
        elif strangers and (len(self._strangers) >= MOST_STRANGERS or len(self) >= MOST_SESSIONS):
            self._evict(strangers.most_common(1)[0][0])
        return self._add(self._strangers, guest, network)

    def logged_in(self, guest: Connected) -> None:
        """Note that a session is no stranger's any more."""
        network = self._strangers.pop(guest, None)
        if network is not None:
            self._known[guest] = network

    def leave(self, guest: Connected) -> None:
        """Note that a session has ended; once or more."""
        self._strangers.pop(guest, None)
        self._known.pop(guest, None)

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def _add(self, group: dict[Connected, str], guest: Connected, network: str) -> bool:
        if len(self) >= MOST_SESSIONS:
            return False
        group[guest] = network
        return True

    def _of(self, network: str) -> int:
        return sum(1 for known in self._known.values() if known == network)

    def _evict(self, network: str) -> None:
        """End the oldest session of a network's strangers."""
        oldest = next(guest for guest, whose in self._strangers.items() if whose == network)
        del self._strangers[oldest]
        oldest.drop()


class LoginBrake:
    """Slows down the guessing of passwords, and prints a line for each failed login.

    Args:
        now: returns seconds.
        tell: takes lines for the relay's operator.
    """

    def __init__(self, now: Callable[[], Seconds], tell: Callable[[str], None]) -> None:
        self._now = now
        self._tell = tell
        self._failures: dict[str, tuple[int, Seconds]] = {}  # how many, since when; the oldest first

    def is_shut(self, network: str) -> bool:
        """Whether no login of a network is checked for now."""
        return self._count(network)[0] >= MOST_FAILURES

    def failed(self, network: str) -> Seconds:
        """Note a failed login, and return the seconds until it is answered."""
        count, since = self._count(network)
        count += 1
        self._note(network, count, since)
        self._tell(f"failed login from {network}, number {count} in {MEMORY / 60:.0f} minutes")
        if count == MOST_FAILURES:
            self._tell(f"logins from {network} are refused for {since + MEMORY - self._now():.0f} seconds")
        return DELAYS[min(count, len(DELAYS)) - 1]

    def _count(self, network: str) -> tuple[int, Seconds]:
        now = self._now()
        count, since = self._failures.get(network, (0, now))
        return (count, since) if now < since + MEMORY else (0, now)

    def _note(self, network: str, count: int, since: Seconds) -> None:
        if count == 1:
            self._failures.pop(network, None)  # its time begins anew
            if len(self._failures) >= MOST_NETWORKS:
                del self._failures[next(iter(self._failures))]
        self._failures[network] = (count, since)
