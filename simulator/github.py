"""GitHub as a provider of identities, with the addresses of a GitHub Enterprise Server.

The web flow of an OAuth app with PKCE, then the user and their organizations. A page chooses who to be.

| | |
|---|---|
| GET `/github/login/oauth/authorize` | the page: `client_id`, `state`, `scope`, `code_challenge` … |
| POST the same | as somebody (`login`; `other`: anybody new), or refusing (`cancel`): sends the browser back |
| POST `/github/login/oauth/access_token` | a token for a code, once, within ten minutes |
| GET `/github/api/v3/user`, `/github/api/v3/user/orgs` | who a token is of, and the organizations it shows |

Errors of the second are answered with 200, as GitHub does. Sources: docs.github.com, "Authorizing OAuth apps",
"Troubleshooting OAuth app access token request errors", and GitHub's OpenAPI description.
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ConfigDict

from simulator.model import Reply

ROOT: Final = "github"
CODE_SECONDS: Final = 600
PER_PAGE: Final = 30
"""Organizations of a page, unless `per_page` says so."""
MAX_PAGE: Final = 100
PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simulated {provider}</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 30rem;
margin: 3rem auto; padding: 0 1rem }} button {{ font: inherit; min-height: 2.75rem; padding: 0 1rem; width: 100%;
margin-bottom: .5rem; text-align: left }} small {{ display: block }}</style>
<main><h1>Who are you?</h1><p>This is not {provider}: it is the simulator of the local cloud. The app
<b>{client}</b> asks for <b>{scope}</b>.</p><form method="post">{people}
<button name="cancel" value="1">Cancel</button></form></main></html>
"""


_ANYBODY: Final = (
    '<form method="post"><p><label>Or anybody new, by login: '
    '<input name="other" autocomplete="off" required></label></p><button id="other">Sign in as this</button></form>'
)
_LOGIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")


class GitHubApp(BaseModel):
    """Body of PUT `/_control/github`: the OAuth app. `callback`: where a browser is sent back to."""

    model_config = ConfigDict(extra="forbid")
    client_id: str = "posthaste"
    client_secret: str = "simulated"  # noqa: S105 - no secret
    callback: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """Somebody to be."""

    id: int
    login: str
    name: str | None
    organizations: tuple[str, ...] = ()


PEOPLE: Final = (
    SimulatedUser(583231, "octocat", "The Octocat", ("posthaste",)),
    SimulatedUser(1000001, "mona", "Mona Lisa", ("posthaste", "keepers")),
    SimulatedUser(1000002, "stranger", None),
)


@dataclass(frozen=True, slots=True)
class _Grant:
    user: SimulatedUser
    challenge: str
    redirect: str
    scopes: tuple[str, ...]
    until: float


@dataclass
class GitHub:
    """The state: an app, codes that were given out, and tokens."""

    app: GitHubApp = field(default_factory=GitHubApp)
    now: Callable[[], float] = time.time
    _codes: dict[str, _Grant] = field(default_factory=dict)
    _tokens: dict[str, _Grant] = field(default_factory=dict)

    def serve(self, scope: Any, body: bytes) -> Reply:
        """Answer one request below `/github`."""
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        match scope["method"], scope["path"].removeprefix(f"/{ROOT}"):
            case "GET", "/login/oauth/authorize":
                return self._ask(query)
            case "POST", "/login/oauth/authorize":
                return self._chosen(query, dict(parse_qsl(body.decode())))
            case "POST", "/login/oauth/access_token":
                return self._token(dict(parse_qsl(body.decode())), headers)
            case "GET", "/api/v3/user":
                return self._api(headers, lambda grant: _user(grant.user))
            case "GET", "/api/v3/user/orgs":
                return self._api(headers, lambda grant: _organizations(grant, query))
        return document({"message": "Not Found", "status": "404"}, 404)

    def _ask(self, query: dict[str, str]) -> Reply:
        if query.get("client_id") != self.app.client_id:
            return page("<h1>404</h1><p>No app has this client_id.</p>", 404)
        people = "".join(
            f'<button name="login" value="{escape(p.login)}">{escape(p.login)}'
            f"<small>{escape(p.name or '')} {escape(', '.join(p.organizations))}</small></button>"
            for p in PEOPLE
        )
        shown = {"client": escape(self.app.client_id), "scope": escape(query.get("scope", "") or "nothing")}
        return page(PAGE.format(provider="GitHub", people=people, **shown).replace("</main>", f"{_ANYBODY}</main>"))

    def _chosen(self, query: dict[str, str], form: dict[str, str]) -> Reply:
        """Send the browser back to the app, with a code or an error."""
        back = query.get("redirect_uri") or self.app.callback
        state = {"state": query["state"]} if "state" in query else {}
        if not back.startswith(self.app.callback) or not self.app.callback:
            return sent_back(self.app.callback, {"error": "redirect_uri_mismatch", **state})
        user = next((p for p in PEOPLE if p.login == form.get("login")), _anybody(form.get("other", "")))
        if user is None:
            said = "The user has denied your application access."
            return sent_back(back, {"error": "access_denied", "error_description": said, **state})
        challenge = query.get("code_challenge", "")
        if challenge and query.get("code_challenge_method") != "S256":
            return sent_back(back, {"error": "invalid_request", **state})
        code = secrets.token_hex(10)
        scopes = tuple(query.get("scope", "").replace(",", " ").split())
        self._codes[code] = _Grant(user, challenge, back, scopes, self.now() + CODE_SECONDS)
        return sent_back(back, {"code": code, **state})

    def _token(self, form: dict[str, str], headers: dict[str, str]) -> Reply:
        """Return a token for a code, or an error, both with 200; as a form unless JSON is asked for."""
        known = form.get("client_id") == self.app.client_id and form.get("client_secret") == self.app.client_secret
        grant = self._codes.pop(form.get("code", ""), None) if known else None
        if not known:
            found = _error("incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
        elif grant is None or self.now() > grant.until or not proven(grant.challenge, form.get("code_verifier", "")):
            found = _error("bad_verification_code", "The code passed is incorrect or expired.")
        elif form.get("redirect_uri", grant.redirect) != grant.redirect:
            found = _error(
                "redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application."
            )
        else:
            token = f"gho_{secrets.token_urlsafe(27)}"
            self._tokens[token] = grant
            found = {"access_token": token, "scope": ",".join(sorted(grant.scopes)), "token_type": "bearer"}
        if "json" in headers.get("accept", ""):
            return document(found)
        return Reply(200, [(b"content-type", b"application/x-www-form-urlencoded")], urlencode(found).encode())

    def _api(self, headers: dict[str, str], answer: Callable[[_Grant], Any]) -> Reply:
        if not headers.get("user-agent"):
            return document({"message": "Request forbidden by administrative rules."}, 403)
        kind, _, token = headers.get("authorization", "").partition(" ")
        grant = self._tokens.get(token) if kind.lower() in {"bearer", "token"} else None
        if grant is None:
            said = {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}
            return document(said, 401)
        found = answer(grant)
        return found if isinstance(found, Reply) else document(found)


def _anybody(login: str) -> SimulatedUser | None:
    """Return somebody new, of the organization that may sign in; None: this is no login."""
    known = next((p for p in PEOPLE if p.login.lower() == login.lower()), None)
    if known is not None or not _LOGIN.fullmatch(login):
        return known
    return SimulatedUser(2_000_000 + zlib.crc32(login.lower().encode()), login, None, PEOPLE[0].organizations)


def proven(challenge: str, verifier: str) -> bool:
    """Tell whether a verifier is that of a challenge (RFC 7636 4.6)."""
    if not challenge:
        return True
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(made, challenge)


def _user(user: SimulatedUser) -> dict[str, Any]:
    return {"login": user.login, "id": user.id, "type": "User", "site_admin": False, "name": user.name, "email": None}


def _organizations(grant: _Grant, query: dict[str, str]) -> Any:
    """Return a page of the organizations that a token shows: without `read:org` or more, GitHub refuses."""
    if not {"read:org", "write:org", "admin:org", "user"} & set(grant.scopes):
        return document({"message": "You need at least read:org scope.", "status": "403"}, 403)
    size = min(int(query.get("per_page", PER_PAGE)), MAX_PAGE)
    start = (int(query.get("page", 1)) - 1) * size
    return [{"login": name, "id": 9_000_000 + i} for i, name in enumerate(grant.user.organizations)][start:][:size]


def _error(code: str, said: str) -> dict[str, str]:
    return {"error": code, "error_description": said, "error_uri": "https://docs.github.com/apps"}


def sent_back(to: str, query: dict[str, str]) -> Reply:
    """Send a browser back to the app."""
    joint = "&" if "?" in to else "?"
    return Reply(302, [(b"location", f"{to}{joint}{urlencode(query)}".encode()), (b"cache-control", b"no-store")])


def page(text: str, status: int = 200) -> Reply:
    """Answer with HTML."""
    return Reply(status, [(b"content-type", b"text/html; charset=utf-8")], text.encode())


def document(value: Any, status: int = 200) -> Reply:
    """Answer with JSON."""
    return Reply(status, [(b"content-type", b"application/json; charset=utf-8")], json.dumps(value).encode())
