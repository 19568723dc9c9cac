"""Requests that could mean two things are refused."""

from typing import Any

import pytest

from tests.api.conftest import Api


@pytest.mark.parametrize("body", ['{"from": "a", "from": "b"}', '{"headers": {"X-A": "1", "X-A": "2"}}'])
def test_a_name_that_an_object_has_twice_is_refused(calm: Api, body: str) -> None:
    got = calm.call("POST", "/batches", body)
    assert (got.status, got.code) == (400, "malformed_json")
    assert "twice" in got.json["detail"]


def test_a_text_message_offers_no_link_to_unsubscribe(calm: Api) -> None:
    sms: dict[str, Any] = {"channel": "sms", "template": {"body": "Hello"}}
    got = calm.call("POST", "/campaigns", {"name": "x", **sms, "unsubscribe": True})
    assert (got.status, got.code, got.json["errors"][0]["field"]) == (422, "validation_failed", "unsubscribe")
    name = calm.campaign(**sms)
    assert calm.call("PATCH", f"/campaigns/{name}", {"unsubscribe": True}).status == 422
    assert calm.call("PATCH", f"/campaigns/{name}", {"unsubscribe": False}).status == 200


def test_a_country_that_there_is_not_is_refused_for_every_channel(calm: Api) -> None:
    for campaign in (calm.campaign(), calm.campaign(channel="sms", template={"body": "Hello"})):
        got = calm.call("POST", f"/campaigns/{campaign}/uploads", {"region": "XX"})
        assert (got.status, got.json["errors"][0]["field"]) == (422, "region")


@pytest.mark.slow
def test_a_bounce_s_suppression_names_its_job(api: Api) -> None:
    job = api.logged()
    api.world.track("one", api.world.word(job, 0, "bounced"))
    assert api.call("GET", "/suppressions/a@example.org").json["job_id"] == job


def test_an_address_in_to_and_cc_gets_one_message(api: Api) -> None:
    job = api.accepted(["a@example.org"], cc=["A@example.org", "b@example.org"])
    content = api.world.records.content(job)
    assert content is not None
    assert [x.address for x in content.cc] == ["b@example.org"]
