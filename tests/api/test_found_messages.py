"""GET /messages: did Ann get it?"""

from typing import Any

import pytest

from tests.api.conftest import SENDER, Api

ANN = "ann@example.com"


def posted(api: Api, *to: str, key: str | None = None, **changes: Any) -> str:
    """Post a batch, and return the id of its job."""
    body = {"from": SENDER, "to": list(to or (ANN,)), "subject": "Hello", "text": "Hi", **changes}
    got = api.call("POST", "/batches", body, key=key)
    assert got.status == 202, got.text
    job: str = got.json["job_id"]
    return job


def found(api: Api, key: str | None = None, **query: Any) -> list[tuple[str, str]]:
    """Return job and message of all that a search finds, page by page."""
    out: list[tuple[str, str]] = []
    cursor = None
    while True:
        got = api.call("GET", "/messages", query={**query, **({"cursor": cursor} if cursor else {})}, key=key)
        assert got.status == 200, got.text
        out += [(x["job_id"], x["message"]) for x in got.json["items"]]
        cursor = got.json["next_cursor"]
        if cursor is None:
            return out


def test_a_message_is_found_from_its_acceptance_on_and_after_it_was_sent(api: Api) -> None:
    job = posted(api, reference="order-1", tags=["receipt"], name="Order 1")
    before = api.call("GET", "/messages", query={"recipient": "Ann <ANN@Example.com>"}).json["items"]
    assert [(x["job_id"], x["state"]) for x in before] == [(job, "queued")]
    api.world.settle()
    (line,) = api.call("GET", "/messages", query={"recipient": ANN}).json["items"]
    assert line["state"] == "sent"
    assert (line["job_id"], line["message"], line["recipient"]) == (job, "0.0", ANN)
    assert (line["kind"], line["channel"], line["test"]) == ("batch", "email", False)
    assert (line["sender"], line["subject"], line["reference"], line["tags"]) == (
        SENDER,
        "Hello",
        "order-1",
        ["receipt"],
    )
    same = api.call("GET", f"/jobs/{line['job_id']}/logs/{line['message']}").json
    assert {k: line[k] for k in same} == same


def test_all_filters_hold_and_the_newest_is_first(api: Api) -> None:
    first = posted(api, ANN, "ben@example.com", reference="order-1", tags=["receipt"], route=["one"])
    api.world.settle()
    api.world.clock.advance(86_400)
    second = posted(api, ANN, reference="order-2", tags=["receipt", "paid"])
    assert found(api, recipient=ANN) == [(second, "0.0"), (first, "0.0")]
    assert found(api, reference="order-1") == [(first, "0.0"), (first, "0.1")]
    assert found(api, tag="receipt", recipient="ben@example.com") == [(first, "0.1")]
    assert found(api, tag="paid") == [(second, "0.0")]
    assert found(api, state="queued,sending") == [(second, "0.0")]
    assert found(api, recipient=ANN, state="sent") == [(first, "0.0")]
    assert found(api, reference="order-2", recipient="ben@example.com") == []
    days = [api.call("GET", f"/jobs/{x}").json["created_at"][:10] for x in (first, second)]
    assert found(api, to=days[0]) == [(first, "0.0"), (first, "0.1")]
    assert found(api, recipient=ANN, **{"from": days[1], "to": days[1]}) == [(second, "0.0")]
    assert found(api, limit=1) == [(second, "0.0"), (first, "0.0"), (first, "0.1")]
    lane = api.call("GET", f"/jobs/{first}/logs/0.0").json["attempts"][0]["credential_id"]
    assert (first, "0.0") in found(api, credential=lane)
    assert found(api, credential="nobodys") == []


def test_numbers_are_found_as_they_are_written(api: Api) -> None:
    body = {"channel": "sms", "to": ["+1 415 555 2671"], "text": "Your parcel is here.", "route": ["texts"]}
    job = api.call("POST", "/batches", body).json["job_id"]
    assert found(api, recipient="+14155552671") == [(job, "0.0")]
    assert found(api, recipient="+1 (415) 555-2671") == [(job, "0.0")]


def test_keys_find_what_they_may_see(api: Api) -> None:
    live = posted(api)
    test_key, _ = api.services.accounts.create_key(api.account, test=True)
    rehearsed = posted(api, key=test_key)
    assert sorted(found(api, recipient=ANN)) == sorted([(live, "0.0"), (rehearsed, "0.0")])
    assert found(api, recipient=ANN, key=test_key) == [(rehearsed, "0.0")]
    other = api.services.accounts.create_account("Other", ["example.com"])
    key, _ = api.services.accounts.create_key(other)
    assert found(api, recipient=ANN, key=key) == []


def test_a_scheduled_message_is_found_while_it_waits(api: Api) -> None:
    job = posted(api, scheduled_at="2026-12-01T09:00:00Z")
    assert found(api, recipient=ANN) == [(job, "0.0")]


def test_a_skipped_recipient_is_found_with_the_reason(api: Api) -> None:
    api.call("PUT", f"/suppressions/{ANN}", {"reason": "manual"})
    job = posted(api, ANN, "ben@example.com")
    (line,) = api.call("GET", "/messages", query={"recipient": ANN}).json["items"]
    assert (line["job_id"], line["state"], line["error"]) == (job, "skipped", "suppressed")
    assert line["suppression"] is not None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"recipient": "nobody at all"}, "recipient"),
        ({"recipient": ""}, "recipient"),
        ({"recipient": "0415 555 2671"}, "recipient"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"state": "lost"}, "state"),
        ({"tag": "x" * 65}, "tag"),
        ({"reference": "x" * 129}, "reference"),
        ({"limit": 101}, "limit"),
        ({"person": ANN}, "person"),
    ],
)
def test_what_is_not_valid_is_named(calm: Api, query: dict[str, Any], field: str) -> None:
    got = calm.call("GET", "/messages", query=query)
    assert (got.status, got.code) == (422, "validation_failed")
    assert any(x.startswith(field) for x in got.fields), got.text


def test_a_cursor_of_something_else_is_refused(calm: Api) -> None:
    got = calm.call("GET", "/messages", query={"cursor": "nonsense"})
    assert (got.status, got.code) == (400, "bad_cursor")


def test_the_ends_of_time_are_days(calm: Api) -> None:
    for query in ({"to": "9999-12-31"}, {"from": "0001-01-01"}, {"from": "9999-12-31"}):
        assert calm.call("GET", "/messages", query=query).status == 200


def test_an_account_without_pages_is_searched_by_its_jobs(api: Api) -> None:
    api.services.accounts.set_search(api.account, on=False)
    job = posted(api)
    api.world.settle()
    stored = api.services.records.job(job)
    assert stored is not None
    assert (stored.unsearched, stored.marks) == (True, b"")
    assert found(api, recipient=ANN) == [(job, "0.0")]
    api.services.accounts.set_search(api.account, on=True)
    api.world.clock.advance(120)
    later = posted(api)
    assert found(api, recipient=ANN) == [(later, "0.0"), (job, "0.0")]
