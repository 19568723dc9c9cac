"""What SendGrid's clients ask for, as the door reads it: nothing is lost, and what is refused is named."""

import json
from dataclasses import fields
from typing import Any

import pytest
import sendgrid.helpers.mail as sdk
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from shared.domain.content.posting import PostedBox, Posting
from shared.providers.doors import DoorFault, DoorRefusal, Uncarried, doors
from shared.providers.sendgrid.carried import CARRIED, REFUSED
from shared.providers.sendgrid.intake import DOOR, MailSettings, Personalization, SendGridMail, TrackingSettings, read
from tests.providers.test_vendor_documents import DOCUMENTS

BASE: dict[str, Any] = {
    "personalizations": [{"to": [{"email": "ann@example.org"}]}],
    "from": {"email": "news@example.com"},
    "subject": "Hello",
    "content": [{"type": "text/plain", "value": "Hi"}],
}
SCHEMA: dict[str, Any] = DOCUMENTS["sendgrid"]["request"]["application/json"]["schema"]


def asked(**changes: Any) -> Posting:
    whole = {**BASE, **{name.rstrip("_"): value for name, value in changes.items()}}
    return read(SendGridMail.model_validate_json(json.dumps({k: v for k, v in whole.items() if v is not None})))


def refusal(**changes: Any) -> str:
    """Return the field of the only fault of a request."""
    with pytest.raises(Uncarried) as found:
        asked(**changes)
    (fault,) = found.value.faults
    assert str(found.value) == fault.text
    assert fault.text.endswith(".")
    return fault.field


def test_all_fields_of_the_vendors_document_are_carried_or_refused() -> None:
    top = SCHEMA["properties"]
    named = {name for row in (*CARRIED, *REFUSED) for name in row.replace(", .", ", personalizations.").split(", ")}
    people = top["personalizations"]["items"]["properties"]
    wanted = {*top, *(f"personalizations.{name}" for name in people)} - {"mail_settings", "tracking_settings"}
    wanted |= {
        f"{group}.{name}" for group in ("mail_settings", "tracking_settings") for name in top[group]["properties"]
    }
    assert wanted - named == {"reply_to_list"}, "which is in the row of reply_to"
    known = {f.alias or name for name, f in SendGridMail.model_fields.items()}
    assert top.keys() - known == set()
    assert people.keys() - {f.alias or name for name, f in Personalization.model_fields.items()} == set()
    for group, model in (("mail_settings", MailSettings), ("tracking_settings", TrackingSettings)):
        assert top[group]["properties"].keys() - model.model_fields.keys() == set()


def test_doors_are_found_by_their_providers() -> None:
    assert [(d.path, d.name) for d in doors()] == [
        ("/v3/mail/send", "sendMailAsSendGrid"),
        ("/email", "sendEmailAsPostmark"),
        ("/email/batch", "sendBatchAsPostmark"),
        ("/emails", "sendEmailAsResend"),
        ("/emails/batch", "sendBatchAsResend"),
    ]
    assert doors()[0] is DOOR


def test_all_that_the_vendors_sdk_can_write_is_read() -> None:
    mail = sdk.Mail(("news@example.com", "News"), None, "Hello", "Hi -name-", "<p>-name-</p>")
    for n, name in enumerate(("ann", "ben")):
        person = sdk.Personalization()
        person.add_to(sdk.To(f"{name}@example.org", name.title()))
        person.add_cc(sdk.Cc(f"cc{n}@example.org"))
        person.add_bcc(sdk.Bcc(f"bcc{n}@example.org", "Blind"))
        person.add_substitution(sdk.Substitution("-name-", name))
        person.add_header(sdk.Header("X-N", str(n)))
        person.add_custom_arg(sdk.CustomArg("n", str(n)))
        person.subject, person.send_at = f"Hello {n}", 1_900_000_000
        mail.add_personalization(person)
    mail.add_attachment(sdk.Attachment("QQ==", "a.txt", "text/plain", "inline", "a"))
    mail.category = [sdk.Category("one"), sdk.Category("two")]
    mail.add_header(sdk.Header("X-All", "1"))
    mail.add_custom_arg(sdk.CustomArg("all", "1"))
    mail.reply_to = sdk.ReplyTo("help@example.com", "Help")
    mail.mail_settings = sdk.MailSettings(sandbox_mode=sdk.SandBoxMode(True), footer_settings=sdk.FooterSettings(False))
    mail.tracking_settings = sdk.TrackingSettings(sdk.ClickTracking(False, False), sdk.OpenTracking(False))
    found = read(SendGridMail.model_validate_json(json.dumps(mail.get())))
    assert found.sender == PostedBox("news@example.com", "News", "from.email")
    assert (found.subject, found.text, found.html) == ("Hello", "Hi -name-", "<p>-name-</p>")
    assert (sorted(found.labels), found.send_at, found.rehearsed) == (["one", "two"], 1_900_000_000, True)
    assert found.reply_to == PostedBox("help@example.com", "Help", "reply_to.email")
    assert (found.headers, found.attachments[0].content_id) == ((("X-All", "1"),), "a")
    ben, ann = found.messages  # the SDK puts what is added last first
    assert ann.to == (PostedBox("ann@example.org", "Ann", "personalizations.1.to.0.email"),)
    assert ben.cc == (PostedBox("cc1@example.org", "", "personalizations.0.cc.0.email"),)
    assert ben.bcc == (PostedBox("bcc1@example.org", "Blind", "personalizations.0.bcc.0.email"),)
    assert (ben.subject, ben.texts, ben.headers) == ("Hello 1", {"-name-": "ben"}, (("X-N", "1"),))
    assert ben.metadata == {"all": "1", "n": "1"}


@pytest.mark.parametrize(
    ("where", "given_"),
    [
        ("sections", {"-s-": "text"}),
        ("asm", {"group_id": 1}),
        ("batch_id", "b"),
        ("ip_pool_name", "p"),
        *((f"mail_settings.{name}", None) for name in MailSettings.model_fields if name != "sandbox_mode"),
        *((f"tracking_settings.{name}", None) for name in TrackingSettings.model_fields),
    ],
)
def test_what_cannot_be_carried_is_named_and_may_be_there_if_it_says_nothing(where: str, given_: Any) -> None:
    assert where in REFUSED
    group, _, name = where.partition(".")
    if name:
        assert refusal(**{group: {name: {"enable": True, "text": "x"}}}) == where
        assert asked(**{group: {name: {"enable": False, "text": "x"}}}) == asked()
        assert asked(**{group: {name: {}}}) == asked(**{group: {}}) == asked()
    else:
        assert refusal(**{group: given_}) == where
        assert asked(**{group: type(given_)()}) == asked()


def test_all_that_is_refused_is_named_at_once() -> None:
    person = {"to": [{"email": "a@example.org"}], "from": {"email": "b@example.com"}}
    with pytest.raises(Uncarried) as found:
        asked(asm={"group_id": 1}, batch_id="b", personalizations=[person])
    assert [f.field for f in found.value.faults] == ["asm", "batch_id", "personalizations.0.from"]


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("content.1.type", {"content": [{"type": "text/plain", "value": "a"}, {"type": "text/plain", "value": "b"}]}),
        ("content.0.type", {"content": [{"type": "text/x-amp-html", "value": "a"}]}),
        ("content", {"template_id": "t"}),
        ("reply_to_list", {"reply_to": {"email": "a@b.example"}, "reply_to_list": [{"email": "c@b.example"}]}),
        ("attachments.0.content_id", {"attachments": [{"content": "QQ==", "filename": "a", "disposition": "inline"}]}),
        (
            "personalizations.0.dynamic_template_data",
            {"personalizations": [{"to": [{"email": "a@b.example"}], "dynamic_template_data": {"a": "b"}}]},
        ),
        (
            "personalizations.0.substitutions",
            {
                "personalizations": [{"to": [{"email": "a@b.example"}], "substitutions": {"a": "b"}}],
                "template_id": "t",
                "content": None,
            },
        ),
        *(
            (
                f"personalizations.0.dynamic_template_data.{name}",
                {
                    "personalizations": [{"to": [{"email": "a@b.example"}], "dynamic_template_data": values}],
                    "template_id": "t",
                    "content": None,
                },
            )
            for name, values in (("a", {"a": ["b"]}), ("a", {"a": {"b": "c"}}), (" A", {"a": "b", " A": "c"}))
        ),
        ("personalizations.0.custom_args", {"custom_args": {"a": "b" * 10_000}}),
        (
            "personalizations.0.substitutions",
            {"personalizations": [{"to": [{"email": "a@b.example"}], "substitutions": {"-a-": "é" * 25_000}}]},
        ),
        (
            "personalizations",
            {"personalizations": [{"to": [{"email": f"{n}.{i}@b.example"} for i in range(101)]} for n in range(10)]},
        ),
    ],
)
def test_other_requests_that_cannot_be_carried(field: str, changes: dict[str, Any]) -> None:
    assert refusal(**changes) == field


def test_a_single_address_of_answers_may_be_a_list() -> None:
    found = asked(reply_to_list=[{"email": "a@b.example", "name": "A"}])
    assert found.reply_to == PostedBox("a@b.example", "A", "reply_to_list.0.email")


def test_a_blank_body_beside_a_template_is_left_out() -> None:
    found = asked(template_id="t", content=[{"type": "text/html", "value": " "}])
    assert (found.template, found.html) == ("t", "")


def test_refusals_have_the_form_of_the_vendors_document() -> None:
    found = DOOR.voice.refused(DoorRefusal("validation_failed", 422, Uncarried(*_faults()).faults, "/errors#x"))
    assert json.loads(found) == {
        "errors": [
            {"message": "One.", "field": "a.b", "help": "/errors#x"},
            {"message": "Two.", "field": None, "help": "/errors#x"},
        ]
    }
    statuses = [("from_not_allowed", 422), ("validation_failed", 422), ("not_found", 404), ("try_again", 503)]
    assert [DOOR.voice.status(*x) for x in statuses] == [403, 400, 404, 503]


def _faults() -> list[Any]:
    return [DoorFault("a.b", "One."), DoorFault("", "Two.")]


LINES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=40)
EMAILS = st.builds("{}@{}.example".format, st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.sampled_from("abc"))
BOXES = st.fixed_dictionaries({"email": EMAILS}, optional={"name": LINES})
PEOPLE = st.fixed_dictionaries(
    {"to": st.lists(BOXES, min_size=1, max_size=3)},
    optional={
        "cc": st.lists(BOXES, max_size=2),
        "bcc": st.lists(BOXES, max_size=2),
        "subject": LINES,
        "headers": st.dictionaries(LINES, LINES, max_size=2),
        "substitutions": st.dictionaries(LINES, LINES, max_size=3),
        "custom_args": st.dictionaries(LINES, LINES, max_size=3),
    },
)
MAILS = st.fixed_dictionaries(
    {
        "personalizations": st.lists(PEOPLE, min_size=1, max_size=3),
        "from": BOXES,
        "content": st.builds(
            lambda kind, value: [{"type": kind, "value": value}], st.sampled_from(["text/plain", "text/html"]), LINES
        ),
    },
    optional={
        "subject": LINES,
        "reply_to": BOXES,
        "categories": st.lists(LINES, max_size=3, unique=True),
        "headers": st.dictionaries(LINES, LINES, max_size=2),
        "send_at": st.integers(0, 2**40),
        "attachments": st.just([{"content": "QQ==", "filename": "a"}]),
    },
)


@given(MAILS)
def test_every_mail_of_the_grammar_is_read_whole(mail: dict[str, Any]) -> None:
    """The grammar is a part of the vendor's document, and nothing that is in a mail is missing in what is read."""
    assert list(Draft202012Validator(SCHEMA).iter_errors(mail)) == []
    found = read(SendGridMail.model_validate_json(json.dumps(mail)))
    for one, asked_for in zip(mail["personalizations"], found.messages, strict=True):
        for role in ("to", "cc", "bcc"):
            boxes = [(b.address, b.name) for b in getattr(asked_for, role)]
            assert boxes == [(b["email"], b.get("name", "")) for b in one.get(role, [])]
        assert asked_for.subject == one.get("subject", "")
        assert dict(asked_for.headers) == one.get("headers", {})
        assert asked_for.texts == one.get("substitutions", {})
        assert asked_for.metadata == one.get("custom_args", {})
    assert (found.sender.address, found.sender.name) == (mail["from"]["email"], mail["from"].get("name", ""))
    assert {found.text, found.html} == {mail["content"][0]["value"], ""}
    assert found.labels == tuple(dict.fromkeys(mail.get("categories", ())))
    assert (found.subject, found.send_at) == (mail.get("subject", ""), mail.get("send_at", 0))
    assert len(found.attachments) == len(mail.get("attachments", ()))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=2), max_leaves=4
)


@given(st.sampled_from(sorted({f.alias or n for n, f in SendGridMail.model_fields.items()})), JSON)
def test_a_value_of_another_type_is_refused_or_read_and_never_a_fault(name: str, value: Any) -> None:
    try:
        found = asked(**{f"{name}_" if name == "from" else name: value})
    except (Uncarried, ValidationError):
        return
    assert {f.name for f in fields(found)} >= {"sender", "messages"}
