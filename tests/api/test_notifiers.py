"""Notifiers by HTTP: their owners' calls, and their own by Basic."""

import base64
from typing import Any

import pytest

from shared.adapters.dynamo.accounts.accounts import CACHE
from shared.domain.accounts import REQUEST_BURST, REQUEST_RATE, Claim, Scope, quota
from shared.domain.notices.notifier import is_password, new_password, password_digest
from shared.ports import Retriable
from shared.web.authentication import authenticate
from shared.web.http import Answer, Request
from shared.web.problems import Problem
from shared.web.routing import Call, Nothing, Route, Scheme
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock

NEW = {"name": "clinic", "timezone": "Australia/Sydney"}


def answer(call: Call[Any, Nothing, Nothing]) -> Answer:
    return call.services.answer  # type: ignore[no-any-return]


MINE = Route(
    method="GET",
    path="/x",
    name="x",
    summary="x",
    scope=Scope.READ,
    handler=answer,
    answers={},
    schemes=(Scheme.BASIC,),
    status=True,
)


def ask(api: Api, name: str, password: str) -> str:
    """Return the name of the notifier that a request is accepted from."""
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    request = Request("r", "GET", ("x",), {"authorization": f"Basic {pair}"}, {}, b"")
    found = authenticate(request, MINE, api.services.keeper)
    assert found.notifier is not None
    assert found.key.account == api.account
    assert found.key.scopes == {Scope.READ}
    return found.notifier.name


def refused(api: Api, name: str, password: str) -> Problem:
    with pytest.raises(Problem) as found:
        ask(api, name, password)
    return found.value


def test_a_new_notifier_s_password_is_shown_once_and_stored_as_its_hash(api: Api) -> None:
    got = api.call("POST", "/notifiers", {**NEW, "country": "AU"})
    assert (got.status, got.headers["location"]) == (201, "/notifiers/clinic")
    password = got.json.pop("password")
    assert is_password(password)
    assert got.json["username"] == "clinic"
    shown = api.call("GET", "/notifiers/clinic")
    assert {**got.json, "password": password} == {**shown.json, "password": password} | {"password": password}
    assert shown.json["reasonable_hours"] == {"from": 9, "to": 21}
    assert (shown.json["days_until_expiry"], shown.json["conflict_tries"], shown.json["country"]) == (7, 5, "AU")
    assert api.call("GET", "/notifiers").json["items"] == [shown.json]
    stored = str(api.stored())
    assert password not in stored + shown.text
    assert password_digest(password) in stored
    assert password_digest(password) not in shown.text


def test_a_notifier_is_accepted_by_its_password_alone(api: Api) -> None:
    name, password = api.notifier()
    assert ask(api, name, password) == name
    for wrong in (("clinic", new_password()), ("other", password), ("", ""), ("clinic", "x"), ("clinic:", password)):
        problem = refused(api, *wrong)
        assert problem.code == "unauthorized"
        assert problem.headers["WWW-Authenticate"] == 'Basic realm="posthaste", charset="UTF-8"'


@pytest.mark.parametrize("header", ["", "Basic", "Basic !!!", "Basic /w==", "Bearer x", "Basic Y2xpbmlj"])
def test_credentials_that_are_none_are_refused(api: Api, header: str) -> None:
    request = Request("r", "GET", ("x",), {"authorization": header}, {}, b"")
    with pytest.raises(Problem) as found:
        authenticate(request, MINE, api.services.keeper)
    assert found.value.code == "unauthorized"


def test_an_api_key_is_no_password_and_a_password_opens_nothing_else(api: Api) -> None:
    login = api.notifier()
    assert refused(api, "clinic", api.key).code == "unauthorized"
    for path in ("/jobs", "/notifiers", "/suppressions", "/credentials", "/audit"):
        got = api.basic("GET", path, login)
        assert (got.status, got.code) == (401, "unauthorized")
        assert got.headers["www-authenticate"].startswith("Bearer")
    assert api.call("GET", "/jobs", key=login[1]).status == 401


def test_a_rotation_overlaps_and_works_at_once_in_a_process_that_knows_the_notifier(api: Api, clock: FakeClock) -> None:
    name, first = api.notifier()
    assert ask(api, name, first)
    second = api.call("POST", "/notifiers/clinic/rotate", {"overlap_hours": 2}).json["password"]
    assert ask(api, name, second)
    assert ask(api, name, first)
    shown = api.call("GET", "/notifiers/clinic").json
    assert shown["previous_password_until"] == "2026-09-21T16:13:20.000Z"
    clock.advance(2 * 3600)
    assert refused(api, name, first).code == "unauthorized"
    assert ask(api, name, second)


def test_a_disabled_notifier_is_refused_and_an_enabled_one_works_again(api: Api, clock: FakeClock) -> None:
    name, password = api.notifier()
    assert ask(api, name, password)
    assert api.call("PATCH", "/notifiers/clinic", {"disabled": True}).json["disabled"]
    clock.advance(CACHE)
    assert refused(api, name, password).code == "unauthorized"
    assert not api.call("PATCH", "/notifiers/clinic", {"disabled": False}).json["disabled"]
    assert ask(api, name, password) == name


def test_a_notifier_of_a_suspended_account_is_refused(api: Api, clock: FakeClock) -> None:
    name, password = api.notifier()
    assert ask(api, name, password)
    api.services.accounts.suspend(api.account)
    clock.advance(CACHE)
    assert refused(api, name, password).code == "unauthorized"
    api.services.accounts.unsuspend(api.account)
    assert ask(api, name, password)


def test_a_remembered_notifier_costs_no_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    name, password = api.notifier()
    assert ask(api, name, password)
    monkeypatch.setattr(api.services.logins._store, "get", lambda _name: pytest.fail("read again"))
    assert ask(api, name, password)


def test_a_notifier_that_asks_too_often_waits_and_its_account_does_not(api: Api) -> None:
    name, password = api.notifier()
    for _ in range(quota(REQUEST_RATE, REQUEST_BURST).of_notifier().most(Claim.OTHER)):
        ask(api, name, password)
    problem = refused(api, name, password)
    assert problem.code == "rate_limited"
    assert "this notifier may make 20 a second" in problem.sentence
    assert int(problem.headers["Retry-After"]) >= 1
    assert api.call("GET", "/notifiers").status == 200


def test_a_notifier_s_calls_are_noted_at_most_once_a_minute(api: Api, clock: FakeClock) -> None:
    name, password = api.notifier()
    assert api.call("GET", "/notifiers/clinic").json["last_seen_at"] is None
    calls: list[Any] = []
    store = api.services.logins._store
    note = store.note
    store.note = lambda *a, **k: (calls.append(a), note(*a, **k))[1]  # type: ignore[method-assign,func-returns-value]
    for _ in range(3):
        ask(api, name, password)
    assert len(calls) == 1
    shown = api.call("GET", "/notifiers/clinic").json
    assert shown["last_seen_at"] == shown["last_status_at"] == "2026-09-21T14:13:20.000Z"
    clock.advance(60)
    ask(api, name, password)
    assert api.call("GET", "/notifiers/clinic").json["last_seen_at"] == "2026-09-21T14:14:20.000Z"


def test_a_call_that_cannot_be_noted_is_answered(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    name, password = api.notifier()

    def fail(*_args: Any, **_more: Any) -> None:
        raise Retriable("busy")

    monkeypatch.setattr(api.services.logins._store, "note", fail)
    assert ask(api, name, password) == name


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"reasonable_hours": {"from": 9, "to": 9}}, "reasonable_hours"),
        ({"reasonable_hours": {"from": 9}}, "reasonable_hours.to"),
        ({"days_until_expiry": 0}, "days_until_expiry"),
        ({"conflict_tries": 99}, "conflict_tries"),
        ({"country": "XX"}, "country"),
        ({"route": {"sms": ["one"]}}, "route.sms"),
        ({"route": {"fax": []}}, "route.fax"),
        ({"passwords": []}, "passwords"),
    ],
)
def test_settings_that_are_not_valid_change_nothing(api: Api, change: dict[str, Any], field: str) -> None:
    api.notifier()
    before = api.stored()
    for got in (
        api.call("PATCH", "/notifiers/clinic", change),
        api.call("POST", "/notifiers", {**NEW, "name": "x", **change}),
    ):
        assert (got.status, got.code, got.fields) == (422, "validation_failed", [field])
    assert api.stored() == before


def test_settings_are_changed_one_by_one(api: Api) -> None:
    api.notifier(route={"sms": ["texts"]})
    assert api.call("GET", "/notifiers/clinic").json["route"] == {"sms": ["texts"]}
    got = api.call("PATCH", "/notifiers/clinic", {"reasonable_hours": {"from": 8, "to": 24}, "conflict_tries": 3})
    assert got.json["reasonable_hours"] == {"from": 8, "to": 24}
    assert (got.json["conflict_tries"], got.json["timezone"], got.json["route"]) == (
        3,
        "Australia/Sydney",
        {"sms": ["texts"]},
    )
    got = api.call("PATCH", "/notifiers/clinic", {"timezone": "Europe/Berlin", "route": {}})
    assert (got.json["timezone"], got.json["route"]) == ("Europe/Berlin", {})
    acts = [(x["action"], x["subject"]) for x in api.call("GET", "/audit").json["items"]]
    assert set(acts) >= {("notifier.created", "clinic"), ("notifier.changed", "clinic")}


def test_a_credential_that_is_not_open_to_the_account_is_none(api: Api) -> None:
    got = api.call("POST", "/notifiers", {**NEW, "route": {"sms": ["theirs"]}})
    assert (got.status, got.code) == (404, "credential_not_found")


def test_a_name_is_unique_in_the_deployment(api: Api) -> None:
    api.notifier()
    for key in (api.key, api.other()):
        got = api.call("POST", "/notifiers", NEW, key=key)
        assert (got.status, got.code) == (409, "notifier_exists")


def test_another_account_s_notifier_is_not_there(api: Api) -> None:
    api.notifier()
    for method, path, body in (
        ("GET", "/notifiers/clinic", None),
        ("PATCH", "/notifiers/clinic", {"disabled": True}),
        ("POST", "/notifiers/clinic/rotate", {}),
    ):
        assert api.call(method, path, body, key=api.other()).code == "not_found"
        assert api.call(method, path.replace("clinic", "Not a name"), body).code == "not_found"
    assert api.call("GET", "/notifiers", key=api.other()).json["items"] == []


def test_owners_calls_need_the_scope_admin(api: Api) -> None:
    key = api.scoped(Scope.READ, Scope.SEND)
    assert api.call("POST", "/notifiers", NEW, key=key).code == "missing_scope"
    assert api.call("GET", "/notifiers", key=key).status == 200
