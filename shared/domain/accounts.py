"""Accounts, their API keys, their allowed senders and their request allowances.

Every call counts in its account's allowance, and in that of the key or notifier that makes it. One key or notifier has
a part of its account's allowance, so no single one uses it up. Of each allowance a part is kept for calls that send, so
no number of other calls makes a call that sends fail. Half of an account's kept part is closed to notifiers. They are
many machines of other owners, and even together they cannot keep the account's own keys from sending.
"""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Final

from shared.domain.access.ends import EndingKey, warned_days
from shared.domain.access.proofs import Proof
from shared.domain.namespaces import KeyKind, kind_of, namespace
from shared.domain.recipients.addresses import Address, parse
from shared.frozen import dataclass

_KEY: Final = re.compile(r"ph_(live|team|test)_[A-Za-z0-9_-]{43}")
_KEY_ID: Final = re.compile(r"[0-9a-f]{16}")
_ACCOUNT: Final = re.compile(r"acc_[0-9a-z]{12}")
_LETTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
MAX_NAME: Final = 100
"""Characters of an account's or key's name."""
# change: how many requests per second an account may make
REQUEST_RATE: Final = 100
"""Requests per second and account unless set otherwise: 5,000 recipients each, far above what providers take."""
REQUEST_BURST: Final = 1000
"""Requests at once after a pause."""
TEST_SHARE: Final = 5
"""An account's test keys make up to a fifth of the requests of its live keys, in addition to them."""
PARTS: Final = 5
"""An allowance has five parts: one key has four of them, and one is only for calls that send."""
NOTIFIER_RATE: Final = 20
"""Requests per second of one notifier: one machine behind a slow link."""
NOTIFIER_BURST: Final = 200


class Scope(StrEnum):
    """A permission of an API key. Each is granted separately.

    The first three are wide: each operation needs one of them. The others are areas: an operation that belongs to one
    also takes a key with only that area.
    """

    SEND = "send"
    """Create, stop, retry and resume jobs."""
    READ = "read"
    """Every GET."""
    ADMIN = "admin"
    """Change what the account owns besides jobs: suppressions and the like."""
    STATS = "stats"
    """Read figures: no address, no content."""
    RECIPIENTS = "recipients"
    """Upload and withdraw the lists of campaigns, keep the guests."""
    SUPPRESSIONS = "suppressions"
    """Read and change suppressions and unsubscriptions."""
    TEMPLATES = "templates"
    """Read and change templates and programs."""
    APPROVE = "approve"
    """Look at campaigns that others have made, and send them."""

    URGENT = "urgent"
    """Send in the account's quiet hours. No key has it unless it is named."""


class KeyRefusal(StrEnum):
    """Why a request with an API key is refused, before what it asks for counts."""

    UNREADABLE = "unreadable"
    """It has not the form of a key."""
    WRONG = "wrong"
    """There was never such a key, or it was revoked longer ago than the audit log is kept."""
    REVOKED = "revoked"
    EXPIRED = "expired"
    NETWORK = "network"
    """The request comes from outside the key's networks."""
    PROOF = "proof"
    """The key asks for more than its text."""
    STALE = "stale"
    """The token has expired, as tokens do."""
    LIMITED = "limited"
    """The key has used up its own allowance of requests."""
    SCOPE = "missing_scope"
    SUSPENDED = "suspended"
    """Its account is suspended."""
    MOVED = "moved"
    """Its account is in another cell."""


ALL_SCOPES: Final = frozenset({Scope.SEND, Scope.READ, Scope.ADMIN})
"""The wide ones, which together open every operation."""
TEST_SCOPES: Final = ALL_SCOPES - {Scope.ADMIN}
"""The default permissions of a test or team key: such keys are often given to programs that are less trusted."""


def default_scopes(kind: KeyKind) -> frozenset[Scope]:
    """Return the scopes of a key for which none are named."""
    return ALL_SCOPES if kind is KeyKind.LIVE else TEST_SCOPES


class Place(StrEnum):
    """Where an account is that moves from one deployment to another."""

    HERE = ""
    MOVING = "moving"
    """It sends nothing here any more, and is being copied."""
    MOVED = "moved"
    """It is in the other one."""
    ARRIVING = "arriving"
    """It was copied to here, and sends nothing yet."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account. `created_at` in Unix milliseconds; `region`: country (ISO 3166) whose numbers need no country code.

    A suspended account reads, but sends nothing; one that is paused keeps what it is given until that ends.

    Attributes:
        own: a person made it for themselves, so its channels without senders are closed until an operator opens them.
        channels: those that an operator has opened.
        quiet: channel → the quiet part of each day, as `openings.quiet` reads it.
        unsearched: it keeps no pages for searches of messages.
        leaves_at: from when on operators may delete it, Unix milliseconds; 0: they have not planned that.
        leaving: its deletion has begun, and is not cancelled any more.
        deleted_at: when it was deleted, Unix milliseconds; 0: it is there.
        place: where it is, if it moves.
        elsewhere: the address of the deployment that it moves to.
    """

    id: str
    name: str
    created_at: int
    suspended: bool = False
    paused: bool = False
    region: str = ""
    own: bool = False
    channels: frozenset[str] = frozenset()
    quiet: Mapping[str, str] = field(default_factory=dict)
    unsearched: bool = False
    leaves_at: int = 0
    leaving: bool = False
    deleted_at: int = 0
    place: Place = Place.HERE
    elsewhere: str = ""

    def opens(self, channel: str) -> bool:
        """Tell whether it may send by a channel whose messages name no sender."""
        return not self.own or channel in self.channels


@dataclass(frozen=True, slots=True)
class AccountStatus:
    """Whether the key and the sender that a job was accepted with are still there.

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
        networks: the only ones that it may be used from, as in `192.0.2.0/24`; empty: it may from everywhere.
        proof: what it asks of each request.
        public: the public key that signs its requests, of Ed25519; empty for other proofs.
        used: Unix milliseconds of its last use, up to an hour behind; 0 if it was never used.
        site: the network of that use, `/24` or `/48`; empty if it is not known.
    """

    id: str
    account: str
    test: bool
    scopes: frozenset[Scope]
    name: str
    created_at: int
    expires: int = 0
    networks: tuple[str, ...] = ()
    proof: Proof = Proof.KEY
    public: bytes = b""
    used: int = field(default=0, compare=False)
    site: str = field(default="", compare=False)

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

    def ending(self, now_ms: int) -> EndingKey | None:
        """Return what its owner hears of its end now; None: it does not end soon, or has ended."""
        days = warned_days(self.expires, now_ms)
        said = EndingKey(self.namespace, self.id, self.name, self.kind.value, self.expires, days)
        return said if days else None


def new_account_id() -> str:
    """Return a random account id: `acc_` and 12 characters (60 bits)."""
    return "acc_" + "".join(secrets.choice(_LETTERS) for _ in range(12))


def is_account_id(text: str) -> bool:
    """Tell whether the text has the form of an account's id."""
    return _ACCOUNT.fullmatch(text) is not None


def new_key_text(kind: KeyKind, drawn: str = "") -> str:
    """Return a new API key's text: 256 random bits behind a prefix that secret scanners recognise.

    Args:
        drawn: these bits, as `secrets.token_urlsafe` gives them; empty: they are drawn here.
    """
    return f"ph_{kind.value}_{drawn or secrets.token_urlsafe(32)}"


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


class Claim(IntEnum):
    """For what a call takes a token. The value: how many halves of what is kept it may not have."""

    SEND = 0
    """A key sends, or changes what is sent."""
    NOTICE = 1
    """A notifier uploads notices."""
    OTHER = 2
    """A call that does not send."""


class Limited(StrEnum):
    """Whose allowance is used up, as the answer names it."""

    ACCOUNT = "this account"
    KEY = "this API key"
    NOTIFIER = "this notifier"


@dataclass(frozen=True, slots=True)
class Excess:
    """A request beyond the allowance.

    Attributes:
        wait: seconds after which to try again.
        of: the account, key or notifier whose allowance is used up.
        rate: requests that it may make a second.
    """

    wait: float
    of: Limited
    rate: float


@dataclass(frozen=True, slots=True)
class Taker:
    """What makes a call.

    Attributes:
        name: id of an API key, name of a notifier, or id of a person of the console.
        sends: the call sends, or changes what is sent, and its maker may do so.
        notifier: it is a notifier.
    """

    name: str
    sends: bool = False
    notifier: bool = False

    @property
    def claim(self) -> Claim:
        """Its claim on the allowance of its account."""
        if not self.sends:
            return Claim.OTHER
        return Claim.NOTICE if self.notifier else Claim.SEND


@dataclass(frozen=True, slots=True)
class Quota:
    """The allowance of an account, key or notifier.

    Attributes:
        rate: requests per second.
        burst: requests at once.
        kept: the part of the burst that only calls that send may use.
    """

    rate: float
    burst: int
    kept: int = 0

    def most(self, claim: Claim) -> int:
        """Return how many requests of a kind it may make at once."""
        return max(1, self.burst - self.kept * claim // 2)

    def own(self, taker: Taker) -> int:
        """Return how many requests the key or notifier that has this quota may make at once."""
        return self.most(Claim.SEND if taker.sends else Claim.OTHER)

    def of_key(self) -> "Quota":
        """Return the quota of one key of an account that has this one."""
        return Quota(self.rate * (PARTS - 1) / PARTS, max(1, self.burst * (PARTS - 1) // PARTS), self.kept)

    def of_notifier(self) -> "Quota":
        """Return the quota of one notifier of an account that has this one."""
        key = self.of_key()
        burst = min(NOTIFIER_BURST, key.burst)
        return Quota(min(NOTIFIER_RATE, key.rate), burst, min(self.kept, burst // PARTS))


def quota(rate: float, burst: int) -> Quota:
    """Return the quota of an account: requests per second, and at once."""
    return Quota(rate, burst, burst // PARTS)
