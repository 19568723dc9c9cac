"""A message that shows nothing is refused at every door that takes one."""

from typing import Any

import pytest

from tests.api.conftest import Api

FROM = {"from": "news@example.com"}
BLANK = ("<b></b>", "<p>&nbsp;</p>", " ", "\u200b", '<a href="{{ url }}"></a>', "<title>October</title>")


def refusal(api: Api, method: str, path: str, body: dict[str, Any]) -> tuple[int, list[str]]:
    got = api.call(method, path, body)
    return got.status, got.fields if got.status == 422 else []


@pytest.mark.parametrize("body", BLANK)
def test_a_template_that_shows_nothing_whatever_the_values_is_not_stored(api: Api, body: str) -> None:
    said = {"subject": "Hi", "body": body, **FROM}
    assert refusal(api, "POST", "/templates", {"name": "T", "channel": "email", **said}) == (422, ["body"])
    campaign = {"name": "C", "channel": "email", "template": said}
    assert refusal(api, "POST", "/campaigns", campaign) == (422, ["template.body"])
    name = api.campaign()
    assert refusal(api, "PUT", f"/campaigns/{name}/template", said) == (422, ["body"])


def test_a_subject_or_text_of_invisible_characters_is_not_stored(api: Api) -> None:
    name = api.campaign()
    said = {"subject": "\u200b\u2060", "body": "Hi", **FROM}
    assert refusal(api, "PUT", f"/campaigns/{name}/template", said) == (422, ["subject"])
    texts = {"name": "C", "channel": "sms", "template": {"body": "\ufeff \u00ad"}}
    assert refusal(api, "POST", "/campaigns", texts) == (422, ["template.body"])
    stored = {"name": "T", "channel": "email", "subject": "Hi", "body": "Hi", **FROM}
    assert refusal(api, "POST", "/templates", {**stored, "sms": {"text": "\u200b"}}) == (422, ["sms.text"])


def test_a_batch_that_shows_nothing_is_not_taken(api: Api) -> None:
    mail = {"to": ["a@example.org"], "subject": "Hi", **FROM}
    assert refusal(api, "POST", "/batches", {**mail, "body": "<b></b>"}) == (422, ["body"])
    assert refusal(api, "POST", "/batches", {**mail, "text": "\u200b"}) == (422, ["text"])
    assert refusal(api, "POST", "/batches", {**mail, "body": "Hi", "subject": "\u200b"}) == (422, ["subject"])
    assert refusal(api, "POST", "/batches", {**mail, "body": "<p></p>", "text": "Hi"}) == (422, ["body"])
    file = {"filename": "a.pdf", "content_type": "application/pdf", "data": "QUJD"}
    assert refusal(api, "POST", "/batches", {**mail, "text": " ", "attachments": [file]}) == (202, [])
    assert refusal(api, "POST", "/batches", {**mail, "body": '<img src="https://example.com/a.png">'}) == (202, [])
    text = {"channel": "sms", "to": ["+14155550100"], "text": "\u200b"}
    assert refusal(api, "POST", "/batches", text) == (422, ["text"])


def test_a_digest_s_template_that_shows_nothing_is_not_stored(api: Api) -> None:
    for part in ("subject", "template", "line"):
        policy = {**FROM, part: "\u200b"}
        assert refusal(api, "PUT", "/digest-policies/orders", policy) == (422, [part])


def test_the_preview_says_that_a_row_s_message_shows_nothing(api: Api) -> None:
    name = api.campaign(template={"subject": "Hi", "body": "<p>{{ name }}</p>", **FROM})
    rows = {"recipients": [{"email": "a@example.org", "name": ""}, {"email": "b@example.org", "name": "Ben"}]}
    assert api.call("PUT", f"/campaigns/{name}/recipients", rows).status == 202
    api.lists.read()
    errors = [api.call("GET", f"/campaigns/{name}/preview", query=f"row={row}").json["error"] for row in (1, 2)]
    assert errors == ["empty_message", None]
