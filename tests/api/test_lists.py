"""Lists as other programs write them: names of columns, separators, and what a strict upload refuses."""

from typing import Any

import pytest

from tests.api.conftest import Api

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
