"""The simulated GitHub, and signing in by it with the console's own client."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.adapters.sign_in.github import GitHubSignIn
from shared.contracts.console import ConsoleSettings
from shared.domain.people import Identity
from shared.ports.people import NotSignedIn
from simulator import Simulator

CALLBACK = "http://127.0.0.1/console/signed-in"


@pytest.fixture(scope="module")
def github() -> Iterator[Simulator]:
    with Simulator(seed="tests") as sim:
        sim.control.json("PUT", "/_control/github", {"client_id": "client", "client_secret": "s", "callback": CALLBACK})
        yield sim


OPENED: list[HttpClient] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the connections that a test's clients keep."""
    yield
    while OPENED:
        OPENED.pop().close()


def wire() -> HttpClient:
    """Return a transport that is closed after the test."""
    OPENED.append(HttpClient(SystemClock()))
    return OPENED[-1]


def sign_in(sim: Simulator, known: str = "s", organizations: tuple[str, ...] = ("posthaste",)) -> GitHubSignIn:
    settings = ConsoleSettings("github", "client", organizations=organizations, base_url=f"{sim.url}/github")
    return GitHubSignIn(settings, lambda: known, wire(), SystemClock())


def ask(sim: Simulator, method: str, url: str, form: dict[str, str] | None = None, **headers: str) -> Any:
    connection = http.client.HTTPConnection(urlsplit(sim.url).netloc, timeout=10)
    parts = urlsplit(url)
    sent = {"User-Agent": "test", **{k.replace("_", "-"): v for k, v in headers.items()}}
    body = urlencode(form) if form is not None else None
    connection.request(method, f"{parts.path}?{parts.query}", body, sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def code(sim: Simulator, address: str, login: str = "octocat") -> dict[str, str]:
    """Choose who to be, and return what the browser brings back."""
    page, text = ask(sim, "GET", address)
    assert page.status == 200
    assert f'value="{login}"' in text
    answer, _ = ask(sim, "POST", address, {"login": login})
    assert answer.status == 302
    assert answer.headers["location"].startswith(CALLBACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


def test_a_person_signs_in_with_their_organizations(github: Simulator) -> None:
    client = sign_in(github)
    back = code(github, client.address("the-state", "v" * 64), "mona")
    assert back["state"] == "the-state"
    assert client.identity(back["code"], "v" * 64) == Identity(
        "github", "1000001", "mona", "Mona Lisa", frozenset({"posthaste", "keepers"})
    )
    with pytest.raises(NotSignedIn, match="bad_verification_code"):
        client.identity(back["code"], "v" * 64)


def test_somebody_without_a_name_signs_in_and_organizations_are_read_only_if_they_matter(github: Simulator) -> None:
    client = sign_in(github, organizations=())
    back = code(github, client.address("s", "v" * 64), "stranger")
    assert client.identity(back["code"], "v" * 64) == Identity("github", "1000002", "stranger")


def test_anybody_new_signs_in_by_a_login_and_is_the_same_person_each_time(github: Simulator) -> None:
    client = sign_in(github)
    address = client.address("s", "v" * 64)

    def identity(login: str) -> Identity:
        answer, _ = ask(github, "POST", address, {"other": login})
        (said,) = parse_qs(urlsplit(answer.headers["location"]).query)["code"]
        return client.identity(said, "v" * 64)

    first, again, other = identity("new-comer"), identity("new-comer"), identity("late-comer")
    assert first == again
    assert (first.login, first.organizations) == ("new-comer", frozenset({"posthaste"}))
    assert first.subject != other.subject
    assert identity("Octocat").login == "octocat"
    answer, _ = ask(github, "POST", address, {"other": "<b>"})
    assert "error=access_denied" in answer.headers["location"]


def test_a_code_is_worth_nothing_without_its_verifier_or_the_app_s_secret(github: Simulator) -> None:
    client = sign_in(github)
    back = code(github, client.address("s", "v" * 64))
    with pytest.raises(NotSignedIn, match="bad_verification_code"):
        client.identity(back["code"], "w" * 64)
    back = code(github, client.address("s", "v" * 64))
    with pytest.raises(NotSignedIn, match="incorrect_client_credentials"):
        sign_in(github, "wrong").identity(back["code"], "v" * 64)


def test_refusing_and_foreign_apps(github: Simulator) -> None:
    address = sign_in(github).address("s", "v" * 64)
    answer, _ = ask(github, "POST", address, {"cancel": "1"})
    assert "error=access_denied" in answer.headers["location"]
    assert ask(github, "GET", address.replace("client_id=client", "client_id=other"))[0].status == 404
    answer, _ = ask(github, "POST", f"{address}&redirect_uri=https://evil.example", {"login": "octocat"})
    assert answer.headers["location"].startswith(CALLBACK)
    assert "redirect_uri_mismatch" in answer.headers["location"]


def test_the_api_wants_a_token_and_a_user_agent(github: Simulator) -> None:
    url = f"{github.url}/github/api/v3/user"
    answer, text = ask(github, "GET", url, Authorization="Bearer gho_nobody")
    assert (answer.status, json.loads(text)["message"]) == (401, "Bad credentials")
    assert ask(github, "GET", url, User_Agent="")[0].status == 403


def test_a_provider_that_is_away_signs_nobody_in() -> None:
    settings = ConsoleSettings("github", "client", base_url="http://127.0.0.1:9")
    away = GitHubSignIn(settings, lambda: "s", wire(), SystemClock())
    with pytest.raises(NotSignedIn, match="provider_unavailable"):
        away.identity("code", "v" * 64)
