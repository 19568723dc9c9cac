"""`POST /oauth/token`: OAuth 2.0 client credentials (RFC 6749 4.4), an API key for a token of ten minutes.

A token is sealed and not stored. Each request with it looks up its key, so a revoked key ends its tokens as well.
"""

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from typing import Final, Literal, NoReturn
from urllib.parse import parse_qsl, unquote_plus

from pydantic import BaseModel, ConfigDict, Field

from functions.api.services import ApiServices
from shared.domain.access.proofs import ACCESS_MS, ACCESS_USE, AccessToken, token_text
from shared.domain.accounts import Scope, is_key_text, key_digest
from shared.web.authentication import KeyRefused, known_key, take
from shared.web.http import Answer, Request
from shared.web.problems import CODES, Problem
from shared.web.routing import Exchange, Form, PublicRequest, media_type

FORM: Final = "application/x-www-form-urlencoded"
REALM: Final = 'Basic realm="posthaste", charset="UTF-8"'
MAX_FIELDS: Final = 20
_ERRORS: Final[Mapping[int, str]] = {400: "invalid_request", 401: "invalid_client", 403: "invalid_client"}
_OWN: Final = ("unsupported_grant_type", "invalid_scope")
"""Codes that are RFC 6749's own names of errors."""
_BUSY: Final = "temporarily_unavailable"


class TokenRequest(BaseModel):
    """A request for an access token. The client proves itself by `Authorization: Basic`, or by these fields."""

    model_config = ConfigDict(defer_build=True)

    grant_type: Literal["client_credentials"]
    scope: str = Field("", description="Scopes of the key, with spaces between them. Empty: all of them.")
    client_id: str = Field("", description="The key's id, as `posthaste key list` shows it.")
    client_secret: str = Field("", description="The key.")


class TokenAnswer(BaseModel):
    """An access token."""

    model_config = ConfigDict(defer_build=True)

    access_token: str = Field(description="Send it as `Authorization: Bearer`.")
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the word of RFC 6750
    expires_in: int = Field(description="Seconds.")
    scope: str


class TokenRefusal(BaseModel):
    """Why there is no token (RFC 6749 5.2)."""

    model_config = ConfigDict(defer_build=True)

    error: str
    error_description: str


def issue(call: PublicRequest[ApiServices]) -> Answer:
    """Give a token for a key that is valid, and may be used from where the request comes from.

    Raises:
        KeyRefused: the key is not taken.
        Problem: invalid_scope, malformed_request, rate_limited, unsupported_grant_type.
    """
    services, source = call.services, call.request.source
    given = _fields(call.request)
    if given.get("grant_type") != "client_credentials":
        _refuse_grant(given)
    client, secret = _client(call.request, given)
    if not is_key_text(secret):
        raise KeyRefused("unauthorized", "The client is an API key: its id, and its text as the secret.")
    digest = key_digest(secret)
    key = known_key(digest, source, services.accounts)
    if not hmac.compare_digest(client.encode(), key.id.encode()):
        raise KeyRefused("unauthorized", "The client is not the one whose secret this is.", key_id=key.id)
    take(key, services.accounts, sends=False)
    scopes = _scopes(given.get("scope", ""), key.scopes)
    now = int(services.clock.now() * 1000)
    ends = min(now + ACCESS_MS, key.expires or now + ACCESS_MS)
    sealed = services.links.seal(ACCESS_USE, AccessToken(digest, ends, tuple(scopes)).pack())
    services.accounts.note_use_of(digest, key, source)
    made = TokenAnswer(access_token=token_text(key.id, sealed), expires_in=(ends - now) // 1000, scope=" ".join(scopes))
    return Answer(200, made.model_dump_json(), {"Pragma": "no-cache"})


def _refuse_grant(given: Mapping[str, str]) -> NoReturn:
    if given.get("grant_type"):
        raise Problem("unsupported_grant_type")
    raise Problem("malformed_request", "Send grant_type=client_credentials.")


def _fields(request: Request) -> dict[str, str]:
    """Return the fields of the form. Unknown ones are left as they are, and none may be repeated (RFC 6749 3.2)."""
    if media_type(request) != FORM:
        raise Problem("malformed_request", f"Send the body as {FORM}.")
    try:
        pairs = parse_qsl(
            request.body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Problem("malformed_request", "The body is no form.") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Problem("malformed_request", "A field of the form is repeated.")
    return given


def _client(request: Request, given: Mapping[str, str]) -> tuple[str, str]:
    """Return the id and secret of the client: by Basic, or by the form's fields, and not by both (RFC 6749 2.3.1)."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if not text:
        return given.get("client_id", ""), given.get("client_secret", "")
    if "client_secret" in given or kind.lower() != "basic":
        raise Problem("malformed_request", "Send the client's id and secret in one way: Authorization: Basic.")
    try:
        client, _, secret = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise KeyRefused("unauthorized", "The client's id and secret cannot be read.") from None
    return unquote_plus(client), unquote_plus(secret)


def _scopes(asked: str, granted: frozenset[Scope]) -> list[str]:
    """Return the scopes of a token, in text order."""
    known = {scope.value for scope in granted}
    wanted = set(asked.split()) or known
    if not wanted <= known:
        raise Problem("invalid_scope")
    return sorted(wanted)


def _refused(found: Problem, request_id: str) -> Answer:
    """Return a problem in the form of OAuth."""
    status = _status(found.code)
    error = found.code if found.code in _OWN else _ERRORS.get(status, _BUSY)
    said = found.detail or CODES[found.code][1]
    if found.code == "internal_error":
        said = f"{said} request_id: {request_id}"
    headers = {**found.headers, **({"WWW-Authenticate": REALM} if status == CODES["unauthorized"][0] else {})}
    return Answer(status, json.dumps({"error": error, "error_description": said}), headers)


def _status(code: str) -> int:
    """Return the status of a code: of a key that is refused always 401, of what cannot be read always 400."""
    status = CODES[code][0]
    if status in {403, 401}:
        return 401
    return 400 if code in {"too_large", "unsupported_media_type"} else status


TOKEN_FORM: Final = Form(TokenRefusal, _status, _refused)
ROUTES: Final = (
    Exchange(
        method="POST",
        path="/oauth/token",
        name="createAccessToken",
        summary="Get an access token",
        description="OAuth 2.0 client credentials (RFC 6749 4.4): the client is an API key. It lives ten minutes.",
        handler=issue,
        body=TokenRequest,
        answer=TokenAnswer,
        form=TOKEN_FORM,
        example={
            "grant_type": "client_credentials",
            "client_id": "KEY_ID",
            "client_secret": "$POSTHASTE_API_KEY",
        },
        problems=(
            *("malformed_request", "unsupported_grant_type", "invalid_scope"),
            *("unauthorized", "key_expired", "key_revoked", "network_not_allowed"),
            *("rate_limited", "internal_error", "try_again"),
        ),
    ),
)
FORMS: Final[Mapping[str, Form]] = {route.path.strip("/"): route.form for route in ROUTES}
"""Path, without slashes at its ends → the form of its problems: also of those that are found before the route is."""
