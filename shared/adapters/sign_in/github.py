"""Signing in by GitHub: an OAuth app's web flow with PKCE, then who the user is and in which organizations.

The address that GitHub sends a browser back to is the one that is registered with the app: none is given here. A
GitHub Enterprise Server has its REST API below `/api/v3`. Source: docs.github.com, "Authorizing OAuth apps", and
GitHub's OpenAPI description (`GET /user`, `GET /user/orgs`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from authlib.oauth2 import OAuth2Client, OAuth2Error

from shared.adapters.sign_in.wire import WireSession, refusal
from shared.contracts.console import ConsoleSettings
from shared.domain.people import Identity, is_login
from shared.ports import Clock, Http
from shared.ports.people import NotSignedIn

NAME: Final = "github"
PUBLIC: Final = "https://github.com"
PUBLIC_API: Final = "https://api.github.com"
SCOPE: Final = "read:user read:org"
HEADERS: Final = {
    "Accept": "application/vnd.github+json",
    "User-Agent": "posthaste",
    "X-GitHub-Api-Version": "2022-11-28",
}
"""GitHub refuses requests without a User-Agent."""
PER_PAGE: Final = 100
PAGES: Final = 10
"""Pages of organizations that are read: a thousand."""


class GitHubSignIn:
    """`ports.SignIn` by GitHub.

    Args:
        secret: returns the app's secret.
    """

    def __init__(self, settings: ConsoleSettings, secret: Callable[[], str], http: Http, clock: Clock) -> None:
        self._settings = settings
        self._secret = secret
        self._wire = WireSession(http, clock)
        self._web = settings.base_url or PUBLIC
        self._api = f"{settings.base_url}/api/v3" if settings.base_url else PUBLIC_API

    def address(self, state: str, verifier: str) -> str:
        address, _ = self._client("").create_authorization_url(
            f"{self._web}/login/oauth/authorize", state=state, code_verifier=verifier
        )
        return str(address)

    def identity(self, code: str, verifier: str, issuer: str = "") -> Identity:  # noqa: ARG002 - GitHub is no issuer
        token = self._token(code, verifier)
        user = self._wire.read(f"{self._api}/user", token=token, headers=HEADERS)
        login, subject = _text(user, "login"), user.get("id") if isinstance(user, dict) else None
        if not isinstance(subject, int) or not is_login(login):
            raise NotSignedIn("provider_answer_malformed")
        organizations = self._organizations(token) if self._settings.organizations or self._settings.roles else ()
        return Identity(NAME, str(subject), login, _text(user, "name"), frozenset(organizations))

    def _token(self, code: str, verifier: str) -> str:
        try:
            found = self._client(self._secret()).fetch_token(
                f"{self._web}/login/oauth/access_token", code=code, code_verifier=verifier
            )
        except OAuth2Error as refused:
            raise refusal(refused.error) from None
        except ValueError:  # what Authlib makes of an answer that is no object
            raise NotSignedIn("provider_answer_malformed") from None
        token = _text(found, "access_token")
        if not token:
            raise NotSignedIn("provider_answer_malformed")
        return token

    def _organizations(self, token: str) -> set[str]:
        found: set[str] = set()
        for page in range(1, PAGES + 1):
            url = f"{self._api}/user/orgs?per_page={PER_PAGE}&page={page}"
            some = self._wire.read(url, token=token, headers=HEADERS)
            if not isinstance(some, list):
                raise NotSignedIn("provider_answer_malformed")
            found |= {_text(x, "login").lower() for x in some}
            if len(some) < PER_PAGE:
                break
        return found - {""}

    def _client(self, secret: str) -> OAuth2Client:
        return OAuth2Client(
            self._wire,
            client_id=self._settings.client_id,
            client_secret=secret,
            token_endpoint_auth_method="client_secret_post",  # noqa: S106 - the name of a method
            scope=SCOPE,
            code_challenge_method="S256",
        )


def _text(found: Mapping[str, Any] | Any, name: str) -> str:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""
