"""Campaigns over the API: drafts, lists, and what they say."""

from typing import Any

import pytest

from functions.api.uploads.routes import CSV, FILE, WORKBOOKS
from shared.adapters.dynamo import keys
from tests.api.conftest import SENDER, Api
from tests.fakes.clock import FakeClock

SAID = {"from": SENDER, "subject": "Hello {{ name }}", "body": "<p>Dear {{ name }}</p>"}


def get(api: Api, campaign: str, rest: str = "", **more: Any) -> Any:
    """Return what a campaign's resource says."""
    got = api.call("GET", f"/campaigns/{campaign}{rest}", **more)
    assert got.status == 200, got.text
    return got.json


# Drafts


def test_a_campaign_is_made_as_it_is_asked_for(api: Api) -> None:
    got = api.call("POST", "/campaigns", {"name": "October", "channel": "email", "template": SAID})
    assert got.status == 201
    name = got.json["campaign_id"]
    assert got.headers["location"] == f"/campaigns/{name}"
    assert get(api, name) == got.json
    assert (got.json["state"], got.json["credential_id"], got.json["variables"]) == ("draft", "one", ["name"])
    assert (got.json["unsubscribe"], got.json["bounce_guard"], got.json["test"]) == (True, True, False)
    assert got.json["template"] == {
        "subject": "Hello {{ name }}",
        "body": "<p>Dear {{ name }}</p>",
        "text": None,
        "from": SENDER,
        "reply_to": None,
        "speech": None,
    }


def test_a_text_goes_through_the_first_credential_for_texts(api: Api) -> None:
    name = api.campaign(channel="sms", template={"body": "Hi {{ name }}"})
    found = get(api, name)
    assert (found["credential_id"], found["unsubscribe"], found["template"]["from"]) == ("texts", False, None)


@pytest.mark.parametrize(
    ("changes", "status", "code", "fields"),
    [
        ({"channel": "voice"}, 422, "no_route", ["credential_id"]),
        ({"channel": "pigeon"}, 422, "validation_failed", ["channel"]),
        ({"credential_id": "nothing"}, 404, "credential_not_found", ["credential_id"]),
        ({"credential_id": "theirs"}, 404, "credential_not_found", ["credential_id"]),
        ({"credential_id": "texts"}, 422, "validation_failed", ["credential_id"]),
        ({"template": None}, 422, "validation_failed", [""]),
        ({"template_id": "x"}, 422, "validation_failed", [""]),
        ({"template": None, "template_id": "x"}, 404, "not_found", []),
        ({"template": SAID | {"from": "me@elsewhere.org"}}, 422, "from_not_allowed", ["template.from"]),
        ({"template": SAID | {"from": "nonsense"}}, 422, "validation_failed", ["template.from"]),
        ({"template": {"body": "x"}}, 422, "validation_failed", ["template.subject"]),
        ({"channel": "sms", "template": {"body": "x", "subject": "y"}}, 422, "validation_failed", ["template.subject"]),
        ({"channel": "sms", "template": {"body": "x", "from": "+1"}}, 422, "validation_failed", ["template.from"]),
        ({"name": "a\nb"}, 422, "validation_failed", ["name"]),
    ],
)
def test_what_is_wrong_with_a_campaign_is_said_and_nothing_is_stored(
    api: Api, changes: dict[str, Any], status: int, code: str, fields: list[str]
) -> None:
    before = api.stored()
    body = {"name": "October", "channel": "email", "template": SAID, **changes}
    got = api.call("POST", "/campaigns", {k: v for k, v in body.items() if v is not None})
    assert (got.status, got.code, got.fields) == (status, code, fields)
    assert api.stored() == before


def test_a_template_that_is_refused_says_where(api: Api) -> None:
    body = {"name": "x", "channel": "email", "template": SAID | {"subject": "{{a.b}}", "body": "<p>\n {{#x}}</p>"}}
    got = api.call("POST", "/campaigns", body)
    assert (got.status, got.code) == (422, "invalid_template")
    subject, html = got.json["errors"]
    assert (subject["field"], subject["code"], subject["offset"]) == ("template.subject", "invalid_name", 0)
    assert (html["field"], html["code"], html["line"], html["column"]) == ("template.body", "no_sections", 2, 2)
    assert html["message"]


@pytest.mark.promise(7)
def test_a_repeated_campaign_is_made_once(api: Api) -> None:
    body = {"name": "October", "channel": "email", "template": SAID}
    first = api.call("POST", "/campaigns", body, headers={"Idempotency-Key": "k"})
    again = api.call("POST", "/campaigns", body, headers={"Idempotency-Key": "k"})
    assert (again.status, again.text, again.headers["idempotency-replayed"]) == (201, first.text, "true")
    other = api.call("POST", "/campaigns", body | {"name": "x"}, headers={"Idempotency-Key": "k"})
    assert (other.status, other.code) == (422, "idempotency_mismatch")
    assert len(api.call("GET", "/campaigns").json["items"]) == 1


def test_lists_of_campaigns_go_by_age_and_by_kind_of_key(api: Api, clock: FakeClock) -> None:
    names = []
    for i in range(3):
        clock.advance(1)
        names.append(api.campaign(name=str(i)))
    tried = api.campaign(key=api.test_key())
    first = api.call("GET", "/campaigns", query={"limit": 2}).json
    assert [x["campaign_id"] for x in first["items"]] == [names[2], names[1]]
    rest = api.call("GET", "/campaigns", query={"cursor": first["next_cursor"]}).json
    assert ([x["campaign_id"] for x in rest["items"]], rest["next_cursor"]) == ([names[0]], None)
    tests = api.call("GET", "/campaigns", key=api.test_key()).json["items"]
    assert [(x["campaign_id"], x["credential_id"], x["test"]) for x in tests] == [(tried, "test", True)]


@pytest.mark.promise(9)
def test_a_test_key_s_campaign_is_no_live_key_s_and_the_other_way_round(api: Api) -> None:
    live, tried = api.campaign(), api.campaign(key=api.test_key())
    assert api.call("GET", f"/campaigns/{live}", key=api.test_key()).code == "not_found"
    assert api.call("GET", f"/campaigns/{tried}").code == "not_found"
    assert api.call("POST", f"/campaigns/{tried}/send").code == "not_found"


def test_settings_change_as_long_as_no_list_is_read(api: Api) -> None:
    name = api.campaign()
    got = api.call("PATCH", f"/campaigns/{name}", {"name": "November", "credential_id": "two", "unsubscribe": False})
    assert got.status == 200
    assert (got.json["name"], got.json["credential_id"], got.json["unsubscribe"]) == ("November", "two", False)
    assert get(api, name) == got.json
    assert api.call("PATCH", f"/campaigns/{name}", {"channel": "sms"}).status == 422
    assert api.call("PATCH", f"/campaigns/{name}", {"credential_id": "theirs"}).code == "credential_not_found"
    api.listed(name)
    got = api.call("PATCH", f"/campaigns/{name}", {"credential_id": "one"})
    assert (got.status, got.code) == (409, "campaign_has_list")
    assert api.call("PATCH", f"/campaigns/{name}", {"name": "December"}).json["name"] == "December"


def test_nothing_changes_while_a_list_is_read(api: Api) -> None:
    name = api.campaign()
    body = {"recipients": [{"recipient": "a@example.org", "name": "Ann"}]}
    assert api.call("PUT", f"/campaigns/{name}/recipients", body).status == 202
    assert get(api, name)["state"] == "uploading"
    for method, rest, given in (
        ("PATCH", "", {"name": "x"}),
        ("PUT", "/template", SAID),
        ("DELETE", "", None),
        ("PUT", "/recipients", body),
        ("POST", "/uploads", {}),
        ("POST", "/send", {}),
    ):
        got = api.call(method, f"/campaigns/{name}{rest}", given)
        assert (got.status, got.code) == (409, "upload_in_progress"), (method, rest)
    api.lists.read()
    assert get(api, name)["state"] == "ready"


def test_a_campaign_whose_list_was_withdrawn_sends_nothing_and_can_be_deleted(api: Api) -> None:
    name = api.campaign()
    upload = api.listed(name)
    url = f"/campaigns/{name}/uploads/{upload}"
    assert api.call("DELETE", url, key=api.test_key()).code == "not_found"
    assert api.call("DELETE", url, key=api.other()).code == "not_found"
    got = api.call("DELETE", url)
    assert (got.status, got.json["state"], got.json["code"]) == (200, "failed", "withdrawn")
    assert api.call("DELETE", url).json == got.json
    assert api.call("GET", url).json["code"] == "withdrawn"
    assert api.call("POST", f"/campaigns/{name}/send", {}).code == "no_list"
    assert get(api, name)["state"] == "draft"
    assert api.call("DELETE", f"/campaigns/{name}").status == 200


def test_a_list_that_was_sent_is_not_withdrawn(api: Api) -> None:
    name = api.campaign()
    upload = api.listed(name)
    api.sent(name)
    assert api.call("DELETE", f"/campaigns/{name}/uploads/{upload}").code == "already_sent"
    assert api.call("DELETE", f"/campaigns/{name}/uploads/{'0' * 26}").code == "not_found"


def test_only_drafts_are_deleted(api: Api) -> None:
    name = api.campaign()
    assert api.call("DELETE", f"/campaigns/{name}").json == {"deleted": True}
    assert api.call("GET", f"/campaigns/{name}").code == "not_found"
    ready = api.campaign()
    api.listed(ready)
    assert api.call("DELETE", f"/campaigns/{ready}").code == "campaign_has_list"
    api.sent(ready)
    assert api.call("DELETE", f"/campaigns/{ready}").code == "campaign_sent"


# Lists


def test_a_list_is_uploaded_completed_and_read_with_its_problems(api: Api) -> None:
    name = api.campaign()
    place = api.call("POST", f"/campaigns/{name}/uploads", {"duplicates": "drop"})
    assert place.status == 201
    upload = place.json["upload_id"]
    assert (place.json["method"], place.json["headers"]) == ("PUT", {"Content-Type": "text/csv", "If-None-Match": "*"})
    url = f"/campaigns/{name}/uploads/{upload}"
    assert api.call("POST", f"{url}/complete").code == "upload_missing"
    csv = b"recipient,name\na@example.org,Ann\nnobody,Ben\na@example.org,Again\n"
    api.lists.files.items[f"uploads/{api.account}/{name}/{upload}"] = csv
    assert api.call("POST", f"{url}/complete", {"etag": '"other"'}).code == "etag_mismatch"
    assert api.call("GET", url).json["state"] == "waiting"
    assert [api.call("POST", f"{url}/complete").status for _ in range(2)] == [202, 202]
    api.lists.read()
    found = api.call("GET", url).json
    assert (found["state"], found["progress"], found["columns"]) == ("ready", 1.0, ["recipient", "name"])
    assert (found["rows"], found["accepted"], found["invalid"], found["duplicates"]) == (3, 1, 1, 1)
    assert [(e["row"], e["code"]) for e in found["errors"]] == [(2, "invalid_address"), (3, "duplicate")]
    assert [(e["sheet_row"], e["value"]) for e in found["errors"]] == [(3, "nobody"), (4, "a@example.org")]
    page = api.call("GET", url, query={"limit": 1}).json
    rest = api.call("GET", url, query={"cursor": page["next_cursor"]}).json
    assert ([e["row"] for e in page["errors"]], [e["row"] for e in rest["errors"]]) == ([2], [3])
    assert rest["next_cursor"] is None


def test_a_small_list_comes_as_csv_or_json(api: Api) -> None:
    name = api.campaign()
    csv = 'recipient,name\r\na@example.org,"Ann, too"\r\n'
    got = api.call("PUT", f"/campaigns/{name}/recipients", csv, headers={"Content-Type": "text/csv; charset=utf-8"})
    assert got.status == 202
    api.lists.read()
    assert get(api, name, "/preview")["subject"] == "Hello Ann, too"


def test_a_list_in_json_may_have_numbers(api: Api) -> None:
    name = api.campaign()
    api.listed(name, {"recipient": "b@example.org", "name": 7}, {"recipient": "c@example.org"})
    subjects = [get(api, name, "/preview", query={"row": i})["subject"] for i in (1, 2)]
    assert subjects == ["Hello 7", "Hello "]


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        ('{"recipients": []}', "application/json", "validation_failed"),
        ('{"recipients": [{"recipient": true}]}', "application/json", "validation_failed"),
        ("", "text/csv", "empty_file"),
        ("", "application/json", "malformed_json"),
        ("recipient\na@example.org", "text/plain", "unsupported_media_type"),
    ],
)
def test_a_list_that_is_none_is_refused(api: Api, body: str, kind: str, code: str) -> None:
    name = api.campaign()
    before = api.stored()
    got = api.call("PUT", f"/campaigns/{name}/recipients", body, headers={"Content-Type": kind})
    assert got.code == code
    kinds = " or ".join(("application/json", CSV, FILE, *WORKBOOKS))
    assert code != "unsupported_media_type" or got.json["detail"] == f"Send the body as {kinds}."
    assert api.stored() == before


def test_a_file_that_cannot_be_used_says_why_and_frees_the_campaign(api: Api) -> None:
    name = api.campaign()
    got = api.call("PUT", f"/campaigns/{name}/recipients", "name\nAnn\n", headers={"Content-Type": "text/csv"})
    api.lists.read()
    found = api.call("GET", f"/campaigns/{name}/uploads/{got.json['upload_id']}").json
    assert found["state"] == "failed"
    assert found["code"]
    assert get(api, name)["state"] == "draft"


@pytest.mark.slow
@pytest.mark.promise(7)
def test_a_repeated_list_is_read_once(api: Api) -> None:
    name = api.campaign()
    body = {"recipients": [{"recipient": "a@example.org", "name": "Ann"}]}
    key = {"Idempotency-Key": "k"}
    first = api.call("PUT", f"/campaigns/{name}/recipients", body, headers=key)
    again = api.call("PUT", f"/campaigns/{name}/recipients", body, headers=key)
    assert (again.status, again.text, again.headers["idempotency-replayed"]) == (202, first.text, "true")
    api.lists.read()
    api.sent(name)
    assert api.call("PUT", f"/campaigns/{name}/recipients", body, headers=key).text == first.text
    assert get(api, name)["state"] != "uploading"
    place = api.call("POST", f"/campaigns/{name}/uploads", {}, headers={"Idempotency-Key": "u"})
    assert api.call("POST", f"/campaigns/{name}/uploads", {}, headers={"Idempotency-Key": "u"}).text == place.text


def test_a_country_for_numbers_is_one(api: Api) -> None:
    name = api.campaign(channel="sms", template={"body": "Hi {{ name }}"})
    assert api.call("POST", f"/campaigns/{name}/uploads", {"region": "QQ"}).fields == ["region"]
    assert api.call("POST", f"/campaigns/{name}/uploads", {"region": "DE"}).status == 201


@pytest.mark.slow
def test_numbers_without_a_country_code_are_of_the_accounts_country(api: Api) -> None:
    rows = {"recipients": [{"recipient": "0151 23456789", "name": "Ann"}]}

    def read(query: str = "") -> tuple[int, int]:
        name = api.campaign(channel="sms", template={"body": "Hi {{ name }}"})
        got = api.call("PUT", f"/campaigns/{name}/recipients", rows, query=query)
        assert got.status == 202, got.text
        upload = got.json["upload_id"]
        api.lists.read()
        found = api.call("GET", f"/campaigns/{name}/uploads/{upload}").json
        return found["accepted"], found["invalid"]

    assert read() == (0, 1)
    api.services.accounts.set_region(api.account, "DE")
    assert read() == (1, 0)
    assert read("region=FR") == (0, 1)


def test_a_test_goes_to_a_number_of_the_accounts_country(api: Api) -> None:
    name = api.campaign(channel="sms", template={"body": "Hi"})
    body = {"recipient": "0151 23456789"}
    assert api.call("POST", f"/campaigns/{name}/test", body).fields == ["recipient"]
    api.services.accounts.set_region(api.account, "DE")
    job = api.call("POST", f"/campaigns/{name}/test", body).json["job_id"]
    assert api.call("GET", f"/batches/{job}/logs").json["items"][0]["recipient"] == "+4915123456789"


# What it says


def test_a_changed_template_says_what_its_list_lacks_and_cannot_be_sent_until_it_fits(api: Api) -> None:
    name = api.campaign()
    api.listed(name)
    got = api.call("PUT", f"/campaigns/{name}/template", SAID | {"body": "{{ City }} {{ name }} {{ age }}"})
    assert (got.status, got.json["missing"], got.json["state"]) == (200, ["city", "age"], "draft")
    assert got.json["variables"] == ["name", "city", "age"]
    refused = api.call("POST", f"/campaigns/{name}/send")
    assert (refused.status, refused.code, refused.fields) == (409, "missing_columns", ["city", "age"])
    assert api.call("GET", "/campaigns").json["items"][0]["state"] == "draft"
    back = api.call("PUT", f"/campaigns/{name}/template", SAID)
    assert (back.json["missing"], back.json["state"]) == ([], "ready")
    api.sent(name)


def test_a_campaign_says_what_a_stored_template_says(api: Api) -> None:
    made = api.call("POST", "/templates", {"name": "t", "channel": "email", **SAID}).json
    api.call("PUT", f"/templates/{made['template_id']}", SAID | {"subject": "Second"})
    name = api.campaign(template=None, template_id=made["template_id"], template_version=1)
    found = get(api, name)
    assert (found["template"]["subject"], found["template_version"]) == ("Hello {{ name }}", 1)
    got = api.call("PUT", f"/campaigns/{name}/template", {"template_id": made["template_id"]})
    assert (got.json["template"]["subject"], got.json["template_version"]) == ("Second", 2)
    got = api.call("PUT", f"/campaigns/{name}/template", SAID)
    assert (got.json["template_id"], got.json["template_version"]) == (None, None)


def test_a_preview_shows_a_row_or_example_values(api: Api) -> None:
    name = api.campaign(template=SAID | {"body": '<p>{{ name }}</p><a href="{{ unsubscribe_url }}">no more</a>'})
    shown = get(api, name, "/preview")
    assert (shown["row"], shown["subject"], shown["skip"], shown["error"]) == (None, "Hello name", None, None)
    assert api.call("GET", f"/campaigns/{name}/preview", query={"row": 1}).fields == ["row"]
    api.listed(name, {"recipient": "a@example.org", "name": "Ann"}, {"recipient": "b@example.org", "name": "<Ben>"})
    shown = get(api, name, "/preview", query={"row": 2})
    assert (shown["row"], shown["recipient"], shown["subject"]) == (2, "b@example.org", "Hello <Ben>")
    assert "<p>&lt;Ben&gt;</p>" in shown["html"]
    assert "<Ben>" in shown["text"]
    link = shown["headers"]["List-Unsubscribe"].strip("<>")
    assert link.startswith("https://mail.example.com/unsubscribe/")
    assert link in shown["html"]
    assert shown["sms"] is None
    assert api.call("GET", f"/campaigns/{name}/preview", query={"row": 3}).fields == ["row"]


@pytest.mark.slow
def test_a_preview_is_what_is_sent(api: Api) -> None:
    name = api.campaign()
    api.listed(name)
    shown = get(api, name, "/preview", query={"row": 1})
    api.sent(name)
    api.world.settle()
    sent = next(c for c in api.world.providers["one"].said if c.subject == shown["subject"])
    assert (sent.html, sent.text, sent.sender.address) == (shown["html"], shown["text"], shown["from"])
    assert {name for name, _ in sent.headers} == set(shown["headers"])


def test_a_preview_of_a_text_counts_its_segments(api: Api) -> None:
    name = api.campaign(channel="sms", template={"body": "Hi {{ name }} \u2019 \U0001f600"})
    shown = get(api, name, "/preview")["sms"]
    assert (shown["encoding"], shown["segments"]) == ("ucs2", 1)
    assert [(f["character"], f["instead"]) for f in shown["forcing"]] == [("\u2019", "'"), ("\U0001f600", None)]


@pytest.mark.slow
def test_a_test_message_is_a_separate_job(api: Api) -> None:
    name = api.campaign()
    key = {"Idempotency-Key": "k"}
    body = {"recipient": "Me <me@example.org>", "params": {"Name": "Ann"}}
    got = api.call("POST", f"/campaigns/{name}/test", body, headers=key)
    assert got.status == 202
    assert api.call("POST", f"/campaigns/{name}/test", body, headers=key).text == got.text
    api.world.jobs.append(got.json["job_id"])
    api.world.settle()
    (sent,), (said,) = api.world.oracle.taken, api.world.providers["one"].said
    assert (sent.address, said.subject) == ("me@example.org", "Hello Ann")
    job = api.call("GET", f"/jobs/{got.json['job_id']}").json
    assert (job["kind"], job["total"]) == ("batch", 1)
    assert get(api, name)["jobs"] == []
    assert api.call("POST", f"/campaigns/{name}/test", {"recipient": "nobody"}).fields == ["recipient"]
    api.call("PUT", "/suppressions/sup@example.org", {})
    assert api.call("POST", f"/campaigns/{name}/test", {"recipient": "sup@example.org"}).code == "no_valid_recipient"


def test_a_recipient_has_the_row_that_its_owner_sees_everywhere(api: Api) -> None:
    name = api.campaign()
    place = api.call("POST", f"/campaigns/{name}/uploads", {}).json
    csv = b"sep=,\nrecipient,name\na@example.org,Ann\nnobody,Kim\n\nb@example.org,Ben\n"
    api.lists.files.items[f"uploads/{api.account}/{name}/{place['upload_id']}"] = csv
    assert api.call("POST", f"/campaigns/{name}/uploads/{place['upload_id']}/complete").status == 202
    api.lists.read()
    path = f"/campaigns/{name}/preview"
    seen = [api.call("GET", path, query={"sheet_row": n}).json for n in range(1, 7)]
    assert [(x["row"], x["sheet_row"], x["recipient"]) for x in seen] == [
        *[(1, 3, "a@example.org")] * 3,
        *[(2, 6, "b@example.org")] * 3,
    ]
    second = api.call("GET", path, query={"row": 2}).json
    assert (second["sheet_row"], second["recipient"]) == (6, "b@example.org")
    assert api.call("GET", path, query={"sheet_row": 7}).fields == ["sheet_row"]
    assert api.call("GET", path, query={"sheet_row": 3, "row": 1}).fields == ["sheet_row"]
    job = api.sent(name)
    assert [x["row"] for x in api.call("GET", f"/campaigns/{name}/messages").json["items"]] == [3, 6]
    assert [x["row"] for x in api.call("GET", f"/jobs/{job}/logs").json["items"]] == [3, 6]
    batch = api.accepted()
    assert [x["row"] for x in api.call("GET", f"/jobs/{batch}/logs").json["items"]] == [None]
    assert api.call("GET", f"/campaigns/{name}/export").status == 202
    api.lists.export()
    found = api.lists.files.items[api.lists.exported(name)].decode("utf-8-sig").splitlines()
    assert [line.rpartition(",")[2] for line in found] == ["row", "3", "6"]


def test_a_list_that_an_earlier_version_has_read_is_counted_by_recipients(api: Api) -> None:
    name = api.campaign()
    upload = api.listed(name)
    api.client.update_item(
        TableName=api.tables.records,
        Key=keys.chunk(upload, 0),
        UpdateExpression="REMOVE #rows",
        ExpressionAttributeNames={"#rows": "rows"},
    )
    got = api.call("GET", f"/campaigns/{name}/preview", query={"sheet_row": 3}).json
    assert (got["row"], got["sheet_row"]) == (2, None)
    api.sent(name)
    assert [x["row"] for x in api.call("GET", f"/campaigns/{name}/messages").json["items"]] == [None, None]
