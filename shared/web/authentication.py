"""Authentication by an API key (`Authorization: Bearer`) or as a notifier (`Authorization: Basic`), and permissions.

Nothing is stored for callers without permission.
"""

import base64
import binascii
import math
from typing import Final, Protocol

from shared.domain.accounts import ApiKey, Excess, Scope, Taker
from shared.domain.notices.notifier import Notifier
from shared.web.http import Request
from shared.web.problems import Problem
from shared.web.routing import Caller, Route, Scheme

REALMS: Final = {Scheme.KEY: 'Bearer realm="posthaste"', Scheme.BASIC: 'Basic realm="posthaste", charset="UTF-8"'}
INVALID: Final = {"WWW-Authenticate": 'Bearer realm="posthaste", error="invalid_token"'}
"""RFC 6750 3: the error is named only where a token was given."""
SUSPENDED: Final = "account_suspended"
NEEDS: Final = {
    (Scheme.BASIC,): "A notifier's name and password are needed: Authorization: Basic.",
    (Scheme.KEY, Scheme.BASIC): "A valid API key is needed, or a notifier's name and password.",
}
"""The challenges of a 401 for operations that accept more than an API key."""


class KeyRefused(Problem):
    """A key was refused that an account has, or had until it expired.

    Attributes:
        key: the key.
        why: `expired`, `missing_scope` or `suspended`.
    """

    def __init__(self, problem: Problem, key: ApiKey, why: str) -> None:
        super().__init__(problem.code, problem.detail, problem.errors, problem.headers)
        self.key = key
        self.why = why


class Callers(Protocol):
    """The callers: API keys and notifiers, and the request allowances of accounts."""

    def find_by_key(self, secret: str) -> ApiKey | None:
        """Return the key with a secret; None if there is none that is valid."""

    def expired_key(self, secret: str) -> ApiKey | None:
        """Return the key with a secret if it has expired, without a read: `find_by_key` was asked for it before."""

    def take(self, account: str, taker: Taker, *, test: bool) -> Excess | None:
        """Take a token from an account's allowance, and from that of one of its keys or notifiers.

        Args:
            taker: the key or notifier that asks.
            test: it is a test key, or a notifier of test keys.
        """

    def note_use(self, secret: str, key: ApiKey) -> None:
        """Note that a key was used."""

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
        Problem: unauthorized, rate_limited, missing_scope, account_suspended.
    """
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    for scheme in route.schemes:
        if kind.lower() == scheme.lower() and given.strip():
            if scheme is Scheme.BASIC:
                return _notifier(given.strip(), route, accounts, logins)
            return Caller(_key(given.strip(), accounts, route))
    raise _unauthorized(route)


def _unauthorized(route: Route) -> Problem:
    realms = ", ".join(REALMS[scheme] for scheme in route.schemes)
    return Problem("unauthorized", NEEDS.get(tuple(route.schemes), ""), headers={"WWW-Authenticate": realms})


def _key(secret: str, accounts: Callers, route: Route) -> ApiKey:
    key = accounts.find_by_key(secret)
    if key is None:
        problem, expired = Problem("unauthorized", headers=INVALID), accounts.expired_key(secret)
        raise problem if expired is None else KeyRefused(problem, expired, "expired")
    taker = Taker(key.id, sends=route.sends and route.scope in key.scopes)
    _limit(accounts.take(key.account, taker, test=key.test))
    if route.scope not in key.scopes:
        problem = Problem("missing_scope", f"This call needs an API key with the scope `{route.scope.value}`.")
        raise KeyRefused(problem, key, "missing_scope")
    if route.shut and accounts.suspended(key.account):
        raise KeyRefused(Problem(SUSPENDED), key, "suspended")
    accounts.note_use(secret, key)
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
    _limit(accounts.take(found.account, Taker(found.name, sends=route.sends, notifier=True), test=found.test))
    logins.note_call(found.name, status=route.status)
    key = ApiKey(found.name, found.account, found.test, frozenset({Scope.READ}), found.name, found.created_at)
    return Caller(key, found)


def _limit(excess: Excess | None) -> None:
    if excess is not None:
        detail = f"Too many requests: {excess.of} may make {excess.rate:g} a second. Wait for the time in Retry-After."
        raise Problem("rate_limited", detail, headers={"Retry-After": str(max(1, math.ceil(excess.wait)))})
