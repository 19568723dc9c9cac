"""Updates by HTTP, as a notifier reads them."""

import json
from typing import Any

import pytest

from functions.api.examples.parts import whole
from functions.api.openapi import FILE
from shared.adapters.dynamo.notices.updates import log_actions
from shared.domain.notices.updates import UpdateEntry
from tests.api.conftest import Api, Reply
from tests.fakes.clock import FakeClock


@pytest.fixture
def login(api: Api) -> tuple[str, str]:
    return api.notifier()


def add(api: Api, clock: FakeClock, *names: str, notifier: str = "clinic", **changes: Any) -> None:
    entries = [
        UpdateEntry(notifier, f"{i:0>8}-0000-5000-8000-000000000000", name, clock.ms + i, "SUCCESS", **changes)
        for i, name in enumerate(names)
    ]
    api.client.transact_write_items(TransactItems=log_actions(api.tables.records, entries))


def read(api: Api, login: tuple[str, str], text: str) -> Reply:
    return api.basic("GET", f"/message_updates/{text}", login)


def test_a_notifier_reads_its_own_updates_in_its_zone(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    api.notifier("other")
    add(api, clock, "A-1", "A-2")
    add(api, clock, "theirs", notifier="other")
    clock.advance(60)
    got = read(api, login, "20260922001300-20260922010000")  # Sydney is ten hours ahead
    assert got.status == 200
    assert [x["id"] for x in got.json] == ["A-1", "A-2"]
    assert got.json[0] == {
        "id": "A-1",
        "status": "SUCCESS",
        "error": None,
        "message": None,
        "updated_at": "2026-09-22T00:13:20.000+10:00",
    }
    assert "link" not in got.headers
    assert read(api, login, "20260922001321-20260922010000").json == []
    assert api.call("GET", "/notifiers/clinic").json["last_status_at"] == "2026-09-21T14:14:20.000Z"


@pytest.mark.parametrize("text", ["20260922-20260923", "20260923-20260922", "x", "20260231-20260301", "-"])
def test_an_impossible_range_is_a_problem_and_closes_nothing(api: Api, login: tuple[str, str], text: str) -> None:
    before = api.stored()
    got = read(api, login, text)
    assert (got.status, got.code) == (400, "bad_range")
    assert api.stored() == before


def test_a_range_in_days_ends_today_at_the_latest(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    assert read(api, login, "20260921-20260922").status == 200
    assert read(api, login, "20260901-20260922").json == []


def test_a_long_answer_links_to_its_rest(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    for n in range(3):
        add(api, clock, *(f"A-{n}-{i}" for i in range(5)))
        clock.advance(1)
    clock.advance(60)
    reader = api.services.notices().updates
    reader._limit = 1000
    text, found = "20260922000000-20260923000000", []
    for _ in range(9):
        got = read(api, login, text)
        found += [x["id"] for x in got.json]
        if "link" not in got.headers:
            break
        text = got.headers["link"].removeprefix("<").removesuffix('>; rel="next"')
    assert found == [f"A-{n}-{i}" for n in range(3) for i in range(5)]


@pytest.mark.slow
def test_the_document_names_the_link() -> None:
    operation = whole(json.loads(FILE.read_text(encoding="utf-8")))["paths"]["/message_updates/{range}"]["get"]
    assert set(operation["responses"]["200"]["headers"]) == {"Link"}


def test_a_key_reads_no_updates(api: Api) -> None:
    got = api.call("GET", "/message_updates/20260920-20260921")
    assert (got.status, got.code) == (401, "unauthorized")
    assert got.headers["www-authenticate"].startswith("Basic ")


def test_an_owner_sees_the_updates_by_day(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    add(api, clock, "A-1", "A-2")
    clock.advance(86_400)
    add(api, clock, "A-3", action="MESSAGE_NEW", error="ALREADY_EXISTS")
    got = api.call("GET", "/notifiers/clinic/stats", query={"days": 2}).json
    assert (got["waiting"], got["waiting_notices"]) == (False, 0)
    today, yesterday = got["items"]
    assert (yesterday["date"], yesterday["success"], yesterday["rejected"]) == ("2026-09-21", 2, 0)
    assert (today["success"], today["rejected"], today["errors"]) == (0, 1, {"ALREADY_EXISTS": 1})
    assert api.call("GET", "/notifiers/clinic/stats", key=api.other()).code == "not_found"
