"""Who asks: an API key in `Authorization: Bearer`, and whether it may. Nothing is stored for those who may not."""

import math
from typing import Final, Protocol

from shared.domain.accounts import ApiKey, Scope
from shared.web.http import Request
from shared.web.problems import Problem

CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="posthaste"'}
INVALID: Final = {"WWW-Authenticate": 'Bearer realm="posthaste", error="invalid_token"'}
"""RFC 6750 3: the error is named only where a token was given."""


class Callers(Protocol):
    """Who may call: API keys and the request buckets of their accounts."""

    def find_by_key(self, secret: str) -> ApiKey | None:
        """Return the key with a secret; None if there is none that is valid."""

    def take(self, account: str, *, test: bool) -> float | None:
        """Take a token from a bucket; returns the seconds to wait if it is empty."""

    def note_use(self, secret: str, key: ApiKey) -> None:
        """Note that a key was used."""


def authenticate(request: Request, accounts: Callers, scope: Scope) -> ApiKey:
    """Return the caller's key, and take a token from the request bucket of its account's keys of its kind.

    Args:
        request: the request, with its Authorization header.
        accounts: finds keys and counts requests.
        scope: what the operation needs.

    Raises:
        Problem: unauthorized, rate_limited, missing_scope.
    """
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise Problem("unauthorized", headers=CHALLENGE)
    key = accounts.find_by_key(secret.strip())
    if key is None:
        raise Problem("unauthorized", headers=INVALID)
    wait = accounts.take(key.account, test=key.test)
    if wait is not None:
        raise Problem("rate_limited", headers={"Retry-After": str(max(1, math.ceil(wait)))})
    if scope not in key.scopes:
        raise Problem("missing_scope", f"This call needs an API key with the scope `{scope.value}`.")
    accounts.note_use(secret.strip(), key)
    return key
