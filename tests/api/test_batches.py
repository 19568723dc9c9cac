import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.domain.content.content import Attachment, Mailbox
from tests.api.conftest import SENDER, Api, event
from tests.fakes.clock import FakeClock


@pytest.mark.slow
def test_a_batch_is_accepted_and_sent(api: Api) -> None:
    got = api.batch(["Ben <ben@example.org>", "cleo@example.net"], body="<p>Hi</p>", name="October")
    assert got.status == 202
    job = got.json["job_id"]
    assert got.json == {
        "batch_id": job,
        "job_id": job,
        "state": "ENQUEUED",
        "recipients": 2,
        "duplicates": 0,
        "skipped": 0,
    }
    assert "idempotency-replayed" not in got.headers
    api.world.jobs.append(job)
    api.world.settle()
    assert sorted(t.address for t in api.world.oracle.taken) == ["ben@example.org", "cleo@example.net"]
    content = api.world.records.content(job)
    assert content is not None
    assert (content.sender, content.subject, content.html, content.text) == (
        Mailbox(SENDER),
        "Hello",
        "<p>Hi</p>",
        "Hello!",
    )


def test_everything_a_batch_may_say_reaches_the_engine(api: Api) -> None:
    job = api.accepted(
        ["Ben <ben@example.org>"],
        from_=f"Ann's shop <{SENDER}>",
        body="<p>Hi</p>",
        reply_to="Help <help@example.com>",
        cc="Cleo <cleo@example.net>, dora@example.net",
        bcc=["Emil <emil@example.net>"],
        headers={"X-Campaign": "october", "x-other": ""},
        attachments=[
            {"filename": "a.txt", "content_type": "text/plain", "data": "QQ=="},
            {"filename": "b.png", "data": "QUI=", "content_id": "logo"},
        ],
        route=["two"],
        retry_on=["blocked"],
        on_ambiguous="fail_over",
        max_attempts=3,
        name="October",
    )
    content = api.world.records.content(job)
    assert content is not None
    assert content.sender == Mailbox(SENDER, "Ann's shop")
    assert content.reply_to == Mailbox("help@example.com", "Help")
    assert content.cc == (Mailbox("cleo@example.net", "Cleo"), Mailbox("dora@example.net"))
    assert content.bcc == (Mailbox("emil@example.net", "Emil"),)
    assert content.headers == (("X-Campaign", "october"), ("x-other", ""))
    assert content.attachments == (
        Attachment("a.txt", "text/plain", "QQ=="),
        Attachment("b.png", "application/octet-stream", "QUI=", "logo"),
    )
    found = api.world.job(job)
    assert (found.route, found.providers, found.name) == (("two",), ("mailgun",), "October")
    assert (found.policy.max_attempts, found.policy.retry_on, found.policy.on_ambiguous) == (
        3,
        ("blocked",),
        "fail_over",
    )


@pytest.mark.slow
def test_a_job_says_how_hard_it_tries(api: Api) -> None:
    def said(**given: Any) -> tuple[Any, ...]:
        found = api.call("GET", f"/batches/{api.accepted(**given)}").json
        return found["max_attempts"], found["retry_on"], found["deferred_after"], found["on_ambiguous"]

    assert said() == (6, ["dropped", "blocked", "failed_temporarily"], None, "hold")
    assert said(retry_on=[], max_attempts=1) == (1, [], None, "hold")
    assert said(retry_on=["deferred"], max_attempts=12, on_ambiguous="fail_over") == (
        12,
        ["deferred"],
        14_400,
        "fail_over",
    )
    chosen = said(retry_on=["dropped", "blocked", "failed_temporarily", "deferred"], deferred_after=60)
    assert chosen == (6, ["dropped", "blocked", "failed_temporarily", "deferred"], 60, "hold")


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"retry_on": ["bounced"]}, ["retry_on.0"]),
        ({"retry_on": ["deferred", "deferred"]}, ["retry_on"]),
        ({"retry_on": "deferred"}, ["retry_on"]),
        ({"deferred_after": 3600}, ["deferred_after"]),
        ({"deferred_after": 3600, "retry_on": ["blocked"]}, ["deferred_after"]),
        ({"deferred_after": 3600, "retry_on": ["nonsense"]}, ["retry_on.0"]),
        ({"deferred_after": 59, "retry_on": ["deferred"]}, ["deferred_after"]),
        ({"deferred_after": 259_201, "retry_on": ["deferred"]}, ["deferred_after"]),
        ({"max_attempts": 0}, ["max_attempts"]),
        ({"max_attempts": 13}, ["max_attempts"]),
        ({"on_ambiguous": "resend"}, ["on_ambiguous"]),
    ],
)
def test_how_hard_to_try_is_checked(api: Api, given: dict[str, Any], fields: list[str]) -> None:
    before = api.stored()
    got = api.batch(**given)
    assert (got.status, got.code, got.fields) == (422, "validation_failed", fields)
    assert api.stored() == before


@pytest.mark.slow
def test_duplicates_are_one_message_and_those_not_sent_to_are_skipped(api: Api) -> None:
    api.call("PUT", "/suppressions/sup@example.org", {})
    job = api.logged("Ben <BEN@example.org>, ben@EXAMPLE.org, nonsense, Sup@Example.org, nonsense, cleo@example.net")
    got = api.call("GET", f"/batches/{job}").json
    assert (got["total"], got["duplicates"], got["counts"]["skipped"], got["counts"]["sent"]) == (4, 2, 2, 2)
    lines = api.call("GET", f"/batches/{job}/logs").json["items"]
    assert [(x["recipient"], x["state"], x["error"]) for x in lines] == [
        ("BEN@example.org", "sent", None),
        ("nonsense", "skipped", "invalid_address"),
        ("Sup@example.org", "skipped", "suppressed"),
        ("cleo@example.net", "sent", None),
    ]
    assert {t.address for t in api.world.oracle.taken} == {"BEN@example.org", "cleo@example.net"}


@pytest.mark.parametrize("to", [["nonsense"], "nonsense, also", ["sup@example.org", "nonsense"], "a b@c"])
def test_a_batch_without_a_valid_recipient_is_refused(api: Api, to: Any) -> None:
    api.call("PUT", "/suppressions/sup@example.org", {})
    before = api.stored()
    got = api.batch(to)
    assert (got.status, got.code) == (422, "no_valid_recipient")
    assert api.stored() == before


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("ann", ["to.0 ann: The address has no @. invalid_address"]),
        (
            ["a b@c", "Sup <SUP@example.org>", "bob", "Out@example.org", "bob", "sup@example.org"],
            [
                "to.0 a b@c: The email address contains invalid characters before the @-sign. invalid_address",
                "to.1 SUP@example.org: suppressed since 2026-09-21: a message to it bounced. suppressed",
                "to.2 bob: The address has no @. invalid_address",
                "to.3 Out@example.org: suppressed since 2026-09-21: added by hand. suppressed",
                "to.4 bob: The address has no @. invalid_address",
                "to.5 sup@example.org: suppressed since 2026-09-21: a message to it bounced. suppressed",
            ],
        ),
    ],
)
def test_a_batch_without_a_valid_recipient_is_told_who_is_left_out_and_why(api: Api, to: Any, said: list[str]) -> None:
    api.world.records.suppress(api.account, "sup@example.org", "bounced", int(api.world.clock.now() * 1000), job="j")
    api.call("PUT", "/suppressions/out@example.org", {"reason": "asked by phone"})
    got = api.batch(to)
    assert [" ".join((x["field"], x["message"], x["code"])) for x in got.json["errors"]] == said


def test_a_refusal_names_a_hundred_recipients_and_counts_the_others(api: Api) -> None:
    errors = api.batch([f"n{i}" for i in range(2_345)]).json["errors"]
    assert [x["field"] for x in errors] == [*(f"to.{i}" for i in range(100)), "to"]
    assert errors[-1]["message"] == "2,245 more are left out."


def test_an_attachment_s_data_has_another_name_and_only_one_of_them(api: Api) -> None:
    job = api.logged(attachments=[{"filename": "a.txt", "content": "QQ=="}])
    content = api.world.records.content(job)
    assert content is not None
    assert content.attachments[0].data == "QQ=="
    both = api.batch(attachments=[{"filename": "a.txt", "content": "QQ==", "data": "QQ=="}])
    assert both.json["errors"] == [
        {
            "field": "attachments.0.content",
            "message": "This field is unknown here. It is another name of `data`. Give one of them.",
        }
    ]
    assert api.batch(attachments=[{"filename": "a.txt"}]).fields == ["attachments.0.data"]
    assert api.batch(attachments=[{"filename": "a.txt", "content": "?"}]).status == 422


def test_a_line_of_who_was_skipped_has_since_when_and_what_by(api: Api) -> None:
    now = int(api.world.clock.now() * 1000)
    api.world.records.suppress(api.account, "gone@example.org", "bounced", now, job="j")
    api.call("PUT", "/suppressions/out@example.org", {"reason": "asked by phone"})
    api.call("PUT", "/suppressions/left@example.org", {}, query={"scope": "campaigns"})
    job = api.logged(["gone@example.org", "Out@example.org", "left@example.org", "nonsense"])
    lines = {x["recipient"]: x["suppression"] for x in api.call("GET", f"/batches/{job}/logs").json["items"]}
    shown = {who: entry and (entry["cause"], entry["reason"], entry["job_id"]) for who, entry in lines.items()}
    assert shown == {
        "gone@example.org": ("bounced", "bounced", "j"),
        "Out@example.org": ("manual", "asked by phone", None),
        "left@example.org": None,
        "nonsense": None,
    }
    assert lines["gone@example.org"] == api.call("GET", "/suppressions/gone@example.org").json
    assert api.call("GET", f"/batches/{job}/logs/0.1").json["suppression"] == lines["Out@example.org"]
    api.call("DELETE", "/suppressions/out@example.org")
    assert api.call("GET", f"/jobs/{job}/logs/0.1").json["suppression"] is None


def test_5000_recipients_are_taken_and_one_more_is_not(api: Api) -> None:
    many = [f"r{i}@example.org" for i in range(5001)]
    got = api.batch(many)
    assert (got.status, got.code) == (422, "too_many_recipients")
    assert api.batch(", ".join(many)).code == "too_many_recipients"
    got = api.batch(many[:5000])
    assert got.status == 202
    assert got.json["recipients"] == 5000


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"from_": None}, "from"),
    ({"from_": "nonsense"}, "from"),
    ({"from_": f"{SENDER}\r\nBcc: x@example.org"}, "from"),
    ({"from_": 7}, "from"),
    ({"to": None}, "to"),
    ({"to": []}, "to"),
    ({"to": " , "}, "to"),
    ({"to": [7]}, "to.0"),
    ({"to": {"a": 1}}, "to"),
    ({"subject": None}, "subject"),
    ({"subject": ""}, "subject"),
    ({"subject": "a\nb"}, "subject"),
    ({"subject": "a\u2028b"}, "subject"),
    ({"subject": "x" * 999}, "subject"),
    ({"text": None}, "body"),
    ({"text": ""}, "text"),
    ({"body": "a\u0000b"}, "body"),
    ({"reply_to": "nonsense"}, "reply_to"),
    ({"headers": {"List-Id": "x"}}, "headers"),
    ({"headers": {"X-Posthaste-Ref": "x"}}, "headers"),
    ({"headers": {"X-SMTPAPI": "{}"}}, "headers"),
    ({"headers": {"X-A": "b\r\nBcc: c@example.org"}}, "headers"),
    ({"headers": {"X-A": "1", "x-a": "2"}}, "headers"),
    ({"headers": {"X-A": 1}}, "headers.X-A"),
    ({"headers": {"X A": "1"}}, "headers"),
    ({"attachments": [{"filename": "a", "data": "not base64!"}]}, "attachments.0.data"),
    ({"attachments": [{"filename": "a", "data": ""}]}, "attachments.0.data"),
    ({"attachments": [{"filename": "../a", "data": "QQ=="}]}, "attachments.0.filename"),
    ({"attachments": [{"filename": "a", "data": "QQ==", "content_type": "x"}]}, "attachments.0.content_type"),
    ({"attachments": [{"filename": "a", "data": "QQ==", "more": 1}]}, "attachments.0.more"),
    ({"route": []}, "route"),
    ({"route": ["one", "one"]}, "route"),
    ({"route": ["texts"]}, "route"),
    ({"retry_on": ["bounced"]}, "retry_on.0"),
    ({"retry_on": ["blocked", "blocked"]}, "retry_on"),
    ({"on_ambiguous": "guess"}, "on_ambiguous"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": 13}, "max_attempts"),
    ({"max_attempts": "6"}, "max_attempts"),
    ({"scheduled_at": "tomorrow"}, "scheduled_at"),
    ({"scheduled_at": "2026-11-20T09:00:00"}, "scheduled_at"),
    ({"scheduled_at": 1_800_000_000}, "scheduled_at"),
    ({"scheduled_at": "2001-01-01T00:00:00Z"}, "scheduled_at"),
    ({"scheduled_at": "2099-01-01T00:00:00Z"}, "scheduled_at"),
    ({"scheduled_at": "2026-13-01T00:00:00Z"}, "scheduled_at"),
    ({"cc": "nonsense"}, "cc.0"),
    ({"bcc": [f"c{i}@example.org" for i in range(51)]}, "bcc"),
    ({"name": "a\tb"}, "name"),
    ({"unknown": 1}, "unknown"),
]


@pytest.mark.parametrize(("changes", "field"), FAULTS, ids=[f"{f}-{n}" for n, (_, f) in enumerate(FAULTS)])
def test_a_field_that_is_not_valid_is_named_and_nothing_is_stored(
    calm: Api, changes: dict[str, Any], field: str
) -> None:
    before = len(calm.client.writes)
    got = calm.batch(**changes)
    assert (got.status, got.code) == (422, "validation_failed")
    assert got.fields == [field]
    assert calm.client.writes[before:] == []


def test_problems_do_not_repeat_what_was_sent(api: Api) -> None:
    got = api.batch(subject="secret\nwords", from_="someone@else.example\n", unknown="whatever")
    assert got.status == 422
    for word in ("secret", "someone", "whatever"):
        assert word not in got.text


def test_a_sender_that_is_not_on_the_list_is_refused(api: Api) -> None:
    before = api.stored()
    got = api.batch(from_="ceo@bank.example")
    assert (got.status, got.code) == (422, "from_not_allowed")
    assert api.batch(from_="a@sub.example.com").code == "from_not_allowed"
    assert api.stored() == before
    api.services.accounts.add_sender(api.account, "ceo@bank.example")
    assert api.batch(from_="CEO <Ceo@Bank.example>").status == 202


def test_a_suspended_account_sends_nothing(api: Api) -> None:
    api.services.accounts.suspend(api.account)
    got = api.batch()
    assert (got.status, got.code) == (403, "account_suspended")
    assert api.call("GET", "/batches").status == 200


def test_the_route_is_what_is_open_to_the_account(api: Api) -> None:
    assert api.world.job(api.accepted()).route == ("one", "two")
    assert api.world.job(api.accepted(route=["two", "one"])).route == ("two", "one")
    for name in ("theirs", "nowhere", "test"):
        got = api.batch(route=[name])
        assert (got.status, got.code) == (404, "credential_not_found")
    api.world.settings.routes["email"] = ("theirs",)
    got = api.batch()
    assert (got.status, got.code) == (422, "no_route")


@pytest.mark.slow
def test_an_ordered_route_begins_at_its_first_usable_credential(api: Api) -> None:
    def lanes(**changes: Any) -> set[str]:
        jobs = [api.accepted([f"r{i}@example.org" for i in range(4)], **changes) for _ in range(8)]
        return {x.lane for job in jobs for x in api.world.ledgers.read_all(job)}

    assert lanes() == lanes(routing="spread") == {"one", "two"}
    assert lanes(routing="ordered") == {"one"}
    assert lanes(route=["two", "one"], routing="ordered") == {"two"}
    api.world.settings.routing["email"] = "ordered"
    assert lanes() == {"one"}
    assert lanes(routing="spread") == lanes(route=["two", "one"]) == {"one", "two"}
    api.world.breaker_cache.open("one", "fault", 5)
    assert lanes() == {"two"}
    assert api.batch(routing="first").code == "validation_failed"


def test_a_retired_credential_takes_nothing_new(api: Api) -> None:
    declared = api.services.settings
    changed = tuple(replace(c, retired=c.id == "one") for c in declared.credentials)
    object.__setattr__(declared, "credentials", changed)
    assert api.batch(route=["one"]).code == "credential_not_found"
    assert api.world.job(api.accepted()).route == ("two",)


def test_a_test_key_takes_the_built_in_credential(api: Api) -> None:
    got = api.batch(key=api.test_key())
    assert got.status == 202
    job = api.world.job(got.json["job_id"])
    assert (job.test, job.route, job.providers) == (True, ("test",), ("test",))
    assert api.batch(key=api.test_key(), route=["one"]).status == 202
    assert api.batch(key=api.test_key(), route=["theirs"]).code == "credential_not_found"
    assert api.call("GET", f"/jobs/{job.id}").json["test"] is True


def test_copies_need_one_recipient_and_distinct_addresses(api: Api) -> None:
    got = api.batch(["a@example.org", "b@example.org"], cc="c@example.org")
    assert (got.status, got.code) == (422, "cc_needs_one_recipient")
    job = api.accepted("a@example.org, A@example.org", cc=["A@example.org", "c@example.org"], bcc="C@example.org")
    content = api.world.records.content(job)
    assert content is not None
    assert (content.cc, content.bcc) == ((Mailbox("c@example.org"),), ())


def test_a_suppressed_address_gets_no_copy(api: Api) -> None:
    api.call("PUT", "/suppressions/c@example.org", {})
    got = api.batch(cc="C@example.org")
    assert (got.status, got.fields) == (422, ["cc"])


def test_a_batch_can_be_scheduled(api: Api, clock: FakeClock) -> None:
    when = datetime.fromtimestamp(clock.now() + 3600, UTC)
    job = api.accepted(scheduled_at=when.isoformat())
    got = api.call("GET", f"/batches/{job}").json
    assert (got["state"], got["waiting_for"]) == ("READY", "scheduled")
    assert datetime.fromisoformat(got["scheduled_at"]) == when
    api.world.run(seconds=3599)
    assert api.world.oracle.taken == []
    clock.advance(3600)
    api.world.settle()
    assert len(api.world.oracle.taken) == 1


def test_a_time_just_gone_by_means_now(api: Api, clock: FakeClock) -> None:
    when = datetime.fromtimestamp(clock.now() - 60, UTC).isoformat()
    assert api.batch(scheduled_at=when).json["state"] == "ENQUEUED"


# Idempotency


def test_a_body_may_come_in_base64(api: Api) -> None:
    same = event(
        "POST", "/batches", body=api.body(subject="Grüße"), headers={"Authorization": f"Bearer {api.key}"}, encoded=True
    )
    got = api.handle(same)
    assert got.status == 202
    content = api.world.records.content(got.json["job_id"])
    assert content is not None
    assert content.subject == "Grüße"


@pytest.mark.slow
def test_a_large_attachment_is_taken(api: Api) -> None:
    data = base64.b64encode(bytes(range(256)) * 12_000).decode()
    job = api.logged(attachments=[{"filename": "a.bin", "data": data}])
    content = api.world.records.content(job)
    assert content is not None
    assert content.attachments[0].data == data
