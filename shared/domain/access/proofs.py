"""How a program proves that an API key is its own, and the tokens that it gets in exchange for the key."""

import re
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
_TOKEN: Final = re.compile(r"ph_token_([0-9a-f]{16})\.[A-Za-z0-9_-]+")


def token_text(key_id: str, sealed: str) -> str:
    """Return the text of a token: the id of its key, by which a router finds the cell, and what is sealed."""
    return f"{ACCESS}{key_id}.{sealed}"


def sealed_of(text: str) -> str:
    """Return what is sealed in the text of a token. Earlier versions wrote no id."""
    return text.removeprefix(ACCESS).rpartition(".")[2]


def key_id_of_token(text: str) -> str:
    """Return the id of the key of a token, unchecked; empty: the text names none."""
    found = _TOKEN.fullmatch(text)
    return found[1] if found else ""


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
