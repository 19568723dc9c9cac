"""Accounts, their API keys and their allowed senders."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from shared.domain.namespaces import KeyKind, kind_of, namespace
from shared.domain.recipients.addresses import Address, parse

_KEY: Final = re.compile(r"ph_(live|team|test)_[A-Za-z0-9_-]{43}")
_KEY_ID: Final = re.compile(r"[0-9a-f]{16}")
_ACCOUNT: Final = re.compile(r"acc_[0-9a-z]{12}")
_LETTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
MAX_NAME: Final = 100
"""Characters of an account's or key's name."""


class Scope(StrEnum):
    """What an API key may be used for; each is granted by itself."""

    SEND = "send"
    """Create, stop, retry and resume jobs."""
    READ = "read"
    """Every GET."""
    ADMIN = "admin"
    """Change what the account owns besides jobs: suppressions and the like."""


ALL_SCOPES: Final = frozenset(Scope)
TEST_SCOPES: Final = ALL_SCOPES - {Scope.ADMIN}
"""What a test or team key may be used for unless more is asked for: it is often handed to programs that are less
trusted."""


def default_scopes(kind: KeyKind) -> frozenset[Scope]:
    """Return the scopes of a key for which none are named."""
    return ALL_SCOPES if kind is KeyKind.LIVE else TEST_SCOPES


@dataclass(frozen=True, slots=True)
class Account:
    """An account. `created_at` in Unix milliseconds; `region`: country (ISO 3166) whose numbers need no country code.

    A suspended account reads, but sends nothing; one that is paused keeps what it is given until that ends.

    Attributes:
        own: a person made it for themselves, so its channels without senders are closed until an operator opens them.
        channels: those that an operator has opened.
    """

    id: str
    name: str
    created_at: int
    suspended: bool = False
    paused: bool = False
    region: str = ""
    own: bool = False
    channels: frozenset[str] = frozenset()

    def opens(self, channel: str) -> bool:
        """Tell whether it may send by a channel whose messages name no sender."""
        return not self.own or channel in self.channels


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether what a job was accepted by is still there.

    Attributes:
        key: its API key, or one that replaced it in a rotation, has not been revoked; an expired one is still there.
        sender: its account may send from its address.
    """

    key: bool = True
    sender: bool = True


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its text, of which only the SHA-256 is stored.

    Attributes:
        id: the first 16 hexadecimal digits of that hash.
        account: whose key it is; of a team key the account's team space, as which it acts.
        test: a test key's jobs never reach a provider.
        scopes: what it may be used for.
        name: chosen by its owner.
        created_at: Unix milliseconds.
        expires: Unix milliseconds from which on it is refused, 0 for never.
        used: Unix milliseconds of its last use, up to an hour behind; 0 if it was never used.
    """

    id: str
    account: str
    test: bool
    scopes: frozenset[Scope]
    name: str
    created_at: int
    expires: int = 0
    used: int = field(default=0, compare=False)

    @property
    def namespace(self) -> str:
        """Where what live, team and test keys have apart is kept."""
        return namespace(self.account, test=self.test)

    @property
    def kind(self) -> KeyKind:
        """What it may reach."""
        return kind_of(self.account, test=self.test)

    def valid_at(self, now_ms: int) -> bool:
        """Tell whether the key has not expired."""
        return self.expires == 0 or now_ms < self.expires


def new_account_id() -> str:
    """Return a random account id: `acc_` and 12 characters (60 bits)."""
    return "acc_" + "".join(secrets.choice(_LETTERS) for _ in range(12))


def is_account_id(text: str) -> bool:
    """Tell whether the text has the form of an account's id."""
    return _ACCOUNT.fullmatch(text) is not None


def new_key_text(kind: KeyKind) -> str:
    """Return a new API key's text: 256 random bits behind a prefix that secret scanners recognise."""
    return f"ph_{kind.value}_{secrets.token_urlsafe(32)}"


def is_key_text(text: str) -> bool:
    """Tell whether the text has the form of an API key, so that nonsense costs no read."""
    return _KEY.fullmatch(text) is not None


def is_key_id(text: str) -> bool:
    """Tell whether the text has the form of an API key's id; other actors of the audit log have another."""
    return _KEY_ID.fullmatch(text) is not None


def id_of_key(digest: str) -> str:
    """Return the id of an API key, which people may see, from its digest."""
    return digest[:16]


def key_digest(text: str) -> str:
    """Return the SHA-256 of a key's text, hex. The text has 256 random bits: a slow hash would add nothing."""
    return hashlib.sha256(text.encode()).hexdigest()


def sender_of(text: str) -> str:
    """Return an allowed sender in the form it is stored and compared: an address's key, or a lower-case ASCII domain.

    Raises:
        ValueError: the text is neither an address nor a domain.
    """
    trimmed = text.strip()
    domain_only = "@" not in trimmed
    found = parse(f"postmaster@{trimmed}" if domain_only else trimmed)
    if isinstance(found, Address):
        return found.key.rpartition("@")[2] if domain_only else found.key
    raise ValueError("neither an address nor a domain")


@dataclass(frozen=True, slots=True)
class SenderCheck:
    """Whether an account may send now, and under that address."""

    suspended: bool
    allowed: bool
