"""People who use the console: who they are, and what they may do in which account."""

import re
from collections.abc import Iterable
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from shared.contracts.console import ID_PREFIX, KEY_ADMIN, OPERATOR, ConsoleSettings
from shared.domain.accounts import ALL_SCOPES, MAX_NAME, ApiKey, Scope
from shared.domain.audit import masked
from shared.domain.ids import is_id
from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

SESSION_MS: Final[Millis] = 12 * 3_600_000
"""Milliseconds that a session lasts; using it does not lengthen it."""
INVITED_MS: Final[Millis] = 30 * DAY_MS
"""Milliseconds for which an invitation counts."""
OPERATOR_MS: Final[Millis] = 3_600_000
"""Milliseconds that a session lasts of whom an organization makes an operator: only a sign-in asks the provider."""
ORGANIZATION_PREFIX: Final = "organization:"
"""Begins an organization where the name that let somebody in is stored."""
FIRST_KEY: Final = "first key"
"""Begins the name of the key that a person's own account begins with."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
LOGIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,253}")
"""A name by which people sign in."""


class Role(StrEnum):
    """The role of a member in an account."""

    VIEWER = "viewer"
    """Look."""
    SENDER = "sender"
    """Also send, stop, resume and retry."""
    ADMIN = "admin"
    """Also change what the account owns besides jobs."""

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes that an API key would need to do the same."""
        return _SCOPES[self]


_SCOPES: Final = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.SENDER: frozenset({Scope.READ, Scope.SEND}),
    Role.ADMIN: ALL_SCOPES,
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody as their provider knows them.

    Attributes:
        provider: its name in the settings.
        subject: the provider's own id of the person, which never changes.
        login: the name by which they sign in; it may change, and may become another's.
        name: for people.
        organizations: in which the provider knows them, in lower case.
    """

    provider: str
    subject: str
    login: str
    name: str = ""
    organizations: frozenset[str] = field(default_factory=frozenset)

    def granted_by(self, named: "Named", *, owns_login: bool = True) -> str:
        """Return the name by which a part of the settings means them; empty: it does not.

        Args:
            owns_login: whether their login is theirs; a login that another person used first counts for nothing.
        """
        own = (f"{ID_PREFIX}{self.subject}", *((self.login.lower(),) if owns_login else ()))
        every = (*own, *(f"{ORGANIZATION_PREFIX}{name}" for name in sorted(self.organizations)))
        return next((name for name in every if named.holds(name)), "")


@dataclass(frozen=True, slots=True)
class Named:
    """Whom a part of the settings means.

    Attributes:
        users: logins in lower case, and `id:` with the provider's own id of a person.
        organizations: whose members are meant.
    """

    users: frozenset[str]
    organizations: frozenset[str]

    def holds(self, name: str) -> bool:
        """Tell whether it still names somebody as `Identity.granted_by` returned it."""
        if name.startswith(ORGANIZATION_PREFIX):
            return name.removeprefix(ORGANIZATION_PREFIX) in self.organizations
        return name in self.users


@dataclass(frozen=True, slots=True)
class User:
    """A person.

    Attributes:
        id: time-ordered.
        provider: as in `Identity`, like `subject`, `login` and `name`.
        operator: may look at every account and act in it; decided anew at each sign-in.
        key_admin: an operator who may also change what lets somebody in; never stored.
        created_at: Unix milliseconds, like all times here.
        seen_at: of the last sign-in.
        sessions_from: sessions that began before are over.
        own: the account that they made for themselves; empty: they have made none.
        let_in_by: the name in the settings by which they signed in last, as `Identity.granted_by` returns it.
        operator_by: likewise the name that made them an operator; empty: none did.
    """

    id: str
    provider: str
    subject: str
    login: str
    name: str
    operator: bool
    created_at: Millis
    seen_at: Millis
    sessions_from: Millis = 0
    own: str = ""
    let_in_by: str = ""
    operator_by: str = ""
    key_admin: bool = False

    @property
    def actor(self) -> str:
        """How the audit log names them: by their login, of which it holds no address."""
        return masked(f"user:{self.login}")


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Somebody who makes an account of their own.

    Attributes:
        user: their id.
        name: of the account, for people.
        actor: how the audit log names them.
        digest: SHA-256 of the text of the account's first key, hex.

    Raises:
        ValueError: one of them has another form.
    """

    user: str
    name: str
    actor: str
    digest: str

    def __post_init__(self) -> None:
        if not is_id(self.user) or not _DIGEST.fullmatch(self.digest):
            raise ValueError("the newcomer has no id, or the key no digest")
        if not 0 < len(self.name) <= MAX_NAME or not self.actor.startswith("user:"):
            raise ValueError("the account has no name, or a too long one, or the actor is no person")


@dataclass(frozen=True, slots=True)
class FirstAccount:
    """The account that somebody made. `key`: the id of its first key; `at`: when, Unix milliseconds."""

    account: str
    key: str
    at: Millis


@dataclass(frozen=True, slots=True)
class Membership:
    """The membership of a user in an account, with its role."""

    user: str
    account: str
    role: Role


@dataclass(frozen=True, slots=True)
class WebSession:
    """A signed-in browser. `digest`: SHA-256 of the session's id, which only the browser has."""

    digest: str
    user: str
    created_at: Millis
    expires: Millis

    def valid_at(self, now: Millis, user: User) -> bool:
        """Tell whether it has not expired, and its user has not ended it."""
        most = OPERATOR_MS if user.operator and user.operator_by.startswith(ORGANIZATION_PREFIX) else SESSION_MS
        return now < min(self.expires, self.created_at + most) and self.created_at >= user.sessions_from


@dataclass(frozen=True, slots=True)
class Person:
    """A user and the accounts that they are members of."""

    user: User
    memberships: tuple[Membership, ...] = ()

    def role_in(self, account: str) -> Role | None:
        """Return their role in an account; None: the account must stay unknown to them."""
        if self.user.operator:
            return Role.ADMIN
        return next((m.role for m in self.memberships if m.account == account), None)


def first_key_name(actor: str) -> str:
    """Return the name of the key that a person's own account begins with. `actor`: as the audit log names them."""
    return f"{FIRST_KEY} of {actor.removeprefix('user:')}"


def first_keys(user: User, account: str, keys: Iterable[ApiKey]) -> list[str]:
    """Return the ids of the keys that a person made with their own account, if this is it.

    Args:
        user: the person, by any login since.
    """
    named = (key for key in keys if key.name.startswith(FIRST_KEY))
    return [key.id for key in named] if user.own == account else []


def is_login(text: str) -> bool:
    """Tell whether a text has the form of a name by which people sign in."""
    return LOGIN.fullmatch(text) is not None


def let_in(console: ConsoleSettings) -> Named:
    """Return who may sign in."""
    roles = frozenset(console.roles)
    return Named(frozenset(console.users) | roles, frozenset(console.organizations) | roles)


def operators(console: ConsoleSettings) -> Named:
    """Return who looks after the whole deployment."""
    having = console.having(OPERATOR) | console.having(KEY_ADMIN)
    return Named(having, having)


def key_admins(console: ConsoleSettings) -> Named:
    """Return the operators who may also change what lets somebody in."""
    having = console.having(KEY_ADMIN)
    return Named(having, having)


def as_of_now(console: ConsoleSettings, person: Person) -> Person | None:
    """Return a person with the rights that the settings of now give them; None: they may not be here any more."""
    user = person.user
    if not let_in(console).holds(user.let_in_by):
        return None
    operator = user.operator and operators(console).holds(user.operator_by)
    key_admin = operator and key_admins(console).holds(user.operator_by)
    return replace(person, user=replace(user, operator=operator, key_admin=key_admin))
