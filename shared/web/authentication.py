"""Authentication by an API key or a token of one (`Authorization: Bearer`) or as a notifier (`Basic`), and permissions.

Nothing is stored for callers without permission.
"""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from shared.domain.access.networks import allows
from shared.domain.access.proofs import ACCESS, ACCESS_USE, AccessToken, Proof, sealed_of
from shared.domain.accounts import ApiKey, Excess, KeyRefusal, Limited, Scope, Taker, id_of_key, is_key_text, key_digest
from shared.domain.notices.notifier import Notifier
from shared.frozen import dataclass
from shared.ports import Clock, Links
from shared.web.access.signing import check, is_signed, signature_of
from shared.web.http import Request
from shared.web.problems import AWAY, MOVED, Problem
from shared.web.routing import Principal, Route, Scheme

REALMS: Final = {Scheme.KEY: 'Bearer realm="posthaste"', Scheme.BASIC: 'Basic realm="posthaste", charset="UTF-8"'}
INVALID: Final = {"WWW-Authenticate": 'Bearer realm="posthaste", error="invalid_token"'}
"""RFC 6750 3: the error is named only where a token was given."""
_CODES: Final[Mapping[KeyRefusal, str]] = {
    KeyRefusal.REVOKED: "key_revoked",
    KeyRefusal.EXPIRED: "key_expired",
    KeyRefusal.NETWORK: "network_not_allowed",
    KeyRefusal.PROOF: "proof_needed",
    KeyRefusal.STALE: "token_expired",
    KeyRefusal.LIMITED: "rate_limited",
    KeyRefusal.MOVED: MOVED,
}
"""Why a key is refused → the problem's code; for all others it is `unauthorized`."""
SUSPENDED: Final = "account_suspended"
NEEDS: Final = {
    (Scheme.BASIC,): "A notifier's name and password are needed: Authorization: Basic.",
    (Scheme.KEY, Scheme.BASIC): "A valid API key is needed, or a notifier's name and password.",
}
"""The challenges of a 401 for operations that accept more than an API key."""


@dataclass(eq=False)
class KeyRefused(Problem):
    """An API key is refused.

    Attributes:
        key_id: empty for one that never was.
        key: the key, if it is known whose it is: an account has it, or had it until it expired.
    """

    reason: KeyRefusal = KeyRefusal.WRONG
    key_id: str = ""
    key: ApiKey | None = None


class Callers(Protocol):
    """The callers: API keys and notifiers, and the request allowances of accounts."""

    def look_up_digest(self, digest: str) -> ApiKey | KeyRefusal:
        """Return the key whose text has a SHA-256, hex, or why there is none that is valid."""

    def expired_key(self, digest: str) -> ApiKey | None:
        """Return the key with a digest if it has expired, without a read: `look_up_digest` was asked for it before."""

    def take(self, account: str, taker: Taker, *, test: bool) -> Excess | None:
        """Take a token from an account's allowance, and from that of one of its keys or notifiers.

        Args:
            taker: the key or notifier that asks.
            test: it is a test key, or a notifier of test keys.
        """

    def note_use_of(self, digest: str, key: ApiKey, source: str) -> None:
        """Note that a key was used. `digest`: of its text; `source`: the address that the request comes from."""

    def suspended(self, account: str) -> bool:
        """Tell whether an operator has suspended an account."""


class NotifierLogins(Protocol):
    """Notifiers that may call."""

    def find(self, name: str, password: str) -> Notifier | None:
        """Return the notifier of that name and password; None if it may not call."""

    def knows(self, name: str, digest: str) -> bool:
        """Tell whether a notifier of that name has a password with a SHA-256, hex, also if it may not call now."""

    def note_call(self, name: str, *, status: bool) -> None:
        """Note that a notifier calls. `status`: whether it asks for the results of its notices."""


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """It decides who a caller is.

    Attributes:
        accounts: keys and allowances.
        logins: notifiers.
        links: opens access tokens.
        clock: ends them.
    """

    accounts: Callers
    logins: NotifierLogins
    links: Links
    clock: Clock


def authenticate(request: Request, route: Route, keeper: Doorkeeper) -> Principal:
    """Return the caller, having taken one request from its allowance.

    Args:
        route: says which schemes it takes, and which scope a key needs.

    Raises:
        KeyRefused: unauthorized, key_revoked, key_expired, network_not_allowed, rate_limited.
        Problem: unauthorized, rate_limited, missing_scope, account_suspended.
    """
    kind, _, given = _said(request, route).partition(" ")
    for scheme in route.schemes:
        if kind.lower() == scheme.lower() and given.strip():
            if scheme is Scheme.BASIC:
                return _notifier(given.strip(), route, keeper.accounts, keeper.logins)
            return Principal(_key(given.strip(), request.source, keeper, route))
    if not kind and Scheme.KEY in route.schemes and is_signed(request):
        return Principal(_signed(request, keeper, route))
    raise _unauthorized(route)


def _said(request: Request, route: Route) -> str:
    """Return what a request says of its caller: a key in another header counts as a bearer's."""
    said, other = request.headers.get("authorization", ""), request.headers.get(route.key_header, "")
    return f"{Scheme.KEY} {other}" if other and not said else said


def _unauthorized(route: Route) -> Problem:
    realms = ", ".join(REALMS[scheme] for scheme in route.schemes)
    return Problem("unauthorized", NEEDS.get(tuple(route.schemes), ""), headers={"WWW-Authenticate": realms})


def _key(text: str, source: str, keeper: Doorkeeper, route: Route) -> ApiKey:
    """Return the key of a request, with the scopes of the request.

    Args:
        text: the key's own, or a token.
        source: the address that the request comes from.
    """
    token = _token(text, keeper) if text.startswith(ACCESS) else None
    digest = key_digest(text) if token is None else token.digest
    key = known_key(digest, source, keeper.accounts) if token or is_key_text(text) else None
    if key is None:
        raise KeyRefused("unauthorized", headers=INVALID, reason=KeyRefusal.UNREADABLE)
    if token is not None:
        key = replace(key, scopes=key.scopes & {Scope(x) for x in token.scopes})
    elif key.proof is not Proof.KEY:
        raise KeyRefused(_CODES[KeyRefusal.PROOF], headers=INVALID, reason=KeyRefusal.PROOF, key_id=key.id)
    return _let_in(key, digest, source, keeper, route)


def _signed(request: Request, keeper: Doorkeeper, route: Route) -> ApiKey:
    """Return the key that has signed a request."""
    try:
        found = signature_of(request, route, keeper.clock.now())
        key = known_key(found.key, request.source, keeper.accounts)
        check(found, key.public, request)
    except ValueError as fault:
        raise KeyRefused("signature_invalid", str(fault), headers=INVALID, reason=KeyRefusal.PROOF) from None
    return _let_in(key, found.key, request.source, keeper, route)


def _let_in(key: ApiKey, digest: str, source: str, keeper: Doorkeeper, route: Route) -> ApiKey:
    """Let a key in whose proof holds, if its allowance, its scopes and its account do. `digest`: as it is stored."""
    may = not route.scopes.isdisjoint(key.scopes)
    take(key, keeper.accounts, sends=route.sends and may)
    if not may:
        named = " or ".join(f"`{scope.value}`" for scope in route.needs)
        detail = f"This call needs an API key with the scope {named}."
        raise KeyRefused("missing_scope", detail, reason=KeyRefusal.SCOPE, key_id=key.id, key=key)
    if route.shut and keeper.accounts.suspended(key.account):
        raise KeyRefused(SUSPENDED, reason=KeyRefusal.SUSPENDED, key_id=key.id, key=key)
    keeper.accounts.note_use_of(digest, key, source)
    return key


def known_key(digest: str, source: str, accounts: Callers) -> ApiKey:
    """Return a key that is valid, and may be used from an address. Nothing is taken from its allowance.

    Args:
        digest: SHA-256 of its text, hex.
        source: the address that the request comes from.

    Raises:
        KeyRefused: unauthorized, key_revoked, key_expired, network_not_allowed, account_moved.
    """
    key = accounts.look_up_digest(digest)
    if isinstance(key, KeyRefusal):
        known = key in (KeyRefusal.REVOKED, KeyRefusal.EXPIRED)
        code = _CODES.get(key, "unauthorized")
        expired = accounts.expired_key(digest) if key is KeyRefusal.EXPIRED else None
        headers = AWAY if key is KeyRefusal.MOVED else INVALID
        raise KeyRefused(code, headers=headers, reason=key, key_id=id_of_key(digest) if known else "", key=expired)
    if not allows(key.networks, source):  # before it takes anything: a thief elsewhere uses up nothing
        detail = f"The API key may not be used from {source or 'an unknown address'}. An operator sets its networks."
        raise KeyRefused(_CODES[KeyRefusal.NETWORK], detail, reason=KeyRefusal.NETWORK, key_id=key.id)
    return key


def take(key: ApiKey, accounts: Callers, *, sends: bool) -> None:
    """Take one request from a key's allowance. KeyRefused or Problem `rate_limited` if there is none."""
    _limit(accounts.take(key.account, Taker(key.id, sends=sends), test=key.test), key.id)


def _token(text: str, keeper: Doorkeeper) -> AccessToken:
    """Return what a token says.

    Raises:
        KeyRefused: unauthorized, token_expired.
    """
    opened = keeper.links.unseal(ACCESS_USE, sealed_of(text))
    if opened is None:
        raise KeyRefused("unauthorized", headers=INVALID)
    token = AccessToken.unpack(opened)
    if keeper.clock.now() * 1000 >= token.expires:
        key_id = id_of_key(token.digest)
        raise KeyRefused(_CODES[KeyRefusal.STALE], headers=INVALID, reason=KeyRefusal.STALE, key_id=key_id)
    return token


def _notifier(credentials: str, route: Route, accounts: Callers, logins: NotifierLogins) -> Principal:
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
    return Principal(key, found)


def _limit(excess: Excess | None, key_id: str) -> None:
    """Refuse a request beyond an allowance. `key_id`: of the key that asks; empty for a notifier."""
    if excess is None:
        return
    code = _CODES[KeyRefusal.LIMITED]
    detail = f"Too many requests: {excess.of} may make {excess.rate:g} a second. Wait for the time in Retry-After."
    headers = {"Retry-After": str(max(1, math.ceil(excess.wait)))}
    if excess.of is Limited.KEY:
        raise KeyRefused(code, detail, headers=headers, reason=KeyRefusal.LIMITED, key_id=key_id)
    raise Problem(code, detail, headers=headers)
