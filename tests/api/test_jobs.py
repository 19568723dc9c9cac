from typing import Any

import pytest

from shared.contracts import Credential, Settings
from shared.domain.jobs.states import JobState
from shared.engine.jobs import control, retry
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock

BASES = pytest.mark.parametrize("base", ["jobs", "batches"])


@pytest.mark.slow
@BASES
def test_a_job_is_described_with_live_counts(api: Api, base: str, clock: FakeClock) -> None:
    job = api.accepted([f"r{i}@example.org" for i in range(4)], name="October")
    got = api.call("GET", f"/{base}/{job}")
    assert got.status == 200
    found = got.json
    assert (found["job_id"], found["batch_id"], found["kind"], found["channel"]) == (job, job, "batch", "email")
    assert (found["name"], found["from"], found["subject"]) == ("October", "news@example.com", "Hello")
    assert (found["state"], found["total"], found["exact"]) == ("ENQUEUED", 4, True)
    assert found["counts"] == {
        "queued": 4,
        "sending": 0,
        "sent": 0,
        "delivered": 0,
        "failed": 0,
        "skipped": 0,
        "unknown": 0,
    }
    assert (found["rate"], found["waiting_for"]) == (150, "rate")
    assert found["eta"] > found["created_at"]
    assert found["created_at"].endswith("Z")
    api.world.settle()
    done = api.call("GET", f"/{base}/{job}").json
    assert (done["state"], done["counts"]["sent"], done["waiting_for"], done["eta"]) == ("LOGGED", 4, None, None)
    assert [(r["credential_id"], r["provider"], r["accepted"]) for r in done["route"]] == [
        ("one", "sendgrid", 2),
        ("two", "mailgun", 2),
    ]
    assert done["finished_at"]


@pytest.mark.slow
def test_counts_add_up_at_every_step(api: Api) -> None:
    job = api.accepted([f"r{i}@example.org" for i in range(5)])
    for _ in range(1000):
        assert sum(api.call("GET", f"/jobs/{job}").json["counts"].values()) == 5
        if not api.world.step():
            break
    else:
        raise AssertionError("it never ends")
    assert api.call("GET", f"/jobs/{job}").json["state"] == "LOGGED"


@pytest.mark.slow
@BASES
def test_lists_are_newest_first_and_come_in_pages(api: Api, base: str, clock: FakeClock) -> None:
    jobs = []
    for _ in range(5):
        jobs.append(api.accepted())
        clock.advance(1)
    assert [x["job_id"] for x in api.call("GET", f"/{base}").json["items"]] == jobs[::-1]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    for _ in range(3):
        page = api.call("GET", f"/{base}", query=query).json
        seen += [x["job_id"] for x in page["items"]]
        query["cursor"] = page["next_cursor"]
    assert (seen, query["cursor"]) == (jobs[::-1], None)


@pytest.mark.slow
@BASES
def test_stop_is_stop_in_every_state(api: Api, base: str) -> None:
    job = api.accepted([f"r{i}@example.org" for i in range(3)])
    got = api.call("POST", f"/{base}/{job}/stop")
    assert (got.status, got.json["state"], got.json["stop_reason"]) == (200, "STOPPED", "user")
    assert api.call("POST", f"/{base}/{job}/stop").json["state"] == "STOPPED"
    api.world.settle()
    assert api.world.oracle.taken == []
    again = api.call("POST", f"/{base}/{job}/stop")
    assert (again.status, again.json["state"], again.json["counts"]["queued"]) == (200, "LOGGED", 3)
    assert again.json["stopped_at"] == got.json["stopped_at"]


@pytest.mark.slow
@BASES
def test_resume_sends_what_was_never_sent(api: Api, base: str) -> None:
    job = api.accepted([f"r{i}@example.org" for i in range(3)])
    api.call("POST", f"/{base}/{job}/stop")
    early = api.call("POST", f"/{base}/{job}/resume")
    assert (early.status, early.code) == (409, "stopping")
    assert int(early.headers["retry-after"]) > 0
    api.world.settle()
    got = api.call("POST", f"/{base}/{job}/resume")
    assert (got.status, got.json["messages"], got.json["job_id"]) == (200, 3, job)
    late = api.call("POST", f"/{base}/{job}/resume")
    assert (late.status, late.code) == (409, "job_in_progress")
    open_again = api.call("GET", f"/{base}/{job}").json
    assert (open_again["state"] != "LOGGED", open_again["finished_at"]) == (True, None)
    api.world.settle()
    assert api.call("GET", f"/{base}/{job}").json["finished_at"]
    assert len(api.world.oracle.taken) == 3
    nothing = api.call("POST", f"/{base}/{job}/resume")
    assert (nothing.status, nothing.json["messages"], nothing.json["state"]) == (200, 0, "LOGGED")


@pytest.mark.slow
@BASES
def test_retry_sends_what_was_given_up(api: Api, base: str) -> None:
    job = api.logged(["a@example.org", "b@example.org"], retry_on=[])
    credential = api.world.oracle.taken[0].provider
    chunk = api.world.oracle.taken[0].ref.chunk
    api.world.track(credential, api.world.word(job, 0, "blocked", chunk=chunk, code="550"))
    api.world.settle()
    assert api.call("GET", f"/jobs/{job}").json["counts"]["failed"] == 1
    got = api.call("POST", f"/{base}/{job}/retry", {"include": ["failed"]})
    assert (got.status, got.json["messages"]) == (200, 1)
    api.world.settle()
    assert len(api.world.oracle.taken) == 3
    assert api.call("POST", f"/{base}/{job}/retry").json["messages"] == 0


@pytest.mark.slow
@BASES
def test_a_large_retry_is_recorded(api: Api, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "AT_ONCE", 1)
    monkeypatch.setattr(retry, "SLICE", 1)
    job = api.logged([f"r{i}@example.org" for i in range(4)], retry_on=[])
    for taken in list(api.world.oracle.taken):
        word = api.world.word(job, taken.ref.index, "blocked", chunk=taken.ref.chunk)
        api.world.track(taken.provider, word)
    got = api.call("POST", f"/{base}/{job}/retry")
    assert (got.status, got.json) == (202, {"job_id": job, "state": "LOGGED", "messages": 4})
    assert api.call("GET", f"/{base}/{job}").json["waiting_for"] == "retry"
    assert api.call("POST", f"/{base}/{job}/resume").code == "job_in_progress"
    api.world.settle()
    found = api.call("GET", f"/{base}/{job}").json
    assert (found["state"], found["counts"]["sent"], found["waiting_for"]) == ("LOGGED", 4, None)


@pytest.mark.slow
def test_a_retry_names_what_it_may(api: Api) -> None:
    job = api.logged()
    bodies: list[dict[str, object]] = [{"include": []}, {"include": ["all"]}, {"include": "failed"}, {"more": 1}]
    for body in bodies:
        assert api.call("POST", f"/jobs/{job}/retry", body).code == "validation_failed"
    assert api.call("POST", f"/jobs/{job}/retry", {"include": ["unknown"]}).json["messages"] == 0


@pytest.mark.slow
def test_an_old_job_is_not_resumed(api: Api, clock: FakeClock) -> None:
    job = api.logged()
    clock.advance(20 * 86_400)
    got = api.call("POST", f"/jobs/{job}/resume")
    assert (got.status, got.code) == (409, "expired")
    assert "retry-after" not in got.headers


def test_a_job_waits_for_the_end_of_a_pause(api: Api) -> None:
    job = api.accepted()
    api.services.accounts.suspend(api.account)
    got = api.call("GET", f"/jobs/{job}").json
    assert (got["waiting_for"], got["eta"]) == ("paused", None)
    api.services.accounts.unsuspend(api.account)
    assert api.call("GET", f"/jobs/{job}").json["waiting_for"] == "rate"


@pytest.mark.slow
def test_a_suspended_account_reads_and_stops_but_starts_nothing(api: Api) -> None:
    waiting, done, stopped = api.accepted(), api.logged(), api.accepted()
    api.call("POST", f"/jobs/{stopped}/stop")
    api.world.settle()
    api.services.accounts.suspend(api.account)
    later = api.batch(key=api.test_key())
    assert (later.status, later.code) == (403, "account_suspended")
    for job in (waiting, done, stopped):
        for call in ("retry", "resume"):
            got = api.call("POST", f"/jobs/{job}/{call}")
            assert (got.status, got.code) == (403, "account_suspended")
        assert api.call("GET", f"/jobs/{job}").status == 200
        assert api.call("POST", f"/jobs/{job}/stop").status == 200
    api.services.accounts.unsuspend(api.account)
    assert api.call("POST", f"/jobs/{stopped}/resume").json["messages"] == 1


@pytest.mark.promise(4)
def test_what_a_suspended_account_has_accepted_waits_for_its_end(api: Api) -> None:
    job = api.accepted(["a@example.org", "b@example.org"])
    api.services.accounts.suspend(api.account)
    api.world.run(300)
    assert api.call("GET", f"/jobs/{job}").json["counts"]["queued"] == 2
    assert api.call("GET", f"/jobs/{job}").json["waiting_for"] == "paused"
    api.services.accounts.unsuspend(api.account)
    api.world.settle()
    assert api.call("GET", f"/jobs/{job}").json["counts"]["sent"] == 2


@BASES
@pytest.mark.parametrize("name", ["x", "0" * 26, "%C3%BC", "..", "0" * 25 + "!"])
def test_a_job_that_is_not_there_is_not_found(calm: Api, base: str, name: str) -> None:
    for method, tail in (("GET", ""), ("POST", "/stop"), ("POST", "/resume"), ("POST", "/retry")):
        got = calm.call(method, f"/{base}/{name}{tail}")
        assert (got.status, got.code) == (404, "not_found")


def test_a_credential_that_is_no_longer_declared_is_shown_all_the_same(api: Api) -> None:
    job = api.logged()
    less = Settings("test", (Credential("one", "sendgrid", "email", 100),), {"email": ("one",)})
    api.services.progress._settings = less
    got = api.call("GET", f"/jobs/{job}").json
    assert [r["credential_id"] for r in got["route"]] == ["one", "two"]
    assert got["rate"] == 100
    assert api.world.job(job).state is JobState.LOGGED


@pytest.mark.parametrize("base", ["jobs", "batches", "suppressions", "batches/{id}/logs"])
@pytest.mark.parametrize("cursor", ["x", "", "!", "YQ", "MDAw", "Li4vLi4", "ü" * 10])
def test_a_cursor_that_was_not_given_out_is_refused(calm: Api, base: str, cursor: str) -> None:
    got = calm.call("GET", f"/{base}".format(id=calm.accepted()), query={"cursor": cursor})
    assert (got.status, got.code) == (400, "bad_cursor")


@pytest.mark.parametrize("base", ["jobs", "batches", "suppressions", "batches/{id}/logs"])
@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"limit": ""}, "limit=1&limit=2", {"more": 1}]
)
def test_a_list_s_parameters_are_checked(calm: Api, base: str, query: Any) -> None:
    got = calm.call("GET", f"/{base}".format(id=calm.accepted()), query=query)
    assert (got.status, got.code) == (422, "validation_failed")
