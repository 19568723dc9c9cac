"""Notifiers: machines behind unreliable links that upload notices and poll their results.

A notifier has a user name, unique in the deployment, and a generated password. Only the password's SHA-256 is stored:
it has 256 random bits, so a slow hash would add nothing. During a rotation two passwords are valid.
"""

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final
from zoneinfo import ZoneInfo

from shared.domain.namespaces import namespace
from shared.domain.notices.times import Hours
from shared.frozen import dataclass

METHODS: Final = {"sms": "SMS", "voice": "IVR"}
"""How a notice is delivered: the channel's name, and what notifiers call it."""
CHANNELS: Final = tuple(METHODS)
OPENS: Final = 9
CLOSES: Final = 21
"""Default reasonable hours: from 9:00 to 21:00 in the notifier's time zone."""
EXPIRY_DAYS: Final = 7
"""Default days from a notice's delivery date to its expiry."""
CONFLICT_TRIES: Final = 5
"""Default tries to withdraw a message for an update or cancel."""
MAX_EXPIRY_DAYS: Final = 365
MAX_CONFLICT_TRIES: Final = 20
MAX_NOTIFIERS: Final = 1_000
"""Notifiers that an account has at once; those that were deleted do not count."""
MAX_PASSWORDS: Final = 2
"""Passwords that are valid at once."""
NAME: Final = r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"
"""Form of a name: lower-case letters, digits and hyphens, so that it fits into keys and Basic credentials."""
_NAME: Final = re.compile(NAME)
_PASSWORD: Final = re.compile(r"ph_pass_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """A password without its text. `sha256`: hex; `until`: Unix ms from which on it is refused, 0 for never."""

    sha256: str = field(repr=False)
    until: int = 0

    def valid_at(self, now_ms: int) -> bool:
        """Return whether the password has not ended."""
        return self.until == 0 or now_ms < self.until


@dataclass(frozen=True, slots=True)
class Notifier:
    """A notifier and its settings. Times are Unix milliseconds.

    Attributes:
        name: its user name, unique in the deployment and never used again.
        account: whose it is.
        id_space: UUID; the ids of its notices are made from it (UUIDv5).
        timezone: IANA name; its dates and hours are those of this zone.
        opens: first reasonable hour, 0 to 23.
        closes: end of the reasonable hours, 1 to 24; later than `opens`.
        routes: channel → ids of credentials; a channel that is missing has the deployment's route.
        expiry_days: days from the delivery date to the expiry, where a record names none.
        conflict_tries: tries to withdraw a message for an update or cancel.
        country: ISO 3166, of numbers without a country code; empty: they need one.
        test: made with a test key: its messages never reach a provider.
        disabled: it is refused; what it has stored is still delivered.
        deleted: it is refused and not listed, and its name stays taken.
        passwords: at most two, the newest last.
        version: from 1, one more with every change.
    """

    name: str
    account: str
    id_space: str
    timezone: str
    created_at: int
    opens: int = OPENS
    closes: int = CLOSES
    routes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expiry_days: int = EXPIRY_DAYS
    conflict_tries: int = CONFLICT_TRIES
    country: str = ""
    test: bool = False
    disabled: bool = False
    deleted: bool = False
    passwords: tuple[PasswordHash, ...] = ()
    version: int = 1

    @property
    def zone(self) -> ZoneInfo:
        """Its time zone."""
        return ZoneInfo(self.timezone)

    @property
    def hours(self) -> Hours:
        """Its reasonable hours."""
        return Hours(self.timezone, self.opens, self.closes)

    @property
    def namespace(self) -> str:
        """Whose templates and programs it reads: those of the account's live keys, or of its test keys."""
        return namespace(self.account, test=self.test)

    def accepts(self, password: str, now_ms: int) -> bool:
        """Return whether a password is a valid one of its own; takes as long for a wrong one as for a right one."""
        digest = password_digest(password)
        found = False
        for known in self.passwords:
            found |= hmac.compare_digest(known.sha256, digest) & known.valid_at(now_ms)
        return found and not self.disabled and not self.deleted

    def notice_id(self, external: str) -> str:
        """Return the id of the notice that the notifier calls `external`: a UUIDv5 of its own name space."""
        return str(uuid.uuid5(uuid.UUID(self.id_space), external))


@dataclass(frozen=True, slots=True)
class Contact:
    """When a notifier was last there, to the minute; Unix milliseconds, 0 for never.

    Attributes:
        seen_at: its last call.
        status_at: the last time that it asked for updates or the status of a notice.
    """

    seen_at: int = 0
    status_at: int = 0


def new_id_space() -> str:
    """Return a random UUID for the ids of a notifier's notices."""
    return str(uuid.uuid4())


def new_password() -> str:
    """Return a password: 256 random bits behind a prefix that secret scanners recognise."""
    return f"ph_pass_{secrets.token_urlsafe(32)}"


def is_password(text: str) -> bool:
    """Return whether a text has the form of a password, so that nonsense costs no read."""
    return _PASSWORD.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Return whether a text has the form of a notifier's name."""
    return _NAME.fullmatch(text) is not None


def password_digest(text: str) -> str:
    """Return the SHA-256 of a password, hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def with_password(notifier: Notifier, password: str, now_ms: int, until: int) -> Notifier:
    """Return a notifier with a second password, the next version.

    Args:
        now_ms: Unix milliseconds; passwords that have ended are dropped.
        until: Unix milliseconds at which the present password ends, unless it ends before. Of two valid passwords the
            older one is dropped.
    """
    valid = [x for x in notifier.passwords if x.valid_at(now_ms)]
    kept = [replace(x, until=min(until, x.until or until)) for x in valid[-(MAX_PASSWORDS - 1) :]]
    new = PasswordHash(password_digest(password))
    return replace(notifier, passwords=(*kept, new), version=notifier.version + 1)
