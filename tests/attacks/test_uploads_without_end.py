"""An account opens places for files without end, or uses one for more than a file.

Then: 60 of 60 places for lists were given, and 60 of 60 for mails, and one URL took three files of 20 MB.
"""

from typing import Any

import pytest

from shared.ports import MAX_PLACES
from tests.api.conftest import SENDER, Api, Reply

ENVELOPE: dict[str, Any] = {"mail_from": SENDER, "destinations": [{"address": "ann@example.org"}]}
HOUR = 3600


def opened(api: Api, campaign: str = "", **more: Any) -> Reply:
    """Ask for a place for a list, or for a mail."""
    return api.call("POST", f"/campaigns/{campaign}/uploads" if campaign else "/mails/uploads", more)


@pytest.mark.promise(9)
def test_an_account_has_few_places_for_lists(api: Api) -> None:
    campaigns = [api.campaign() for _ in range(3)]
    made = [opened(api, campaigns[i % 3]) for i in range(MAX_PLACES + 2)]
    assert [x.status for x in made] == [201] * MAX_PLACES + [429] * 2
    refused = made[-1]
    assert refused.code == "too_many_uploads"
    assert int(refused.headers["retry-after"]) >= 1
    assert opened(api, api.campaign(key=api.test_key())).status == 404, "those of test keys are apart"
    assert opened(api, **ENVELOPE).status == 201, "and those of mails"


@pytest.mark.promise(9)
def test_withdrawing_a_list_without_a_file_frees_no_place(api: Api) -> None:
    campaign = api.campaign()
    for _ in range(MAX_PLACES):
        name = opened(api, campaign).json["upload_id"]
        assert api.call("DELETE", f"/campaigns/{campaign}/uploads/{name}").status == 200
    assert opened(api, campaign).status == 429, "its URL still takes a file"
    api.world.clock.advance(HOUR)
    assert opened(api, campaign).status == 201


def test_a_place_whose_file_is_there_is_free(api: Api) -> None:
    campaign = api.campaign()
    names = [opened(api, campaign).json["upload_id"] for _ in range(MAX_PLACES)]
    api.lists.files.put(f"uploads/{api.account}/{campaign}/{names[0]}", b"recipient,name\na@example.org,Ann\n")
    assert api.call("POST", f"/campaigns/{campaign}/uploads/{names[0]}/complete", {}).status == 202
    api.lists.read()
    assert [opened(api, campaign).status for _ in range(2)] == [201, 429]


@pytest.mark.promise(9)
def test_an_account_has_few_places_for_mails(api: Api) -> None:
    made = [opened(api, **ENVELOPE) for _ in range(MAX_PLACES + 1)]
    assert [x.status for x in made] == [201] * MAX_PLACES + [429]
    assert made[-1].code == "too_many_uploads"


def test_a_repeated_request_takes_no_further_place(api: Api) -> None:
    key = {"Idempotency-Key": "once"}
    made = [api.call("POST", "/mails/uploads", ENVELOPE, headers=key) for _ in range(MAX_PLACES + 1)]
    assert [x.status for x in made] == [201] * (MAX_PLACES + 1)
    assert [opened(api, **ENVELOPE).status for _ in range(MAX_PLACES)] == [201] * (MAX_PLACES - 1) + [429]


def test_a_url_is_for_one_file_whether_its_size_was_said_or_not(api: Api) -> None:
    for place in (opened(api, api.campaign()), opened(api, **ENVELOPE)):
        assert (place.status, place.json["headers"]["If-None-Match"]) == (201, "*")
        assert "size=" not in place.json["url"]
    for place in (opened(api, api.campaign(), size=123), opened(api, **ENVELOPE, size=123)):
        assert place.status == 201
        assert place.json["headers"]["If-None-Match"] == "*"
        assert "size=123" in place.json["url"]
    assert opened(api, api.campaign(), size=5_000_000_001).code == "validation_failed"
