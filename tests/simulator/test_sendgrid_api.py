"""SendGrid's mail/send: what its SDK builds is accepted, what it refuses is refused in its words."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from sendgrid import SendGridAPIClient
from sendgrid.helpers.mail import Bcc, Cc, Content, CustomArg, Email, Header, Mail, Personalization, Substitution, To

from simulator import Simulator
from tests.simulator.conftest import CREDENTIAL, PROVIDER, Send, mail


def test_a_mail_of_the_vendors_sdk_is_accepted(sim: Simulator) -> None:
    message = Mail(
        from_email=("news@sender.example", "News"),
        to_emails=[To("Ada@Example.com", "Ada"), To("bob@example.com")],
        subject="Hello",
        plain_text_content="Hi",
        html_content="<p>Hi</p>",
        is_multiple=True,
    )
    message.reply_to = Email("answers@sender.example")
    message.header = Header("X-Campaign", "spring")
    message.custom_arg = CustomArg("ref", "job-1-0-1")
    message.personalizations[0].add_cc(Cc("cc@example.com"))
    message.personalizations[1].add_bcc(Bcc("bcc@example.com"))
    client = SendGridAPIClient("SG.simulator", host=sim.base_url(PROVIDER, CREDENTIAL))

    answer = client.send(message)

    assert answer.status_code == 202
    assert answer.body == b""
    log = sim.control.log(PROVIDER, CREDENTIAL)
    assert {line["message_id"] for line in log} == {answer.headers["X-Message-Id"]}
    assert sorted((line["recipient"], line["role"], line["ref"]) for line in log) == [
        ("Ada@Example.com", "to", "job-1-0-1"),
        ("bcc@example.com", "bcc", "job-1-0-1"),
        ("bob@example.com", "to", "job-1-0-1"),
        ("cc@example.com", "cc", "job-1-0-1"),
    ]


def test_personalizations_replace_their_tags_in_subject_and_body(sim: Simulator) -> None:
    message = Mail(from_email="news@sender.example", subject="Dear -name-", html_content="<p>-name- owes {{sum}}</p>")
    for name in ("Ada", "Bob"):
        person = Personalization()
        person.add_to(To(f"{name}@example.com"))
        person.add_substitution(Substitution("-name-", name))
        person.add_substitution(Substitution("{{sum}}", "3"))
        message.add_personalization(person)

    SendGridAPIClient("SG.simulator", host=sim.base_url(PROVIDER, CREDENTIAL)).send(message)

    subjects = {line["recipient"]: line["subject"] for line in sim.control.log()}
    assert subjects == {"Ada@example.com": "Dear Ada", "Bob@example.com": "Dear Bob"}
    inbox = sim.control.json("GET", "/inbox.json")["messages"]
    shown = {m["to"]: sim.control.json("GET", f"/inbox/{m['seq']}.json")["html"] for m in inbox}
    assert shown == {"Ada@example.com": "<p>Ada owes 3</p>", "Bob@example.com": "<p>Bob owes 3</p>"}


def test_dynamic_data_replaces_only_its_placeholders(sim: Simulator, send: Send) -> None:
    body = mail("ada@example.com", subject="name: {{ name }}, {{name}}")
    body["personalizations"][0]["dynamic_template_data"] = {"name": "Ada"}

    assert send(body).status == 202
    assert sim.control.log()[0]["subject"] == "name: Ada, Ada"


def test_a_wrong_or_missing_key_is_401_and_stores_nothing(sim: Simulator, send: Send) -> None:
    for authorization in ("Bearer SG.wrong", "Basic SG.simulator", ""):
        answer = send(mail("a@example.com"), Authorization=authorization)
        assert answer.status == 401
        assert answer.json() == {
            "errors": [
                {
                    "message": "The provided authorization grant is invalid, expired, or revoked",
                    "field": None,
                    "help": None,
                }
            ]
        }
    assert sim.control.log() == []
    assert [c["status"] for c in sim.control.calls()] == [401, 401, 401]


def test_the_accepted_keys_can_be_changed(sim: Simulator, send: Send) -> None:
    sim.control.set_keys(PROVIDER, CREDENTIAL, "SG.other")
    try:
        assert send(mail("a@example.com")).status == 401
        assert send(mail("a@example.com"), Authorization="Bearer SG.other").status == 202
    finally:
        sim.control.set_keys(PROVIDER, CREDENTIAL, "SG.simulator")


def without(name: str) -> dict[str, Any]:
    return {k: v for k, v in mail("a@example.com").items() if k != name}


def person(**changes: Any) -> dict[str, Any]:
    body = mail("a@example.com")
    body["personalizations"][0].update(changes)
    return body


TEXT, HTML = {"type": "text/plain", "value": "x"}, {"type": "text/html", "value": "x"}
CALENDAR = {"type": "text/calendar", "value": "x"}

WRONG: dict[str, tuple[Callable[[], Any], str | None, str]] = {
    "not json": (lambda: b"{", None, "Bad Request"),
    "not an object": (list, None, "Bad Request"),
    "not a number": (lambda: b'{"from": NaN}', None, "Bad Request"),
    "unknown field": (lambda: mail("a@example.com", attachment=[]), "attachment", "Additional property"),
    "wrong type": (lambda: mail("a@example.com", subject=1), "subject", "Invalid type. Expected: string"),
    "unknown personal field": (lambda: person(text="x"), "personalizations.0.text", "Additional property"),
    "no personalizations": (lambda: without("personalizations"), "personalizations", "field is required"),
    "empty personalizations": (mail, "personalizations", "at least one personalization"),
    "1,001 personalizations": (
        lambda: mail(*(f"a{i}@example.com" for i in range(1001))),
        "personalizations",
        "limited to 1000 personalizations per API request. You have provided 1001",
    ),
    "1,001 recipients": (
        lambda: person(to=[{"email": f"a{i}@example.com"} for i in range(1001)]),
        "personalizations",
        "limit of 1000 total recipients",
    ),
    "no recipient": (lambda: person(to=[]), "personalizations.0.to", "The to array is required"),
    "bad recipient": (lambda: mail("a@localhost"), "personalizations.0.to.0.email", "valid address"),
    "bad cc": (lambda: person(cc=[{"email": "a b@example.com"}]), "personalizations.0.cc.0.email", "valid address"),
    "address not an object": (lambda: person(to=["a@example.com"]), "personalizations.0.to.0.email", "valid address"),
    "same address in to and cc": (
        lambda: person(cc=[{"email": "A@example.com"}]),
        "personalizations.0",
        "We found the first duplicate instance of [A@example.com] in the personalizations.0.cc field",
    ),
    "same address in two personalizations": (
        lambda: mail("a@example.com", "A@Example.com"),
        "personalizations",
        "should only be included once. You have included A@Example.com more than once",
    ),
    "no from": (lambda: without("from"), "from.email", "The from object must be provided"),
    "bad from": (lambda: mail("a@example.com", **{"from": {"email": "x"}}), "from.email", "valid address"),
    "bad reply to": (lambda: mail("a@example.com", reply_to={"email": "x"}), "reply_to.email", "valid address"),
    "no subject": (lambda: without("subject"), "subject", "The subject is required"),
    "no content": (lambda: without("content"), "content", "the content parameter is required"),
    "empty content": (
        lambda: mail("a@example.com", content=[{"type": "text/plain", "value": ""}]),
        "content.0.value",
        "at least one character",
    ),
    "html before text": (lambda: mail("a@example.com", content=[HTML, TEXT]), "content.1.type", "text/plain first"),
    "calendar before html": (lambda: mail("a@example.com", content=[CALENDAR, HTML]), "content.1.type", "before any"),
    "reserved header": (lambda: mail("a@example.com", headers={"Subject": "x"}), "headers", "reserved"),
    "reserved personal header": (
        lambda: person(headers={"DKIM-Signature": "x"}),
        "personalizations.0.headers",
        "reserved",
    ),
    "long custom args": (
        lambda: person(custom_args={"ref": "x" * 9_991}),
        "personalizations.0.custom_args",
        "may not exceed 10000 bytes",
    ),
    "custom arg not a string": (
        lambda: person(custom_args={"ref": 1}),
        "personalizations.0.custom_args.ref",
        "Expected: string",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_mail_is_400_with_the_vendors_body_and_stores_nothing(sim: Simulator, send: Send, name: str) -> None:
    build, field, text = WRONG[name]

    answer = send(build())

    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"
    [error] = answer.json()["errors"]
    assert set(error) == {"message", "field", "help"}
    assert error["field"] == field
    assert text in error["message"]
    assert sim.control.log() == []


def test_the_limits_themselves_are_allowed(sim: Simulator, send: Send) -> None:
    assert send(mail(*(f"a{i}@example.com" for i in range(1000)))).status == 202
    assert send(person(custom_args={"ref": "x" * 9_990})).status == 202  # 10,000 bytes with {"ref":""}
    assert len(sim.control.log()) == 1001


@pytest.mark.slow
def test_a_body_over_30_mb_is_413_and_another_type_is_415(sim: Simulator, send: Send) -> None:
    huge = json.dumps(mail("a@example.com")).encode() + b" " * (30 * 2**20)

    assert send(huge).status == 413
    assert send(mail("a@example.com"), Content_Type="text/plain").status == 415
    assert send(mail("a@example.com"), Content_Type="application/json; charset=utf-8").status == 202
    assert len(sim.control.log()) == 1


def test_the_sandbox_is_200_and_stores_nothing(sim: Simulator, send: Send) -> None:
    answer = send(mail("a@example.com", mail_settings={"sandbox_mode": {"enable": True}}))

    assert answer.status == 200
    assert sim.control.log() == []


def test_content_of_the_sdk_in_the_wrong_order_is_sorted_by_the_sdk(sim: Simulator) -> None:
    message = Mail("news@sender.example", "a@example.com", "Hello", html_content="<p>Hi</p>")
    message.add_content(Content("text/plain", "Hi"))

    answer = SendGridAPIClient("SG.simulator", host=sim.base_url(PROVIDER, CREDENTIAL)).send(message)

    assert answer.status_code == 202
