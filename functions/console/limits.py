"""How often somebody may try to end a sign-in: each try makes this deployment ask its provider of identities.

Each sign-in that was begun has an allowance: that is the brake against guessing. The network that a request comes from
has another, which only bounds what we ask the provider. It is far above what one person needs. So a person who tries
again and again does not lock out the others of an organisation behind one address. Neither is stored: their hashes are,
for a day, by the console's key. There are few networks, so without a key a hash could be guessed.
"""

import hmac
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, Protocol

from functions.console.screen import Denial
from shared.domain.sealing import Keys
from shared.frozen import dataclass
from shared.web.http import Request

NETWORK_RATE: Final = 10
"""Tries a second of one network: of a whole organisation behind one address, in the minutes when all of it signs in."""
NETWORK_BURST: Final = 600
STATE_RATE: Final = 3 / 600
"""Of one sign-in that was begun: three within the ten minutes that it lasts."""
STATE_BURST: Final = 3
TOO_OFTEN: Final = Denial(429, "Too many sign-ins", "Wait a minute, then begin again with the page Sign in.")
IPV6_NETWORK: Final = 64
"""Bits of an address that one connection commonly has."""


class Allowance(Protocol):
    """A bucket of tokens for each name."""

    def take(self, account: str, /) -> float | None:
        """Take a token; None if there was one, else the seconds after which to try again."""


@dataclass(frozen=True, slots=True)
class SignInLimits:
    """The allowances of sign-ins. `keys`: returns what hashes them."""

    networks: Allowance
    states: Allowance
    keys: Callable[[], Keys]

    def check(self, request: Request, state: str) -> None:
        """Take a try.

        Raises:
            Denial: there were too many.
        """
        if self.networks.take(self._digest(network(request.source))) is not None:
            raise TOO_OFTEN
        if self.states.take(self._digest(state)) is not None:
            raise TOO_OFTEN

    def _digest(self, text: str) -> str:
        return hmac.digest(self.keys().current.encode(), f"posthaste sign-in {text}".encode(), "sha256").hex()


def network(source: str) -> str:
    """Return the network of an address: an IPv4 address itself, and the first 64 bits of an IPv6 address."""
    try:
        found = ip_address(source)
    except ValueError:
        return "unknown"
    return str(ip_network((found, IPV6_NETWORK), strict=False)) if isinstance(found, IPv6Address) else str(found)
