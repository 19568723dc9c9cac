import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.domain.jobs.states import JobState
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock


def later(api: Api, clock: FakeClock, seconds: int, **changes: Any) -> str:
    when = datetime.fromtimestamp(clock.now() + seconds, UTC)
    return api.accepted(scheduled_at=when.isoformat(), **changes)


def test_jobs_that_wait_are_listed_soonest_first(api: Api, clock: FakeClock) -> None:
    jobs = {s: later(api, clock, s, name=f"in {s}") for s in (7200, 60, 3600)}
    api.accepted()
    found = api.call("GET", "/schedules").json
    assert [x["job_id"] for x in found["items"]] == [jobs[60], jobs[3600], jobs[7200]]
    assert [x["name"] for x in found["items"]] == ["in 60", "in 3600", "in 7200"]
    assert {x["waiting_for"] for x in found["items"]} == {"scheduled"}
    first = api.call("GET", "/schedules", query={"limit": 2}).json
    assert [x["job_id"] for x in first["items"]] == [jobs[60], jobs[3600]]
    rest = api.call("GET", "/schedules", query={"limit": 2, "cursor": first["next_cursor"]}).json
    assert ([x["job_id"] for x in rest["items"]], rest["next_cursor"]) == ([jobs[7200]], None)
    clock.advance(60)
    assert [x["job_id"] for x in api.call("GET", "/schedules").json["items"]] == [jobs[3600], jobs[7200]]


@pytest.mark.slow
def test_a_job_that_waits_is_taken_back(api: Api, clock: FakeClock) -> None:
    job = later(api, clock, 3600)
    assert list(api.world.scheduler.set_for) == [job]
    got = api.call("DELETE", f"/schedules/{job}")
    assert (got.status, got.json["job_id"], got.json["state"]) == (200, job, "STOPPED")
    assert api.world.scheduler.set_for == {}
    assert api.call("GET", "/schedules").json["items"] == []
    again = api.call("DELETE", f"/schedules/{job}")
    assert (again.status, again.json) == (200, got.json)
    api.world.settle()
    assert api.call("DELETE", f"/schedules/{job}").status == 200
    assert api.world.oracle.taken == []


@pytest.mark.slow
def test_a_job_that_was_taken_back_is_resumed_at_once(api: Api, clock: FakeClock) -> None:
    job = later(api, clock, 3600)
    api.call("DELETE", f"/schedules/{job}")
    got = api.call("POST", f"/jobs/{job}/resume")
    assert (got.status, got.json["state"]) == (200, "READY")
    clock.advance(3600)
    api.world.settle()
    assert len(api.world.oracle.taken) == 1


@pytest.mark.slow
def test_a_test_key_s_pages_are_full_and_name_no_live_job(api: Api, clock: FakeClock) -> None:
    key, jobs = api.test_key(), []
    for n in range(3):
        live = [later(api, clock, 100 * n + 10), api.accepted()]
        jobs.append(later(api, clock, 100 * n + 20, key=key))
        clock.advance(1)
    for path, wanted in (("/schedules", jobs), ("/jobs", jobs[::-1]), ("/batches", jobs[::-1])):
        seen, query = [], {"limit": "1"}
        while True:
            got = api.call("GET", path, query=query, key=key)
            seen += [x["job_id"] for x in got.json["items"]]
            if got.json["next_cursor"] is None:
                break
            assert len(got.json["items"]) == 1
            cursor = got.json["next_cursor"]
            plain = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            assert not any(name.encode() in plain for name in (*jobs, *live))
            query["cursor"] = cursor
            assert api.call("GET", path, query=query, key=api.other()).code == "bad_cursor"
        assert seen == wanted


def moment(clock: FakeClock, seconds: float) -> str:
    return datetime.fromtimestamp(clock.now() + seconds, UTC).isoformat()


@pytest.mark.parametrize("kind", ["jobs", "batches"])
def test_a_job_that_waits_gets_another_time_and_is_sent_now(api: Api, clock: FakeClock, kind: str) -> None:
    job, when = later(api, clock, 3600), moment(clock, 7200)
    got = api.call("POST", f"/{kind}/{job}/reschedule", {"scheduled_at": when, "instead_of": moment(clock, 3600)})
    assert (got.status, got.json["state"], got.json["waiting_for"]) == (200, "READY", "scheduled")
    assert datetime.fromisoformat(got.json["scheduled_at"]) == datetime.fromisoformat(when)
    assert [x["job_id"] for x in api.call("GET", "/schedules").json["items"]] == [job]
    wrong = api.call("POST", f"/{kind}/{job}/reschedule", {"scheduled_at": None, "instead_of": moment(clock, 3600)})
    assert (wrong.status, wrong.code) == (409, "schedule_changed")
    got = api.call("POST", f"/{kind}/{job}/reschedule", {"scheduled_at": None})
    assert (got.status, got.json["state"], got.json["scheduled_at"]) == (200, "ENQUEUED", None)
    api.world.settle()
    assert len(api.world.oracle.taken) == 1
    again = api.call("POST", f"/{kind}/{job}/reschedule", {"scheduled_at": None})
    assert (again.status, again.code) == (409, "already_started")


@pytest.mark.parametrize(
    "body", [{}, {"scheduled_at": "tomorrow"}, {"scheduled_at": "2020-01-01T00:00:00Z"}, {"scheduled_at": "now"}]
)
def test_a_time_that_is_none_changes_nothing(api: Api, clock: FakeClock, body: dict[str, str]) -> None:
    job = later(api, clock, 3600)
    before = api.world.job(job)
    got = api.call("POST", f"/jobs/{job}/reschedule", body)
    assert (got.status, got.fields) == (422, ["scheduled_at"])
    assert api.world.job(job) == before


def test_all_lists_of_a_campaign_that_wait_get_the_time(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    jobs = []
    for seconds in (3600, 7200):
        api.listed(name)
        jobs.append(api.sent(name, scheduled_at=moment(clock, seconds)))
    path = f"/campaigns/{name}/reschedule"
    got = api.call("POST", path, {"scheduled_at": moment(clock, 600)})
    assert (got.status, [x["job_id"] for x in got.json["jobs"]]) == (200, jobs)
    assert {x["scheduled_at"] for x in got.json["jobs"]} == {got.json["jobs"][0]["scheduled_at"]}
    late = api.call("POST", path, {"scheduled_at": moment(clock, 31 * 86400)})
    assert (late.status, late.fields) == (422, ["scheduled_at"])
    assert api.call("POST", path, {"scheduled_at": None}).json["jobs"][0]["state"] == "ENQUEUED"
    api.world.settle()
    assert len(api.world.oracle.taken) == 4
    assert api.call("POST", path, {"scheduled_at": None}).code == "already_started"


def test_a_charge_of_a_limit_is_not_made_again(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    api.listed(name)
    job = api.sent(name, scheduled_at=moment(clock, 3600))
    before = api.world.job(job).charge
    assert api.call("POST", f"/jobs/{job}/reschedule", {"scheduled_at": moment(clock, 7200)}).status == 200
    assert api.world.job(job).charge == before


def test_what_has_started_is_not_taken_back(api: Api, clock: FakeClock) -> None:
    running, due = api.accepted(), later(api, clock, 60)
    clock.advance(60)
    for job, state in ((running, JobState.ENQUEUED), (due, JobState.READY)):
        got = api.call("DELETE", f"/schedules/{job}")
        assert (got.status, got.code) == (409, "already_started")
        assert api.world.job(job).state is state


@pytest.mark.parametrize("name", ["x", "0" * 26])
def test_what_is_not_there_is_not_found(calm: Api, name: str) -> None:
    got = calm.call("DELETE", f"/schedules/{name}")
    assert (got.status, got.code) == (404, "not_found")
