"""Batches and campaigns with hours over the API: what is asked for, refused, and shown."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.domain.accounts import Scope
from tests.api.conftest import SENDER, Api
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
    assert (found["state"], found["waiting_for"], found["hours"]) == (
        "READY",
        "hours",
        {**hours, "days": None, "fallback": None},
    )
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
        ({"from": "09:00", "to": "20:00", "zone": "recipient"}, "fallback"),
        ({"from": "09:00", "to": "20:00", "zone": "UTC", "fallback": "UTC"}, "only then"),
        ({"from": "09:00", "to": "20:00", "zone": "recipient", "fallback": "Mars"}, "time zone is unknown"),
        ({"from": "09:00", "to": "20:00", "zone": "recipient", "fallback": "UTC"}, "tells no zone"),
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
    assert get(api, name)["hours"] == {**hours, "days": None, "fallback": None}
    weekend = {**later(clock, 3), "days": ["sat", "sun"]}
    changed = api.call("PATCH", f"/campaigns/{name}", {"hours": weekend})
    assert changed.json["hours"] == {**weekend, "fallback": None}
    assert api.call("PATCH", f"/campaigns/{name}", {"name": "Other"}).json["hours"] == {**weekend, "fallback": None}
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


OWN = {"from": "09:00", "to": "20:00", "zone": "recipient", "fallback": "UTC"}


def test_a_list_is_cut_by_the_zones_of_its_column(api: Api, clock: FakeClock) -> None:
    name = api.campaign(hours=OWN)
    rows = [(f"r{n}@example.org", zone) for n, zone in enumerate(("Asia/Tokyo", "Europe/Paris", "", "Asia/Tokyo"))]
    upload = api.listed(name, *({"recipient": who, "name": "x", "time_zone": zone} for who, zone in rows))
    api.call("POST", f"/campaigns/{name}/send", {})
    job = api.world.job(upload)
    assert (job.chunks, job.hours and job.hours.zones) == (3, ("", "Asia/Tokyo", "Europe/Paris"))
    chunks = [x for x in (api.world.records.chunk(upload, n) for n in range(3)) if x is not None]
    assert [(x.zone, [r.key for r in x.recipients]) for x in chunks] == [
        ("Asia/Tokyo", ["r0@example.org", "r3@example.org"]),
        ("Europe/Paris", ["r1@example.org"]),
        ("", ["r2@example.org"]),
    ]
    assert api.call("GET", f"/jobs/{upload}").json["hours"] == {**OWN, "days": None}


def test_a_row_of_an_unknown_zone_is_reported_and_not_sent(api: Api) -> None:
    name = api.campaign(hours=OWN)
    rows = [{"recipient": f"r{n}@example.org", "name": "x", "time_zone": z} for n, z in enumerate(("UTC", "Mars"))]
    upload = api.listed(name, *rows)
    found = api.call("GET", f"/campaigns/{name}/uploads/{upload}").json
    assert (found["accepted"], found["invalid"]) == (1, 1)
    assert [(x["row"], x["code"]) for x in found["errors"]] == [(2, "invalid_time_zone")]


def test_a_list_that_was_read_without_zones_is_not_sent_by_them(api: Api) -> None:
    name = api.campaign()
    api.listed(name)
    refused = api.call("PATCH", f"/campaigns/{name}", {"hours": OWN})
    assert (refused.status, refused.code) == (409, "campaign_has_list")


def test_a_digest_policy_keeps_its_hours(api: Api) -> None:
    hours = {"from": "09:00", "to": "20:00", "days": ["mon", "tue"], "zone": "Europe/Paris"}
    made = api.call("PUT", "/digest-policies/acme/", {"from": SENDER, "hours": hours})
    assert made.json["hours"] == {**hours, "fallback": None}
    assert api.call("GET", "/digest-policies/acme/").json["hours"] == {**hours, "fallback": None}
    assert api.call("PUT", "/digest-policies/acme/", {"from": SENDER}).json["hours"] is None
    refused = api.call("PUT", "/digest-policies/acme/", {"from": SENDER, "hours": OWN})
    assert (refused.status, refused.fields) == (422, ["hours.zone"])
