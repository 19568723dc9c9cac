"""Sessions of people in a browser: a signed cookie, a token in every form, and what a sign-in remembers meanwhile.

The session's id is 256 random bits. The table holds only its hash. The cookie also has a signature, so that an invalid
one costs no read. A form's token is derived from the session's id. So a page elsewhere cannot know it, nor can one
session's token serve another.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

from shared.domain.people import SESSION_MS, WebSession
from shared.domain.sealing import Keys, seal, unseal
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.web.http import Request

COOKIE: Final = "__Host-posthaste_session"
SIGNING_IN: Final = "__Host-posthaste_signing_in"
"""The prefix `__Host-` makes a browser accept a cookie only from this very host (RFC 6265bis 4.1.3). So a page of a
neighbouring domain can plant neither a session nor a sign-in of its own."""
FORM_FIELD: Final = "csrf"
SIGN_IN_SECONDS: Final = 600
"""For which a sign-in may be under way."""
_USE: Final = b"posthaste session 1"
_FORM: Final = "posthaste form 1"
_STEP: Final = b"posthaste sign-in 1"
_SEPARATOR: Final = "\n"


@dataclass(frozen=True, slots=True)
class SignInStep:
    """A sign-in that is under way. `back`: the page that was asked for, relative to the console."""

    state: str
    verifier: str
    back: str


class Sessions:
    """Makes and reads cookies.

    Args:
        keys: returns the deployment's keys.
    """

    def __init__(self, keys: Callable[[], Keys]) -> None:
        self._keys = keys

    def begin(self, user: str, now: Millis) -> tuple[WebSession, str]:
        """Return a new session, and the cookie that brings it back."""
        name = secrets.token_urlsafe(32)
        session = WebSession(digest(name), user, now, now + SESSION_MS)
        return session, self._cookie(COOKIE, seal(self._keys(), _USE, name.encode()), SESSION_MS // 1000)

    def name(self, request: Request) -> str:
        """Return the id of a request's session; empty: it has none that was made here."""
        found = unseal(self._keys(), _USE, request.cookies.get(COOKIE, ""))
        return found.decode() if found else ""

    def over(self) -> str:
        """Return the cookie that ends a session in the browser."""
        return self._cookie(COOKIE, "", 0)

    def step(self, back: str, now: Millis) -> tuple[SignInStep, str]:
        """Return a sign-in that begins, and the cookie that remembers it.

        Args:
            back: the page that was asked for.
        """
        made = SignInStep(secrets.token_urlsafe(32), secrets.token_urlsafe(48), back)
        text = _SEPARATOR.join((str(now // 1000 + SIGN_IN_SECONDS), made.state, made.verifier, back))
        return made, self._cookie(SIGNING_IN, seal(self._keys(), _STEP, text.encode()), SIGN_IN_SECONDS)

    def taken(self, request: Request, now: Millis) -> SignInStep | None:
        """Return the sign-in that a request's `state` completes; None: it is not this browser's, or too late."""
        found = unseal(self._keys(), _STEP, request.cookies.get(SIGNING_IN, ""))
        if found is None:
            return None
        until, state, verifier, back = found.decode().split(_SEPARATOR, 3)
        fits = hmac.compare_digest(state.encode(), request.query.get("state", "").encode())
        return SignInStep(state, verifier, back) if fits and now < int(until) * 1000 else None

    def forgotten(self) -> str:
        """Return the cookie that forgets a sign-in."""
        return self._cookie(SIGNING_IN, "", 0)

    def token(self, name: str) -> str:
        """Return what a form of a session holds: another text on each page, so that no compressed page betrays it."""
        nonce = secrets.token_urlsafe(12)
        return f"{nonce}.{_form_token(self._keys().current, nonce, name)}"

    def holds(self, name: str, given: str) -> bool:
        """Tell whether the token that came with a form is that of a session."""
        nonce, _, token = given.partition(".")
        keys = self._keys()
        own = (_form_token(key, nonce, name) for key in (keys.current, *keys.previous))
        return any(hmac.compare_digest(x.encode(), token.encode("utf-8", "replace")) for x in own)

    def _cookie(self, name: str, value: str, seconds: int) -> str:
        return f"{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax; Secure"


def digest(name: str) -> str:
    """Return what the table knows a session by: the SHA-256 of its id, hex."""
    return hashlib.sha256(name.encode()).hexdigest()


def _form_token(key: str, nonce: str, name: str) -> str:
    """Return the token of a form.

    Args:
        key: what it is signed by.
    """
    return hmac.digest(key.encode(), f"{_FORM}\0{nonce}\0{name}".encode("utf-8", "replace"), "sha256").hex()
