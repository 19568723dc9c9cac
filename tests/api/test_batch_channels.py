"""Batches by SMS, call and WhatsApp: through the same intake, to phone numbers."""

from typing import Any

import pytest

from shared.contracts import TEST_CREDENTIAL
from shared.domain.content.content import Speech
from shared.domain.recipients.suppressions import Reach
from tests.api.conftest import Api

PHONE = "+14155550100"
SMS = {"channel": "sms", "to": [PHONE], "text": "Your parcel is here.", "route": ["texts"]}
CALL = {"channel": "voice", "to": [PHONE], "voice": {"say": "Your visit is at nine."}}


def post(api: Api, given: dict[str, Any], **changes: Any) -> Any:
    whole = {name: value for name, value in {**given, **changes}.items() if value is not None}
    return api.call("POST", "/batches", whole)


@pytest.mark.slow
def test_texts_go_through_the_route_for_texts(api: Api) -> None:
    got = post(api, SMS, to=f"{PHONE}, +1 (415) 555-0100, +14155550101, nonsense", name="Parcels")
    assert got.status == 202, got.text
    assert (got.json["recipients"], got.json["duplicates"], got.json["skipped"]) == (3, 1, 1)
    job = api.world.records.job(got.json["job_id"])
    content = api.world.records.content(got.json["job_id"])
    assert job is not None
    assert content is not None
    assert (job.channel, job.route, job.sender) == ("sms", ("texts",), "")
    assert (content.text, content.subject, content.html, content.speech) == (SMS["text"], "", "", None)
    shown = api.call("GET", f"/batches/{got.json['job_id']}").json
    assert shown["channel"] == "sms"


def test_a_test_key_calls_nobody(api: Api) -> None:
    voice = {"say": "Hello.", "language": "en-AU", "voice": "Nicole", "audio_url": "https://x.example/a.mp3"}
    got = api.call("POST", "/batches", {**CALL, "voice": {**voice, "keys": {"2": "confirmed"}}}, key=api.test_key())
    assert got.status == 202, got.text
    job = api.world.records.job(got.json["job_id"])
    content = api.world.records.content(got.json["job_id"])
    assert job is not None
    assert content is not None
    assert (job.channel, job.route, job.test) == ("voice", (TEST_CREDENTIAL,), True)
    assert content.text == "Hello."
    assert content.speech == Speech("en-AU", "Nicole", "https://x.example/a.mp3", (("2", "confirmed"),))


@pytest.mark.promise(11)
def test_a_number_that_stopped_one_channel_is_left_out_of_it(api: Api) -> None:
    api.services.suppressions.put(api.account, PHONE, "stopped", reach=Reach.SMS)
    refused = post(api, SMS)
    assert (refused.status, refused.code) == (422, "no_valid_recipient")
    said = {"field": "to.0", "message": f"{PHONE}: stopped since 2026-09-21: its owner wants no more messages by this "}
    assert refused.json["errors"] == [{**said, "message": f"{said['message']}channel.", "code": "stopped"}]
    assert post(api, SMS, to=[PHONE, "+14155550101"]).json["skipped"] == 1
    api.services.suppressions.delete(api.account, PHONE, reach=Reach.SMS)
    api.services.suppressions.put(api.account, PHONE, "stopped", reach=Reach.VOICE)
    assert post(api, SMS).json["skipped"] == 0


@pytest.mark.parametrize(
    ("body", "changes", "code", "fields"),
    [
        (SMS, {"text": None}, "validation_failed", ["text"]),
        (SMS, {"text": " "}, "validation_failed", ["text"]),
        (SMS, {"text": "x" * 1601}, "validation_failed", ["text"]),
        (SMS, {"from": "a@example.com"}, "validation_failed", ["from"]),
        (SMS, {"subject": "x"}, "validation_failed", ["subject"]),
        (SMS, {"body": "<p>x</p>"}, "validation_failed", ["body"]),
        (SMS, {"cc": ["a@example.com"]}, "validation_failed", ["cc"]),
        (SMS, {"unsubscribe": True}, "validation_failed", ["unsubscribe"]),
        (SMS, {"voice": {"say": "x"}}, "validation_failed", ["text"]),
        (SMS, {"voice": {"say": "x"}, "text": None}, "validation_failed", ["voice"]),
        (SMS, {"to": ["ann@example.com"]}, "no_valid_recipient", ["to.0"]),
        (SMS, {"to": []}, "validation_failed", ["to"]),
        (SMS, {"route": ["one"]}, "validation_failed", ["route"]),
        (CALL, {}, "no_route", ["route"]),
        (CALL, {"voice": None}, "validation_failed", ["voice"]),
        (CALL, {"voice": None, "text": "x"}, "validation_failed", ["voice"]),
        (CALL, {"voice": {"say": "x" * 901}}, "validation_failed", ["voice.say"]),
        (CALL, {"voice": {"say": "x", "keys": {"1": "again"}}}, "validation_failed", None),
        (CALL, {"voice": {"say": "x", "audio_url": "http://x.example/a"}}, "validation_failed", ["voice.audio_url"]),
        ({"channel": "fax", "to": [PHONE]}, {}, "validation_failed", ["channel"]),
        ({"to": [PHONE], "from": "a@example.com", "text": "x"}, {}, "validation_failed", ["subject"]),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_stored(
    api: Api, body: dict[str, Any], changes: dict[str, Any], code: str, fields: list[str] | None
) -> None:
    before = api.stored()
    got = post(api, body, **changes)
    assert (got.status, got.code) == (422, code)
    assert fields is None or got.fields == fields
    assert api.stored() == before
