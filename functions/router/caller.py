"""The caller that a request names, as far as its cell depends on it. Nothing is checked: the cell does that.

A route is stored under the id of a key, which people may see, or the name of a notifier. A question to a cell has the
SHA-256 of a secret with 256 random bits. So no text of a key is stored here, or shown to a cell that is not its own.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote_plus

from shared.contracts import CALLER_PATH
from shared.domain.access.proofs import key_id_of_token
from shared.domain.access.signed import RequestSignature
from shared.domain.accounts import id_of_key, is_key_text, key_digest
from shared.domain.notices.notifier import is_name, is_password, password_digest
from shared.frozen import dataclass
from shared.web.access.signing import INPUT, is_signed
from shared.web.http import Request

KEY_HEADERS: Final = ("x-postmark-server-token",)
"""Other headers than Authorization in which doors take a key (`Door.key_header`)."""
_EXCHANGE: Final = ("oauth", "token")
_MAX_FIELDS: Final = 20


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller.

    Attributes:
        route: what its cell is stored under.
        asked: the path and query by which a cell is asked for it; empty: a cell cannot be.
    """

    route: str
    asked: str = ""


def caller_of(request: Request) -> Caller | None:
    """Return the caller that a request names; None: it names none, or has not the form of one."""
    kind, _, given = request.headers.get("authorization", "").strip().partition(" ")
    given = given.strip()
    if kind.lower() == "bearer":
        return _of_text(given)
    if kind.lower() == "basic":
        return _of_basic(given)
    if kind:
        return None
    for name in KEY_HEADERS:
        if text := request.headers.get(name, "").strip():
            return _of_text(text)
    if is_signed(request):
        return _of_signature(request.headers)
    return _of_form(request) if request.segments == _EXCHANGE else None


def _of_text(text: str) -> Caller | None:
    """Return the caller of a key's text, or of a token."""
    if is_key_text(text):
        return _of_digest(key_digest(text))
    named = key_id_of_token(text)
    return Caller(f"K#{named}") if named else None


def _of_digest(digest: str) -> Caller:
    return Caller(f"K#{id_of_key(digest)}", CALLER_PATH.format(digest=digest))


def _of_basic(text: str) -> Caller | None:
    """Return the caller of `Authorization: Basic`: a notifier, or a key that is exchanged for a token."""
    try:
        name, _, secret = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    if is_key_text(unquote_plus(secret)):
        return _of_text(unquote_plus(secret))
    if not is_name(name) or not is_password(secret):
        return None
    return Caller(f"N#{name}", f"{CALLER_PATH.format(digest=password_digest(secret))}?notifier={quote(name)}")


def _of_signature(headers: Mapping[str, str]) -> Caller | None:
    try:
        return _of_digest(RequestSignature.read(headers[INPUT], headers.get("signature", "")).key)
    except ValueError:
        return None


def _of_form(request: Request) -> Caller | None:
    """Return the caller of an exchange whose secret is in the form."""
    try:
        fields = dict(parse_qsl(request.body.decode("ascii"), max_num_fields=_MAX_FIELDS))
    except ValueError:
        return None
    return _of_text(fields.get("client_secret", ""))
