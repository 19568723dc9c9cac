"""Small lists as spreadsheets, mail programs and people write them, from the file to the message that is sent."""

from typing import Any, Final

import pytest

from functions.api.uploads.routes import FILE
from tests.api.conftest import Api
from tests.api.test_http import as_gateway

GREETED: Final = {"subject": "Hi {{ name }}", "body": "<p>Hi {{ name }}</p>", "from": "news@example.com"}
CONTACTS: Final = ["Title", "First Name", "E-mail Address", *(f"Business Street {n}" for n in range(88)), "Web Page"]
"""As many columns as a mail program's export of contacts has."""

LISTS: Final = {
    "last cells left out": (
        b"email,name,city\np1@example.com,N1,Paris\np2@example.com,N2,Paris\nq1@example.com,N1\nq2@example.com,N2\n",
        ["N1", "N2", "N1", "N2"],
    ),
    "spaces after commas": (
        b'email, name\nann@example.com, "Ann"\nbob@example.com, "Smith, Ann"\n',
        ["Ann", "Smith, Ann"],
    ),
    "invisible characters around addresses": (
        "email,name\n\u200bann@example.com,A\n\u200ebob@example.com,B\ncy@example.com\u2060,C\n"
        "\ufeffdan@example.com,D\neve@example.com\u2009,E\n\u3164flo@example.com\u2800,F\n".encode(),
        ["A", "B", "C", "D", "E", "F"],
    ),
    "rows of separators": (b"email,name\nann@example.com,Ann\n,\n,\n", ["Ann"]),
    "other names of columns": (b'"Email Address","NAME"\n"ann@example.com","Ann"\n', ["Ann"]),
}


def taken(api: Api, name: str, data: bytes, query: str = "") -> dict[str, Any]:
    """Return what is found in a file that a request brings."""
    got = as_gateway(api, data, path=f"/campaigns/{name}/recipients", query=query, kind=FILE, base64=True)
    assert got.status == 202, got.text
    api.lists.read()
    found: dict[str, Any] = api.call("GET", f"/campaigns/{name}/uploads/{got.json['upload_id']}").json
    return found


@pytest.mark.parametrize("case", LISTS)
@pytest.mark.parametrize("query", ["", "strict=true"])
def test_every_row_is_sent_as_it_is_meant(api: Api, case: str, query: str) -> None:
    data, names = LISTS[case]
    name = api.campaign(template=GREETED, unsubscribe=False)
    found = taken(api, name, data, query)
    assert (found["state"], found["accepted"], found["invalid"]) == ("ready", len(names), 0)
    shown = [api.call("GET", f"/campaigns/{name}/preview", query={"row": n + 1}) for n in range(len(names))]
    assert [x.json["subject"] for x in shown] == [f"Hi {said}" for said in names]


def test_an_export_of_contacts_is_a_list(api: Api) -> None:
    said = {**GREETED, "subject": "Hi {{ first_name }}", "body": "<p>Hello</p>"}
    row = ["Dr.", "Ann", "ann@example.com", *[""] * 88, ""]
    data = "\n".join(",".join(f'"{cell}"' for cell in cells) for cells in (CONTACTS, row)).encode()
    name = api.campaign(template=said, unsubscribe=False)
    found = taken(api, name, data)
    assert (len(CONTACTS), found["state"], found["accepted"]) == (92, "ready", 1)
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "Hi Ann"


def test_rows_without_the_name_that_is_greeted_are_told_before_sending(api: Api) -> None:
    name = api.campaign(template=GREETED, unsubscribe=False)
    found = taken(api, name, b"email,name\nann@example.com,Ann\nbob@example.com,\ncy@example.com,\n")
    assert (found["accepted"], found["empty_values"]) == (3, [{"variable": "name", "rows": 2, "first_rows": [3, 4]}])
    unseen = ["\u200b", "\u3164", "\u00a0\ufe0f", "\u00ad", "\u2764\ufe0f", "J\u00f6rg"]
    rows = "".join(f"{n}@example.com,{x}\n" for n, x in enumerate(unseen))
    found = taken(api, name, f"email,name\n{rows}".encode())
    assert found["empty_values"] == [{"variable": "name", "rows": 4, "first_rows": [2, 3, 4, 5]}]


def test_polish_names_of_a_spreadsheet_are_not_read_as_western(api: Api) -> None:
    data = b"email;name\r\nann@example.com;\xa3ukasz \xaf\xf3\xb3\xe6\r\n"
    name = api.campaign(template=GREETED, unsubscribe=False)
    refused = taken(api, name, data)
    assert (refused["state"], refused["code"]) == ("failed", "invalid_encoding")
    assert "windows-1252" not in refused["detail"].lower()
    found = taken(api, name, data, "encoding=windows-1250")
    assert (found["state"], found["accepted"]) == ("ready", 1)
    assert api.call("GET", f"/campaigns/{name}/preview").json["subject"] == "Hi \u0141ukasz \u017b\u00f3\u0142\u0107"


def test_numbers_that_take_no_texts_are_counted_before_sending(api: Api) -> None:
    numbers = ["+442079460018", "+449012345678", "+18002345678", "+447400123456", "+442079460019", "+12025550123"]
    api.call("PUT", "/suppressions/+442079460019", {})
    name = api.campaign(channel="sms", template={"body": "Hello"})
    found = taken(api, name, "\n".join(["phone", *numbers]).encode(), "region=GB")
    assert (found["accepted"], found["invalid"], found["skipped"]) == (5, 1, {"suppressed": 1})
    assert found["landlines"] == {"rows": 2, "first_rows": [2, 4]}
    assert (found["empty_values"], found["errors"][0]["sheet_row"]) == ([], 3)


@pytest.mark.parametrize(("channel", "told"), [("email", None), ("sms", {"rows": 0, "first_rows": []})])
def test_only_texts_count_them_once_the_list_is_read(api: Api, channel: str, told: Any) -> None:
    name = api.campaign(channel=channel, template=GREETED if channel == "email" else {"body": "Hello"})
    place = api.call("POST", f"/campaigns/{name}/uploads", {}).json
    assert api.call("GET", f"/campaigns/{name}/uploads/{place['upload_id']}").json["landlines"] is None
    data = b"email,name\na@example.org,Ann\n" if channel == "email" else b"phone\n+447400123456\n"
    assert taken(api, name, data)["landlines"] == told
