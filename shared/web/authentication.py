"""Authentication by an API key (`Authorization: Bearer`) or as a notifier (`Authorization: Basic`), and permissions.

Nothing is stored for callers without permission.
"""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from shared.domain.access.networks import allows
from shared.domain.accounts import ApiKey, Excess, Limited, Refusal, Scope, Taker, id_of_key, key_digest
from shared.domain.notices.notifier import Notifier
from shared.web.http import Request
from shared.web.problems import Problem
from shared.web.routing import Caller, Route, Scheme

REALMS: Final = {Scheme.KEY: 'Bearer realm="posthaste"', Scheme.BASIC: 'Basic realm="posthaste", charset="UTF-8"'}
INVALID: Final = {"WWW-Authenticate": 'Bearer realm="posthaste", error="invalid_token"'}
"""RFC 6750 3: the error is named only where a token was given."""
_CODES: Final[Mapping[Refusal, str]] = {
    Refusal.REVOKED: "key_revoked",
    Refusal.EXPIRED: "key_expired",
    Refusal.NETWORK: "network_not_allowed",
    Refusal.LIMITED: "rate_limited",
}
"""Why a key is refused → the problem's code; for all others it is `unauthorized`."""
SUSPENDED: Final = "account_suspended"
NEEDS: Final = {
    (Scheme.BASIC,): "A notifier's name and password are needed: Authorization: Basic.",
    (Scheme.KEY, Scheme.BASIC): "A valid API key is needed, or a notifier's name and password.",
}
"""The challenges of a 401 for operations that accept more than an API key."""


@dataclass(eq=False)
class Refused(Problem):
    """An API key is refused. `key_id`: empty for one that never was."""

    reason: Refusal = Refusal.WRONG
    key_id: str = ""


class Callers(Protocol):
    """The callers: API keys and notifiers, and the request allowances of accounts."""

    def look_up(self, secret: str) -> ApiKey | Refusal:
        """Return the key with a secret, or why there is none that is valid."""

    def take(self, account: str, taker: Taker, *, test: bool) -> Excess | None:
        """Take a token from an account's allowance, and from that of one of its keys or notifiers.

        Args:
            taker: the key or notifier that asks.
            test: it is a test key, or a notifier of test keys.
        """

    def note_use(self, secret: str, key: ApiKey, source: str) -> None:
        """Note that a key was used. `source`: the address that the request comes from."""

    def suspended(self, account: str) -> bool:
        """Tell whether an operator has suspended an account."""


class NotifierLogins(Protocol):
    """Notifiers that may call."""

    def find(self, name: str, password: str) -> Notifier | None:
        """Return the notifier of that name and password; None if it may not call."""

    def note_call(self, name: str, *, status: bool) -> None:
        """Note that a notifier calls. `status`: whether it asks for the results of its notices."""


def authenticate(request: Request, route: Route, accounts: Callers, logins: NotifierLogins) -> Caller:
    """Return the caller, having taken a token from its request allowance.

    Args:
        route: says which schemes it takes, and which scope a key needs.

    Raises:
        Refused: unauthorized, key_revoked, key_expired, network_not_allowed, rate_limited.
        Problem: unauthorized, rate_limited, missing_scope, account_suspended.
    """
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    for scheme in route.schemes:
        if kind.lower() == scheme.lower() and given.strip():
            if scheme is Scheme.BASIC:
                return _notifier(given.strip(), route, accounts, logins)
            return Caller(_key(given.strip(), request.source, accounts, route))
    raise _unauthorized(route)


def _unauthorized(route: Route) -> Problem:
    realms = ", ".join(REALMS[scheme] for scheme in route.schemes)
    return Problem("unauthorized", NEEDS.get(tuple(route.schemes), ""), headers={"WWW-Authenticate": realms})


def _key(secret: str, source: str, accounts: Callers, route: Route) -> ApiKey:
    key = accounts.look_up(secret)
    if isinstance(key, Refusal):
        known = key in (Refusal.REVOKED, Refusal.EXPIRED)
        code = _CODES.get(key, "unauthorized")
        raise Refused(code, headers=INVALID, reason=key, key_id=id_of_key(key_digest(secret)) if known else "")
    if not allows(key.networks, source):  # before it takes anything: a thief elsewhere uses up nothing
        detail = f"The API key may not be used from {source or 'an unknown address'}. An operator sets its networks."
        raise Refused(_CODES[Refusal.NETWORK], detail, reason=Refusal.NETWORK, key_id=key.id)
    may = not route.scopes.isdisjoint(key.scopes)
    excess = accounts.take(key.account, Taker(key.id, sends=route.sends and may), test=key.test)
    _limit(excess, key.id)
    if not may:
        named = " or ".join(f"`{scope.value}`" for scope in route.needs)
        raise Problem("missing_scope", f"This call needs an API key with the scope {named}.")
    if route.shut and accounts.suspended(key.account):
        raise Problem(SUSPENDED)
    accounts.note_use(secret, key, source)
    return key


def _notifier(credentials: str, route: Route, accounts: Callers, logins: NotifierLogins) -> Caller:
    """Return a notifier as a caller.

    Args:
        credentials: its name and password, `user-id:password` in base64 (RFC 7617 2).
    """
    try:
        name, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise _unauthorized(route) from None
    found = logins.find(name, password)
    if found is None:
        raise _unauthorized(route)
    _limit(accounts.take(found.account, Taker(found.name, sends=route.sends, notifier=True), test=found.test), "")
    logins.note_call(found.name, status=route.status)
    key = ApiKey(found.name, found.account, found.test, frozenset({Scope.READ}), found.name, found.created_at)
    return Caller(key, found)


def _limit(excess: Excess | None, key_id: str) -> None:
    """Refuse a request beyond an allowance. `key_id`: of the key that asks; empty for a notifier."""
    if excess is None:
        return
    code = _CODES[Refusal.LIMITED]
    detail = f"Too many requests: {excess.of} may make {excess.rate:g} a second. Wait for the time in Retry-After."
    headers = {"Retry-After": str(max(1, math.ceil(excess.wait)))}
    if excess.of is Limited.KEY:
        raise Refused(code, detail, headers=headers, reason=Refusal.LIMITED, key_id=key_id)
    raise Problem(code, detail, headers=headers)
