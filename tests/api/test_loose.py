"""Numbers that JSON does not have, and names that no table can hold."""

from urllib.parse import quote

import pytest

from tests.api.conftest import Api


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/batches", '{"from": "news@example.com", "to": "a@example.org", "subject": %s}'),
        ("/mails", '{"mail_from": "news@example.com", "metadata": {"ticket": %s}}'),
        ("/events", '{"event_type": "x", "batch_key": "a/b", "recipients": ["a@example.org"], "data": {"a": [%s]}}'),
        ("/v3/mail/send", '{"custom_args": {"a": %s}}'),
    ],
    ids=["batches", "mails", "events", "sendgrid"],
)
def test_a_number_that_json_does_not_have_is_refused_wherever_it_is(
    api: Api, path: str, body: str, number: str
) -> None:
    before = api.stored()
    got = api.call("POST", path, body % number)
    assert got.status == 400, got.text
    assert "NaN" in got.text or "Infinity" in got.text or "too large" in got.text
    assert api.stored() == before


def test_a_notifier_s_record_has_no_such_number_either(api: Api) -> None:
    login = api.notifier()
    got = api.basic("PUT", "/messages", login, '[{"id": "a", "action": "MESSAGE_NEW", "x": NaN}]')
    assert (got.status, got.code) == (400, "invalid_payload")


@pytest.mark.parametrize("letter", ["a", "é"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", f"/{x}/{{name}}") for x in ("digest-policies", "jobs", "templates", "hooks")),
        ("DELETE", "/digest-policies/{name}"),
        ("GET", "/digest-policies/{name}/preview"),
        ("DELETE", "/notifiers/{name}"),
    ],
)
def test_nothing_has_a_name_longer_than_a_key_of_a_table(api: Api, method: str, path: str, letter: str) -> None:
    got = api.call(method, path.format(name=quote(letter * 1_100)))
    assert (got.status, got.code) in {(404, "not_found"), (405, "method_not_allowed")}, got.text


@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_domain_that_is_too_long_is_no_domain(api: Api, letter: str) -> None:
    got = api.call("GET", f"/senders/{quote(letter * 1_100)}")
    assert (got.status, got.code) == (422, "validation_failed")
