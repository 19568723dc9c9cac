"""Stored templates with texts for notices, and how notifiers read them."""

from typing import Any

import pytest

from tests.api.conftest import Api

MAIL = {"name": "Reminder", "channel": "email", "from": "news@example.com", "subject": "Hi", "body": "<p>Hi</p>"}
SMS = {"text": "Hello {{ first_name }}, see you on {{ day }}."}
VOICE = {"say": "Hello {{ first_name }}.", "language": "en-AU", "keys": {"2": "confirmed"}}


def put(api: Api, **changes: Any) -> Any:
    return api.call("POST", "/templates", {**MAIL, **changes})


def test_a_template_keeps_its_texts_by_version(api: Api) -> None:
    made = put(api, sms=SMS, voice=VOICE)
    assert made.status == 201
    assert made.json["sms"] == SMS
    assert made.json["voice"] == {**VOICE, "voice": None, "audio_url": None}
    assert made.json["variables"] == ["first_name", "day"]
    assert made.json["delivery_methods"] == ["SMS", "IVR"]
    name = made.json["template_id"]
    assert api.call("GET", f"/templates/{name}").json == made.json
    body = {k: v for k, v in MAIL.items() if k not in ("name", "channel")}
    changed = api.call("PUT", f"/templates/{name}", {**body, "sms": {"text": "Hello"}})
    assert (changed.json["sms"], changed.json["voice"]) == ({"text": "Hello"}, None)
    assert api.call("GET", f"/templates/{name}", query={"version": 1}).json["voice"] == made.json["voice"]
    items = api.call("GET", "/templates").json["items"]
    assert [(x["version"], x["delivery_methods"]) for x in items] == [(2, ["SMS"])]


def test_a_template_for_texts_speaks_by_its_body(api: Api) -> None:
    made = api.call("POST", "/templates", {"name": "x", "channel": "sms", "body": "Hello", "voice": {"say": "Hello"}})
    assert made.json["delivery_methods"] == ["SMS", "IVR"]
    assert put(api).json["delivery_methods"] == []


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"sms": {"text": "{{ a b }}"}}, "invalid_template", "sms.text"),
        ({"voice": {"say": "{{#x}}"}}, "invalid_template", "voice.say"),
        ({"voice": {"say": "x" * 901}}, "validation_failed", "voice.say"),
        ({"voice": {"say": "x", "audio_url": "http://example.com/x.mp3"}}, "validation_failed", "voice.audio_url"),
        ({"voice": {"say": "x", "keys": {"12": "x"}}}, "validation_failed", "voice.keys.12.[key]"),
        ({"voice": {"say": "x", "keys": {"1": "x"}}}, "validation_failed", "voice.keys.1.[key]"),
        ({"voice": {"say": "x", "language": "english please"}}, "validation_failed", "voice.language"),
        ({"sms": {"text": ""}}, "validation_failed", "sms.text"),
        ({"sms": {"say": "x", "text": "x"}}, "validation_failed", "sms.say"),
    ],
)
def test_texts_that_are_not_valid_are_refused(api: Api, changes: Any, code: str, field: str) -> None:
    before = api.stored()
    got = put(api, **changes)
    assert (got.status, got.code, got.fields) == (422, code, [field])
    assert api.stored() == before


def test_a_template_s_own_channel_has_one_text(api: Api) -> None:
    got = api.call("POST", "/templates", {"name": "x", "channel": "sms", "body": "Hello", "sms": {"text": "Bye"}})
    assert (got.code, got.fields) == ("validation_failed", ["sms.text"])


def test_a_notifier_reads_its_account_s_templates_once(api: Api) -> None:
    login = api.notifier()
    made = put(api, sms=SMS).json
    api.call("POST", "/templates", MAIL, key=api.other())
    got = api.basic("GET", "/templates", login)
    assert [x["template_id"] for x in got.json["items"]] == [made["template_id"]]
    assert all(x["saved_at"].endswith(("+10:00", "+11:00")) for x in got.json["items"]), "in the notifier's zone"
    tag = {"If-None-Match": got.headers["etag"]}
    again = api.basic("GET", "/templates", login, headers=tag)
    assert (again.status, again.text, again.headers["etag"]) == (304, "", got.headers["etag"])
    put(api, voice=VOICE)
    assert api.basic("GET", "/templates", login, headers=tag).status == 200
    assert api.basic("GET", f"/templates/{made['template_id']}", login).status == 401
    assert api.basic("POST", "/templates", login, MAIL).status == 401
