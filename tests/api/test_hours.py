"""Batches and campaigns with hours over the API: what is asked for, refused, and shown."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.domain.accounts import Scope
from tests.api.conftest import Api
from tests.api.test_campaigns import get
from tests.fakes.clock import FakeClock


def later(clock: FakeClock, hours: int = 2) -> dict[str, Any]:
    """Return hours that begin some hours from now, in UTC."""
    begin = datetime.fromtimestamp(clock.now(), UTC) + timedelta(hours=hours)
    return {"from": f"{begin:%H:%M}", "to": f"{begin + timedelta(hours=1):%H:%M}", "zone": "UTC"}


def test_a_batch_waits_for_its_hours_and_says_until_when(api: Api, clock: FakeClock) -> None:
    hours = later(clock)
    job = api.accepted(hours=hours)
    found = api.call("GET", f"/batches/{job}").json
    opens = datetime.fromisoformat(found["until"])
    assert (found["state"], found["waiting_for"], found["hours"]) == ("READY", "hours", {**hours, "days": None})
    assert f"{opens:%H:%M}" == hours["from"]
    assert found["scheduled_at"] is None
    api.world.run(seconds=60)
    assert api.world.oracle.taken == []
    clock.advance(opens.timestamp() - clock.now())
    api.world.settle()
    assert len(api.world.oracle.taken) == 1
    found = api.call("GET", f"/batches/{job}").json
    assert (found["waiting_for"], found["until"], found["scheduled_at"]) == (None, None, None)


def test_a_batch_without_hours_has_none(api: Api) -> None:
    found = api.call("GET", f"/batches/{api.accepted()}").json
    assert (found["hours"], found["until"]) == (None, None)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ({"from": "9:00", "to": "20:00", "zone": "UTC"}, "HH:MM"),
        ({"from": "09:00", "to": "24:30", "zone": "UTC"}, "HH:MM"),
        ({"from": "09:00", "to": "09:10", "zone": "UTC"}, "15 minutes"),
        ({"from": "09:00", "to": "20:00", "zone": "Europe/Atlantis"}, "time zone is unknown"),
        ({"from": "09:00", "to": "20:00", "zone": "UTC", "days": []}, "1 or more"),
        ({"from": "09:00", "to": "20:00", "zone": "UTC", "days": ["monday"]}, "mon"),
        ({"from": "09:00", "to": "20:00"}, "required"),
    ],
)
def test_hours_that_make_no_sense_are_refused(api: Api, hours: dict[str, Any], said: str) -> None:
    got = api.batch(hours=hours)
    assert (got.status, got.code) == (422, "validation_failed")
    assert all(field.startswith("hours") for field in got.fields)
    assert said in got.text


def test_a_campaign_keeps_its_hours_and_can_change_them(api: Api, clock: FakeClock) -> None:
    hours = later(clock)
    name = api.campaign(hours=hours)
    assert get(api, name)["hours"] == {**hours, "days": None}
    weekend = {**later(clock, 3), "days": ["sat", "sun"]}
    changed = api.call("PATCH", f"/campaigns/{name}", {"hours": weekend})
    assert changed.json["hours"] == weekend
    assert api.call("PATCH", f"/campaigns/{name}", {"name": "Other"}).json["hours"] == weekend
    assert api.call("PATCH", f"/campaigns/{name}", {"hours": "any"}).json["hours"] is None
    assert api.call("PATCH", f"/campaigns/{name}", {"hours": "never"}).status == 422


def test_a_campaigns_list_waits_for_its_hours(api: Api, clock: FakeClock) -> None:
    hours = later(clock)
    name = api.campaign(hours=hours)
    upload = api.listed(name)
    api.call("POST", f"/campaigns/{name}/send", {})
    found = api.call("GET", f"/jobs/{upload}").json
    assert (found["state"], found["waiting_for"], found["hours"]["from"]) == ("READY", "hours", hours["from"])
    api.call("PATCH", f"/campaigns/{name}", {"hours": "any"})
    assert api.call("GET", f"/jobs/{upload}").json["hours"] is not None  # what was sent keeps them
    clock.advance(datetime.fromisoformat(found["until"]).timestamp() - clock.now())
    api.world.jobs.append(upload)
    api.world.settle()
    assert len(api.world.oracle.taken) == 2


def test_a_list_that_its_hours_make_too_long_is_not_sent(api: Api, clock: FakeClock) -> None:
    short = {**later(clock), "days": ["mon"]}
    short["to"] = f"{datetime.strptime(short['from'], '%H:%M') + timedelta(minutes=15):%H:%M}"  # noqa: DTZ007
    name = api.campaign(hours=short)
    api.listed(name, *({"recipient": f"r{i}@example.org", "name": "x"} for i in range(1_500)))
    got = api.call("POST", f"/campaigns/{name}/send", {"rate": 0.1})
    assert (got.status, got.code) == (422, "takes_too_long")


def test_what_is_urgent_needs_its_own_scope(api: Api) -> None:
    assert api.batch(urgent=True).code == "missing_scope"
    key = api.scoped(Scope.SEND, Scope.READ, Scope.URGENT)
    got = api.call("POST", "/batches", api.body(urgent=True), key=key)
    assert got.status == 202
    assert api.world.job(got.json["job_id"]).urgent
    assert not api.world.job(api.accepted()).urgent
