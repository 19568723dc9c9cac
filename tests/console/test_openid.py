"""The console with an OpenID provider: its own routes, the provider's own page, and who is let in."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from shared.adapters.sign_in.openid import OpenIdSignIn
from shared.bootstrap import Deployment
from shared.bootstrap.consoling import Consoling
from shared.contracts import ENV_CONSOLE, ENV_SETTINGS, Settings
from shared.contracts.console import FILE
from shared.domain.people import Role
from simulator import Simulator
from tests.api.conftest import Reply
from tests.console.console import Console
from tests.console.test_sign_in import stored
from tests.simulator.openid import VERIFIER, Later, issue, settings, signing_in
from tests.simulator.test_github_api import code


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator(seed="tests") as sim:
        yield sim


@pytest.fixture
def sim(running: Simulator) -> Simulator:
    issue(running)
    return running


def trusting(console: Console, sim: Simulator, sign_in: Any, **changes: Any) -> None:
    """Have a console trust the provider."""
    console.services = replace(console.services, console=settings(sim, **changes), sign_in=sign_in)


def arrive(console: Console, sim: Simulator, login: str) -> Reply:
    """Sign in as somebody, through the provider's page."""
    begun = console.get("/begin")
    assert begun.status == 303, begun.text
    return console.get(f"/signed-in?{urlencode(code(sim, begun.headers['location'], login))}")


@pytest.mark.parametrize(
    ("login", "allowed", "status"),
    [
        ("octocat", {"users": ("octocat",), "organizations": ()}, 303),
        ("stranger", {"users": ("octocat",), "organizations": ()}, 403),
        ("octocat", {"organizations": ("group:posthaste",)}, 303),
        ("stranger", {"organizations": ("group:posthaste",)}, 403),
        ("octocat", {"organizations": ("@posthaste.example",)}, 303),
        ("stranger", {"organizations": ("@posthaste.example",)}, 403),
        ("octocat", {"organizations": ("group:octocat", "@octocat")}, 403),
    ],
)
def test_people_are_let_in_by_login_group_or_verified_domain(
    console: Console, sim: Simulator, login: str, allowed: dict[str, Any], status: int
) -> None:
    with signing_in(sim, Later(), **allowed) as sign_in:
        trusting(console, sim, sign_in, **allowed)
        assert arrive(console, sim, login).status == status
    assert bool(stored(console, "U#")) is (status == 303)


@pytest.mark.parametrize(
    ("login", "claims", "operator"),
    [
        ("mona", {}, True),
        ("octocat", {}, False),
        ("octocat", {"preferred_username": "keepers"}, False),
        ("octocat", {"groups": ["keepers"]}, False),
    ],
)
def test_only_members_of_the_group_are_operators_whatever_they_call_themselves(
    console: Console, sim: Simulator, login: str, claims: dict[str, Any], *, operator: bool
) -> None:
    told: dict[str, Any] = {"roles": {"group:Keepers": "operator"}}
    issue(sim, claims=claims)
    with signing_in(sim, Later(), **told) as sign_in:
        trusting(console, sim, sign_in, **told)
        assert arrive(console, sim, login).status == 303
    assert ("· operator" in console.get("").text) is operator


@pytest.mark.slow
def test_a_person_is_their_issuer_and_subject_and_an_invitation_is_for_their_login(
    console: Console, sim: Simulator
) -> None:
    console.services.people.invite("openid", "Octocat", console.account, Role.VIEWER)
    with signing_in(sim, Later()) as sign_in:
        trusting(console, sim, sign_in)
        assert arrive(console, sim, "octocat").status == 303
        assert console.get(f"/{console.account}").status == 200
        issue(sim, claims={"preferred_username": "renamed"})
        assert arrive(console, sim, "octocat").status == 303
        assert console.get(f"/{console.account}").status == 200, "a new login is the same person"
        issue(sim, claims={"sub": "c0ffee-9"})
        assert arrive(console, sim, "octocat").status == 303
        assert console.get(f"/{console.account}").status == 404, "an old login is another person"
    assert stored(console, "I#")[0].startswith(f"I#openid#{sim.url}/openid#c0ffee-")


def test_a_code_that_an_attacker_got_signs_nobody_else_in(console: Console, sim: Simulator) -> None:
    with signing_in(sim, Later()) as sign_in:
        trusting(console, sim, sign_in)
        theirs = code(sim, sign_in.address("x", "a" * 64), "mona")
        state = console.begin()
        got = console.get(f"/signed-in?{urlencode({**theirs, 'state': state})}")
        assert (got.status, stored(console, "S#")) == (502, [])
        assert "invalid_grant" in got.text


def test_a_browser_that_comes_from_another_issuer_is_not_signed_in(console: Console, sim: Simulator) -> None:
    issue(sim, iss="https://evil.example")
    with signing_in(sim, Later()) as sign_in:
        trusting(console, sim, sign_in)
        got = arrive(console, sim, "octocat")
    assert (got.status, stored(console, "S#")) == (502, [])
    assert "Acme did not say who you are (issuer_differs)" in got.text


def test_the_log_names_why_nobody_was_signed_in_and_nothing_else(
    console: Console, sim: Simulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    issue(sim, claims={"nonce": "another"})
    with signing_in(sim, Later()) as sign_in:
        trusting(console, sim, sign_in)
        back = code(sim, console.get("/begin").headers["location"], "octocat")
        assert console.get(f"/signed-in?{urlencode(back)}").status == 502
    lines = [vars(r) for r in caplog.records if r.name == "console"]
    line = lines[-1]
    assert (line["page"], line["status"], line["code"]) == ("end a sign-in", 502, "id_token_nonce")
    for secret in (back["code"], back["state"], "octocat", "another"):
        assert secret not in repr(lines)


def test_an_issuer_that_is_away_is_a_page_that_says_so(console: Console, sim: Simulator) -> None:
    away = {"issuer": "http://127.0.0.1:9"}
    with signing_in(sim, Later(), **away) as sign_in:
        trusting(console, sim, sign_in, **away)
        got = console.get("/begin")
    assert got.status == 502
    assert "provider_unavailable" in got.text


def test_a_deployment_has_browsers_sent_back_to_its_own_address(sim: Simulator) -> None:
    env = {
        ENV_SETTINGS: Settings("dev", (), {}, "https://mail.acme.example").dumps(),
        ENV_CONSOLE: settings(sim).dumps(),
    }
    made = Consoling(Deployment(env)).sign_in
    assert isinstance(made, OpenIdSignIn)
    query = parse_qs(urlsplit(made.address("s", VERIFIER)).query)
    assert query["redirect_uri"] == ["https://mail.acme.example/console/signed-in"]
    made._wire._http.close()  # type: ignore[attr-defined]  # the transport's connections


def test_people_are_read_from_the_file_that_the_environment_names(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = settings(sim, users=tuple(f"person-{n}" for n in range(300)))
    env = {ENV_SETTINGS: Settings("dev", (), {}, "").dumps(), ENV_CONSOLE: told.apart.dumps()}
    with pytest.raises(FileNotFoundError, match=FILE):  # else nobody, or everybody, might sign in
        _ = Consoling(Deployment(env)).settings
    (tmp_path / FILE).write_text(told.dumps(), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert Consoling(Deployment(env)).settings == told
    assert len(env[ENV_CONSOLE]) < 500


def test_the_page_says_by_whom_and_what_is_given(console: Console, sim: Simulator) -> None:
    trusting(console, sim, console.services.sign_in)
    page = console.get("/sign-in").text
    assert "Sign in with Acme" in page
    assert "Acme gives Posthaste your name, your e-mail address and your groups" in page
