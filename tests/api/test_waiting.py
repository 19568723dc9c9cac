"""What a campaign's job waits for, while another campaign holds its credential."""

import pytest

from shared.domain.jobs.states import JobState
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.web.views import moment
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock
from tests.fakes.lists import send_list


@pytest.mark.slow
def test_a_job_says_that_it_waits_for_its_credential(api: Api, clock: FakeClock) -> None:
    first, same = (send_list(api.world, "spring", 2, account=api.account) for _ in range(2))
    clock.advance(1)
    other = send_list(api.world, "autumn", 2, account=api.account)
    later = send_list(api.world, "autumn", 2, account=api.account, not_before=clock.ms + 60_000)

    def waiting(job: str) -> tuple[str, str | None]:
        found = api.call("GET", f"/jobs/{job}").json
        return found["state"], found["waiting_for"]

    assert [waiting(x.id) for x in (first, other)] == [("READY", None)] * 2
    api.world.planner.react(first.id)
    api.world.control.stop(same.id, api.account)
    assert waiting(first.id) == ("ENQUEUED", "rate")
    assert waiting(same.id) == ("STOPPED", None)
    api.world.clock.advance(20)
    api.world.sweep()
    assert waiting(same.id) == ("LOGGED", None)
    assert waiting(other.id) == ("READY", "credential")
    assert waiting(later.id) == ("READY", "scheduled")
    api.world.stores.pause(api.account)
    assert waiting(other.id) == ("READY", "paused")
    api.world.stores.unpause(api.account)
    while api.world.send("one") is not None or api.world.log() is not None:
        pass
    assert waiting(other.id) == ("READY", None)


@pytest.mark.slow
def test_a_job_is_paused_when_every_credential_is_that_has_something_of_it_to_send(api: Api) -> None:
    job = api.world.accept(4, account=api.account, route=("one", "two"))

    def seen() -> tuple[str | None, float | None]:
        found = api.call("GET", f"/jobs/{job.id}").json
        return found["waiting_for"], found["rate"]

    assert seen() == ("rate", 150)
    api.world.stores.switch("one", Switches(paused=True))
    assert seen() == ("rate", 50)
    api.world.stores.switch("two", Switches(rate=10))
    assert seen() == ("rate", 10)
    while api.world.send("two") is not None:
        pass
    assert seen() == ("paused", 10)
    assert api.call("GET", f"/jobs/{job.id}").json["eta"] is None
    api.world.stores.switch("one", AS_DECLARED)
    assert seen() == ("rate", 110)


def test_a_job_waits_for_a_quota_when_all_lanes_are_full_that_have_something_of_it(api: Api, clock: FakeClock) -> None:
    job = api.world.accept(4, account=api.account, route=("one", "two"))

    def seen() -> tuple[str | None, str | None]:
        found = api.call("GET", f"/jobs/{job.id}").json
        return found["waiting_for"], found["until"]

    assert seen() == ("rate", None)
    api.world.pacer.fill("one", clock.ms + 7_200_000, 0)
    assert seen() == ("rate", None)
    api.world.pacer.fill("two", clock.ms + 3_600_000, 0)
    waiting, until = seen()
    assert (waiting, until) == (
        "quota",
        moment(clock.ms + 3_600_000).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )
    assert until is not None
    assert api.call("GET", f"/jobs/{job.id}").json["eta"] >= until
    clock.advance(3601)
    assert seen()[0] == "rate"


@pytest.mark.slow
def test_a_resume_while_another_campaign_runs_is_answered_by_ready(api: Api, clock: FakeClock) -> None:
    first = send_list(api.world, "spring", 2, account=api.account)
    clock.advance(1)
    other = send_list(api.world, "autumn", 2, account=api.account)
    api.world.planner.react(first.id)
    api.call("POST", f"/jobs/{first.id}/stop")
    api.world.clock.advance(20)
    api.world.sweep()
    assert api.world.job(first.id).state is JobState.LOGGED
    api.world.planner.react(other.id)
    for _ in range(2):
        got = api.call("POST", f"/jobs/{first.id}/resume")
        if got.status == 409:  # it is READY already
            assert got.code == "job_in_progress"
        else:
            assert (got.status, got.json) == (200, {"job_id": first.id, "state": "READY", "messages": 2})
    assert api.call("GET", f"/jobs/{first.id}").json["waiting_for"] == "credential"
