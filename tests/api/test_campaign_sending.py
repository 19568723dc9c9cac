"""Campaigns over the API: sending, and what became of it."""

from typing import Any

import pytest

from shared.adapters.dynamo import keys
from tests.api.conftest import Api
from tests.api.test_campaigns import get
from tests.fakes.clock import FakeClock
from tests.fakes.tables import MotoStores


@pytest.mark.slow
def test_a_list_is_sent_and_everything_adds_up(api: Api) -> None:
    api.call("PUT", "/suppressions/sup@example.org", {})
    name = api.campaign()
    upload = api.listed(
        name, *({"recipient": f"{x}@example.org", "name": x} for x in ("ann", "ben", "sup")), {"recipient": "nobody"}
    )
    got = api.call("POST", f"/campaigns/{name}/send", {"rate": 5})
    assert got.status == 202
    assert got.json == {"campaign_id": name, "job_id": upload, "state": "READY", "recipients": 3, "skipped": 1}
    api.world.jobs.append(upload)
    api.world.settle()
    assert sorted(t.address for t in api.world.oracle.taken) == ["ann@example.org", "ben@example.org"]
    job = api.call("GET", f"/jobs/{upload}").json
    assert (job["kind"], job["rate"], job["total"], job["counts"]["skipped"]) == ("campaign", 5.0, 3, 1)
    assert [x["job_id"] for x in api.call("GET", "/jobs").json["items"]] == [upload]
    found = get(api, name)
    assert (found["state"], found["jobs"], found["upload_id"]) == ("LOGGED", [upload], None)
    assert api.call("GET", "/campaigns").json["items"][0]["state"] == "LOGGED"
    stats = get(api, name, "/stats")
    assert (stats["total"], sum(stats["counts"].values()), stats["counts"]["skipped"]) == (3, 3, 1)
    assert stats["route"][0]["accepted"] == 2
    lines = get(api, name, "/messages")["items"]
    assert [(x["job_id"], x["message"], x["recipient"], x["state"], x["error"]) for x in lines] == [
        (upload, "0.0", "ann@example.org", "sent", None),
        (upload, "0.1", "ben@example.org", "sent", None),
        (upload, "0.2", "sup@example.org", "skipped", "suppressed"),
    ]
    assert api.call("GET", f"/campaigns/{name}/uploads/{upload}").json["state"] == "sent"


@pytest.mark.slow
def test_messages_go_list_after_list(api: Api) -> None:
    name = api.campaign()
    jobs = []
    for n in range(3):
        jobs.append(api.listed(name, *({"recipient": f"r{n}.{i}@example.org", "name": "x"} for i in range(2))))
        api.sent(name)
    api.world.settle()
    wanted = [(job, f"r{n}.{i}@example.org") for n, job in enumerate(jobs) for i in range(2)]
    for limit in (1, 2, 3, 100):
        seen, query = [], {"limit": limit}
        while True:
            page = get(api, name, "/messages", query=query)
            seen += [(x["job_id"], x["recipient"]) for x in page["items"]]
            if page["next_cursor"] is None:
                break
            query = {"limit": limit, "cursor": page["next_cursor"]}
        assert seen == wanted
    one: list[Any] = []
    asked = {"recipient": "R1.1@example.org", "state": "sent"}
    while True:
        page = get(api, name, "/messages", query=asked)
        one += page["items"]
        if page["next_cursor"] is None:
            break
        asked |= {"cursor": page["next_cursor"]}
    assert [x["recipient"] for x in one] == ["r1.1@example.org"]
    by_none = get(api, name, "/messages", query={"credential": "three", "limit": 100})
    assert by_none["items"] == []
    assert get(api, name, "/stats")["total"] == 6


@pytest.mark.slow
@pytest.mark.promise(7)
def test_a_list_is_sent_once(api: Api) -> None:
    name = api.campaign()
    api.listed(name)
    key = {"Idempotency-Key": "k"}
    first = api.call("POST", f"/campaigns/{name}/send", {}, headers=key)
    again = api.call("POST", f"/campaigns/{name}/send", {}, headers=key)
    assert (again.status, again.text, again.headers["idempotency-replayed"]) == (202, first.text, "true")
    assert api.call("POST", f"/campaigns/{name}/send", {"rate": 1}, headers=key).code == "idempotency_mismatch"
    assert api.call("POST", f"/campaigns/{name}/send").code == "no_list"
    api.world.jobs.append(first.json["job_id"])
    api.world.settle()
    assert len(api.world.oracle.taken) == 2


def test_what_cannot_be_sent_says_why(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    assert api.call("POST", f"/campaigns/{name}/send").code == "no_list"
    api.listed(name)
    got = api.call("POST", f"/campaigns/{name}/send", {"rate": 100.5})
    assert (got.status, got.code, got.fields) == (422, "rate_too_high", ["rate"])
    for rate in (0, -1, "x"):
        assert api.call("POST", f"/campaigns/{name}/send", {"rate": rate}).fields == ["rate"]
    for when in ("2020-01-01T00:00:00Z", "2026-11-20", "2026-12-31T00:00:00Z"):
        assert api.call("POST", f"/campaigns/{name}/send", {"scheduled_at": when}).fields == ["scheduled_at"]
    api.services.accounts.suspend(api.account)
    assert api.call("POST", f"/campaigns/{name}/send").code == "account_suspended"
    api.services.accounts.unsuspend(api.account)
    clock.advance(31 * 86_400)
    got = api.call("POST", f"/campaigns/{name}/send")
    assert (got.status, got.code) == (409, "list_expired")


def test_an_e_mail_needs_its_sender_when_it_is_sent(api: Api) -> None:
    name = api.campaign(template={"subject": "x", "body": "x"})
    api.listed(name)
    got = api.call("POST", f"/campaigns/{name}/send")
    assert (got.status, got.code) == (422, "from_missing")
    assert api.call("POST", f"/campaigns/{name}/test", {"recipient": "a@example.org"}).code == "from_missing"


def test_a_list_without_recipients_left_is_not_sent(api: Api) -> None:
    api.call("PUT", "/suppressions/sup@example.org", {})
    name = api.campaign()
    api.listed(name, {"recipient": "sup@example.org", "name": "x"})
    got = api.call("POST", f"/campaigns/{name}/send")
    assert (got.status, got.code) == (422, "no_valid_recipient")


@pytest.mark.slow
def test_a_campaign_waits_for_its_time(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    api.listed(name)
    moment = "2026-09-22T13:13:20Z"  # some hours from the fake clock's beginning
    got = api.call("POST", f"/campaigns/{name}/send", {"scheduled_at": moment})
    if got.status == 202:
        job = api.call("GET", f"/jobs/{got.json['job_id']}").json
        assert (job["state"], job["waiting_for"], job["scheduled_at"]) == (
            "READY",
            "scheduled",
            "2026-09-22T13:13:20.000Z",
        )
        assert get(api, name)["state"] == "READY"
    else:
        raise AssertionError(got.text)


@pytest.mark.slow
def test_another_campaign_waits_for_the_credential(api: Api) -> None:
    first, second = api.campaign(), api.campaign()
    api.listed(first)
    api.listed(second)
    one, two = api.sent(first), api.sent(second)
    assert api.call("GET", f"/jobs/{one}").json["state"] == "ENQUEUED"
    waiting = api.call("GET", f"/jobs/{two}").json
    assert (waiting["state"], waiting["waiting_for"]) == ("READY", "credential")
    api.world.settle()
    assert len(api.world.oracle.taken) == 4


@pytest.mark.slow
def test_stop_resume_and_retry_act_on_all_jobs(api: Api) -> None:
    name = api.campaign()
    assert api.call("POST", f"/campaigns/{name}/stop").json["jobs"] == []
    assert api.call("POST", f"/campaigns/{name}/resume").json["messages"] == 0
    jobs = []
    for n in range(2):
        jobs.append(api.listed(name, {"recipient": f"r{n}@example.org", "name": "x"}))
        api.sent(name)
    got = api.call("POST", f"/campaigns/{name}/resume")
    assert (got.status, got.code) == (409, "job_in_progress")
    got = api.call("POST", f"/campaigns/{name}/stop")
    assert [(x["job_id"], x["state"]) for x in got.json["jobs"]] == [(job, "STOPPED") for job in jobs]
    assert api.call("POST", f"/campaigns/{name}/stop").status == 200
    assert api.call("POST", f"/campaigns/{name}/resume").code == "stopping"
    api.world.settle()
    assert api.world.oracle.taken == []
    got = api.call("POST", f"/campaigns/{name}/retry", {"include": ["unsent"]})
    assert (got.json["messages"], [x["job_id"] for x in got.json["jobs"]]) == (2, jobs)
    api.world.settle()
    assert len(api.world.oracle.taken) == 2
    assert api.call("POST", f"/campaigns/{name}/resume").json["messages"] == 0


def test_the_bounce_guard_is_taken_off_for_good(api: Api) -> None:
    name = api.campaign()
    api.listed(name)
    job = api.sent(name)
    got = api.call("POST", f"/campaigns/{name}/override-bounce-guard")
    assert (got.status, got.json["bounce_guard"]) == (200, False)
    assert api.world.job(job).guard_off
    api.listed(name)
    assert api.world.job(api.sent(name)).guard_off
    assert api.call("POST", f"/campaigns/{name}/override-bounce-guard").status == 200


@pytest.mark.slow
def test_the_next_list_of_a_campaign_that_bounces_is_refused_until_its_owner_overrides_the_guard(api: Api) -> None:
    name = api.campaign()
    for n in (8, 3):
        api.listed(name, *({"recipient": f"r{n}.{i}@example.com", "name": "Ann"} for i in range(n)))
        job = api.world.job(api.sent(name))
        api.world.settle()
        api.world.track("one", *(api.world.word(job.id, i, "bounced") for i in range(n)))
        api.world.settle()
    api.listed(name)
    got = api.call("POST", f"/campaigns/{name}/send")
    assert (got.status, got.json["code"]) == (409, "bounce_guard")
    assert api.call("POST", f"/campaigns/{name}/override-bounce-guard").status == 200
    assert api.call("POST", f"/campaigns/{name}/send").status == 202


@pytest.mark.slow
def test_a_test_key_s_campaign_goes_to_the_test_provider_alone(api: Api) -> None:
    key = api.test_key()
    name = api.campaign(key=key, credential_id="two")
    assert get(api, name, key=key)["credential_id"] == "test"
    upload = api.listed(name, key=key)
    got = api.call("POST", f"/campaigns/{name}/send", key=key)
    assert got.status == 202
    job = api.world.job(upload)
    assert (job.route, job.test, job.exclusive) == (("test",), True, False)
    assert api.call("GET", "/stats").json["items"] == []


@pytest.mark.slow
def test_a_list_that_cannot_be_sent_in_the_time_that_it_is_kept_is_refused(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    upload = api.listed(name)
    stores = api.world.stores
    assert isinstance(stores, MotoStores)
    for seconds, rate, code in ((19, 0.1, "takes_too_long"), (19, 1, ""), (21, 0.1, "")):
        stores.dynamo.call(
            "update_item",
            TableName=stores.tables.records,
            Key=keys.upload(name, upload),
            UpdateExpression="SET #ttl = :ttl",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":ttl": {"N": str(clock.ms // 1000 + seconds)}},
        )
        got = api.call("POST", f"/campaigns/{name}/send", {"rate": rate})
        if code:
            assert (got.status, got.code, got.fields) == (422, code, ["rate"])
        else:
            assert got.status == 202
            upload = api.listed(name)
