"""Events, windows and digest policies by HTTP."""

from collections.abc import Mapping
from typing import Any

import pytest

from shared.domain.accounts import Scope
from shared.domain.digests.events import MAX_KEYS
from shared.domain.digests.window import window_id
from shared.domain.namespaces import namespace
from tests.api.conftest import SENDER, Api, Reply
from tests.fakes.clock import FakeClock

KEY = "acme/production"


def put(api: Api, prefix: str = "acme/", *, key: str | None = None, http: Any = None, **changes: Any) -> Reply:
    given = {name.rstrip("_"): value for name, value in changes.items()}
    body = {name: value for name, value in {"from": SENDER, **given}.items() if value is not None}
    return api.call("PUT", f"/digest-policies/{prefix}", body, key=key, headers=http)


def event(n: int = 0, **changes: Any) -> dict[str, Any]:
    whole = {
        "event_type": "task.failed",
        "batch_key": KEY,
        "recipients": ["ann@example.org", "ben@example.org"],
        "timestamp": "2026-11-20T09:00:00Z",
        "data": {"task": f"t{n}"},
        **changes,
    }
    return {name: value for name, value in whole.items() if value is not None}


def post(api: Api, *events: Mapping[str, Any], key: str | None = None, http: Any = None) -> Reply:
    return api.call("POST", "/events", list(events), key=key, headers=http)


def windows(api: Api, **query: Any) -> list[Any]:
    items: list[Any] = api.call("GET", "/digests", query=query).json["items"]
    return items


# Events


def test_events_of_a_key_are_collected_in_a_window(api: Api, clock: FakeClock) -> None:
    put(api)
    first = api.call("POST", "/events", event())
    assert first.status == 202
    (piece,) = first.json["items"]
    assert (piece["batch_key"], piece["accepted"]) == (KEY, 1)
    assert post(api, event(1), event(2)).json["items"] == [{**piece, "accepted": 2}]
    other = post(api, event(batch_key="acme/development"), event(3)).json["items"]
    assert {x["batch_key"]: x["accepted"] for x in other} == {KEY: 1, "acme/development": 1}
    found = api.call("GET", f"/digests/{piece['window_id']}").json
    assert (found["state"], found["events"], found["policy"], found["number"]) == ("open", 4, "acme/", 1)
    assert found["closes_at"] == piece["closes_at"]
    assert (found["job_id"], found["closed_at"], found["fault"], found["test"]) == (None, None, None, False)
    assert api.digest_hints.sent[0][0] == piece["window_id"]


def test_the_longest_prefix_decides(api: Api) -> None:
    put(api, window=300)
    put(api, "acme/prod", window=60, max_age=60)
    post(api, event())
    (found,) = windows(api)
    assert (found["policy"], found["policy_version"]) == ("acme/prod", 1)


def test_a_repeat_under_a_key_is_told_apart_from_new_events(api: Api) -> None:
    put(api)
    http = {"Idempotency-Key": "k"}
    first, again = post(api, event(1), event(2), http=http), post(api, event(1), event(2), http=http)
    assert (first.status, again.status, again.json) == (202, 202, first.json)
    assert "idempotency-replayed" not in again.headers
    assert post(api, event(), http={"Idempotency-Key": " "}).code == "bad_idempotency_key"


def test_an_urgent_event_has_a_window_of_its_own(api: Api) -> None:
    put(api)
    post(api, event())
    (piece,) = post(api, event(urgent=True, event_id="e")).json["items"]
    found = api.call("GET", f"/digests/{piece['window_id']}").json
    assert (found["urgent"], found["state"], found["events"], found["number"]) == (True, "closed", 1, 0)
    assert len(windows(api)) == 2
    assert post(api, event(urgent=True, event_id="e")).json["items"] == [piece]


def test_keys_without_a_policy_are_named_by_their_first_events(api: Api) -> None:
    put(api)
    got = post(api, event(), event(batch_key="x"), event(batch_key="acme"), event(batch_key="x"))
    assert (got.status, got.code, got.fields) == (422, "no_policy", ["1.batch_key", "2.batch_key"])
    assert windows(api) == []
    alone = api.call("POST", "/events", event(batch_key="x"))
    assert (alone.code, alone.fields) == ("no_policy", ["batch_key"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"event_type": ""}, "event_type"),
        ({"event_type": None}, "event_type"),
        ({"event_type": "a\nb"}, "event_type"),
        ({"batch_key": "x" * 201}, "batch_key"),
        ({"recipients": []}, "recipients"),
        ({"recipients": ["a@example.org"] * 101}, "recipients"),
        ({"recipients": ["a@example.org", 7]}, "recipients.1"),
        ({"recipients": "a@example.org"}, "recipients"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"timestamp": "2026-11-20T09:00:00"}, "timestamp"),
        ({"timestamp": 1_763_629_200_000}, "timestamp"),
        ({"timestamp": "1969-12-31T23:59:59Z"}, "timestamp"),
        ({"timestamp": -1}, "timestamp"),
        ({"timestamp": True}, "timestamp"),
        ({"data": [1]}, "data"),
        ({"data": {"text": "x" * 100_000}}, "data"),
        ({"data": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}}}, "data"),
        ({"event_id": ""}, "event_id"),
        ({"urgent": 1}, "urgent"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_a_fault_names_the_event_and_the_field(api: Api, changes: dict[str, Any], field: str) -> None:
    put(api)
    got = post(api, event(), event(**changes))
    assert (got.code, got.fields) == ("validation_failed", [f"1.{field}"])
    alone = api.call("POST", "/events", event(**changes))
    assert (alone.code, alone.fields) == ("validation_failed", [field])
    assert windows(api) == []


def test_any_unix_second_from_0_on_is_a_time(api: Api) -> None:
    put(api)
    got = post(api, *(event(n, timestamp=x) for n, x in enumerate((0, 11231231, 1234211222, 112313125, 0.5))))
    assert (got.status, got.json["items"][0]["accepted"]) == (202, 5)


@pytest.mark.parametrize("body", [[], "x", 7, None])
def test_a_body_is_one_event_or_some(api: Api, body: Any) -> None:
    assert api.call("POST", "/events", body).status in {400, 422}


@pytest.mark.slow
def test_a_request_has_bounds(api: Api) -> None:
    put(api, "")
    put(api, "k")
    keys = [event(batch_key=f"k{i}") for i in range(MAX_KEYS + 1)]
    got = post(api, *keys, event())
    assert (got.code, got.fields) == ("validation_failed", [f"{MAX_KEYS}.batch_key"])
    got = post(api, *([event()] * 5001))
    assert (got.code, got.fields) == ("validation_failed", [""])
    assert windows(api) == []


@pytest.mark.parametrize("timestamp", ["2026-11-20T10:00:00+01:00", 1_795_165_200, 1_795_165_200.25, None])
def test_a_time_is_written_in_two_ways(api: Api, timestamp: Any) -> None:
    put(api)
    assert post(api, event(timestamp=timestamp)).status == 202


def test_a_suspended_account_adds_nothing(api: Api) -> None:
    put(api)
    api.services.accounts.suspend(api.account)
    assert post(api, event()).code == "account_suspended"
    assert put(api).code == "account_suspended"


def test_a_key_needs_the_scopes(api: Api) -> None:
    reader, sender = api.scoped(Scope.READ), api.scoped(Scope.SEND)
    assert post(api, event(), key=reader).code == "missing_scope"
    assert put(api, key=sender).code == "missing_scope"
    put(api)
    assert post(api, event(), key=sender).status == 202


def test_test_keys_have_policies_and_windows_of_their_own(api: Api) -> None:
    put(api)
    key = api.test_key()
    assert post(api, event(), key=key).code == "no_policy"
    post(api, event())
    assert api.call("GET", "/digest-policies/acme/", key=key).status in {403, 404}
    here = windows(api)[0]["window_id"]
    assert api.call("GET", f"/digests/{here}", key=key).code == "not_found"
    assert api.call("GET", f"/digests/{here}", key=api.other()).code == "not_found"
    assert api.call("POST", f"/digests/{here}/close", {}, key=api.other()).code == "not_found"
    assert api.call("DELETE", f"/digests/{here}", key=api.other()).code == "not_found"
    assert api.call("GET", "/digests", key=api.other()).json["items"] == []


# Windows


@pytest.mark.slow
def test_windows_are_listed_newest_first_by_state_and_key(api: Api, clock: FakeClock) -> None:
    put(api)
    for name in ("acme/a", "acme/b", "acme/c"):
        post(api, event(batch_key=name))
        clock.advance(1)
    assert [x["batch_key"] for x in windows(api)] == ["acme/c", "acme/b", "acme/a"]
    first = api.call("GET", "/digests", query={"limit": 2}).json
    rest = api.call("GET", "/digests", query={"limit": 2, "cursor": first["next_cursor"]}).json
    assert [x["batch_key"] for x in (*first["items"], *rest["items"])] == ["acme/c", "acme/b", "acme/a"]
    assert rest["next_cursor"] is None
    mine = windows(api, batch_key="acme/b")
    assert [x["batch_key"] for x in mine] == ["acme/b"]
    api.call("DELETE", f"/digests/{mine[0]['window_id']}")
    assert [x["batch_key"] for x in windows(api, state="cancelled")] == ["acme/b"]
    assert [x["batch_key"] for x in windows(api, state="open")] == ["acme/c", "acme/a"]
    assert windows(api, state="processed", batch_key="acme/b") == []
    assert api.call("GET", "/digests", query={"state": "new"}).fields == ["state"]
    assert api.call("GET", "/digests", query={"cursor": "x"}).code == "bad_cursor"


def test_a_window_is_closed_now_and_made_at_once(api: Api, clock: FakeClock) -> None:
    put(api)
    (piece,) = post(api, event()).json["items"]
    path = f"/digests/{piece['window_id']}"
    clock.advance(5)
    closed = api.call("POST", f"{path}/close", {})
    assert (closed.status, closed.json["state"]) == (200, "closed")
    assert api.digest_hints.sent[-1] == (piece["window_id"], clock.ms)
    assert api.call("POST", f"{path}/close", {}).json == closed.json
    assert api.call("DELETE", path).code == "closed"
    assert post(api, event()).json["items"][0]["window_id"] != piece["window_id"]


def test_an_open_window_is_cancelled_once(api: Api) -> None:
    put(api)
    (piece,) = post(api, event()).json["items"]
    path = f"/digests/{piece['window_id']}"
    gone = api.call("DELETE", path)
    assert (gone.status, gone.json["state"]) == (200, "cancelled")
    assert api.call("DELETE", path).json == gone.json
    assert api.call("POST", f"{path}/close", {}).code == "closed"
    assert api.call("GET", path).json == gone.json


@pytest.mark.parametrize("method, rest", [("GET", ""), ("DELETE", ""), ("POST", "/close")])  # noqa: PT006
@pytest.mark.parametrize("name", ["nonsense", "0" * 32 + "-1"])
def test_a_window_that_is_not_there_is_not_found(api: Api, method: str, rest: str, name: str) -> None:
    assert api.call(method, f"/digests/{name}{rest}").code == "not_found"


def test_a_window_s_id_names_its_key_and_number(api: Api) -> None:
    put(api)
    (piece,) = post(api, event()).json["items"]
    assert piece["window_id"] == window_id(namespace(api.account, test=False), KEY, 1)


# Policies


def test_a_policy_has_defaults_and_versions(api: Api, clock: FakeClock) -> None:
    made = put(api)
    assert made.status == 200
    assert made.json == {
        "prefix": "acme/",
        "version": 1,
        "from": SENDER,
        "route": None,
        "channel": "email",
        "window": 300,
        "near": 30,
        "extend": 60,
        "max_age": 1800,
        "max_events": 1000,
        "max_lines": 100,
        "subject": None,
        "template": None,
        "text": None,
        "line": None,
        "line_text": None,
        "timezone": "UTC",
        "retention": 604_800,
        "unsubscribe": False,
        "hours": None,
        "created_at": made.json["created_at"],
        "saved_at": made.json["created_at"],
    }
    assert api.call("GET", "/digest-policies/acme/").json == made.json
    clock.advance(1)
    next_ = put(api, window=60, route=["one"], timezone="Europe/Berlin").json
    assert (next_["version"], next_["window"], next_["route"]) == (2, 60, ["one"])
    assert next_["created_at"] == made.json["created_at"] < next_["saved_at"]
    put(api, "acme", window=60)
    listed = api.call("GET", "/digest-policies").json
    assert [x["prefix"] for x in listed["items"]] == ["acme", "acme/"]
    assert api.call("DELETE", "/digest-policies/acme/").json == {"deleted": True}
    assert api.call("DELETE", "/digest-policies/acme/").code == "not_found"
    assert api.call("GET", "/digest-policies/acme/").code == "not_found"
    assert [x["prefix"] for x in api.call("GET", "/digest-policies").json["items"]] == ["acme"]
    again = put(api).json
    assert (again["version"], again["created_at"]) == (4, again["saved_at"])


@pytest.mark.parametrize(
    ("given", "near", "max_age"),
    [
        ({"window": 10}, 10, 1_800),
        ({"window": 3_600}, 30, 3_600),
        ({"window": 3_600, "near": 60, "max_age": 7_200}, 60, 7_200),
    ],
)
def test_what_a_policy_leaves_out_fits_its_window(api: Api, given: dict[str, Any], near: int, max_age: int) -> None:
    made = put(api, **given)
    assert (made.status, made.json["near"], made.json["max_age"]) == (200, near, max_age)


def test_a_repeat_of_a_put_gets_the_first_answer(api: Api) -> None:
    http = {"Idempotency-Key": "k"}
    first, again = put(api, http=http), put(api, http=http)
    assert (again.status, again.json, again.headers["idempotency-replayed"]) == (200, first.json, "true")
    assert put(api, window=60, http=http).code == "idempotency_mismatch"


@pytest.mark.parametrize("prefix", ["acme", "acme/", "acme//x/", "a b", "Ärger", "+4915112345678", "ann@example.org"])
def test_a_prefix_is_the_rest_of_the_path(api: Api, prefix: str) -> None:
    assert put(api, prefix).json["prefix"] == prefix
    assert api.call("GET", f"/digest-policies/{prefix}").json["prefix"] == prefix
    assert api.call("GET", f"/digest-policies/{prefix}/preview").status == 200
    assert api.call("DELETE", f"/digest-policies/{prefix}").status == 200


@pytest.mark.parametrize("prefix", ["x" * 201, "ä" * 101, "a/preview"])
def test_a_prefix_is_short_and_does_not_end_like_another_path(api: Api, prefix: str) -> None:
    assert put(api, prefix).fields == ["prefix"]


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"from_": None}, "validation_failed", ["from"]),
        ({"from_": "nonsense"}, "validation_failed", ["from"]),
        ({"from_": "me@elsewhere.example"}, "from_not_allowed", ["from"]),
        ({"channel": "sms"}, "validation_failed", ["from"]),
        ({"channel": "sms", "from_": None, "route": ["one"]}, "validation_failed", ["route"]),
        ({"channel": "sms", "from_": None, "template": "x"}, "validation_failed", ["template"]),
        ({"channel": "sms", "from_": None, "unsubscribe": True}, "validation_failed", ["unsubscribe"]),
        ({"channel": "voice", "from_": None}, "validation_failed", ["channel"]),
        ({"route": ["nobody"]}, "credential_not_found", ["route"]),
        ({"route": ["theirs"]}, "credential_not_found", ["route"]),
        ({"timezone": "Mars/Olympus"}, "validation_failed", ["timezone"]),
        ({"near": 400}, "validation_failed", ["near"]),
        ({"max_age": 100}, "validation_failed", ["max_age"]),
        ({"max_events": 1001}, "validation_failed", ["max_events"]),
        ({"retention": 86_400}, "validation_failed", ["retention"]),
        ({"window": "300"}, "validation_failed", ["window"]),
        ({"subject": "{{ events }}"}, "invalid_template", ["subject"]),
        ({"subject": "{{ task }}"}, "invalid_template", ["subject"]),
        ({"template": "{{ events }}{{ EVENTS }}"}, "invalid_template", ["template"]),
        ({"template": "{{ unsubscribe_url }}"}, "invalid_template", ["template"]),
        ({"text": "{{ recipient }}"}, "invalid_template", ["text"]),
        ({"line": "{{# if }}", "line_text": "{{"}, "invalid_template", ["line", "line_text"]),
        ({"line": "x" * 4001}, "validation_failed", ["line"]),
    ],
)
def test_a_policy_that_is_not_valid_names_the_field(
    api: Api, changes: dict[str, Any], code: str, fields: list[str]
) -> None:
    got = put(api, **changes)
    assert (got.code, got.fields) == (code, fields)
    assert api.call("GET", "/digest-policies").json["items"] == []


def test_a_fault_of_a_template_has_its_place(api: Api) -> None:
    (fault,) = put(api, template="<p>\n  {{ }}</p>").json["errors"]
    assert (fault["field"], fault["code"], fault["line"], fault["column"]) == ("template", "empty_name", 2, 3)


def test_a_preview_shows_made_up_events(api: Api) -> None:
    put(api, unsubscribe=True)
    got = api.call("GET", "/digest-policies/acme//preview").json
    assert got["subject"] == "acme/production: task.failed x3, task.succeeded x2"
    assert "<!doctype html>" in got["html"]
    assert "Stop these digests: https://example.com/unsubscribe/example" in got["text"]
    assert (got["from"], got["sms"]) == (SENDER, None)
    put(api, "texts", channel="sms", from_=None, route=["texts"])
    sms = api.call("GET", "/digest-policies/texts/preview").json
    assert (sms["text"], sms["html"], sms["from"]) == ("texts: task.failed x3, task.succeeded x2", "", None)
    assert (sms["sms"]["encoding"], sms["sms"]["segments"]) == ("gsm7", 1)
    assert api.call("GET", "/digest-policies/none/preview").code == "not_found"


def test_changes_of_policies_are_in_the_audit_log_without_addresses(api: Api, clock: FakeClock) -> None:
    clock.advance(1)  # the account and its key are in the log as well
    for prefix in ("acme", "ann@example.org", "+4915112345678"):
        put(api, prefix)
    clock.advance(1)
    api.call("DELETE", "/digest-policies/acme")
    entries = api.call("GET", "/audit", query={"limit": 4}).json["items"]
    mine = [(x["action"], x["subject"]) for x in entries if x["action"].startswith("digest_policy")]
    assert mine[0] == ("digest_policy.deleted", "acme")
    assert sorted(x for x, _ in mine[1:]) == 3 * ["digest_policy.created"]
    assert not any("@" in name or "+49" in name for _, name in mine)
