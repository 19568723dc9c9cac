"""The door for SendGrid's clients: what becomes of their requests, and how they are answered."""

import json
from typing import Any

import pytest

from shared.domain.accounts import Scope
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.personal import personal_of
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.namespaces import team_space
from shared.engine.lane.compose import CannotCompose, Composition
from tests.api.conftest import SENDER, Api, Reply
from tests.api.team import team_key
from tests.fakes.clock import FakeClock

PATH = "/v3/mail/send"
TO = {"email": "ann@example.org"}


def mail(*personalizations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    whole = {
        "personalizations": [*personalizations] or [{"to": [TO]}],
        "from": {"email": SENDER, "name": "Ann's shop"},
        "subject": "Hello",
        "content": [{"type": "text/plain", "value": "Hi -name-"}, {"type": "text/html", "value": "<p>-name-</p>"}],
        **{name.rstrip("_"): value for name, value in changes.items()},
    }
    return {name: value for name, value in whole.items() if value is not None}


def post(api: Api, body: Any, **more: Any) -> Reply:
    return api.call("POST", PATH, body, **more)


def taken(api: Api, body: Any, **more: Any) -> str:
    got = post(api, body, **more)
    assert (got.status, got.text) == (202, ""), got.text
    job = got.headers["x-message-id"]
    api.world.jobs.append(job)
    return job


def stored(api: Api, job: str) -> tuple[Job, Content, tuple[Recipient, ...]]:
    found, content = api.world.job(job), api.world.records.content(job)
    assert content is not None
    chunks = [api.world.records.chunk(job, n) for n in range(found.chunks)]
    return found, content, tuple(r for chunk in chunks if chunk is not None for r in chunk.recipients)


def errors(got: Reply) -> list[tuple[str | None, str]]:
    """Return the fields and messages of a refusal; checks that it has SendGrid's form."""
    assert got.headers["content-type"] == "application/json"
    assert got.json.keys() == {"errors"}
    assert all(e.keys() == {"message", "field", "help"} for e in got.json["errors"])
    assert all(e["help"].startswith("/errors#") for e in got.json["errors"])
    return [(e["field"], e["message"]) for e in got.json["errors"]]


def test_one_message_is_one_job_that_says_just_what_was_asked_for(api: Api) -> None:
    job = taken(
        api,
        mail(
            {"to": [{"email": "Ann@example.org", "name": 'Ann "A", B'}, {"email": "ben@example.org"}],
             "cc": [{"email": "cleo@example.org", "name": "Cleo"}], "bcc": [{"email": "dora@example.org"}],
             "headers": {"X-One": "own"}, "substitutions": {"-name-": "<b>Ann</b>"}, "custom_args": {"order": "7"}},
            headers={"X-One": "1", "X-Two": "2", "List-Unsubscribe": "<https://example.com/u>"},
            reply_to={"email": "help@example.com", "name": "Help"},
            attachments=[{"content": "QQ==", "filename": "a.txt", "type": "text/plain", "content_id": "x"},
                         {"content": "QUI=", "filename": "b.png", "disposition": "inline", "content_id": "logo"}],
            categories=["orders", "new"], custom_args={"order": "1", "shop": "2"},
        ),
    )  # fmt: skip
    found, content, (ann,) = stored(api, job)
    assert (found.kind, found.name, found.total, found.test) == ("batch", "orders, new", 1, False)
    assert content == Content(
        Mailbox(SENDER, "Ann's shop"),
        "Hello",
        "<p><b>Ann</b></p>",
        "Hi <b>Ann</b>",
        reply_to=Mailbox("help@example.com", "Help"),
        cc=(Mailbox("cleo@example.org", "Cleo"),),
        bcc=(Mailbox("dora@example.org"),),
        headers=(("X-Two", "2"), ("List-Unsubscribe", "<https://example.com/u>"), ("X-One", "own")),
        attachments=(
            Attachment("a.txt", "text/plain", "QQ=="),
            Attachment("b.png", "application/octet-stream", "QUI=", "logo"),
        ),
        beside=(Mailbox("ben@example.org"),),
    )  # fmt: skip
    assert (ann.address, ann.display) == ("Ann@example.org", 'Ann "A", B')
    own = personal_of(ann.values)
    assert (own.labels, own.metadata, own.differs) == (("orders", "new"), {"order": "7", "shop": "2"}, False)


@pytest.mark.slow
def test_many_messages_are_one_job_with_each_ones_own_parts(api: Api) -> None:
    people: list[dict[str, Any]] = [
        {"to": [{"email": f"p{i}@example.org"}], "substitutions": {"-name-": f"P{i}"}} for i in range(999)
    ]
    people[1] |= {"subject": "Own -name-", "cc": [{"email": "boss@example.org"}], "headers": {"X-Own": "1"}}
    job = taken(api, mail(*people))
    assert api.call("GET", f"/batches/{job}").json["total"] == 999
    found, content, recipients = stored(api, job)
    composed = Composition(found, content)
    assert not composed.together
    first, second = (composed.of(x).content for x in recipients[:2])
    assert isinstance(first, Content)
    assert isinstance(second, Content)
    assert (first.subject, first.text, first.html, first.copied) == ("Hello", "Hi P0", "<p>P0</p>", False)
    assert (second.subject, second.headers) == ("Own P1", (("X-Own", "1"),))
    assert second.cc == (Mailbox("boss@example.org"),)
    api.world.settle()
    assert sorted(t.address for t in api.world.oracle.taken) == sorted(f"p{i}@example.org" for i in range(999))


def test_messages_that_are_the_same_go_together(api: Api) -> None:
    job = taken(api, mail(*({"to": [{"email": f"p{i}@example.org"}], "custom_args": {"n": str(i)}} for i in range(9))))
    found, content, _ = stored(api, job)
    assert not content.personal
    assert Composition(found, content).together


def test_a_stored_template_is_filled_in_for_each(api: Api) -> None:
    said = {"from": SENDER, "subject": "Hello {{ name }}", "body": "<p>{{ Name }}: {{ n }} {{ paid }}</p>"}
    name = api.call("POST", "/templates", {"name": "t", "channel": "email", **said}).json["template_id"]
    people = [
        {"to": [{"email": "a@example.org"}], "dynamic_template_data": {"Name": "A & B", "n": 3, "paid": True}},
        {"to": [{"email": "b@example.org"}], "dynamic_template_data": {"name": "B", "n": 1.5, "paid": None}},
    ]
    whole = mail(*people, template_id=name, subject=None, content=[])
    job = taken(api, whole)
    found, content, recipients = stored(api, job)
    made = [Composition(found, content).of(x).content for x in recipients]
    assert [(c.subject, c.html) for c in made if isinstance(c, Content)] == [
        ("Hello A & B", "<p>A &amp; B: 3 true</p>"),
        ("Hello B", "<p>B: 1.5 </p>"),
    ]
    own = mail({**people[0], "headers": {"X-Own": "1"}}, people[1], template_id=name, content=None)
    found, content, recipients = stored(api, taken(api, own))
    made = [Composition(found, content).of(x).content for x in recipients]
    assert [(c.subject, c.headers) for c in made if isinstance(c, Content)] == [
        ("Hello A & B", (("X-Own", "1"),)),
        ("Hello B", ()),
    ]
    for wrong in ("d-0123456789abcdef0123456789abcdef", "x", job):
        got = post(api, {**whole, "template_id": wrong})
        assert got.status == 400
        assert errors(got)[0][0] == "template_id"
    got = post(api, {**whole, "template_id": name}, key=api.other())
    assert (got.status, errors(got)[0][0]) == (400, "template_id")


def test_who_is_suppressed_is_left_out_and_seen_in_the_log(api: Api) -> None:
    for address in ("ann@example.org", "cleo@example.org"):
        assert api.call("PUT", f"/suppressions/{address}", {}).status in (200, 201)
    boxes = {name: {"email": f"{name}@example.org"} for name in ("ann", "ben", "cleo", "dora")}
    job = taken(api, mail({"to": [boxes["ann"], boxes["ben"]], "cc": [boxes["cleo"], boxes["dora"]]}))
    _, content, recipients = stored(api, job)
    assert [(r.address, r.skip) for r in recipients] == [
        ("ben@example.org", ""),
        ("ann@example.org", "suppressed"),
        ("cleo@example.org", "suppressed"),
    ]
    assert (content.beside, content.cc) == ((), (Mailbox("dora@example.org"),))
    job = taken(api, mail({"to": [boxes["ann"]], "bcc": [boxes["dora"]]}, {"to": [boxes["ben"]]}))
    assert [(r.address, r.skip) for r in stored(api, job)[2]] == [
        ("ann@example.org", "suppressed"),
        ("dora@example.org", "no_recipient"),
        ("ben@example.org", ""),
    ]
    got = post(api, mail({"to": [boxes["ann"]]}))
    said = "ann@example.org: suppressed since 2026-09-21: added by hand."
    assert (got.status, errors(got)) == (400, [("personalizations.0.to.0.email", said)])


def test_the_sandbox_is_a_test(api: Api) -> None:
    body = mail(mail_settings={"sandbox_mode": {"enable": True}})
    got = post(api, body)
    assert (got.status, got.text) == (200, "")
    job = api.world.job(got.headers["x-message-id"])
    assert (job.test, job.route) == (True, ("test",))
    assert not api.world.job(taken(api, mail(mail_settings={"sandbox_mode": {"enable": False}}))).test
    assert api.world.job(taken(api, mail(), key=api.test_key())).test


def test_a_later_time_waits_and_one_that_is_over_does_not(api: Api, clock: FakeClock) -> None:
    now = int(clock.now())
    later = taken(api, mail(send_at=now + 3600))
    assert api.world.job(later).not_before == (now + 3600) * 1000
    assert [x["job_id"] for x in api.call("GET", "/schedules").json["items"]] == [later]
    own = taken(api, mail({"to": [TO], "send_at": now + 60}, {"to": [{"email": "b@x.example"}], "send_at": now + 60}))
    assert api.world.job(own).not_before == (now + 60) * 1000
    assert api.world.job(taken(api, mail(send_at=now - 10**6))).not_before == 0
    for at in (now + 367 * 86_400, 10**18):
        got = post(api, mail(send_at=at))
        assert (got.status, errors(got)[0][0]) == (400, "send_at")
    got = post(api, mail({"to": [TO], "send_at": now + 60}, {"to": [{"email": "b@x.example"}]}))
    assert errors(got)[0][0] == "personalizations.1.send_at"


def test_a_repeated_key_gets_the_first_answer(api: Api) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = post(api, mail(), headers=key), post(api, mail(), headers=key)
    assert first.headers["x-message-id"] == again.headers["x-message-id"]
    assert (again.status, again.text, again.headers["idempotency-replayed"]) == (202, "", "true")
    assert first.headers["location"] == f"/batches/{first.headers['x-message-id']}"
    assert api.call("PUT", "/suppressions/ann@example.org", {}).status in (200, 201)
    later = post(api, mail(), headers=key)
    assert (later.status, later.headers["x-message-id"]) == (202, first.headers["x-message-id"])
    got = post(api, mail(subject="Other"), headers=key)
    assert (got.status, errors(got)[0][0]) == (400, "Idempotency-Key")
    assert post(api, mail()).status == 400, "without the key it is another request"


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (401, {"key": ""}),
        (401, {"key": "ph_live_wrong"}),
        (400, {"body": "{"}),
        (400, {"body": '{"subject": "a", "subject": "b"}'}),
        (413, {"body": "x" * (5 * 1024 * 1024 + 1)}),
        (415, {"headers": {"Content-Type": "text/plain"}}),
    ],
)
@pytest.mark.promise(10)
def test_every_refusal_has_the_vendors_form_and_stores_nothing(api: Api, status: int, changes: dict[str, Any]) -> None:
    before = api.stored()
    more = dict(changes)
    got = post(api, more.pop("body", mail()), **more)
    assert got.status == status
    assert errors(got)
    assert api.stored() == before


def test_who_may_not_send_is_answered_in_the_vendors_form(api: Api) -> None:
    got = post(api, mail(), key=api.scoped(Scope.READ))
    assert (got.status, errors(got)[0][0]) == (403, None)
    got = post(api, mail(from_={"email": "ceo@bank.example"}))
    said = "This account may not send from ceo@bank.example. Prove its domain, or ask an operator."
    assert (got.status, errors(got)) == (403, [("from.email", said)])
    got = api.call("GET", PATH)
    assert (got.status, got.headers["allow"]) == (405, "POST")
    assert errors(got)
    api.services.accounts.suspend(api.account, by="operator:x")
    got = post(api, mail())
    assert got.status in (401, 403)
    assert errors(got)


@pytest.mark.slow
def test_too_many_requests_are_answered_in_the_vendors_form(api: Api) -> None:
    for _ in range(2000):
        got = post(api, "{")
        if got.status == 429:
            break
    assert (got.status, errors(got)[0][0]) == (429, None)
    assert int(got.headers["retry-after"]) >= 1


def test_a_fault_of_ours_says_nothing_but_the_requests_id(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_args: Any, **_more: Any) -> Any:
        raise RuntimeError("ann@example.org")

    monkeypatch.setattr(type(api.services.acceptor), "accept", fault)
    got = post(api, mail())
    assert got.status == 500
    assert errors(got) == [(None, errors(got)[0][1])]
    assert "request-1" in got.text
    assert "ann" not in got.text


def test_a_field_that_is_not_there_is_named(api: Api) -> None:
    got = post(api, {**mail({"to": [TO], "cC": []}), "nonsense": 1})
    assert got.status == 400
    named = {
        ("nonsense", "This field is unknown here."),
        ("personalizations.0.cC", "This field is unknown here. Did you mean `cc`?"),
    }
    assert set(errors(got)) == named


EVIL = "x\r\nBcc: evil@example.org"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("subject", {"subject": EVIL}),
        ("from.email", {"from": {"email": SENDER, "name": EVIL}}),
        ("from.email", {"from": {"email": EVIL}}),
        ("reply_to.email", {"reply_to": {"email": "a@example.com", "name": "\x00"}}),
        ("headers.X-A", {"headers": {"X-A": EVIL}}),
        ("headers", {"headers": {"X-A\r\nBcc": "evil@example.org"}}),
        ("headers.Bcc", {"headers": {"Bcc": "evil@example.org"}}),
        ("headers.X-SMTPAPI", {"headers": {"X-SMTPAPI": "{}"}}),
        ("headers.x-a", {"headers": {"X-A": "1", "x-a": "2"}}),
        ("attachments.0.filename", {"attachments": [{"content": "QQ==", "filename": EVIL}]}),
        ("attachments.0.type", {"attachments": [{"content": "QQ==", "filename": "a", "type": EVIL}]}),
        ("attachments.0.content", {"attachments": [{"content": "Q!==", "filename": "a"}]}),
        ("categories.0", {"categories": [EVIL]}),
        ("personalizations.0.to.0.email", {"personalizations": [{"to": [{"email": EVIL}]}]}),
        ("personalizations.0.to.0.email", {"personalizations": [{"to": [{"email": "a@b.example", "name": EVIL}]}]}),
        ("personalizations.0.subject", {"personalizations": [{"to": [TO], "subject": EVIL}]}),
        ("personalizations.0.headers.X-A", {"personalizations": [{"to": [TO], "headers": {"X-A": EVIL}}]}),
        ("personalizations.0.cc.0.email", {"personalizations": [{"to": [TO], "cc": [{"email": "ANN@example.org"}]}]}),
        ("personalizations.1.to.0.email", {"personalizations": [{"to": [TO]}, {"to": [TO]}]}),
        ("subject", {"subject": None}),
        ("content", {"content": None}),
        ("content.0.value", {"content": [{"type": "text/plain", "value": "a\x00b"}]}),
    ],
)
@pytest.mark.promise(10)
def test_what_would_break_a_header_or_a_message_is_refused(api: Api, field: str, changes: dict[str, Any]) -> None:
    before = api.stored()
    got = post(api, {**mail(), **changes})
    assert got.status == 400
    assert field in [f for f, _ in errors(got)]
    assert EVIL not in json.loads(got.text)["errors"][0]["message"]
    assert api.stored() == before


def test_what_is_a_messages_own_has_a_limit(api: Api) -> None:
    whole = mail(
        {
            "to": [TO],
            "substitutions": {"-a-": "é" * 20_000},
            "cc": [{"email": f"{'c' * 60}{i}@{'d' * 60}.example", "name": "n" * 800} for i in range(99)],
        },
        {"to": [{"email": "b@example.org"}]},
    )
    got = post(api, whole)
    assert (got.status, errors(got)[0][0]) == (400, "personalizations.0")


def test_a_team_key_sends_to_guests_alone(api: Api) -> None:
    key = team_key(api, "ann@example.org")
    boxes = {name: {"email": f"{name}@example.org"} for name in ("ann", "ben", "cleo")}
    job = taken(api, mail({"to": [boxes["ben"], boxes["ann"]], "cc": [boxes["cleo"]]}), key=key)
    _, content, recipients = stored(api, job)
    assert (content.beside, content.cc) == ((), ())
    rehearsed = post(api, mail(mail_settings={"sandbox_mode": {"enable": True}}), key=key)
    assert rehearsed.status == 200
    test = api.world.job(rehearsed.headers["x-message-id"])
    assert (test.account, test.test) == (team_space(api.account), True)
    skipped = {"ann@example.org": "", "ben@example.org": "not_a_guest", "cleo@example.org": "not_a_guest"}
    assert {r.address: r.skip for r in recipients} == skipped


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("reply_to.email", {"reply_to": {"email": "reply-order-@example.com"}}),
        ("reply_to.email", {"reply_to": {"email": "help@example.com", "name": "Order -order-"}}),
        ("reply_to_list.0.email", {"reply_to_list": [{"email": "reply-order-@example.com"}]}),
    ],
)
@pytest.mark.promise(10)
def test_a_tag_in_the_address_of_answers_is_refused(api: Api, field: str, changes: dict[str, Any]) -> None:
    people: list[dict[str, Any]] = [
        {"to": [TO], "substitutions": {"-order-": "7"}},
        {"to": [{"email": "ben@example.org"}]},
    ]
    before = api.stored()
    got = post(api, mail(*people, **changes))
    assert (got.status, errors(got)[0][0], api.stored()) == (400, field, before)
    taken(api, mail(*people, reply_to={"email": "order@example.com", "name": "-orders"}))
    taken(api, mail(**changes))


@pytest.mark.parametrize(
    ("field", "texts", "body"),
    [
        ("content", {f"-{n}-": "x" for n in range(201)}, "Hi"),
        ("content", {"-": "x"}, "-" * 1001),
        ("personalizations.0", {f"{'-' * 240}{n}": "x" for n in range(200)}, "-" * 4_200),
        ("personalizations.0", {"-a-": "x" * 49_000}, "-a-" * 300),
    ],
    ids=["many", "everywhere", "long", "large"],
)
@pytest.mark.promise(6)
def test_substitutions_cannot_keep_a_sender_busy(api: Api, field: str, texts: dict[str, str], body: str) -> None:
    whole = mail({"to": [TO], "substitutions": texts}, content=[{"type": "text/plain", "value": body}])
    got = post(api, whole)
    assert got.status == 400
    assert errors(got)[0][0] == field


@pytest.mark.promise(6)
def test_a_message_that_its_texts_make_too_long_fails_alone(api: Api) -> None:
    long, short = ({"to": [{"email": f"{n}@x.example"}], "substitutions": {"-a-": "x" * n}} for n in (49_000, 1))
    job = taken(api, mail(long, short, content=[{"type": "text/plain", "value": "-a-" * 300}]))
    found, content, recipients = stored(api, job)
    composed = Composition(found, content)
    assert composed.of(recipients[0]).content == CannotCompose("message_too_large")
    assert isinstance(composed.of(recipients[1]).content, Content)
