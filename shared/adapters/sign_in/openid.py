"""Signing in by an OpenID provider: the authorization code flow with PKCE, `state` and `nonce`.

The `nonce` is derived from the sign-in's verifier, which only the sealed cookie of the browser has. So an ID token
counts only for the sign-in that asked for it. Issuer and `sub` identify a person, never an address.
Sources: OpenID Connect Core 1.0 (3.1), RFC 7636 (PKCE), RFC 9207 (`iss` when the browser comes back).
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from authlib.oauth2 import OAuth2Client, OAuth2Error

from shared.adapters.sign_in import claims
from shared.adapters.sign_in.issuer import HEADERS, IssuerMetadata, TrustedIssuer
from shared.adapters.sign_in.wire import WireSession, refusal
from shared.contracts.console import DOMAIN_PREFIX, GROUP_PREFIX, OPENID, ConsoleSettings
from shared.domain.people import Identity
from shared.ports import Clock, Http
from shared.ports.people import NotSignedIn

SCOPES: Final = ("openid", "profile", "email")
GROUPS_SCOPE: Final = "groups"
"""Asked for only if the issuer lists it: others refuse a scope that they do not know."""
IN_FORM: Final = "client_secret_post"
IN_HEADER: Final = "client_secret_basic"
SECONDS: Final = 5.0
"""For one request: a person waits for at most five, and the gateway for half a minute."""
_NONCE: Final = "posthaste nonce 1"


class OpenIdSignIn:
    """`ports.SignIn` by an OpenID provider.

    Args:
        secret: returns the client's secret.
        clock: of deadlines, and of what is kept.
        back: the address that a browser comes back to, as it is registered with the provider.
    """

    def __init__(
        self, settings: ConsoleSettings, secret: Callable[[], str], http: Http, clock: Clock, back: str
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._clock = clock
        self._back = back
        self._wire = WireSession(http, clock, SECONDS)
        self._issuer = TrustedIssuer(settings.issuer, self._wire, clock)
        wanted = (*settings.organizations, *settings.roles)
        self._wants_groups = any(name.startswith(GROUP_PREFIX) for name in wanted)
        self._wants_domain = any(name.startswith(DOMAIN_PREFIX) for name in wanted)

    def address(self, state: str, verifier: str) -> str:
        found = self._issuer.metadata()
        address, _ = self._client(found, "").create_authorization_url(
            found.authorization, state=state, code_verifier=verifier, nonce=nonce_of(verifier)
        )
        return str(address)

    def identity(self, code: str, verifier: str, issuer: str = "") -> Identity:
        found = self._issuer.metadata()
        if (issuer or found.names_itself) and issuer != self._issuer.address:
            raise NotSignedIn("issuer_differs")
        tokens = self._tokens(found, code, verifier)
        access_token, id_token = _text(tokens, "access_token"), _text(tokens, "id_token")
        if not access_token or not id_token:
            raise NotSignedIn("provider_answer_malformed")
        purpose = claims.Purpose(self._settings.client_id, nonce_of(verifier), access_token, int(self._clock.now()))
        proven = claims.verified(id_token, self._issuer, purpose)
        sources = (proven, self._more(found, proven, access_token))
        login = claims.login_of(sources)
        if not login:
            raise NotSignedIn("login_missing")
        subject = f"{self._issuer.address}#{proven['sub']}"
        organizations = claims.organizations_of(sources, self._settings.groups_claim)
        return Identity(OPENID, subject, login, claims.name_of(sources), organizations)

    def _tokens(self, found: IssuerMetadata, code: str, verifier: str) -> Any:
        try:
            return self._client(found, self._secret()).fetch_token(
                found.token, code=code, code_verifier=verifier, redirect_uri=self._back
            )
        except OAuth2Error as refused:
            raise refusal(refused.error) from None
        except ValueError:  # what Authlib makes of an answer that is no object
            raise NotSignedIn("provider_answer_malformed") from None

    def _more(self, found: IssuerMetadata, proven: claims.Claims, access_token: str) -> claims.Claims:
        """Return the claims of the UserInfo endpoint, if the ID token lacks some that matter here."""
        lacks = (
            not claims.login_of((proven,))
            or (self._wants_groups and self._settings.groups_claim not in proven)
            or (self._wants_domain and "email_verified" not in proven)
        )
        if not lacks or not found.userinfo:
            return {}
        more = self._wire.read(found.userinfo, token=access_token, headers=HEADERS)
        if not isinstance(more, dict) or more.get("sub") != proven["sub"]:
            raise NotSignedIn("userinfo_sub")
        return more

    def _client(self, found: IssuerMetadata, secret: str) -> OAuth2Client:
        scopes = (*SCOPES, GROUPS_SCOPE) if GROUPS_SCOPE in found.scopes and self._wants_groups else SCOPES
        return OAuth2Client(
            self._wire,
            client_id=self._settings.client_id,
            client_secret=secret,
            token_endpoint_auth_method=IN_FORM if found.secret_in_form else IN_HEADER,
            scope=" ".join(scopes),
            redirect_uri=self._back,
            code_challenge_method="S256",
        )


def nonce_of(verifier: str) -> str:
    """Return the `nonce` of a sign-in: 43 characters. It says nothing of the verifier, which proves the same code."""
    made = hashlib.sha256(f"{_NONCE}\0{verifier}".encode()).digest()
    return base64.urlsafe_b64encode(made).decode().rstrip("=")


def _text(found: Mapping[str, Any] | Any, name: str) -> str:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""
