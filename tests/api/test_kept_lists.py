"""Lists whose file is still kept: read again for another campaign, or for their own by other rules."""

from typing import Any

import pytest

from shared.engine.lists.kept import deleted_on
from tests.api.conftest import Api
from tests.api.test_erasing import PERSON, Bucket, bucket, erase

__all__ = ["bucket"]
DAY = 86_400
CSV = {"Content-Type": "text/csv"}
PEOPLE = "Report of May\n\nName,E-Mail,Kontakt\nAnn,ann@example.org,ann@work.example\nBob,bob@example.org,bob\n"


def listed(api: Api, data: str = PEOPLE, query: str = "") -> tuple[str, str]:
    """Return a campaign with a list that is read, and the list."""
    name = api.campaign()
    got = api.call("PUT", f"/campaigns/{name}/recipients", data, query=query, headers=CSV)
    assert got.status == 202, got.text
    api.lists.read()
    return name, got.json["upload_id"]


def again(api: Api, campaign: str, **body: Any) -> dict[str, Any]:
    got = api.call("POST", f"/campaigns/{campaign}/recipients", body)
    assert got.status == 202, got.text
    api.lists.read()
    found: dict[str, Any] = api.call("GET", f"/campaigns/{campaign}/uploads/{got.json['upload_id']}").json
    return found


def test_another_campaigns_list_is_read_anew_with_the_suppressions_of_now(api: Api) -> None:
    first, upload = listed(api, query="duplicates=drop&recipient_column=e-mail")
    api.sent(first)
    api.call("PUT", "/suppressions/ann@example.org", {})
    files = set(api.lists.files.items)
    found = again(api, api.campaign(), list_of=first)
    assert (found["state"], found["accepted"], found["skipped"]) == ("ready", 2, {"suppressed": 1})
    assert (found["header_row"], found["recipient_column"]) == (3, "E-Mail")
    added = set(api.lists.files.items) - files
    assert all(".marks/" in name for name in added), "the file itself is not copied"
    entries = api.call("GET", "/audit").json["items"]
    assert [x["data"]["file_of"] for x in entries if "file_of" in x["data"]] == [upload]


def test_a_list_is_read_again_by_another_row_and_column_without_another_upload(api: Api) -> None:
    name, first = listed(api)
    found = again(api, name, recipient_column="Kontakt")
    assert (found["accepted"], found["invalid"], found["recipient_column"]) == (1, 1, "Kontakt")
    assert [x["sheet_row"] for x in found["errors"]] == [5]
    assert api.call("GET", f"/campaigns/{name}/preview", query="sheet_row=4").json["recipient"] == "ann@work.example"
    back = again(api, name, upload_id=first)
    assert (back["accepted"], back["recipient_column"]) == (2, "E-Mail")


def test_a_list_that_had_no_column_of_recipients_is_read_once_its_row_and_column_are_named(api: Api) -> None:
    name, _ = listed(api, "Liste\nKunde,Adresse\nAnn,ann@example.org\n")
    assert api.call("POST", f"/campaigns/{name}/send").code == "no_list"
    found = again(api, name, header_row=2, recipient_column="Adresse")
    assert (found["state"], found["accepted"], found["header_row"]) == ("ready", 1, 2)


def test_a_list_of_a_list_has_the_first_ones_file_and_its_days(api: Api) -> None:
    first, _ = listed(api)
    put = api.world.clock.ms
    second, third = api.campaign(), api.campaign()
    api.world.clock.advance(2 * DAY)
    again(api, second, list_of=first)
    api.world.clock.advance(4 * DAY)
    assert again(api, third, list_of=second)["state"] == "ready"
    day = deleted_on(put, 7).isoformat()
    api.world.clock.advance(2 * DAY)
    for name in [x for x in api.lists.files.items if x.startswith("uploads/")]:
        del api.lists.files.items[name]
    for name in (second, third):
        refused = api.call("POST", f"/campaigns/{api.campaign()}/recipients", {"list_of": name})
        assert (refused.status, refused.code) == (409, "file_deleted")
        assert f"deleted on {day}, 7 days after its upload" in refused.text


def test_a_request_that_is_repeated_reads_one_list(api: Api) -> None:
    first, _ = listed(api)
    name = api.campaign()
    key = {"Idempotency-Key": "one"}
    got = [api.call("POST", f"/campaigns/{name}/recipients", {"list_of": first}, headers=key) for _ in range(2)]
    assert got[0].json == got[1].json
    assert [x.status for x in got] == [202, 202]
    other = api.call("POST", f"/campaigns/{name}/recipients", {"list_of": name}, headers=key)
    assert other.code == "idempotency_mismatch"


def test_the_lists_of_others_and_of_test_keys_are_not_there(api: Api) -> None:
    first, upload = listed(api)
    stranger = api.other()
    theirs = api.campaign(key=stranger)
    tests = api.test_key()
    for key, name in ((stranger, theirs), (tests, api.campaign(key=tests))):
        refused = api.call("POST", f"/campaigns/{name}/recipients", {"list_of": first}, key=key)
        assert (refused.status, refused.code) == (404, "not_found")
        refused = api.call("POST", f"/campaigns/{name}/recipients", {"upload_id": upload}, key=key)
        assert (refused.status, refused.code) == (404, "not_found")


@pytest.mark.parametrize("prepared", ["empty", "withdrawn", "awaited"])
def test_what_has_no_list_says_so(api: Api, prepared: str) -> None:
    name = api.campaign()
    if prepared == "withdrawn":
        name, upload = listed(api)
        assert api.call("DELETE", f"/campaigns/{name}/uploads/{upload}").status == 200
    elif prepared == "awaited":
        place = api.call("POST", f"/campaigns/{name}/uploads", {}).json["upload_id"]
        refused = api.call("POST", f"/campaigns/{name}/recipients", {"upload_id": place})
        assert refused.code == "upload_missing"
    assert api.call("POST", f"/campaigns/{api.campaign()}/recipients", {"list_of": name}).code == "no_list"


def test_a_campaign_of_another_channel_finds_its_own_column(api: Api) -> None:
    first, _ = listed(api, "email,phone\nann@example.org,+33612345678\n", query="recipient_column=email")
    texts = api.campaign(channel="sms", template={"body": "Hello"})
    assert again(api, texts, list_of=first)["recipient_column"] == "phone"


@pytest.mark.slow
def test_erasing_a_person_removes_the_file_that_a_list_shares(api: Api, bucket: Bucket) -> None:
    """The first list could not be read, so none of its rows leads to its file."""
    first, upload = listed(api, f"Liste\nKunde,Adresse\nAnn,{PERSON}\n")
    second = api.campaign()
    found = again(api, second, list_of=first, header_row=2, recipient_column="adresse")
    assert found["state"] == "ready"
    bucket.put(f"uploads/{api.account}/{first}/{upload}")
    bucket.put(f"uploads/{api.account}/{second}/{found['upload_id']}.marks/00000")
    bucket.put(f"uploads/{api.account}/{first}/{second}")
    erase(api, bucket)
    assert bucket.names() == {f"uploads/{api.account}/{first}/{second}"}
