"""What Resend's clients ask for, as the door reads it: nothing is lost, and what is refused is named."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from shared.domain.content.content import Attachment
from shared.domain.content.posting import PostedBox, Posting
from shared.providers.doors import DoorFault, DoorRefusal, DoorTaken, Uncarried
from shared.providers.resend.carried import CARRIED, REFUSED
from shared.providers.resend.intake import DOORS, ResendFile, ResendMail, ResendTag, ResendTemplate, read
from tests.providers.test_vendor_documents import DOCUMENTS

SCHEMA: dict[str, Any] = DOCUMENTS["resend"]["request"]["application/json"]["schema"]
BASE = {"from": "news@example.com", "to": "ann@example.org", "subject": "Hello", "text": "Hi"}


def asked(**changes: Any) -> Posting:
    return read(ResendMail.model_validate_json(json.dumps({**BASE, **changes})))


def refusal(**changes: Any) -> DoorFault:
    with pytest.raises(Uncarried) as found:
        asked(**changes)
    (fault,) = found.value.faults
    return fault


def test_all_fields_of_the_vendors_document_are_known_and_on_the_page() -> None:
    fields = SCHEMA["properties"]
    assert fields.keys() == {f.alias or name for name, f in ResendMail.model_fields.items()}
    named = {name for row in (*CARRIED, *REFUSED) for name in row.split(", ")}
    assert fields.keys() | {"attachments.path"} == named
    for name, model in (("attachments", ResendFile), ("tags", ResendTag)):
        assert fields[name]["items"]["properties"].keys() <= model.model_fields.keys()
    assert fields["template"]["allOf"][0]["properties"].keys() == ResendTemplate.model_fields.keys()


@pytest.mark.promise(10)
def test_a_file_that_is_elsewhere_and_a_topic_are_refused() -> None:
    file = {"path": "https://example.com/a.pdf", "filename": "a.pdf", "content": "QQ=="}
    assert refusal(attachments=[file]) == DoorFault("attachments.0.path", REFUSED["attachments.path"])
    assert refusal(topic_id="t") == DoorFault("topic_id", REFUSED["topic_id"])
    assert asked(topic_id="", attachments=[]) == asked(topic_id=None, attachments=None) == asked()


def test_a_file_is_base64_or_numbers_and_its_type_may_be_in_its_name() -> None:
    found = asked(
        attachments=[
            {"filename": "a.txt", "content": list(b"Hi")},
            {"filename": "a.unknown", "content": "SGk=", "inline_content_id": "b"},
            {"filename": "a.png", "content": "SGk=", "content_type": "x/y", "content_id": "c"},
        ]
    ).attachments
    assert found == (
        Attachment("a.txt", "text/plain", "SGk="),
        Attachment("a.unknown", "application/octet-stream", "SGk=", "b"),
        Attachment("a.png", "x/y", "SGk=", "c"),
    )


def test_no_tag_gives_way_to_another_in_silence() -> None:
    twice = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
    assert refusal(tags=twice) == DoorFault("tags", "Two tags have the same name.")
    assert asked(tags=[{"name": "a"}]).messages[0].metadata == {"a": ""}


def test_a_time_has_an_offset() -> None:
    at = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()
    assert asked(scheduled_at="2026-11-20T09:00:00.000Z").send_at == at
    assert asked(scheduled_at="2026-11-20T10:00:00+01:00").send_at == at
    for text in ("2026-11-20T09:00:00", "2026-11-20", "in 1 hour", "1795165200"):
        assert refusal(scheduled_at=text) == DoorFault("scheduled_at", REFUSED["scheduled_at"])
    assert asked(scheduled_at="").send_at == asked().send_at == 0


@pytest.mark.parametrize(
    ("code", "status", "keyless", "name", "shown"),
    [
        ("unauthorized", 401, True, "missing_api_key", 401),
        ("unauthorized", 401, False, "validation_error", 401),
        ("missing_scope", 403, False, "restricted_api_key", 403),
        ("account_suspended", 403, False, "suspended_api_key", 403),
        ("from_not_allowed", 422, False, "validation_error", 403),
        ("bad_idempotency_key", 400, False, "invalid_idempotency_key", 400),
        ("idempotency_mismatch", 422, False, "invalid_idempotent_request", 409),
        ("rate_limited", 429, False, "rate_limit_exceeded", 429),
        ("quota_exceeded", 429, False, "daily_quota_exceeded", 429),
        ("try_again", 503, False, "application_error", 503),
        ("validation_failed", 422, False, "validation_error", 422),
    ],
)
def test_a_refusal_has_the_vendors_name(code: str, status: int, keyless: bool, name: str, shown: int) -> None:  # noqa: FBT001 - a row
    said = DOORS[0].voice.refused(DoorRefusal(code, status, [DoorFault("to", "Two.")], "", keyless))
    assert json.loads(said) == {"statusCode": shown, "name": name, "message": "to: Two."}
    assert DOORS[0].voice.status(code, status) == shown


def test_an_answer_has_the_form_of_the_vendors_document() -> None:
    answer = DOORS[0].answer([DoorTaken(asked(), "01")])
    form = DOCUMENTS["resend"]["answers"]["200"]["application/json"]["schema"]
    assert list(Draft202012Validator(form).iter_errors(json.loads(answer.body))) == []
    assert json.loads(answer.body) == {"id": "01"}


LINES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=40)
EMAILS = st.builds("{}@{}.example".format, st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.sampled_from("abc"))
PEOPLE = EMAILS | st.lists(EMAILS, max_size=2)
MAILS = st.fixed_dictionaries(
    {"from": EMAILS, "to": EMAILS | st.lists(EMAILS, min_size=1, max_size=3), "subject": LINES, "html": LINES},
    optional={
        "cc": PEOPLE,
        "bcc": PEOPLE,
        "reply_to": EMAILS,
        "text": LINES,
        "headers": st.dictionaries(LINES, LINES, max_size=2),
        "tags": st.lists(
            st.builds(lambda n, v: {"name": n, "value": v}, LINES, LINES), max_size=2, unique_by=lambda x: x["name"]
        ),
    },
)


@given(MAILS)
def test_every_mail_of_the_grammar_is_read_whole(mail: dict[str, Any]) -> None:
    """The grammar is a part of the vendor's document, and nothing that is in a mail is missing in what is read."""
    assert list(Draft202012Validator(SCHEMA).iter_errors(mail)) == []
    found = read(ResendMail.model_validate_json(json.dumps(mail)))
    (message,) = found.messages
    for role in ("to", "cc", "bcc"):
        wanted = mail.get(role, [])
        assert [b.address for b in getattr(message, role)] == ([wanted] if isinstance(wanted, str) else wanted)
    assert (found.sender, found.subject) == (PostedBox(mail["from"], "", "from"), mail["subject"])
    assert (found.html, found.text) == (mail["html"], mail.get("text", ""))
    assert dict(found.headers) == mail.get("headers", {})
    assert message.metadata == {x["name"]: x["value"] for x in mail.get("tags", ())}
    assert (found.reply_to is None) == ("reply_to" not in mail)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=2), max_leaves=4
)


@given(st.sampled_from(sorted(SCHEMA["properties"])), JSON)
def test_a_value_of_another_type_is_refused_or_read_and_never_a_fault(name: str, value: Any) -> None:
    try:
        found = asked(**{name: value})
    except (Uncarried, ValidationError):
        return
    assert found.messages[0].to
