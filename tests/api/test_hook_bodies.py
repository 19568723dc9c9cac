"""The bodies of hooks are as their models describe them, and so are the page of events and the OpenAPI document."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from functions.api.hooks import page
from functions.api.hooks.bodies import PAGES, HookPage
from functions.api.openapi import FILE
from shared.domain.access.ends import EndingKey
from shared.domain.campaigns.approval import Decided, Decision, PendingApproval
from shared.domain.campaigns.bounce_guard import BouncingDay
from shared.domain.campaigns.campaign import Campaign, Message, Upload, UploadState
from shared.domain.digests.window import opened
from shared.domain.hooks import bodies, fields
from shared.domain.hooks.bodies import HookEvent
from shared.domain.hooks.fields import MessageSource, SuppressionSource
from shared.domain.hooks.kinds import MESSAGE_KINDS, HookKind
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.notices.updates import UpdateEntry
from shared.domain.recipients.suppressions import Reach, Suppression
from shared.domain.spending.limits import ReachedQuota
from shared.domain.texts import ReceivedText
from tests.domain.digests.examples import part, policy
from tests.domain.hooks.jobs import job

NOW = 1_795_446_245_678
JOB = job(name="Invoices")
ADDRESS = "ada@example.com"
STOPPED = job(state=JobState.STOPPED, stopped=True, stopped_at=NOW, stop_reason="bounce_guard", campaign="m1")
WINDOW = opened(("acme", False), "acme/", 1, policy(), part(1), NOW)
UPLOAD = Upload("u1", "m1", "acme", False, "email", "main", "blob", UploadState.FAILED, NOW, 0, code="no_rows")
CAMPAIGN = Campaign("m1", "acme", False, "October", "email", "main", Message("Hi"), NOW, ready="u1")
ENTRY = UpdateEntry("clinic", "uuid", "n1", NOW, "PERM_FAIL", "NEW", "bad_phone", "The number is none.")
TEXT = ReceivedText("acme", "t1", "texts", "sms", "+14155550100", "", "Hi", NOW, "started")
ENTERED = Suppression(ADDRESS, "bounced", NOW, "j1", "email")
BREAKER = Breaker("main", BreakerState.OPEN, "timeout", NOW, 5)
STATE = {"value": "OK", "timestamp": "2026-11-23T15:04:05.678+0000"}
SENT, SKIPPED = 1 << 4 | Cell.SENT, Cell.SKIPPED
MADE: Mapping[HookKind, dict[str, Any]] = {
    **dict.fromkeys(MESSAGE_KINDS, fields.MESSAGE.data(MessageSource(JOB, 0, 12, SENT, ADDRESS))),
    HookKind.MESSAGE_SKIPPED: fields.MESSAGE.data(MessageSource(JOB, 0, 12, SKIPPED, ADDRESS, "suppressed")),
    HookKind.JOB_LOGGED: fields.JOB.data(job(finished_at=NOW)),
    HookKind.JOB_STOPPED: fields.JOB.data(STOPPED),
    HookKind.CAMPAIGN_HALTED: fields.HALT.data(STOPPED),
    HookKind.APPROVAL_ASKED: fields.APPROVAL.data(replace(CAMPAIGN, asked=PendingApproval("a" * 32, 1, "key", NOW, 5))),
    HookKind.APPROVAL_DECIDED: fields.DECISION.data(
        replace(CAMPAIGN, decided=Decided("a" * 32, Decision.REFUSED, "key", "other", "u1", NOW, "wrong price"))
    ),
    HookKind.UPLOAD_FINISHED: fields.UPLOAD.data(UPLOAD),
    HookKind.DIGEST_CLOSED: fields.WINDOW.data(WINDOW),
    HookKind.NOTICE_UPDATED: fields.UPDATE.data(ENTRY),
    HookKind.MAIL_FAILED: fields.MAIL.data(MessageSource(job(kind="mail", name="m1"), 3, 0, SENT, ADDRESS, "5.1.1")),
    HookKind.SUPPRESSION_ADDED: fields.SUPPRESSION.data(SuppressionSource(ENTERED, Reach.ALL)),
    HookKind.UNSUBSCRIBED: fields.SUPPRESSION.data(SuppressionSource(ENTERED, Reach.SMS)),
    HookKind.TEXT_RECEIVED: fields.TEXT.data(TEXT),
    HookKind.KEY_EXPIRING: fields.KEY.data(EndingKey("acc_000000000001", "0" * 16, "", "test", 1_790_000_000_000, 7)),
    HookKind.QUOTA_REACHED: fields.QUOTA.data(ReachedQuota("acc_a", "2026-11-20", "sms", "", 80, 10, 8, NOW)),
    HookKind.ACCOUNT_BOUNCING: fields.BOUNCING.data(BouncingDay("acc_a", "2026-11-20", "email", 12, 90, NOW)),
    HookKind.BREAKER_OPENED: fields.BREAKER.data(BREAKER),
    HookKind.BREAKER_CLOSED: fields.BREAKER.data(BREAKER),
    HookKind.ALARM_CHANGED: fields.ALARM.data({"alarmName": "stuck", "state": STATE}),
    HookKind.TEST: fields.TEST.data("hook_1"),
}


def dumped(model: type[BaseModel], data: Mapping[str, Any]) -> Any:
    """Return data as its model reads and writes it; an unknown or missing field fails."""
    return json.loads(model.model_validate_json(json.dumps(data), strict=True).model_dump_json())


@pytest.mark.parametrize("described", PAGES, ids=lambda x: x.kind.value)
def test_a_body_is_as_its_model_describes_it(described: HookPage) -> None:
    made = MADE[described.kind]
    assert dumped(described.model, made) == made
    assert list(made) == [field.alias or name for name, field in described.model.model_fields.items()]


@pytest.mark.parametrize("described", PAGES, ids=lambda x: x.kind.value)
def test_an_example_is_a_body(described: HookPage) -> None:
    example = described.example()
    assert dumped(described.model, example["data"]) == example["data"]
    assert list(example) == ["type", "timestamp", "data"]


def test_every_kind_is_described_once() -> None:
    assert [x.kind for x in PAGES] == list(HookKind)


def test_the_committed_page_is_current() -> None:
    assert page.FILE.read_text("utf-8") == page.text(), "run: python -m functions.api.hooks.page"


def test_the_document_describes_every_kind() -> None:
    document = json.loads(FILE.read_text("utf-8"))
    assert list(document["webhooks"]) == [x.value for x in HookKind]
    for kind, methods in document["webhooks"].items():
        body = methods["post"]["requestBody"]["content"]["application/json"]
        assert body["example"]["type"] == body["schema"]["properties"]["type"]["const"] == kind
        assert body["schema"]["properties"]["data"]["$ref"].rpartition("/")[2] in document["components"]["schemas"]


def test_a_body_has_its_kind_and_its_time() -> None:
    body = bodies.single("test", NOW, {"hook_id": "hook_1"})
    assert body == b'{"type":"test","timestamp":"2026-11-23T15:04:05.678Z","data":{"hook_id":"hook_1"}}'.replace(
        b"2026-11-23T15:04:05.678Z", fields.iso(NOW).encode()
    )


def test_a_batch_names_each_of_its_events() -> None:
    made = json.loads(bodies.batch("test", NOW, [HookEvent("evt_1", {"n": 1}), HookEvent("evt_2", {"n": "é"})]))
    assert (made["type"], made["timestamp"]) == ("batch", fields.iso(NOW))
    assert [(x["id"], x["type"], x["data"]) for x in made["data"]] == [
        ("evt_1", "test", {"n": 1}),
        ("evt_2", "test", {"n": "é"}),
    ]
