"""What operators press: API keys and dead letters, in their own name, and by nobody else."""

import json
import re
from dataclasses import replace
from typing import Any

import boto3
import pytest

from functions.console.screens import ROUTES
from functions.operate.access.pressed import KEY_ADMINS, OPERATORS, respond
from functions.operate.operations import ROUTES as OPERATED
from shared.domain.accounts import ApiKey, Scope
from shared.domain.audit import EVERYONE, Log
from shared.domain.namespaces import KeyKind
from shared.domain.people import Identity
from tests.api.conftest import Reply
from tests.console.console import ANN, SETTINGS, Console
from tests.fakes.clock import FakeClock

OLGA = Identity("github", "3", "Olga")
KIRA = Identity("github", "4", "Kira")
TEXT = re.compile(r"ph_(?:live|test|team)_[A-Za-z0-9_-]{43}")
NEW: dict[str, str] = {"name": "Shop", "kind": "live", "proof": "key", "networks": "192.0.2.0/24", "days": "90"}
DAY_MS = 86_400_000


def offered(console: Console, path: str) -> dict[str, str]:
    """Open a page that asks, and return the hidden fields of its form."""
    got = console.get(f"/{console.account}{path}")
    assert got.status == 200, got.text
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', got.text[got.text.index("<main") :]))


def pressed(console: Console, path: str, **fields: str) -> Reply:
    """Fill in a page's form."""
    return console.ask("POST", f"/{console.account}{path}", form={**offered(console, path), **fields})


def keys(console: Console) -> dict[str, ApiKey]:
    return {x.name: x for x in console.services.accounts.list_keys(console.account)}


def shown(got: Reply) -> str:
    found = TEXT.search(got.text)
    return found[0] if found else ""


def acts(console: Console, about: str) -> list[tuple[str, str]]:
    return [(e.kind, e.actor) for e in console.services.use_cases.journal.since(about, Log.AUDIT, 0)]


@pytest.mark.slow
def test_a_key_is_made_in_the_operator_s_name_and_shown_once(console: Console, clock: FakeClock) -> None:
    console.sign_in(KIRA)
    form = offered(console, "/keys/new")
    assert not TEXT.search(str(form)), "the page that asks has it sealed"
    fields = {**form, **NEW, "scope send": "1"}
    got = console.ask("POST", f"/{console.account}/keys/new", form=fields)
    text = shown(got)
    key = console.api.services.accounts.find_by_key(text)
    assert key is not None
    assert (key.name, key.kind, key.scopes) == ("Shop", KeyKind.LIVE, frozenset({Scope.SEND}))
    assert (key.networks, key.expires) == (("192.0.2.0/24",), int(clock.now() * 1000) + 90 * DAY_MS)
    assert ("key.created", "user:Kira") in acts(console, console.account)
    assert got.headers["cache-control"] == "no-store"
    assert text not in console.shown("/keys")


def test_a_button_pressed_twice_makes_one_key_and_later_shows_none(console: Console, clock: FakeClock) -> None:
    console.sign_in(KIRA)
    path, before = f"/{console.account}/keys/new", len(keys(console))
    fields = {**offered(console, "/keys/new"), **NEW}
    first, again = console.ask("POST", path, form=fields), console.ask("POST", path, form=fields)
    assert shown(first) == shown(again) != ""
    clock.advance(601)
    late = console.ask("POST", path, form=fields)
    assert (late.status, shown(late)) == (200, "")
    assert "was made before" in late.text
    assert len(keys(console)) == before + 1
    clock.advance(3600)
    assert console.ask("POST", path, form=fields).status == 409


@pytest.mark.slow
def test_a_key_is_replaced_once_however_often_the_form_is_sent(console: Console) -> None:
    console.sign_in(KIRA)
    pressed(console, "/keys/new", **NEW)
    old, before = keys(console)["Shop"], len(console.services.accounts.list_keys(console.account))
    path = f"/keys/{old.id}/rotate"
    fields = {**offered(console, path), "hours": "0"}
    first, again = (console.ask("POST", f"/{console.account}{path}", form=fields) for _ in range(2))
    assert shown(first) == shown(again) != ""
    assert console.api.services.accounts.find_by_key(shown(first)) is not None
    assert len(console.services.accounts.list_keys(console.account)) == before + 1
    ended = next(x for x in console.services.accounts.list_keys(console.account) if x.id == old.id)
    assert not ended.valid_at(console.services.now)
    assert ("key.rotated", "user:Kira") in acts(console, console.account)


@pytest.mark.slow
def test_a_key_is_changed_and_revoked_after_a_question(console: Console) -> None:
    console.sign_in(KIRA)
    pressed(console, "/keys/new", **NEW)
    key = keys(console)["Shop"]
    assert pressed(console, f"/keys/{key.id}/change", networks="198.51.100.7, 203.0.113.0/24", never="1").status == 303
    changed = keys(console)["Shop"]
    assert (changed.networks, changed.expires) == (("198.51.100.7/32", "203.0.113.0/24"), 0)
    assert len(acts(console, console.account)) == len({*acts(console, console.account)}), "each act once"
    wrong = pressed(console, f"/keys/{key.id}/change", networks="nonsense")
    assert (wrong.status, "Nothing was changed" in wrong.text) == (422, True)
    assert "Revoke the key Shop?" in console.shown(f"/keys/{key.id}/revoke")
    assert "Shop" in keys(console), "a question changes nothing"
    assert pressed(console, f"/keys/{key.id}/revoke").status == 303
    assert "Shop" not in keys(console)
    assert ("key.revoked", "user:Kira") in acts(console, console.account)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "text"), [("days", "0.5"), ("days", "99999"), ("kind", "king"), ("proof", ""), ("networks", "1.2.3")]
)
def test_what_cannot_be_is_said_and_makes_no_key(console: Console, field: str, text: str) -> None:
    console.sign_in(KIRA)
    before = keys(console)
    assert pressed(console, "/keys/new", **{**NEW, field: text}).status == 422
    assert keys(console) == before


@pytest.mark.slow
def test_an_operator_who_is_no_key_admin_changes_no_key(console: Console) -> None:
    console.sign_in(OLGA)
    assert "Create a key" not in console.shown("/keys")
    for route in (x for x in ROUTES if x.key_admins):
        path = route.path.removeprefix("/console").format(account=console.account, key="0" * 16, queue="due")
        got = console.post(path) if route.method == "POST" else console.get(path)
        assert got.status == 403, route.name
    assert console.buttons.asked == []


def event(session: str, path: str, body: Any, method: str = "POST") -> dict[str, Any]:
    return {"session": session, "method": method, "path": path, "body": body}


def status(console: Console, session: str, path: str, body: Any = None) -> int:
    """Call the function itself, as a console would that was taken over."""
    found = respond(event(session, path, body or {}), "r", lambda: console.buttons.services)
    return int(found["status"])


def session(console: Console) -> str:
    """Return the id of the browser's session."""
    asked = type("Asked", (), {"cookies": console.cookies})()
    return console.services.sessions.name(asked)


def test_the_function_looks_for_itself_at_who_asks(console: Console, clock: FakeClock) -> None:
    body = {"account": console.account}
    for who, wanted in ((ANN, 401), (OLGA, 403), (KIRA, 200)):
        console.member(who) if who is ANN else console.sign_in(who)
        assert status(console, session(console), "/keys/create", body) == wanted, who.login
    for made_up in ("", "x" * 43):
        assert status(console, made_up, "/keys/create", body) == 401
    clock.advance(13 * 3600)
    assert status(console, session(console), "/keys/create", body) == 401, "the session is over"


@pytest.mark.slow
def test_the_function_goes_by_the_settings_of_now(console: Console) -> None:
    console.sign_in(KIRA)
    body = {"account": console.account}
    less = replace(SETTINGS, roles={"kira": "operator"})
    console.buttons.services.env = {**console.buttons.services.env, "POSTHASTE_CONSOLE": less.dumps()}
    assert status(console, session(console), "/keys/create", body) == 403
    none = replace(SETTINGS, users=("ann", "kira"), roles={})
    console.buttons.services.env = {**console.buttons.services.env, "POSTHASTE_CONSOLE": none.dumps()}
    assert status(console, session(console), "/keys/create", body) == 401


def test_the_function_does_nothing_but_what_has_a_button(console: Console) -> None:
    console.sign_in(KIRA)
    name, tried = session(console), 0
    for route in (x for x in OPERATED if x.name not in KEY_ADMINS | OPERATORS):
        path = re.sub(r"\{\w+\}", "x", route.path.removeprefix("/operate"))
        found = respond(event(name, path, {}, route.method), "r", lambda: console.buttons.services)
        assert found["status"] == 403, route.name
        tried += 1
    assert tried > 30
    assert {x.name for x in OPERATED} >= KEY_ADMINS | OPERATORS


@pytest.mark.slow
def test_a_deployment_without_buttons_shows_commands_and_has_no_such_page(console: Console) -> None:
    console.services = replace(console.services, buttons=None)
    console.sign_in(KIRA)
    page = console.shown("/keys")
    assert "posthaste key create" in page
    assert "Create a key" not in page
    assert console.get(f"/{console.account}/keys/new").status == 404
    assert console.post(f"/{console.account}/keys/new", **NEW).status in (404, 409)
    assert "posthaste redrive feedback" in console.get("/dead-letters").text
    assert console.get("/dead-letters/feedback").status == 404


@pytest.fixture
def queues(console: Console, monkeypatch: pytest.MonkeyPatch) -> Any:
    """SQS with the queue of exports, and two dead letters of it: one of an export, and nonsense."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    sqs = boto3.client("sqs", region_name="us-east-1")
    stage = console.services.settings.stage
    sqs.create_queue(QueueName=f"posthaste-{stage}-export")
    dead = sqs.create_queue(QueueName=f"posthaste-{stage}-export-dlq")["QueueUrl"]
    for body in (json.dumps({"export": "0" * 26}), "nonsense"):
        sqs.send_message(QueueUrl=dead, MessageBody=body)
    return sqs


@pytest.mark.slow
def test_dead_letters_are_looked_at_and_redriven_after_a_question(console: Console, queues: Any) -> None:
    console.sign_in(OLGA)
    assert "Look …" in console.get("/dead-letters").text
    page = console.get("/dead-letters/export").text
    assert "Redrive 2?" in page
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page[page.index("<main") :]))
    assert form["limit"] == "2"
    done = console.ask("POST", "/dead-letters/export", form={**form, "discard": "1"})
    assert done.status == 200, done.text
    assert "<b>1</b> are worked on again. 1 were deleted. 0 stay." in done.text
    work = queues.get_queue_url(QueueName=f"posthaste-{console.services.settings.stage}-export")["QueueUrl"]
    moved = queues.receive_message(QueueUrl=work)
    assert len(moved["Messages"]) == 1
    assert acts(console, EVERYONE) == [
        ("queue.redrive_begun", "user:Olga"),
        ("queue.redrive_ended", "user:Olga"),
    ]


@pytest.mark.slow
def test_a_queue_that_is_not_there_and_a_wrong_number_redrive_nothing(console: Console) -> None:
    console.sign_in(OLGA)
    assert console.get("/dead-letters/nosuch").status == 404
    assert console.post("/dead-letters/nosuch", limit="1").status == 404
    for wrong in ("", "0", "-1", "x", "12345678"):
        assert console.post("/dead-letters/export", limit=wrong).status == 422
    assert console.buttons.asked == []
