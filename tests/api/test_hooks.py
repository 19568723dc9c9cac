"""Endpoints of webhooks over HTTP."""

import base64
import json
from typing import Any

import pytest

from shared.domain.accounts import Scope
from shared.domain.hooks.delivery import DeliveryState
from tests.api.conftest import Api, Reply

URL = "https://shop.example.com/posthaste"
NEW = {"url": URL, "events": ["message.delivered", "message.failed"]}
HOOKS = "https://hooks.slack.com/services/T0/B0/secret"


def made(api: Api, key: str | None = None, **changes: Any) -> Any:
    got = api.call("POST", "/hooks", {**NEW, **changes}, key=key)
    assert got.status == 201, got.text
    return got.json


def proven(api: Api, **changes: Any) -> str:
    """Return an endpoint that has answered its test event, by its id."""
    name: str = made(api, **changes)["id"]
    api.hooks.prove(name)
    return name


def test_the_secret_is_in_the_first_answer_only(api: Api) -> None:
    got = api.call("POST", "/hooks", {**NEW, "description": "Shop", "batch": True})
    hook = got.json
    assert (got.status, got.headers["location"]) == (201, f"/hooks/{hook['id']}")
    secret = hook.pop("secret")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert hook == {
        "id": hook["id"],
        "hook_id": hook["id"],
        "url": URL,
        "events": ["message.delivered", "message.failed"],
        "description": "Shop",
        "batch": True,
        "format": "standard",
        "state": "proving",
        "test": False,
        "created_at": hook["created_at"],
        "disabled_at": None,
        "reason": None,
        "previous_secret_until": None,
    }
    assert api.call("GET", "/hooks").json == {"items": [hook], "next_cursor": None}
    details = api.call("GET", f"/hooks/{hook['id']}")
    assert details.json == {**hook, "failing_since": None, "paused_until": None, "replay": None}
    assert secret not in details.text


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"url": "http://shop.example.com/"}, "url_not_allowed", "url"),
        ({"url": "https://169.254.169.254/latest"}, "url_not_allowed", "url"),
        ({"url": "https://ann@example.com/"}, "url_not_allowed", "url"),
        ({"url": "https://exa mple.com/"}, "validation_failed", "url"),
        ({"url": None}, "validation_failed", "url"),
        ({"events": []}, "validation_failed", "events"),
        ({"events": ["message.lost"]}, "validation_failed", "events.0"),
        ({"events": ["alarm.changed"]}, "validation_failed", "events.0"),
        ({"format": "xml"}, "validation_failed", "format"),
        ({"description": "a\nb"}, "validation_failed", "description"),
        ({"secret": "mine"}, "validation_failed", "secret"),
    ],
)
def test_what_cannot_be_posted_to_is_refused(api: Api, changes: Any, code: str, field: str) -> None:
    got = api.call("POST", "/hooks", {k: v for k, v in {**NEW, **changes}.items() if v is not None})
    assert (got.status, got.code, got.fields) == (422, code, [field])
    assert api.call("GET", "/hooks").json["items"] == []


@pytest.mark.slow
def test_an_account_has_twenty_endpoints_for_each_kind_of_key(api: Api) -> None:
    for _ in range(20):
        made(api)
    assert api.call("POST", "/hooks", NEW).code == "too_many_hooks"
    assert api.call("POST", "/hooks/listen", {}).code == "too_many_hooks"
    tester = api.services.accounts.create_key(api.account, test=True, scopes=list(Scope))[0]
    assert made(api, tester)["test"] is True


def test_test_keys_have_endpoints_of_their_own(api: Api) -> None:
    live = made(api)["id"]
    tester = api.services.accounts.create_key(api.account, test=True, scopes=list(Scope))[0]
    test = made(api, tester)["id"]
    for key, own, other in ((None, live, test), (tester, test, live)):
        assert [x["id"] for x in api.call("GET", "/hooks", key=key).json["items"]] == [own]
        assert api.call("GET", f"/hooks/{other}", key=key).code == "not_found"


def test_a_chat_s_url_is_not_shown(api: Api) -> None:
    hook = made(api, url=HOOKS, format="slack")
    assert hook["url"] == "https://hooks.slack.com/…"
    assert "B0" not in api.call("GET", "/hooks").text
    assert api.hooks.endpoint(hook["id"]).url == HOOKS


def test_changes_keep_the_rest(api: Api) -> None:
    name = proven(api)
    changed = api.call("PATCH", f"/hooks/{name}", {"events": ["*"], "description": "All"})
    assert (changed.json["events"], changed.json["description"], changed.json["url"]) == (["*"], "All", URL)
    assert changed.json["state"] == "enabled"
    off = api.call("PATCH", f"/hooks/{name}", {"disabled": True}).json
    assert (off["state"], off["reason"]) == ("disabled", "owner")
    assert off["disabled_at"] is not None
    assert api.call("POST", f"/hooks/{name}/test").code == "hook_disabled"
    assert api.call("PATCH", f"/hooks/{name}", {"disabled": False}).json["state"] == "proving"
    assert [x.kind for x in api.hooks.waiting(name)] == ["test"]
    assert api.call("PATCH", f"/hooks/{name}", {"url": "https://10.1.2.3/"}).code == "url_not_allowed"


def test_a_rotation_shows_the_new_secret_and_the_old_one_s_end(api: Api) -> None:
    hook = made(api)
    got = api.call("POST", f"/hooks/{hook['id']}/rotate").json
    assert got["secret"] != hook["secret"]
    assert got["previous_secret_until"] is not None
    api.world.clock.advance(86_401)
    assert api.call("GET", f"/hooks/{hook['id']}").json["previous_secret_until"] is None


def test_a_deleted_endpoint_is_gone(api: Api) -> None:
    name = proven(api)
    assert api.call("DELETE", f"/hooks/{name}").json == {"deleted": True}
    assert api.call("DELETE", f"/hooks/{name}").code == "not_found"
    assert api.call("POST", f"/hooks/{name}/test").code == "not_found"


def test_a_test_event_is_a_delivery(api: Api) -> None:
    name = proven(api)
    got = api.call("POST", f"/hooks/{name}/test")
    assert (got.status, got.json["type"], got.json["state"], got.json["attempts"]) == (202, "test", "pending", [])
    assert got.json["id"].endswith(f".{got.json['webhook_id']}")
    assert got.json["due_at"] is not None
    assert api.call("GET", f"/hooks/{name}/deliveries/{got.json['id']}").json == got.json
    assert [x.endpoint for x in api.hooks.hints.calls] == [name]


def pages(api: Api, path: str, **query: Any) -> list[Any]:
    items, more = [], api.call("GET", path, query=query).json
    while True:
        items += more["items"]
        if not more["next_cursor"]:
            return items
        more = api.call("GET", path, query={**query, "cursor": more["next_cursor"]}).json


@pytest.mark.slow
def test_deliveries_are_listed_with_their_attempts(api: Api) -> None:
    name = proven(api)
    for n in range(3):
        api.hooks.over(name, f"evt_{n}", DeliveryState.DELIVERED if n else DeliveryState.FAILED)
        api.world.clock.advance(1)
    api.call("POST", f"/hooks/{name}/test")
    path = f"/hooks/{name}/deliveries"
    every = pages(api, path, limit=1)
    assert [x["type"] for x in every] == ["test", "job.logged", "job.logged", "job.logged", "test"]
    assert [x["webhook_id"] for x in every][1:-1] == ["evt_2", "evt_1", "evt_0"]
    assert [x["webhook_id"] for x in pages(api, path, state="failed")] == ["evt_0"]
    assert [x["type"] for x in pages(api, path, state="pending")] == ["test"]
    (attempt,) = every[-2]["attempts"]
    assert (attempt["status"], attempt["ms"], attempt["body"], attempt["error"]) == (500, 12, "Oops", None)
    assert every[-2]["due_at"] is None
    assert api.call("GET", path, query={"cursor": "x"}).code == "bad_cursor"


@pytest.mark.slow
def test_a_retry_is_pending_under_the_same_id(api: Api) -> None:
    name = proven(api)
    done = api.hooks.over(name)
    path = f"/hooks/{name}/deliveries"
    got = api.call("POST", f"{path}/{done.name}/retry")
    assert (got.status, got.json["id"], got.json["state"]) == (202, done.name, "pending")
    assert [x.endpoint for x in api.hooks.hints.calls] == [name]
    for unknown in ("1.evt_2", "x", "9" * 30 + ".evt_1", f"{name}.x"):
        assert api.call("POST", f"{path}/{unknown}/retry").code == "not_found"
        assert api.call("GET", f"{path}/{unknown}").code == "not_found"


def test_a_replay_is_ordered_once(api: Api) -> None:
    name = proven(api)
    body = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "state": "failed"}
    got = api.call("POST", f"/hooks/{name}/replay", body)
    assert got.status == 202
    shown = {"since": "2026-01-01T00:00:00.000Z", "until": "2026-01-02T00:00:00.000Z", "state": "failed"}
    assert got.json == {**shown, "ordered_at": got.json["ordered_at"]}
    assert api.call("GET", f"/hooks/{name}").json["replay"] == got.json
    assert api.call("POST", f"/hooks/{name}/replay", {"since": "2026-01-01T00:00:00Z"}).code == "replay_running"
    wrong = api.call("POST", f"/hooks/{name}/replay", {"since": "2026-01-03T00:00:00Z", "until": body["until"]})
    assert (wrong.code, wrong.fields) == ("validation_failed", [""])


def listening(api: Api) -> Any:
    got = api.call("POST", "/hooks/listen", {}, key=api.test_key())
    assert got.status == 201, got.text
    return got.json


def ended_by(api: Api, name: str, item: Any, **outcome: Any) -> Reply:
    return api.call("POST", f"/hooks/{name}/pending/{item['id']}/done", outcome, key=api.test_key())


def test_a_listener_s_deliveries_are_fetched_until_they_are_done(api: Api) -> None:
    hook = listening(api)
    assert (hook["url"], hook["events"], hook["state"], hook["test"]) == (None, ["*"], "proving", True)
    path, key = f"/hooks/{hook['id']}", api.test_key()
    api.world.clock.advance(12)
    assert api.call("GET", path, key=key).json["state"] == "enabled"
    assert api.call("GET", f"{path}/pending", key=key).json == {"items": []}
    api.call("POST", f"{path}/test", key=key)
    (item,) = api.call("GET", f"{path}/pending", key=key).json["items"]
    assert item["type"] == json.loads(item["body"])["type"] == "test"
    assert item["headers"]["webhook-signature"].startswith("v1,")
    assert api.call("GET", f"{path}/pending", key=key).json["items"][0]["id"] == item["id"]
    done = ended_by(api, hook["id"], item, status=503, ms=7, answer="busy").json
    assert (done["state"], done["attempts"][0]["status"], done["attempts"][0]["body"]) == ("failed", 503, "busy")
    assert api.call("GET", f"{path}/pending", key=key).json == {"items": []}
    api.call("POST", f"{path}/deliveries/{item['id']}/retry", key=key)
    assert ended_by(api, hook["id"], item, status=0).json["attempts"][-1]["error"] == "not_forwarded"
    assert api.call("POST", f"{path}/replay", {"since": "2026-01-01T00:00:00Z"}, key=key).code == "hook_listens"


def test_an_endpoint_with_a_url_is_not_fetched_from(api: Api) -> None:
    name = made(api)["id"]
    assert api.call("GET", f"/hooks/{name}/pending").code == "not_found"
    assert api.call("POST", f"/hooks/{name}/pending/1.evt_1/done", {"status": 200}).code == "not_found"
    hook = listening(api)["id"]
    unknown = api.call("POST", f"/hooks/{hook}/pending/1.evt_1/done", {"status": 200}, key=api.test_key())
    assert unknown.code == "not_found"


def test_a_repeated_creation_makes_one_endpoint_and_shows_its_secret_again(api: Api) -> None:
    key = {"idempotency-key": "shop-1"}
    first = api.call("POST", "/hooks", NEW, headers=key)
    again = api.call("POST", "/hooks", NEW, headers=key)
    assert (again.status, again.json) == (201, first.json)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len(api.call("GET", "/hooks").json["items"]) == 1
    other = api.call("POST", "/hooks", {**NEW, "batch": True}, headers=key)
    assert (other.status, other.json["code"]) == (422, "idempotency_mismatch")
