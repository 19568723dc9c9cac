"""An account schedules jobs without end, by every door that takes a time.

Then: 30 of 30 were accepted, each with a schedule of EventBridge, of which all accounts share a million.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from shared.domain.spending import limits
from tests.api.conftest import Api, Reply

MOST = 5
WAIT = 60


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEDULES", MOST)


def later(api: Api, seconds: int = 7200) -> str:
    return datetime.fromtimestamp(api.world.clock.now() + seconds, UTC).isoformat()


def fill(api: Api, count: int = MOST, **more: Any) -> None:
    """Schedule so many batches."""
    assert [api.batch(scheduled_at=later(api), **more).status for _ in range(count)] == [202] * count


def refused(reply: Reply) -> None:
    """Check that a request is refused, with the limit and what is used of it."""
    assert (reply.status, reply.code) == (429, "too_many_schedules"), reply.json
    assert (reply.json["quota"], reply.json["limit"], reply.json["used"]) == ("schedules", MOST, MOST)
    assert "resets_at" not in reply.json
    assert 1 <= int(reply.headers["retry-after"]) <= WAIT


@pytest.mark.promise(9)
def test_an_account_has_so_many_jobs_that_wait_for_their_time_and_no_more(api: Api) -> None:
    fill(api)
    for _ in range(3):
        refused(api.batch(scheduled_at=later(api)))
    assert api.batch().status == 202, "what is sent now is no schedule"
    assert len(api.call("GET", "/schedules").json["items"]) == MOST


@pytest.mark.promise(9)
def test_a_campaign_is_refused_and_can_be_sent_later(api: Api) -> None:
    fill(api)
    name = api.campaign()
    api.listed(name)
    refused(api.call("POST", f"/campaigns/{name}/send", {"scheduled_at": later(api)}))
    assert api.call("POST", f"/campaigns/{name}/send", {}).status == 202


@pytest.mark.promise(9)
def test_a_test_key_takes_no_schedule_of_live_keys(api: Api) -> None:
    tester = api.test_key()
    fill(api, key=tester)
    refused(api.batch(scheduled_at=later(api), key=tester))
    fill(api)
    refused(api.batch(scheduled_at=later(api)))


def test_jobs_whose_time_has_come_make_room(api: Api) -> None:
    fill(api, 2)
    api.world.clock.advance(3600)
    fill(api, 3)
    refused(api.batch(scheduled_at=later(api)))
    api.world.clock.advance(3601)
    fill(api, 2)
    refused(api.batch(scheduled_at=later(api)))


def test_stopped_jobs_make_room_and_take_it_again_when_they_are_resumed(api: Api) -> None:
    jobs = [api.accepted(scheduled_at=later(api)) for _ in range(MOST)]
    for job in jobs[:2]:
        assert api.call("DELETE", f"/schedules/{job}").status == 200
    assert api.call("POST", f"/batches/{jobs[0]}/resume", {}).status == 200
    fill(api, 1)
    refused(api.batch(scheduled_at=later(api)))
    refused(api.call("POST", f"/batches/{jobs[1]}/resume", {}))


def test_repeated_requests_take_no_room_for_long(api: Api) -> None:
    when, key = later(api), {"Idempotency-Key": "once"}
    made = [api.batch(scheduled_at=when, http=key) for _ in range(MOST)]
    assert {x.status for x in made} == {202}
    assert len({x.json["job_id"] for x in made}) == 1
    fill(api, MOST - 1)
    refused(api.batch(scheduled_at=later(api)))


def test_a_job_with_another_time_takes_no_further_room(api: Api) -> None:
    jobs = [api.accepted(scheduled_at=later(api)) for _ in range(MOST - 1)]
    for minutes in (1, 2, 3):
        for job in jobs:
            body = {"scheduled_at": later(api, 7200 + 60 * minutes)}
            assert api.call("POST", f"/batches/{job}/reschedule", body).status == 200
    fill(api, 1)
    refused(api.batch(scheduled_at=later(api)))
