"""Lists as other programs write them: names of columns, separators, and what a strict upload refuses."""

import io
from typing import Any

import pytest
from openpyxl import Workbook

from functions.api.uploads.routes import FILE, WORKBOOKS
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.adapters.dynamo.erasure.scanned import unshown
from tests.api.conftest import Api
from tests.api.test_http import as_gateway

CSV = {"Content-Type": "text/csv"}


def taken(api: Api, name: str, body: Any, query: str = "", **headers: str) -> dict[str, Any]:
    """Return what is found in a list that a request brings."""
    got = api.call("PUT", f"/campaigns/{name}/recipients", body, query=query, headers=headers)
    assert got.status == 202, got.text
    api.lists.read()
    found: dict[str, Any] = api.call("GET", f"/campaigns/{name}/uploads/{got.json['upload_id']}").json
    return found


@pytest.mark.parametrize("data", ["E-Mail;Name\na@example.org;Ann\n", "Name\tto\nAnn\ta@example.org\n"])
def test_a_list_of_another_program_is_sent_as_it_is(api: Api, data: str) -> None:
    name = api.campaign()
    found = taken(api, name, data, **CSV)
    assert (found["state"], found["accepted"], found["missing"]) == ("ready", 1, [])
    shown = api.call("GET", f"/campaigns/{name}/preview").json
    assert (shown["recipient"], shown["subject"]) == ("a@example.org", "Hello Ann")


def test_the_column_of_recipients_is_also_a_value(api: Api) -> None:
    name = api.campaign(template={"subject": "For {{ email }}", "body": "{{ recipient }}", "from": "news@example.com"})
    found = taken(api, name, {"recipients": [{"email": "Ann <a@example.org>"}]})
    assert (found["columns"], found["missing"]) == (["email"], [])
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "For a@example.org"


def test_rows_that_lack_a_value_of_the_message_are_counted_before_it_is_sent(api: Api) -> None:
    body = "{{ city }} {{ recipient }} {{ unsubscribe_url }}"
    name = api.campaign(template={"subject": "Hi {{ name }}", "body": body})
    people = (
        "a@example.org,Ann,X,",
        "",
        "b@example.org,,X,",
        "c@example.org,  ,X,",
        "no address,,,",
        "d@example.org,Dan,,",
    )
    rows = "\n".join(("recipient,name,city,other", *people))
    api.call("PUT", "/suppressions/d@example.org", {})
    found = taken(api, name, rows, **CSV)
    assert found["empty_values"] == [{"variable": "name", "rows": 2, "first_rows": [4, 5]}]
    changed = {"subject": "Hi", "body": "{{ other }}", "from": "news@example.com"}
    assert api.call("PUT", f"/campaigns/{name}/template", changed).status == 200
    path = f"/campaigns/{name}/uploads/{found['upload_id']}"
    assert api.call("GET", path).json["empty_values"] == [{"variable": "other", "rows": 3, "first_rows": [2, 4, 5]}]


def test_a_list_that_is_not_read_has_no_empty_values_yet(api: Api) -> None:
    name = api.campaign()
    place = api.call("POST", f"/campaigns/{name}/uploads", {}).json
    assert api.call("GET", f"/campaigns/{name}/uploads/{place['upload_id']}").json["empty_values"] is None


def test_a_column_fills_the_placeholder_that_is_written_like_it(api: Api) -> None:
    said = {"subject": "Hi {{ first_name }}", "body": "{{ prenom }}", "from": "news@example.com"}
    name = api.campaign(template=said)
    found = taken(api, name, "Email Address,First Name,Pr\u00e9nom\na@example.org,Ann,Anne\n", **CSV)
    assert (found["columns"], found["missing"]) == (["email_address", "first_name", "prenom"], [])
    shown = api.call("GET", f"/campaigns/{name}/preview").json
    assert (shown["recipient"], shown["subject"], shown["text"]) == ("a@example.org", "Hi Ann", "Anne")
    trial = {"recipient": "b@example.org", "params": {"First Name": "Bob", "prenom": "B"}}
    assert api.call("POST", f"/campaigns/{name}/test", trial).status == 202


def test_two_columns_written_like_a_placeholder_are_named_before_anything_is_sent(api: Api) -> None:
    name = api.campaign(template={"subject": "Hi {{ first_name }}", "body": "Hi", "from": "news@example.com"})
    rows = {"recipients": [{"email": "a@example.org", "First Name": "Ann", "first-name": "Anne"}]}
    assert taken(api, name, rows)["missing"] == ["first_name"]
    refused = api.call("POST", f"/campaigns/{name}/send")
    assert (refused.status, refused.code, refused.fields) == (409, "missing_columns", ["first_name"])
    assert "`first name`, `first-name` can each be the column `first_name`" in refused.text
    rows["recipients"][0]["first_name"] = "Anna"
    assert taken(api, name, rows)["missing"] == []
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "Hi Anna"


@pytest.mark.slow
def test_the_owner_names_the_column_in_both_ways(api: Api) -> None:
    name = api.campaign(channel="sms", template={"body": "Hi"})
    rows = {"recipients": [{"work": "+33612345678", "home": "+33612345679"}]}
    assert taken(api, name, rows)["code"] == "missing_recipient"
    assert taken(api, name, rows, "recipient_column=Home")["accepted"] == 1
    assert api.call("GET", f"/campaigns/{name}/preview").json["recipient"] == "+33612345679"
    place = api.call("POST", f"/campaigns/{name}/uploads", {"recipient_column": "Work", "strict": True}).json
    blob = f"uploads/{api.account}/{name}/{place['upload_id']}"
    api.lists.files.items[blob] = b"home,work\n+33612345678,nobody\n"
    api.call("POST", f"/campaigns/{name}/uploads/{place['upload_id']}/complete", {})
    api.lists.read()
    found = api.call("GET", f"/campaigns/{name}/uploads/{place['upload_id']}").json
    assert (found["code"], found["detail"][:20]) == ("invalid_row", "Row 2 cannot be used")
    assert api.call("POST", f"/campaigns/{name}/uploads", {"recipient_column": ""}).fields == ["recipient_column"]


@pytest.mark.slow
def test_a_file_that_was_sent_before_is_named_to_the_same_keys_only(api: Api) -> None:
    sha = {"sha256": "ab" * 32}

    def place(campaign: str, key: str = "", **more: Any) -> dict[str, Any]:
        body = {**sha, **more}
        found: dict[str, Any] = api.call("POST", f"/campaigns/{campaign}/uploads", body, key=key or None).json
        return found

    name = api.campaign()
    first = place(name)
    assert first["sent_before"] is None
    api.lists.files.items[f"uploads/{api.account}/{name}/{first['upload_id']}"] = b"email,name\na@example.org,A\n"
    api.call("POST", f"/campaigns/{name}/uploads/{first['upload_id']}/complete", {})
    api.lists.read()
    other = api.campaign()
    assert place(other)["sent_before"] is None, "it is not sent"
    assert api.call("POST", f"/campaigns/{name}/send", {}).status == 202
    found = place(other)["sent_before"]
    assert (found["campaign_id"], found["upload_id"]) == (name, first["upload_id"])
    assert place(other, sha256="cd" * 32)["sent_before"] is None
    tests = api.test_key()
    assert place(api.campaign(key=tests), tests)["sent_before"] is None
    assert api.call("POST", f"/campaigns/{other}/uploads", {"sha256": "AB"}).fields == ["sha256"]


@pytest.mark.slow
def test_bad_values_are_shown_until_the_person_is_erased(api: Api) -> None:
    name = api.campaign()
    rows = ["", "ann@example.org;x", "Ben ben@@example.org", "x" * 101, "ann.b@example.org,", "eve@example.org"]
    data = "email\n" + "".join(f'"{row}"\n' for row in rows)
    errors = taken(api, name, data, **CSV)["errors"]
    shown = [(e["sheet_row"], e["value"]) for e in errors]
    assert shown == [(3, rows[1]), (4, rows[2]), (5, None), (6, rows[4])]
    eraser = Eraser(Dynamo(api.client), api.tables.records, lambda: None, "b", key="ann@example.org")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Eraser, "_files", lambda *_: None)
        eraser.scan("", lambda _after, _items: None)
    assert eraser.report.erased == {"refused rows blanked": 1}
    url = f"/campaigns/{name}/uploads/{api.call('GET', f'/campaigns/{name}').json['upload_id']}"
    after = [(e["sheet_row"], e["value"]) for e in api.call("GET", url).json["errors"]]
    assert after == [(3, None), (4, rows[2]), (5, None), (6, rows[4])]


@pytest.mark.parametrize(
    ("value", "key", "gone"),
    [
        ("+49 151 23456789 x", "+4915123456789", True),
        ("0151/23 45 67 89 office", "+4915123456789", True),
        ("0151/23 45 67 80 office", "+4915123456789", False),
        ("ANN@example.org ", "ann@example.org", True),
        ("ann@example.org.uk", "ann@example.org", False),
    ],
)
def test_a_person_is_found_in_a_bad_value(value: str, key: str, gone: bool) -> None:  # noqa: FBT001
    item = campaign_codec.shown_item([(2, value), (3, "other")])
    left, found = unshown(item, {key})
    assert found == gone
    assert campaign_codec.shown(left) == [(2, "erased" if gone else value), (3, "other")]
    assert unshown(left, {key}) == (left, 0)


def workbook(*hidden: str, sheet: str = "People") -> bytes:
    """Return a workbook with a person in a sheet, its second if that has a name, and with hidden ones."""
    book = Workbook()
    rows = book.create_sheet(sheet) if sheet else book.worksheets[0]
    rows.append(["Name", "E-Mail"])
    rows.append(["Ann", "a@example.org"])
    for row, address in enumerate(hidden, 3):
        rows.append(["Bob", address])
        rows.row_dimensions[row].hidden = True
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_workbook_is_taken_in_a_request(api: Api) -> None:
    name = api.campaign()
    event_path = f"/campaigns/{name}/recipients"
    got = as_gateway(api, workbook(), path=event_path, query="sheet=People", kind=WORKBOOKS[0], base64=True)
    assert got.status == 202, got.text
    api.lists.read()
    found = api.call("GET", f"/campaigns/{name}/uploads/{got.json['upload_id']}").json
    assert (found["state"], found["accepted"], found["columns"]) == ("ready", 1, ["name", "e_mail"])
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "Hello Ann"


@pytest.mark.parametrize(("query", "accepted"), [("", 1), ("&hidden_rows=drop", 1), ("&hidden_rows=keep", 3)])
def test_hidden_rows_of_a_workbook_are_counted_and_sent_only_if_asked_for(api: Api, query: str, accepted: int) -> None:
    name = api.campaign()
    book, path = workbook("b@example.org", "c@example.org"), f"/campaigns/{name}/recipients"
    got = as_gateway(api, book, path=path, query=f"sheet=People{query}", kind=WORKBOOKS[0], base64=True)
    api.lists.read()
    found = api.call("GET", f"/campaigns/{name}/uploads/{got.json['upload_id']}").json
    assert (found["rows"], found["accepted"], found["hidden_rows"]) == (accepted, accepted, 2)
    place = {"hidden_rows": "some"}
    assert api.call("POST", f"/campaigns/{name}/uploads", place).fields == ["hidden_rows"]


def test_a_place_for_a_workbook_is_signed_with_its_media_type(api: Api) -> None:
    name = api.campaign()
    body = {"content_type": WORKBOOKS[1], "sheet": "Nobody"}
    place = api.call("POST", f"/campaigns/{name}/uploads", body).json
    assert place["headers"] == {"Content-Type": WORKBOOKS[1], "If-None-Match": "*"}
    campaign = api.services.campaigns().campaigns.get(name)
    assert campaign is not None
    upload = api.services.campaigns().uploads.get(name, place["upload_id"])
    assert upload is not None
    api.lists.files.put(upload.blob, workbook())
    assert api.call("POST", f"/campaigns/{name}/uploads/{upload.id}/complete", {}).status == 202
    api.lists.read()
    found = api.call("GET", f"/campaigns/{name}/uploads/{upload.id}").json
    assert (found["state"], found["code"]) == ("failed", "no_such_sheet")
    assert found["detail"] == "The workbook has no sheet 'Nobody'; it has Sheet, People."
    assert api.call("POST", f"/campaigns/{name}/uploads", {"content_type": "application/zip"}).status == 422


@pytest.mark.slow
def test_a_list_in_another_encoding_is_read_in_the_one_that_is_named(api: Api) -> None:
    name = api.campaign()
    data = "Name;E-Mail\nZoë;a@example.org\n".encode("windows-1252")

    def uploaded(**options: str) -> Any:
        place = api.call("POST", f"/campaigns/{name}/uploads", options).json
        path = f"/campaigns/{name}/uploads/{place['upload_id']}"
        upload = api.services.campaigns().uploads.get(name, place["upload_id"])
        assert upload is not None
        api.lists.files.put(upload.blob, data)
        assert api.call("POST", f"{path}/complete", {}).status == 202
        api.lists.read()
        return api.call("GET", path).json

    refused = uploaded()
    assert (refused["state"], refused["code"]) == ("failed", "invalid_encoding")
    assert refused["detail"].startswith("Row 2 is not valid UTF-8")
    taken = uploaded(encoding="windows-1252")
    assert (taken["state"], taken["accepted"]) == ("ready", 1)
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "Hello Zoë"
    damaged = uploaded(encoding="utf-8")
    assert (damaged["state"], damaged["errors"][0]["code"]) == ("failed", "invalid_utf8")
    assert api.call("POST", f"/campaigns/{name}/uploads", {"encoding": "klingon"}).status == 422


@pytest.mark.slow
def test_a_list_in_a_request_is_read_in_the_encoding_that_is_named(api: Api) -> None:
    name = api.campaign()
    path = f"/campaigns/{name}/recipients"
    data = "Name;E-Mail\nZoë;a@example.org\n".encode("windows-1252")

    def put(query: str) -> Any:
        got = as_gateway(api, data, path=path, query=query, kind=FILE, base64=True)
        assert got.status == 202, got.text
        api.lists.read()
        return api.call("GET", f"/campaigns/{name}/uploads/{got.json['upload_id']}").json

    refused = put("")
    assert (refused["state"], refused["code"]) == ("failed", "invalid_encoding")
    damaged = put("encoding=utf-8")
    assert (damaged["state"], damaged["errors"][0]["code"]) == ("failed", "invalid_utf8")
    taken = put("encoding=windows-1252")
    assert (taken["state"], taken["accepted"]) == ("ready", 1)
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "Hello Zoë"
    got = as_gateway(api, workbook(), path=path, query="sheet=People", kind=FILE, base64=True)
    assert got.status == 202, got.text


@pytest.mark.parametrize("kind", ["text/csv", "application/json", WORKBOOKS[0]])
def test_another_encoding_is_only_of_bytes(api: Api, kind: str) -> None:
    path = f"/campaigns/{api.campaign()}/recipients"
    body = '{"recipients": [{"recipient": "a@example.org"}]}'
    got = api.call("PUT", path, body, headers={"Content-Type": kind}, query={"encoding": "windows-1252"})
    assert (got.status, got.fields) == (422, ["encoding"])
    assert "as application/octet-stream" in got.json["errors"][0]["message"]
    assert api.call("PUT", path, body, headers={"Content-Type": kind}, query={"encoding": "utf-8"}).status == 202
