"""The stores of the console's people and sessions, and the provider that identifies a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.domain.people import (
        FirstAccount,
        Identity,
        Membership,
        Newcomer,
        Person,
        Role,
        User,
        WebSession,
    )


class NotSignedIn(Exception):
    """The provider does not vouch for anybody: it refused the code, or did not answer. The text is a stable code."""


class SignIn(Protocol):
    """A provider of identities, by the authorization code flow of OAuth 2.0 with PKCE (RFC 6749 4.1, RFC 7636)."""

    def address(self, state: str, verifier: str) -> str:
        """Return where a browser is sent to sign in.

        Args:
            state: what the provider repeats when it sends the browser back.
            verifier: the secret that `identity` proves itself by; only its hash is in the address.

        Raises:
            NotSignedIn: the provider does not say where.
        """

    def identity(self, code: str, verifier: str, issuer: str = "") -> Identity:
        """Return who signed in.

        Args:
            code: with which the provider sent the browser back.
            issuer: as which the provider named itself then (RFC 9207); empty: it did not.

        Raises:
            NotSignedIn: the provider refuses the code, does not answer, or is another than the settings name.
        """


class FirstAccounts(Protocol):
    """Makes one account, with one key, for each person who asks for the first time; it can do nothing else."""

    def make(self, newcomer: Newcomer) -> FirstAccount:
        """Return the account that a newcomer has made, now or before; the key is that of the first call.

        Raises:
            Retriable: it may have been made or not; asking again is safe.
        """


@dataclass(frozen=True, slots=True)
class Pressed:
    """The answer to what an operator has pressed: a status of HTTP, and the body or the problem (RFC 9457)."""

    status: int
    body: Mapping[str, Any]


class Buttons(Protocol):
    """Does for operators in the console what their commands do; it looks for itself at who asks."""

    def press(self, session: str, method: str, path: str, body: Mapping[str, Any]) -> Pressed:
        """Do something in the name of the person whose session it is.

        Args:
            session: the id of the session, which only its browser and the console know.
            method: of a route of operators.
            path: of that route, without its root, with values in place of parameters.
            body: of a GET its query.

        Raises:
            Retriable: it may have been done or not.
        """


class People(Protocol):
    """Users, memberships and sessions."""

    def owns_login(self, identity: Identity) -> bool:
        """Return whether a person owns a login that the settings name: its owner is the first person who asks.

        A person can give up a login, and another can take it. The settings must not give the first person's rights to
        the second.
        """

    def signed_in(self, identity: Identity, *, let_in: str = ..., operator: str = ...) -> User:
        """Return a person's user, made at the first sign-in; memberships that wait for the person become theirs.

        Args:
            let_in: the name in the settings by which they may sign in, as `Identity.granted_by` returns it.
            operator: the name that makes them an operator; empty: none does.
        """

    def begin(self, session: WebSession) -> None:
        """Store a new session."""

    def session(self, digest: str) -> tuple[WebSession, Person] | None:
        """Return a session and its person, consistent; None: there is no such session, or no such user any more."""

    def end(self, digest: str) -> None:
        """End a session."""

    def end_all(self, user: str) -> None:
        """End all sessions of a user that have begun until now."""

    def invite(self, provider: str, login: str, account: str, role: Role, *, by: str = ...) -> None:
        """Invite the next person who signs in by a login, for 30 days; an existing membership stays as it is.

        Args:
            login: in any case of letters.
            role: what they may do in it.
        """

    def waiting(self, account: str) -> list[tuple[str, Role]]:
        """Return the logins whose invitation to an account counts, with their roles."""

    def withdraw(self, provider: str, login: str, account: str, *, by: str) -> bool:
        """Take an invitation back; False if there is none.

        Args:
            login: in any case of letters.
        """

    def remove(self, user: str, account: str, *, by: str) -> bool:
        """Remove a membership; False if there is none."""

    def settle(self, user: User, account: str) -> bool:
        """Make a user an admin of the account that they made for themselves, with an entry of the audit log.

        Returns:
            False if they have settled before: a person who left or was removed does not come back by this.
        """

    def change(self, user: str, account: str, role: Role, *, by: str) -> bool:
        """Change a member's role, with effect from the next page that they ask for.

        Returns:
            False if they are no member.
        """

    def members(self, account: str) -> list[tuple[User, Membership]]:
        """Return the members of an account, by login."""
