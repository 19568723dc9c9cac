"""What Postmark's clients ask for, as the door reads it: nothing is lost, and what is refused is named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from postmarker.models.emails import Email
from pydantic import ValidationError

from shared.domain.content.content import Attachment
from shared.domain.content.posting import PostedBox, Posting
from shared.providers.doors import DoorFault, DoorRefusal, Uncarried
from shared.providers.postmark.carried import CARRIED, REFUSED
from shared.providers.postmark.intake import DOORS, PostmarkMail, read
from simulator.vendors.postmark import FIELDS

BASE = {"From": "news@example.com", "To": "ann@example.org", "Subject": "Hello", "TextBody": "Hi"}


def asked(**changes: Any) -> Posting:
    return read(PostmarkMail.model_validate_json(json.dumps({**BASE, **changes})))


def test_all_fields_of_the_vendors_are_known_and_on_the_page() -> None:
    assert set(PostmarkMail.model_fields) == FIELDS
    assert {name for row in CARRIED for name in row.split(", ")} == FIELDS
    assert set(REFUSED) < FIELDS


@pytest.mark.parametrize(
    ("field", "said", "silent"),
    [
        ("TrackOpens", True, (False, None)),
        ("TrackLinks", "HtmlAndText", ("None", None)),
        ("MessageStream", "broadcast", ("outbound", None, "")),
    ],
)
@pytest.mark.promise(10)
def test_what_is_refused_may_be_there_if_it_says_nothing(field: str, said: Any, silent: tuple[Any, ...]) -> None:
    with pytest.raises(Uncarried) as found:
        asked(**{field: said})
    assert found.value.faults == (DoorFault(field, REFUSED[field]),)
    assert all(asked(**{field: value}) == asked() for value in silent)


def test_all_that_is_refused_is_named_at_once() -> None:
    with pytest.raises(Uncarried) as found:
        asked(TrackOpens=True, TrackLinks="HtmlOnly", MessageStream="x")
    assert [f.field for f in found.value.faults] == ["TrackOpens", "TrackLinks", "MessageStream"]


def test_what_the_sdk_sends_for_what_its_user_leaves_out_is_nothing() -> None:
    email = Email(manager=None, **BASE, Cc=None, Bcc="", ReplyTo=None, Tag=None, Metadata=None, TrackLinks="None")
    assert read(PostmarkMail.model_validate_json(json.dumps(email.as_dict()))) == asked()


def test_an_inline_file_has_its_id_with_or_without_the_scheme() -> None:
    file = {"Name": "a.png", "Content": "QQ==", "ContentType": "image/png"}
    found = asked(Attachments=[{**file, "ContentID": "cid:logo"}, {**file, "ContentID": "logo"}, file]).attachments
    inline = Attachment("a.png", "image/png", "QQ==", "logo")
    assert found == (inline, inline, Attachment("a.png", "image/png", "QQ=="))


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("unauthorized", 401, 10),
        ("missing_scope", 403, 10),
        ("validation_failed", 422, 300),
        ("from_not_allowed", 422, 400),
        ("malformed_json", 400, 402),
        ("no_valid_recipient", 422, 406),
        ("unsupported_media_type", 415, 409),
        ("too_many_recipients", 422, 410),
        ("account_suspended", 403, 413),
        ("quota_exceeded", 429, 429),
        ("internal_error", 500, 100),
        ("try_again", 503, 100),
        ("too_large", 413, 300),
        ("not_found", 404, 300),
    ],
)
def test_a_refusal_has_the_vendors_code(code: str, status: int, expected: int) -> None:
    said = DOORS[0].voice.refused(DoorRefusal(code, status, [DoorFault("", "One."), DoorFault("To", "Two.")], ""))
    own = "Send a valid API key of this deployment as X-Postmark-Server-Token."
    wanted = own if code == "unauthorized" else "One. To: Two."
    assert json.loads(said) == {"ErrorCode": expected, "Message": wanted}


LINES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=40)
EMAILS = st.builds("{}@{}.example".format, st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.sampled_from("abc"))
MAILS = st.fixed_dictionaries(
    {"From": EMAILS, "To": st.lists(EMAILS, min_size=1, max_size=3).map(", ".join), "HtmlBody": LINES},
    optional={
        "Cc": st.lists(EMAILS, max_size=2).map(",".join),
        "Bcc": st.lists(EMAILS, max_size=2).map(",".join),
        "Subject": LINES,
        "Tag": LINES,
        "ReplyTo": EMAILS,
        "Headers": st.lists(st.builds(lambda n, v: {"Name": n, "Value": v}, LINES, LINES), max_size=2),
        "Metadata": st.dictionaries(LINES, LINES, max_size=3),
    },
)


@given(MAILS)
def test_every_mail_of_the_grammar_is_read_whole(mail: dict[str, Any]) -> None:
    found = read(PostmarkMail.model_validate_json(json.dumps(mail)))
    (message,) = found.messages
    for role in ("To", "Cc", "Bcc"):
        texts = [x.strip() for x in mail.get(role, "").split(",") if x.strip()]
        assert [(b.address, b.name, b.field) for b in getattr(message, role.lower())] == [(x, "", role) for x in texts]
    assert (found.sender, found.html) == (PostedBox(mail["From"], "", "From"), mail["HtmlBody"])
    assert (found.subject, found.labels) == (mail.get("Subject", ""), tuple(filter(None, [mail.get("Tag")])))
    assert list(found.headers) == [(x["Name"], x["Value"]) for x in mail.get("Headers", ())]
    assert message.metadata == mail.get("Metadata", {})
    assert (found.reply_to is None) == ("ReplyTo" not in mail)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=2), max_leaves=4
)


@given(st.sampled_from(sorted(FIELDS)), JSON)
def test_a_value_of_another_type_is_refused_or_read_and_never_a_fault(name: str, value: Any) -> None:
    try:
        found = asked(**{name: value})
    except (Uncarried, ValidationError):
        return
    assert found.messages[0].to
