"""An OpenID provider: one issuer, whose tokens a test can make wrong in each way that an attacker would.

| | |
|---|---|
| GET `/openid/.well-known/openid-configuration` | the document of discovery |
| GET `/openid/authorize` | a page that asks who to be; POST: as somebody (`login`), or refusing (`cancel`) |
| POST `/openid/token` | tokens for a code, once, within ten minutes, for the client's secret and the verifier |
| GET `/openid/keys` | the public keys |
| GET `/openid/userinfo` | the claims of an access token's person |

The issuer is `/openid` at the address that a request has. Sources: OpenID Connect Core 1.0, Discovery 1.0, RFC 7636,
RFC 9207.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

from joserfc import jwt
from joserfc.jwk import RSAKey
from pydantic import BaseModel, ConfigDict

from simulator.github import PAGE, document, page, proven, sent_back
from simulator.model import Reply

OPENID_ROOT: Final = "openid"
CODE_SECONDS: Final = 600
TOKEN_SECONDS: Final = 300
_KEY_BITS: Final = 2048


class OpenIdClient(BaseModel):
    """Body of PUT `/_control/openid`: the client, and how the issuer misbehaves.

    Attributes:
        client_id: of the client.
        client_secret: of the client.
        callback: where browsers are sent back to.
        claims: replace those of ID tokens; null leaves one out.
        userinfo: replace those of the UserInfo endpoint; null leaves one out.
        metadata: replace those of the document of discovery; null leaves one out.
        signed: the signature of ID tokens. `key`: by a published key. `stranger`: by another with the same id. `none`:
            by none. `HS256`: by the text of the published key. `rotated`: by a key that replaces the published one.
        iss: that a browser brings back; empty for the issuer's own, null for none.
    """

    model_config = ConfigDict(extra="forbid")
    client_id: str = "posthaste"
    client_secret: str = "simulated"  # noqa: S105 - no secret
    callback: str = ""
    claims: dict[str, Any] = {}
    userinfo: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    signed: Literal["key", "stranger", "none", "HS256", "rotated"] = "key"
    iss: str | None = ""


@dataclass(frozen=True, slots=True)
class SimulatedPerson:
    """Somebody to be. `verified`: whether the issuer knows that the address is theirs."""

    sub: str
    login: str
    name: str
    email: str
    groups: tuple[str, ...] = ()
    verified: bool = True


PEOPLE: Final = (
    SimulatedPerson("c0ffee-1", "octocat", "The Octocat", "octocat@posthaste.example", ("posthaste",)),
    SimulatedPerson("c0ffee-2", "mona", "Mona Lisa", "mona@posthaste.example", ("posthaste", "Keepers")),
    SimulatedPerson("c0ffee-3", "stranger", "A Stranger", "stranger@posthaste.example", verified=False),
)


@dataclass(frozen=True, slots=True)
class _Consent:
    person: SimulatedPerson
    challenge: str
    nonce: str
    redirect: str
    scopes: frozenset[str]
    until: float


@dataclass
class OpenIdIssuer:
    """The state: a client, codes that were given out, access tokens and keys."""

    client: OpenIdClient = field(default_factory=OpenIdClient)
    now: Callable[[], float] = time.time
    asked: Counter[str] = field(default_factory=Counter)
    """How often each path was asked for, for tests of what is kept."""
    _codes: dict[str, _Consent] = field(default_factory=dict)
    _tokens: dict[str, _Consent] = field(default_factory=dict)

    def serve(self, scope: Any, body: bytes) -> Reply:
        """Answer one request below `/openid`."""
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        issuer, path = f"http://{headers['host']}/{OPENID_ROOT}", scope["path"].removeprefix(f"/{OPENID_ROOT}")
        self.asked[path] += 1
        match scope["method"], path:
            case "GET", "/.well-known/openid-configuration":
                return document(_replaced(_discovery(issuer), self.client.metadata))
            case "GET", "/authorize":
                return self._ask(query)
            case "POST", "/authorize":
                return self._chosen(issuer, query, form)
            case "POST", "/token":
                return self._token(issuer, form, headers)
            case "GET", "/keys":
                return document({"keys": self._published()})
            case "GET", "/userinfo":
                return self._userinfo(headers)
        return document({"error": "not_found"}, 404)

    def _ask(self, query: dict[str, str]) -> Reply:
        if query.get("client_id") != self.client.client_id or query.get("redirect_uri") != self.client.callback:
            return page("<h1>400</h1><p>No such client, or another address than its own.</p>", 400)
        people = "".join(
            f'<button name="login" value="{escape(p.login)}">{escape(p.login)}<small>{escape(p.email)}</small></button>'
            for p in PEOPLE
        )
        shown = {"client": escape(self.client.client_id), "scope": escape(query.get("scope", ""))}
        return page(PAGE.format(provider="OpenID provider", people=people, **shown))

    def _chosen(self, issuer: str, query: dict[str, str], form: dict[str, str]) -> Reply:
        """Send the browser back to the client, with a code or an error."""
        back = {"state": query["state"]} if "state" in query else {}
        if self.client.iss is not None:
            back["iss"] = self.client.iss or issuer
        if query.get("redirect_uri") != self.client.callback:
            return page("<h1>400</h1>", 400)
        person = next((p for p in PEOPLE if p.login == form.get("login")), None)
        if person is None:
            return sent_back(self.client.callback, {"error": "access_denied", **back})
        scopes = frozenset(query.get("scope", "").split())
        if "openid" not in scopes or query.get("code_challenge_method") != "S256":
            return sent_back(self.client.callback, {"error": "invalid_request", **back})
        code = secrets.token_urlsafe(24)
        challenge, nonce = query.get("code_challenge", ""), query.get("nonce", "")
        until = self.now() + CODE_SECONDS
        self._codes[code] = _Consent(person, challenge, nonce, self.client.callback, scopes, until)
        return sent_back(self.client.callback, {"code": code, **back})

    def _token(self, issuer: str, form: dict[str, str], headers: dict[str, str]) -> Reply:
        """Return tokens for a code.

        Args:
            headers: by lower-case name.
        """
        if not self._knows(form, headers):
            return document({"error": "invalid_client"}, 401)
        consent = self._codes.pop(form.get("code", ""), None)
        if (
            consent is None
            or self.now() > consent.until
            or form.get("redirect_uri") != consent.redirect
            or not proven(consent.challenge, form.get("code_verifier", ""))
        ):
            return document({"error": "invalid_grant"}, 400)
        token = secrets.token_urlsafe(27)
        self._tokens[token] = consent
        found = {"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_SECONDS}
        return document({**found, "id_token": self._id_token(issuer, consent, token)})

    def _knows(self, form: dict[str, str], headers: dict[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            name, _, secret = base64.b64decode(given).decode().partition(":")
        else:
            name, secret = form.get("client_id", ""), form.get("client_secret", "")
        return (name, secret) == (self.client.client_id, self.client.client_secret)

    def _id_token(self, issuer: str, consent: _Consent, access_token: str) -> str:
        """Return an ID token, wrong as the client's settings ask for."""
        now = int(self.now())
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        found = {
            "iss": issuer,
            "aud": self.client.client_id,
            "exp": now + TOKEN_SECONDS,
            "iat": now,
            "nonce": consent.nonce,
            "at_hash": _encoded(half),
            **_about(consent),
        }
        claims = _replaced(found, self.client.claims)
        match self.client.signed:
            case "none":
                return f"{_part({'alg': 'none'})}.{_part(claims)}."
            case "HS256":
                signed = f"{_part({'alg': 'HS256', 'kid': '1'})}.{_part(claims)}"
                made = hmac.digest(self._key.as_pem(private=False), signed.encode(), "sha256")
                return f"{signed}.{_encoded(made)}"
            case "stranger":
                return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self._strangers_key)
            case "rotated":
                return jwt.encode({"alg": "RS256", "kid": "2"}, claims, self._strangers_key)
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self._key)

    def _published(self) -> list[dict[str, Any]]:
        """Return the public keys, and one that no client knows the form of."""
        rotated = self.client.signed == "rotated"
        key, name = (self._strangers_key, "2") if rotated else (self._key, "1")
        unknown = {"kty": "AKP", "kid": "0", "alg": "ML-DSA-44", "pub": "AA"}
        return [unknown, {**key.as_dict(private=False), "kid": name, "use": "sig", "alg": "RS256"}]

    def _userinfo(self, headers: dict[str, str]) -> Reply:
        kind, _, token = headers.get("authorization", "").partition(" ")
        consent = self._tokens.get(token) if kind.lower() == "bearer" else None
        if consent is None:
            return document({"error": "invalid_token"}, 401)
        return document(_replaced(_about(consent), self.client.userinfo))

    @cached_property
    def _key(self) -> RSAKey:
        return RSAKey.generate_key(_KEY_BITS)

    @cached_property
    def _strangers_key(self) -> RSAKey:
        return RSAKey.generate_key(_KEY_BITS)


def _discovery(issuer: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "jwks_uri": f"{issuer}/keys",
        "userinfo_endpoint": f"{issuer}/userinfo",
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid", "profile", "email", "groups"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


def _about(consent: _Consent) -> dict[str, Any]:
    """Return the claims that the scopes ask for."""
    person = consent.person
    by_scope: dict[str, dict[str, Any]] = {
        "profile": {"preferred_username": person.login, "name": person.name},
        "email": {"email": person.email, "email_verified": person.verified},
        "groups": {"groups": list(person.groups)},
    }
    found: dict[str, Any] = {"sub": person.sub}
    for scope in by_scope.keys() & consent.scopes:
        found |= by_scope[scope]
    return found


def _replaced(found: Mapping[str, Any], by: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**found, **by}.items() if value is not None}


def _part(value: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
