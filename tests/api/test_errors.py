"""What a client reads of an error: our words, the field that was meant, what was looked for, where the code is told."""

import json
import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, urljoin

import pytest
from pydantic_core._pydantic_core import list_all_errors

from functions.api.error_page import TABLES
from infra.local.paths import ROOT
from shared.contracts.faults import ANYTHING_ELSE, OWN, PATTERNS, fault
from shared.web.problems import CODES
from tests.api.conftest import SENDER, Api
from tests.api.test_apart import BODIES, OPERATIONS

NAME: Final = "0" * 26
ABSENT: Final = {"address": "nobody@example.org", "domain": "gone.example", "message": "0.0", "prefix": "gone/"}
"""A parameter of a path that is no id → a name that nothing has."""
NAMED: Final = [
    (method, path)
    for method, path, operation in OPERATIONS
    if "404" in operation["responses"] and "{" in path and (method, path) != ("PUT", "/digest-policies/{prefix}")
]
"""Operations that name something; the one that is left out makes what it names."""


def message(api: Api, path: str, body: Any) -> str:
    """Return the sentence about the one wrong field of a request."""
    got = api.call("POST", path, body)
    assert got.status == 422, got.json
    (error,) = got.json["errors"]
    return str(error["message"])


@pytest.mark.parametrize(("method", "path"), NAMED, ids=lambda x: x)
def test_a_404_says_what_was_looked_for(calm: Api, method: str, path: str) -> None:
    first, *_ = re.findall(r"{(\w+)}", path)
    name = ABSENT.get(first, NAME)
    url = re.sub(r"{(\w+)}", lambda found: quote(ABSENT.get(found[1], NAME), safe=""), path)
    got = calm.call(method, url, BODIES.get((method, path)))
    assert got.status == 404, got.text
    assert f" {name} " in f" {got.json['detail']} ", got.text


def test_each_404_is_asked_for() -> None:
    assert {"/campaigns/{id}", "/mails/{mail_id}/destinations/{address}", "/guests/{address}"} <= {x for _, x in NAMED}
    assert len(NAMED) > 60


@pytest.mark.slow
def test_what_is_not_there_of_a_thing_is_named(calm: Api) -> None:
    job = calm.logged()
    found = calm.call("GET", f"/batches/{job}/logs/9.9").json["detail"]
    assert f"The batch {job} has no message 9.9." in found
    mail = calm.call("POST", "/mails", BODIES["POST", "/mails"]).json["mail_id"]
    for address in ("nobody@example.org", "nobody"):
        found = calm.call("DELETE", f"/mails/{mail}/destinations/{address}").json["detail"]
        assert f"no destination {address}." in found


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/batches", {"from": SENDER, "to": "a@example.org", "subject": "x", "text": "x"}, "route"),
        ("POST", "/campaigns", BODIES["POST", "/campaigns"], "credential_id"),
        ("PUT", "/digest-policies/{prefix}", {"from": SENDER}, "route"),
        ("POST", "/notifiers", {"name": "ward", "timezone": "UTC"}, "route.sms"),
    ],
)
def test_a_credential_that_is_not_there_is_named_once(
    calm: Api, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    wanted = {"route": ["gone"], "credential_id": "gone", "route.sms": {"sms": ["gone"]}}[field]
    got = calm.call(method, path.replace("{prefix}", "acme"), {**body, field.partition(".")[0]: wanted})
    assert (got.status, got.code) == (404, "credential_not_found")
    said = "No credential gone is open to this account. GET /credentials lists those that are."
    assert (got.json["detail"], got.json["errors"]) == (said, [{"field": field, "message": said}])


def test_a_credential_that_a_campaign_has_lost_is_named(calm: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = calm.campaign()
    calm.listed(campaign)
    credential = calm.call("GET", f"/campaigns/{campaign}").json["credential_id"]
    left = tuple(x for x in calm.services.settings.credentials if x.id != credential)
    monkeypatch.setattr(calm.services.intake, "_settings", replace(calm.services.settings, credentials=left))
    got = calm.call("POST", f"/campaigns/{campaign}/send", {})
    assert (got.code, got.json["detail"].startswith(f"No credential {credential} is ")) == (
        "credential_not_found",
        True,
    )


def test_a_sender_that_is_not_allowed_is_named_once_with_what_to_do(calm: Api) -> None:
    got = calm.call("POST", "/batches", {**calm.body(), "from": "Me <me@elsewhere.example>"})
    said = "This account may not send from me@elsewhere.example. Prove its domain, or ask an operator."
    assert (got.code, got.json["detail"]) == ("from_not_allowed", said)
    assert got.json["errors"] == [{"field": "from", "message": said}]


def test_a_404_repeats_no_long_or_strange_name(calm: Api) -> None:
    for strange in ("x" * 65, "a\x1b[2J"):
        assert "No such campaign in this account." in calm.call("GET", f"/campaigns/{strange}").json["detail"]
    assert "no path /campain" in calm.call("GET", "/campain").json["detail"]
    campaign = calm.campaign()
    assert f"No upload {NAME} in" in calm.call("GET", f"/campaigns/{campaign}/uploads/{NAME}").json["detail"]
    assert (
        "+12025550123 is not suppressed in the scope `sms`"
        in calm.call("GET", "/suppressions/+12025550123", query={"scope": "sms"}).json["detail"]
    )


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("sujbect", "subject"),
        ("Subject", "subject"),
        ("sender", "from"),
        ("recipients", "to"),
        ("replyTo", "reply_to"),
        ("send_at", "scheduled_at"),
    ],
)
def test_an_unknown_field_suggests_the_known_one(calm: Api, field: str, meant: str) -> None:
    said = message(calm, "/batches", {**calm.body(), field: "x"})
    assert said == f"This field is unknown here. Did you mean `{meant}`?"


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("Content", "data"),
        ("type", "content_type"),
        ("ContentType", "content_type"),
        ("Name", "filename"),
        ("cid", "content_id"),
    ],
)
def test_a_field_of_an_attachment_as_other_services_name_it_suggests_ours(calm: Api, field: str, meant: str) -> None:
    whole = {"filename": "a.txt", "content_type": "text/plain", "data": "QQ==", field: "x"}
    got = calm.batch(attachments=[whole])
    said = f"This field is unknown here. Did you mean `{meant}`?"
    assert got.json["errors"] == [{"field": f"attachments.0.{field}", "message": said}]


def test_a_suggestion_is_of_the_same_object(calm: Api) -> None:
    assert message(calm, "/batches", {**calm.body(), "zzz": 1}) == "This field is unknown here."
    files = [{"filename": "a.txt", "data": "aGk=", "contenttype": "text/plain"}]
    assert "`content_type`" in message(calm, "/batches", {**calm.body(), "attachments": files})
    said = {"subject": "Hi", "body": "Hi", "from": SENDER, "replyto": SENDER}
    assert "`reply_to`" in message(calm, "/campaigns", {"name": "x", "channel": "email", "template": said})
    got = calm.call("GET", "/campaigns", query={"limt": "3"})
    assert "`limit`" in got.json["errors"][0]["message"]


def test_html_is_another_name_of_body(api: Api) -> None:
    body = {**api.body(), "html": "<p>Hello</p>"}
    body.pop("body", None)
    job = api.call("POST", "/batches", body).json["batch_id"]
    content = api.world.records.content(job)
    assert content is not None
    assert content.html == "<p>Hello</p>"
    said = {"subject": "Hi", "html": "<p>{{ name }}</p>", "from": SENDER}
    made = api.call("POST", "/campaigns", {"name": "x", "channel": "email", "template": said}).json
    assert (made["template"]["body"], made["variables"]) == ("<p>{{ name }}</p>", ["name"])
    changed = api.call("PUT", f"/campaigns/{made['campaign_id']}/template", {**said, "html": "<p>New</p>"})
    assert changed.json["template"]["body"] == "<p>New</p>"
    stored = api.call("POST", "/templates", {"name": "x", "channel": "email", **said})
    assert stored.json["body"] == "<p>{{ name }}</p>"


def test_html_and_body_are_not_given_together(calm: Api) -> None:
    said = message(calm, "/batches", {**calm.body(), "body": "<p>a</p>", "html": "<p>a</p>"})
    assert said == "This field is unknown here. It is another name of `body`. Give one of them."


def test_no_sentence_of_a_library_is_shown() -> None:
    figures = {
        "min_length": 1,
        "max_length": 2,
        "gt": 1,
        "ge": 1,
        "lt": 1,
        "le": 1,
        "expected": "'a'",
        "multiple_of": 2,
    }
    for known in list_all_errors():
        kind = known["type"]
        said = fault({"type": kind, "msg": known["example_message_python"], "ctx": figures})
        assert bool(said) != (kind in OWN), kind
        assert not said or said not in known["example_message_python"], kind
    assert fault({"type": "string_pattern_mismatch", "ctx": {"pattern": "^x$"}}) == ANYTHING_ELSE


def test_each_pattern_has_words() -> None:
    document = (ROOT / "functions/api/openapi.json").read_text(encoding="utf-8")
    found = {json.loads(f'"{text}"') for text in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', document)}
    header = "^[!-~]([ -~]*[!-~])?$"
    assert found - {header} <= set(PATTERNS)


def test_a_problem_leads_to_its_row_on_the_page_that_is_served(calm: Api) -> None:
    problem = calm.call("GET", "/campaigns/x").json
    at = urljoin("https://api.example.com/campaigns/x", problem["type"])
    assert at == "https://api.example.com/errors#not_found"
    page = calm.call("GET", "/errors", key="")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    rows = re.findall(r'<tr id="([a-z0-9_]+)"><td>(\d{3})', page.text)
    assert rows == [(prefix + code, str(x)) for prefix, codes in TABLES.values() for code, (x, _) in codes.items()]
    assert len(rows) > len(CODES)


def test_a_list_that_waits_is_deleted_before_its_campaign(calm: Api) -> None:
    campaign = calm.campaign()
    calm.listed(campaign)
    got = calm.call("DELETE", f"/campaigns/{campaign}")
    assert (got.status, got.code) == (409, "campaign_has_list")
    assert "Delete the list first" in got.json["detail"]


@pytest.mark.parametrize("scope", ["send", "admin"])
def test_the_page_of_errors_says_what_each_scope_allows(scope: str) -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| `{scope}` \| (.+) \|$", page, re.MULTILINE)
    parts = {path.split("/")[1] for _, path, operation in OPERATIONS if operation.get("x-scope") == scope}
    assert len(parts) > 5
    assert not {part for part in parts if part.replace("-", " ") not in row}
