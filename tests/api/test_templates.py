"""Stored templates over the API."""

from typing import Any

import pytest

from tests.api.conftest import SENDER, Api
from tests.fakes.clock import FakeClock

SAID = {"from": f"News <{SENDER}>", "subject": "Hello {{ name }}", "body": "<p>Hi</p>", "reply_to": "help@example.com"}


def made(api: Api, **changes: Any) -> Any:
    """Make a template, and return it."""
    got = api.call("POST", "/templates", {"name": "Welcome", "channel": "email", **SAID, **changes})
    assert got.status == 201, got.text
    return got.json


@pytest.mark.slow
def test_a_template_keeps_its_versions(api: Api, clock: FakeClock) -> None:
    first = made(api)
    assert (first["version"], first["variables"], first["from"]) == (1, ["name"], '"News" <news@example.com>')
    url = f"/templates/{first['template_id']}"
    assert api.call("GET", url).json == first
    clock.advance(1)
    second = api.call("PUT", url, SAID | {"subject": "Dear {{ first }}", "name": "Hi"})
    assert (second.status, second.json["version"], second.json["name"]) == (200, 2, "Hi")
    assert second.json["created_at"] == first["created_at"] != second.json["saved_at"]
    assert api.call("GET", url).json == second.json
    assert api.call("GET", url, query={"version": 1}).json == first
    assert api.call("GET", url, query={"version": 3}).code == "not_found"
    page = api.call("GET", f"{url}/versions", query={"limit": 1}).json
    rest = api.call("GET", f"{url}/versions", query={"cursor": page["next_cursor"]}).json
    assert [x["version"] for x in page["items"] + rest["items"]] == [2, 1]
    assert rest["next_cursor"] is None
    assert [(x["name"], x["version"]) for x in api.call("GET", "/templates").json["items"]] == [("Hi", 2)]
    assert api.call("DELETE", url).json == {"deleted": True}
    assert api.call("GET", url).code == "not_found"
    assert api.call("GET", url, query={"version": 1}).code == "not_found"
    assert api.call("DELETE", url).code == "not_found"


@pytest.mark.promise(7)
def test_a_repeated_template_is_made_once(api: Api) -> None:
    body = {"name": "t", "channel": "sms", "body": "Hi"}
    first = api.call("POST", "/templates", body, headers={"Idempotency-Key": "k"})
    again = api.call("POST", "/templates", body, headers={"Idempotency-Key": "k"})
    assert (again.text, again.headers["idempotency-replayed"]) == (first.text, "true")
    url = f"/templates/{first.json['template_id']}"
    second = api.call("PUT", url, {"body": "Ho"}, headers={"Idempotency-Key": "p"})
    assert api.call("PUT", url, {"body": "Ho"}, headers={"Idempotency-Key": "p"}).text == second.text
    assert api.call("GET", url).json["version"] == 2
    assert api.call("PUT", url, {"body": "Hm"}, headers={"Idempotency-Key": "p"}).code == "idempotency_mismatch"


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"body": "{{ unclosed"}, "invalid_template", ["body"]),
        ({"subject": "{{/x}}", "text": "{{!x}}"}, "invalid_template", ["subject", "text"]),
        ({"from": "x@elsewhere.org"}, "from_not_allowed", ["from"]),
        ({"channel": "fax"}, "validation_failed", ["channel"]),
        ({"extra": 1}, "validation_failed", ["extra"]),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_stored(
    api: Api, changes: dict[str, Any], code: str, fields: list[str]
) -> None:
    before = api.stored()
    got = api.call("POST", "/templates", {"name": "t", "channel": "email", **SAID, **changes})
    assert (got.status, got.code, got.fields) == (422, code, fields)
    assert api.stored() == before


def test_a_template_of_another_channel_is_not_taken(api: Api) -> None:
    texts = made(api, channel="sms", subject=None, body="Hi", reply_to=None, **{"from": None})
    body = {"name": "x", "channel": "email", "template_id": texts["template_id"]}
    assert api.call("POST", "/campaigns", body).fields == ["template_id"]
