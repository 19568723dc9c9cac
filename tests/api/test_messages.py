"""Records of notifiers by HTTP: a payload is stored as a whole or not at all."""

import json
from typing import Any

import pytest

from shared.contracts import inbox
from shared.domain.notices.inbox import MAX_RECORDS, unpack
from tests.api.conftest import Api

RECORDS: list[dict[str, Any]] = [{"id": "a", "action": "NEW", "shoe_size": 43}, {"id": "b"}]


def inboxes(api: Api) -> list[dict[str, Any]]:
    """Return what is stored of inboxes."""
    return [x for x in api.stored() if x["sk"]["S"] == "INBOX" or x["sk"]["S"].startswith("P#")]


def test_a_payload_is_stored_numbered_and_pointed_to(api: Api) -> None:
    login = api.notifier()
    for n in (1, 2):
        got = api.basic("PUT", "/messages", login, RECORDS)
        assert (got.status, got.json) == (200, {"received": 2})
        assert len(api.inbox_queue.waiting) == n
    assert api.inbox_queue.waiting[0].body == inbox("clinic")
    state, first, second = sorted(inboxes(api), key=lambda x: x["sk"]["S"])
    assert state["last"] == {"N": "2"}
    assert unpack(first["body"]["B"]) == unpack(second["body"]["B"]) == RECORDS


def test_an_empty_payload_stores_nothing(api: Api) -> None:
    got = api.basic("PUT", "/messages", api.notifier(), [])
    assert (got.status, got.json) == (200, {"received": 0})
    assert inboxes(api) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        "",
        "nonsense",
        "null",
        "5",
        '"a"',
        [5],
        [[]],
        [{}],
        [{"id": 5}],
        [{"id": ""}],
        [{"id": "x" * 201}],
        [{"id": "a"}, {"action": "NEW"}],
        '[{"id": "\\ud800"}]',
        '[{"id": "a", "id": "b"}]',
        [{"id": "a"}] * (MAX_RECORDS + 1),
        "[" * 5000,
        '[{"id": "a"}] trailing',
    ],
)
def test_another_body_is_refused_and_nothing_of_it_kept(api: Api, body: Any) -> None:
    got = api.basic("PUT", "/messages", api.notifier(), body)
    assert (got.status, got.code) == (400, "invalid_payload")
    assert inboxes(api) == []
    assert api.inbox_queue.waiting == []


def test_a_payload_over_five_megabytes_is_refused(api: Api) -> None:
    got = api.basic("PUT", "/messages", api.notifier(), json.dumps([{"id": "a", "first_name": "x" * 5_300_000}]))
    assert (got.status, got.code) == (413, "too_large")
    assert inboxes(api) == []


def test_records_are_stored_whatever_their_fields_are(api: Api) -> None:
    odd = '[{"id": "a", "action": 1e400, "first_name": ' + "9" * 4000 + ', "phone_number": [{"a": null}]}]'
    assert api.basic("PUT", "/messages", api.notifier(), odd).status == 200
    (payload,) = (x for x in inboxes(api) if x["sk"]["S"] != "INBOX")
    (record,) = unpack(payload["body"]["B"])
    assert record["first_name"] == "9" * 4000
    assert record["phone_number"] == [{"a": None}]


def test_only_a_notifier_uploads(api: Api) -> None:
    name, password = api.notifier()
    for got in (
        api.call("PUT", "/messages", RECORDS),
        api.call("PUT", "/messages", RECORDS, key=""),
        api.basic("PUT", "/messages", (name, password[:-1] + "x"), RECORDS),
    ):
        assert got.status == 401
        assert "Basic" in got.headers["www-authenticate"]
    api.call("PATCH", "/notifiers/clinic", {"disabled": True})
    assert inboxes(api) == []
