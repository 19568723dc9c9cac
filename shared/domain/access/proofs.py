"""How a program proves that an API key is its own, and the tokens that it gets in exchange for the key."""

from enum import StrEnum
from typing import Final

from shared.domain.times import Millis
from shared.frozen import dataclass

ACCESS: Final = "ph_token_"
"""Begins the text of an access token."""
ACCESS_USE: Final = "posthaste access token 1"
"""The use of a token's seal: a text that was sealed for another use is no token."""
ACCESS_MS: Final[Millis] = 600_000
"""For so long a token is valid, unless its key ends before."""


class Proof(StrEnum):
    """The proof that an API key asks of each request."""

    KEY = "key"
    """Its text, or an access token."""
    SIGNATURE = "signature"
    """A signature of the request. There is no text: who reads all that is stored cannot make one."""
    OAUTH = "oauth"
    """An access token: its text opens nothing but the exchange for one."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What an access token says.

    Attributes:
        digest: SHA-256 of the text of its key, hex.
        expires: Unix milliseconds from which on it is refused.
        scopes: at most those of its key, in text order.
    """

    digest: str
    expires: Millis
    scopes: tuple[str, ...]

    def pack(self) -> str:
        """Return it as a text, to be sealed."""
        return " ".join((self.digest, str(self.expires), *self.scopes))

    @classmethod
    def unpack(cls, text: str) -> "AccessToken":
        """Read what `pack` wrote, after it was unsealed."""
        digest, expires, *scopes = text.split(" ")
        return cls(digest, int(expires), tuple(scopes))
