"""Lists of jobs, batches and mails by day, state, name and reference."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.api.jobs import narrowing
from tests.api.conftest import SENDER, Api
from tests.api.test_mails import raw
from tests.fakes.clock import FakeClock

DAY = 86_400


def post(api: Api, **more: Any) -> str:
    return api.accepted(("a@example.org",), **more)


def listed(api: Api, path: str, **query: str) -> list[str]:
    """Return the ids of all pages."""
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.call("GET", path, query={**query, **cursor}).json
        found += [x["job_id"] if path == "/jobs" else x["batch_id"] for x in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


@pytest.fixture
def jobs(api: Api, clock: FakeClock) -> list[str]:
    """Four batches on three days, oldest first."""
    found = [post(api, name="October news", reference="4711")]
    clock.advance(1)
    found.append(post(api, name="Receipts"))
    clock.advance(DAY)
    found.append(post(api, name="NOVEMBER NEWS"))
    clock.advance(DAY)
    return [*found, post(api, reference="4711")]


@pytest.mark.parametrize("limit", ["1", "2", "100"])
@pytest.mark.parametrize("path", ["/jobs", "/batches"])
def test_filters_narrow_a_list_over_all_its_pages(
    api: Api, clock: FakeClock, jobs: list[str], path: str, limit: str
) -> None:
    one, two, three, four = jobs
    today = datetime.fromtimestamp(clock.now(), UTC).date()
    yesterday, before = (str(today - timedelta(days=n)) for n in (1, 2))
    for query, wanted in (
        ({}, [four, three, two, one]),
        ({"reference": "4711"}, [four, one]),
        ({"name": "news"}, [three, one]),
        ({"name": "news", "reference": "4711"}, [one]),
        ({"state": "READY,ENQUEUED"}, [four, three, two, one]),
        ({"state": "LOGGED"}, []),
        ({"from": yesterday}, [four, three]),
        ({"to": yesterday}, [three, two, one]),
        ({"from": yesterday, "to": yesterday}, [three]),
        ({"to": before, "name": "receipts"}, [two]),
        ({"from": str(today + timedelta(days=1))}, []),
    ):
        assert listed(api, path, limit=limit, **query) == wanted, query


def test_a_page_reads_a_bounded_number_of_rows(api: Api, jobs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "PAGES", 2)
    asked = {"reference": "4711", "limit": "1"}
    page = api.call("GET", "/jobs", query=asked).json
    assert [x["job_id"] for x in page["items"]] == [jobs[3]]
    page = api.call("GET", "/jobs", query={**asked, "cursor": page["next_cursor"]}).json
    assert (page["items"], page["next_cursor"] is None) == ([], False)
    page = api.call("GET", "/jobs", query={**asked, "cursor": page["next_cursor"]}).json
    assert [x["job_id"] for x in page["items"]] == [jobs[0]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "2026-11-21", "to": "2026-11-20"}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"state": "DONE"}, "state.0"),
        ({"name": ""}, "name"),
        ({"reference": "x" * 200}, "reference"),
    ],
)
def test_a_wrong_filter_is_named(api: Api, query: dict[str, str], field: str) -> None:
    got = api.call("GET", "/jobs", query=query)
    assert got.status == 422
    assert [x["field"] for x in got.json["errors"]] == [field]


def test_mails_are_narrowed_by_reference_and_day(api: Api, clock: FakeClock) -> None:
    to = [("mail_from", SENDER), ("rcpt_to", "ann@example.org")]
    first = raw(api, query=[*to, ("reference", "4711")]).json["mail_id"]
    raw(api, query=to)
    clock.advance(DAY)
    last = raw(api, query=[*to, ("reference", "4711")]).json["mail_id"]
    today = datetime.fromtimestamp(clock.now(), UTC).date()
    for query, wanted in (
        ({"reference": "4711"}, [last, first]),
        ({"reference": "4711", "to": str(today - timedelta(days=1))}, [first]),
        ({"reference": "4711", "from": str(today)}, [last]),
        ({"reference": "4711", "state": "cleaned"}, []),
    ):
        found = api.call("GET", "/mails", query=query).json["items"]
        assert [x["mail_id"] for x in found] == wanted, query
