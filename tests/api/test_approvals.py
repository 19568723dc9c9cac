"""Lists wait for approval, and are sent exactly as they were shown."""

from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.domain.audit import Log
from shared.domain.times import DAY_MS
from tests.api.approving import Desk, desk
from tests.api.conftest import Api

ROWS = [{"recipient": f"r{n}@example.org", "name": "x"} for n in range(3)]


@pytest.fixture
def four(api: Api) -> Desk:
    """Return a desk of an account whose lists all wait."""
    return desk(api)


def audit(api: Api) -> list[tuple[str, str]]:
    """Return kind and actor of the account's entries about approvals."""
    found = api.services.journal.since(api.account, Log.AUDIT, 0)
    return [(x.kind, x.actor) for x in found if x.kind.startswith("approval.")]


@pytest.mark.promise(14)
def test_a_list_waits_until_another_key_approves_it(four: Desk) -> None:
    name = four.waiting(rate=5)
    assert four.sent() == []
    shown = four.shown()
    assert (shown["waiting_for"], shown["state"], shown["jobs"]) == ("approval", "ready", [])
    assert shown["approval"] | {"asked_at": None} == {
        "approval_id": name,
        "state": "waiting",
        "reason": None,
        "asked_by": four.api.services.accounts.find_by_key(four.asks).id,  # type: ignore[union-attr]
        "asked_at": None,
        "upload_id": four.upload,
        "recipients": 2,
        "skipped": 0,
        "rate": 5.0,
        "scheduled_at": None,
    }
    (listed,) = four.api.call("GET", "/approvals", key=four.approves).json["items"]
    assert (listed["campaign_id"], listed["approval_id"]) == (four.campaign, name)
    assert listed["subject"] == shown["template"]["subject"]
    approved = four.approve(name)
    assert (approved.status, approved.json["job_id"], approved.json.get("waiting_for")) == (202, four.upload, None)
    assert len(four.sent()) == 2
    job = four.api.call("GET", f"/jobs/{four.upload}", key=four.asks).json
    assert job["rate"] == 5.0
    assert four.shown()["decision"]["by"] == four.approver
    assert four.api.call("GET", "/approvals", key=four.asks).json["items"] == []
    assert {kind for kind, _ in audit(four.api)} == {"approval.limit_set", "approval.asked", "approval.approved"}
    assert ("approval.approved", four.approver) in audit(four.api)


@pytest.mark.promise(14)
def test_an_approval_sends_once(four: Desk) -> None:
    name = four.waiting()
    key = {"Idempotency-Key": "approve"}
    first = four.approve(name, headers=key)
    again = four.approve(name, headers=key)
    assert (first.status, again.status, again.text) == (202, 202, first.text)
    assert four.approve(name).code == "not_waiting"
    assert len(four.sent()) == 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/template", {"from": "news@example.com", "subject": "Other", "body": "<p>{{ name }}</p>"}),
        ("PATCH", "", {"name": "Other"}),
        ("PATCH", "", {"unsubscribe": False}),
        ("PUT", "/recipients", {"recipients": [{"recipient": "other@example.org", "name": "x"}]}),
        ("POST", "/override-bounce-guard", None),
    ],
)
@pytest.mark.promise(14)
def test_any_change_takes_a_request_back(four: Desk, method: str, path: str, body: Any) -> None:
    name = four.waiting()
    assert four.api.call(method, f"/campaigns/{four.campaign}{path}", body, key=four.asks).status in (200, 202)
    four.api.lists.read()
    assert four.shown()["waiting_for"] is None
    assert four.api.call("GET", "/approvals", key=four.asks).json["items"] == []
    assert four.approve(name).code == "not_waiting"
    assert four.sent() == []
    renewed = four.waiting()
    assert renewed != name
    assert four.approve(name).code == "approval_changed"
    assert four.approve(renewed).status == 202


@pytest.mark.promise(14)
def test_a_withdrawn_list_waits_no_more(four: Desk) -> None:
    name = four.waiting()
    place = f"/campaigns/{four.campaign}/uploads/{four.upload}"
    assert four.api.call("DELETE", place, key=four.asks).status == 200
    assert four.approve(name).code == "not_waiting"


def test_a_refused_list_stays_and_says_why(four: Desk) -> None:
    name = four.waiting()
    assert four.refuse(name, reason="ask ann@example.org").status == 422
    assert four.refuse(name, reason="wrong price").status == 200
    shown = four.shown()
    assert (shown["state"], shown["waiting_for"], shown["approval"]) == ("ready", None, None)
    decided = shown["decision"]
    assert (decided["decision"], decided["by"], decided["reason"]) == ("refused", four.approver, "wrong price")
    assert four.approve(name).code == "not_waiting"
    assert four.sent() == []
    assert ("approval.refused", four.approver) in audit(four.api)


def test_the_one_who_asked_withdraws(four: Desk) -> None:
    name = four.waiting()
    assert four.refuse("0" * 32, key=four.asks).code == "approval_changed"
    assert four.refuse(name, key=four.asks).json["decision"]["decision"] == "withdrawn"
    assert four.refuse(name, key=four.asks).code == "not_waiting"
    assert "approval.withdrawn" in {kind for kind, _ in audit(four.api)}


def test_a_repeated_request_is_answered_as_the_first(four: Desk) -> None:
    key = {"Idempotency-Key": "send"}
    path = f"/campaigns/{four.campaign}/send"
    first = four.api.call("POST", path, {}, key=four.asks, headers=key)
    again = four.api.call("POST", path, {}, key=four.asks, headers=key)
    assert (again.status, again.text) == (202, first.text)
    assert four.approve(first.json["approval_id"]).status == 202


@pytest.mark.promise(14)
def test_a_scheduled_list_that_nobody_approves_does_not_leave_and_says_why(four: Desk) -> None:
    later = four.later(3600)
    name = four.waiting(scheduled_at=later)
    four.api.world.clock.advance(3601)
    assert four.sent() == []
    found = four.shown()["approval"]
    assert (found["state"], found["scheduled_at"]) == ("lapsed", later)
    assert "before the approval" in found["reason"]
    assert four.approve(name).code == "approval_lapsed"
    assert four.sent() == []
    assert four.approve(four.waiting()).status == 202
    assert len(four.sent()) == 2


@pytest.mark.promise(14)
def test_a_scheduled_list_that_is_approved_leaves_at_its_time(four: Desk) -> None:
    later = four.later(3600)
    assert four.approve(four.waiting(scheduled_at=later)).json["state"] == "READY"
    job = four.api.call("GET", f"/jobs/{four.upload}", key=four.asks).json
    assert (job["waiting_for"], job["scheduled_at"]) == ("scheduled", later)
    assert len(four.sent()) == 2


@pytest.mark.promise(14)
def test_rows_of_a_day_count_together(api: Api) -> None:
    found = desk(api, above=4)
    assert found.send().json["job_id"] == found.upload
    found.listed(*ROWS)
    waiting = found.waiting()
    assert api.call("GET", "/approval-limit", key=found.asks).json["sent_today"] == 2
    assert found.refuse(waiting).status == 200
    api.world.clock.advance(DAY_MS / 1000)
    assert found.send().json["job_id"] == found.upload
    assert api.call("GET", "/approval-limit", key=found.asks).json["sent_today"] == 3


def test_an_account_without_a_limit_sends_at_once(api: Api) -> None:
    found = desk(api, above=None)
    assert found.send().json.get("waiting_for") is None
    assert len(found.sent()) == 2


def test_lists_of_test_keys_do_not_wait(api: Api) -> None:
    found = desk(api)
    key = api.test_key()
    campaign = api.campaign(key=key)
    upload = api.listed(campaign, key=key)
    assert api.call("POST", f"/campaigns/{campaign}/send", {}, key=key).json["job_id"] == upload
    assert api.call("GET", "/approval-limit", key=key).code == "live_key_needed"
    assert api.call("GET", "/approvals", key=key).json["items"] == []
    assert found.shown()["waiting_for"] is None


@pytest.mark.promise(14)
def test_a_stricter_limit_counts_at_once_and_a_looser_one_needs_another(api: Api) -> None:
    found = desk(api, above=100)
    limit = "/approval-limit"
    assert api.call("PUT", limit, {"above": 10}, key=found.asks).json["above"] == 10
    for looser in (11, None):
        asked = api.call("PUT", limit, {"above": looser}, key=found.asks)
        assert asked.status == 202
        assert (asked.json["above"], asked.json["proposal"]["above"]) == (10, looser)
        proposal = asked.json["proposal"]["approval_id"]
        body = {"approval_id": proposal}
        assert api.call("POST", f"{limit}/approve", body, key=found.asks).code == "own_request"
        assert api.call("POST", f"{limit}/approve", {"approval_id": "0" * 32}, key=found.approves).code == (
            "approval_changed"
        )
        assert api.call("POST", f"{limit}/refuse", body, key=found.approves).json["proposal"] is None
        assert api.call("POST", f"{limit}/approve", body, key=found.approves).code == "not_waiting"
    asked = api.call("PUT", limit, {"above": None}, key=found.asks)
    body = {"approval_id": asked.json["proposal"]["approval_id"]}
    assert api.call("POST", f"{limit}/approve", body, key=found.approves).json["above"] is None
    assert found.send().json.get("waiting_for") is None


def test_a_list_that_was_approved_keeps_its_time(four: Desk) -> None:
    assert four.approve(four.waiting(scheduled_at=four.later(3600))).status == 202
    for key in (four.asks, four.approves):
        for path in (f"/jobs/{four.upload}", f"/campaigns/{four.campaign}"):
            got = four.api.call("POST", f"{path}/reschedule", {"scheduled_at": None}, key=key)
            assert (got.status, got.code) == (409, "time_approved")
    job = four.api.call("GET", f"/jobs/{four.upload}", key=four.asks).json
    assert (job["waiting_for"], four.api.world.oracle.taken) == ("scheduled", [])


def test_of_a_list_that_an_older_version_has_sent_the_campaign_says_that_it_was_approved(four: Desk) -> None:
    assert four.approve(four.waiting(scheduled_at=four.later(3600))).status == 202
    records = four.api.world.records
    job = records.job(four.upload)
    assert job is not None
    assert job.approved
    four.api.client.update_item(
        TableName=four.api.tables.records, Key=keys.job(job.id), UpdateExpression="REMOVE approved"
    )
    got = four.api.call("POST", f"/jobs/{job.id}/reschedule", {"scheduled_at": None}, key=four.asks)
    assert (got.status, got.code) == (409, "time_approved")


def test_a_list_that_needed_no_approval_gets_another_time(four: Desk) -> None:
    four.api.call("PUT", "/approval-limit", {"above": 10}, key=four.asks)
    policy = four.api.call("GET", "/approval-limit", key=four.approves).json
    shown = {"approval_id": policy["proposal"]["approval_id"]}
    assert four.api.call("POST", "/approval-limit/approve", shown, key=four.approves).status == 200
    assert four.send(scheduled_at=four.later(3600)).json["state"] == "READY"
    got = four.api.call("POST", f"/jobs/{four.upload}/reschedule", {"scheduled_at": None}, key=four.asks)
    assert (got.status, got.json["state"]) == (200, "ENQUEUED")
