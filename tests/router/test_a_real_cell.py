"""The router before the real API: who is there, and that its answers come back as they are."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from functions.api.handler import respond
from functions.router.caller import Caller, caller_of
from functions.router.handler import respond as route
from functions.router.services import RouterServices, build
from shared.adapters.dynamo.accounts.api_keys import CACHE
from shared.domain.access.proofs import Proof
from shared.domain.accounts import new_key_text
from shared.domain.namespaces import KeyKind
from shared.domain.notices.notifier import new_password
from shared.ports import Response
from shared.web import http
from tests.api.conftest import ADDRESS, Api, build_api, event
from tests.attacks.test_a_secret_that_is_seen_on_the_way import ask, token
from tests.fakes.cells import FakeCellRoutes, FakeCells, Sent
from tests.fakes.clock import FakeClock

ELSEWHERE = "https://elsewhere.example.com"


@pytest.fixture
def api(moto_dynamo: Any, clock: FakeClock) -> Api:
    return build_api(moto_dynamo, clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def served(api: Api) -> Callable[[Sent], Response]:
    """Return the API as what answers a request on the wire."""

    def answer(sent: Sent) -> Response:
        path, _, query = sent.path.partition("?")
        raw = event(sent.method, path, body=sent.body.decode() or None, headers=sent.headers, query=query)
        got = respond(raw, "of-the-cell", lambda: api.services)
        return Response(got["statusCode"], {k.lower(): v for k, v in got["headers"].items()}, got["body"].encode())

    return answer


@pytest.fixture
def router(api: Api, clock: FakeClock) -> Callable[..., dict[str, Any]]:
    """Return what sends a request to a router before the API and another cell, in which nobody is."""
    wire = FakeCells({ELSEWHERE: lambda _: Response(404, {}, b""), ADDRESS: served(api)})
    services = RouterServices({"elsewhere": ELSEWHERE, "here": ADDRESS}, FakeCellRoutes(), wire, clock)
    directory = services.directory()
    return lambda *args, **more: route(event(*args, **more), "of-the-router", services, directory)


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def asked(method: str, path: str, headers: dict[str, str]) -> Caller:
    found = caller_of(http.read(event(method, path, headers=headers), "r"))
    assert found is not None
    return found


def test_a_batch_comes_through_with_the_answer_of_the_cell(api: Api, router: Callable[..., dict[str, Any]]) -> None:
    got = router("POST", "/batches", body=api.body(), headers=bearer(api.key))
    assert got["statusCode"] == 202
    headers = {name.lower(): x for name, x in got["headers"].items()}
    assert headers["location"].startswith("/batches/")
    assert headers["x-request-id"] == "of-the-cell"
    assert len(headers) == len(got["headers"])
    seen = router("GET", headers["location"], headers=bearer(api.key))
    assert (seen["statusCode"], seen["headers"]["Content-Type"]) == (200, "application/json")


def test_a_token_of_the_cell_comes_back_to_it(api: Api, router: Callable[..., dict[str, Any]]) -> None:
    secret, key = api.services.accounts.create_key(api.account, proof=Proof.OAUTH)
    router("POST", "/oauth/token", body=f"grant_type=client_credentials&client_id={key.id}&client_secret={secret}",
           headers={"Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
    got = router("POST", "/batches", body=api.body(), headers=bearer(token(api, secret)))
    assert got["statusCode"] == 202


def test_a_token_of_before_has_no_id_and_is_still_taken_by_its_cell(api: Api) -> None:
    before = token(api, api.key)
    name, _, sealed = before.removeprefix("ph_token_").partition(".")
    assert api.batch(key=f"ph_token_{sealed}").status == 202
    assert ask(api, api.key).status == 200
    assert name in {key.id for key in api.services.accounts.list_keys(api.account)}


def test_a_cell_says_who_is_there_and_nothing_else(api: Api) -> None:
    login = api.notifier()
    revoked, gone = api.services.accounts.create_key(api.account)
    assert api.services.accounts.revoke_key(api.account, gone.id)
    api.world.clock.advance(CACHE)
    stranger = new_key_text(KeyKind.LIVE)
    for text, here in ((api.key, True), (api.test_key(), True), (revoked, True), (stranger, False)):
        got = api.handle(event("GET", asked("GET", "/jobs", bearer(text)).asked))
        assert (got.status, got.text) == (204 if here else 404, "")
    for pair, here in ((login, True), ((login[0], new_password()), False), (("hospital", login[1]), False)):
        path, _, query = _notifier(pair).asked.partition("?")
        assert api.handle(event("GET", path, query=query)).status == (204 if here else 404)


def _notifier(login: tuple[str, str]) -> Caller:

    pair = base64.b64encode(":".join(login).encode()).decode()
    return asked("POST", "/notices", {"Authorization": f"Basic {pair}"})


def test_what_is_no_digest_is_nowhere(api: Api) -> None:
    for digest in ("x", "0" * 63, "G" * 64):
        assert api.handle(event("GET", f"/cells/callers/{digest}")).status == 404


def test_the_function_reads_cells_and_table_from_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    found = build({"POSTHASTE_CELLS": '{"a": "https://a.example.com"}', "POSTHASTE_ROUTES_TABLE": "routes"})
    assert found.cells == {"a": "https://a.example.com"}
    assert found.directory()
