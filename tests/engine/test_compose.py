"""A recipient's message: what is filled in, what is added, what cannot be sent."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.unsubscribe import Unsubscription, read
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.engine.lane.compose import CannotCompose, Composition
from shared.ports import Retriable
from tests.fakes.links import KEYS, FakeLinks
from tests.fakes.world import ACCOUNT, World

BASE = "https://mail.example.com/unsubscribe/"
MAIL = Content(
    Mailbox("news@example.com"),
    "Hello {{ name }}",
    html='<p>Dear {{ Name }}, <a href="{{ unsubscribe_url }}">no more</a></p>',
    merge=True,
    unsubscribe=BASE,
)
SMS = Content(Mailbox("+15005550006"), "", text="{{ text }}", merge=True)
ANN = Recipient("Ann@example.com", "ann@example.com", values={"name": "Ann & Bob"})


@pytest.fixture(scope="module")
def job() -> Job:
    return World().accept(1)


def made(job: Job, content: Content, recipient: Recipient = ANN, channel: str = "email") -> Content | CannotCompose:
    return Composition(replace(job, channel=channel), content, FakeLinks()).of(recipient).content


def text_of(job: Job, values: dict[str, str], channel: str = "sms") -> Content | CannotCompose:
    return made(job, SMS, Recipient("+15005550006", "+15005550006", values=values), channel)


def test_values_are_filled_in_and_made_safe_for_where_they_go(job: Job) -> None:
    sent = made(job, MAIL)
    assert isinstance(sent, Content)
    assert sent.subject == "Hello Ann & Bob"
    assert sent.html.startswith("<p>Dear Ann &amp; Bob, <a href=")
    assert sent.text.startswith("Dear Ann & Bob, no more (https://mail.example.com/unsubscribe/")
    assert sent.sender == MAIL.sender


def test_all_else_is_the_contents_own(job: Job) -> None:
    full = replace(
        MAIL,
        subject="Hello",
        html="<p>Hello</p>",
        text="{{ name }}",
        reply_to=Mailbox("answers@example.com"),
        cc=(Mailbox("cc@example.com"),),
        bcc=(Mailbox("bcc@example.com"),),
        headers=(("X-Campaign", "7"),),
        attachments=(Attachment("a.pdf", "application/pdf", "QUJD"),),
    )
    sent = made(job, full)
    assert isinstance(sent, Content)
    assert sent == replace(full, text="Ann & Bob", headers=sent.headers, merge=False)


def test_the_link_is_the_recipients_own_and_always_the_same(job: Job) -> None:
    sent = made(job, MAIL)
    assert isinstance(sent, Content)
    headers = dict(sent.headers)
    link = headers["List-Unsubscribe"].removeprefix("<").removesuffix(">")
    assert headers == {"List-Unsubscribe": f"<{link}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    assert link in sent.html
    assert f"({link})" in sent.text
    wanted = Unsubscription(ACCOUNT, "ann@example.com", job.id, test=False)
    assert read(KEYS, link.removeprefix(BASE)) == wanted
    assert made(job, MAIL) == sent


def test_headers_stand_beside_those_of_the_content(job: Job) -> None:
    plain = replace(MAIL, headers=(("X-Campaign", "7"),), html="{{ not }} a template", merge=False)
    sent = made(job, plain)
    assert isinstance(sent, Content)
    assert [name for name, _ in sent.headers] == ["X-Campaign", "List-Unsubscribe", "List-Unsubscribe-Post"]
    assert sent.html == "{{ not }} a template"
    assert sent.text == ""


def test_without_an_unsubscription_the_variable_is_the_lists_own_or_empty(job: Job) -> None:
    content = replace(MAIL, unsubscribe="", html="[{{ unsubscribe_url }}]")
    for values, expected in (({}, "[]"), ({"unsubscribe_url": "https://own.example.com"}, "[https://own.example.com]")):
        sent = made(job, content, replace(ANN, values=values))
        assert isinstance(sent, Content)
        assert sent.html == expected
        assert sent.headers == ()


def test_a_list_cannot_put_another_link_or_recipient_in_its_place(job: Job) -> None:
    content = replace(MAIL, html="{{ recipient }} {{ unsubscribe_url }}")
    values = {"recipient": "eve@example.com", "unsubscribe_url": "https://evil.example.com"}
    sent = made(job, content, replace(ANN, values=values))
    assert isinstance(sent, Content)
    assert re.fullmatch(rf"Ann@example\.com {BASE}[\w-]{{20,}}", sent.html)


def test_a_given_text_part_is_not_replaced(job: Job) -> None:
    sent = made(job, replace(MAIL, text="Hi {{ name }}"))
    assert isinstance(sent, Content)
    assert sent.text == "Hi Ann & Bob"


def test_what_is_the_same_for_all_is_made_once_and_may_share_calls(job: Job) -> None:
    plain = Content(Mailbox("news@example.com"), "Hello", text="{{ hello }}")
    shared = Composition(job, plain).shared
    assert shared is not None
    assert shared.content is plain
    merged = Composition(job, replace(plain, text="", html="<p>Hello</p>", merge=True)).shared
    assert merged is not None
    assert isinstance(merged.content, Content)
    assert (merged.content.text, merged.content.merge) == ("Hello", False)
    for own in (MAIL, replace(plain, unsubscribe=BASE), replace(plain, merge=True)):
        assert Composition(job, own, FakeLinks()).shared is None


def test_a_channel_without_html_has_the_text_alone(job: Job) -> None:
    sent = text_of(job, {"text": "5 < 6 & you"}, "sms")
    assert isinstance(sent, Content)
    assert (sent.subject, sent.html, sent.text) == ("", "", "5 < 6 & you")


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    ("content", "values", "code"),
    [
        (MAIL, {"name": "x" * 993}, "subject_too_long"),
        (replace(MAIL, html="{{ body }}"), {"body": " \n"}, "empty_message"),
        (replace(MAIL, html="<p>{{ body }}</p>"), {}, "empty_message"),
        (replace(MAIL, html="<p>{{ body }}</p>", text="Hi"), {"body": "\u200b\u00a0"}, "empty_message"),
        (replace(MAIL, html='<img src="{{ url }}">'), {"url": ""}, "empty_message"),
        (replace(MAIL, subject="{{ subject }}"), {"subject": "\u2060\u200b"}, "subject_missing"),
        (MAIL, {"name": "a\0b"}, "control_character"),
        (MAIL, {"name": "\ud800"}, "control_character"),
        (replace(MAIL, html="{{ body }}" * 700), {"body": '"' * 8192}, "message_too_large"),
        (replace(MAIL, html="<p>{{ body" + " }}"), {"body": "é" * (6 * 2**20)}, "message_too_large"),
    ],
)
def test_what_cannot_be_sent_says_why(job: Job, content: Content, values: dict[str, str], code: str) -> None:
    assert made(job, content, replace(ANN, values=values)) == CannotCompose(code)


@pytest.mark.promise(6)
def test_bounds_are_those_of_the_rendered_text(job: Job) -> None:
    assert text_of(job, {"text": "x" * 1601}) == CannotCompose("sms_too_long")
    assert isinstance(text_of(job, {"text": "x" * 1600}), Content)
    assert isinstance(made(job, MAIL, replace(ANN, values={"name": "x" * 992})), Content)
    assert text_of(job, {}) == CannotCompose("empty_message")


def test_what_can_be_seen_is_sent_whatever_it_is(job: Job) -> None:
    for html in ('<img src="{{ url }}">', "<p>{{ url }}</p>", '<td background="{{ url }}"></td>'):
        sent = made(job, replace(MAIL, html=html), replace(ANN, values={"name": "Ann", "url": "https://example.com/a"}))
        assert isinstance(sent, Content), html
    assert text_of(job, {"text": "\u200b\u2060"}) == CannotCompose("empty_message")


def test_a_text_message_is_composed_before_it_is_counted_and_sent(job: Job) -> None:
    for values in ({"text": "Cafe\u0301 \ufeff" * 100}, {"text": "Caf\u00e9 " * 100}):
        recipient = Recipient("+15005550006", "+15005550006", values=values)
        for content in (SMS, replace(SMS, text=values["text"], merge=False)):
            sent = Composition(replace(job, channel="sms"), content).of(recipient)
            assert isinstance(sent.content, Content)
            assert (sent.content.text, sent.slots) == ("Caf\u00e9 " * 100, 4)
    assert isinstance(text_of(job, {"text": "e\u0301" * 1600}), Content)
    chat = text_of(job, {"text": "e\u0301"}, "whatsapp")
    assert isinstance(chat, Content)
    assert chat.text == "e\u0301"  # only SMS are charged by their letters


def test_a_control_character_in_a_subject_alone_becomes_a_space(job: Job) -> None:
    sent = made(job, replace(MAIL, html="<p>Hi</p>"), replace(ANN, values={"name": "a\0\r\nBcc: b"}))
    assert isinstance(sent, Content)
    assert sent.subject == "Hello a Bcc: b"


@pytest.mark.promise(6)
def test_a_row_without_an_address_concerns_itself_alone(job: Job) -> None:
    nobody = Recipient("", "")
    assert made(job, MAIL, nobody) == CannotCompose("invalid_recipient")
    assert made(job, replace(MAIL, unsubscribe="", html="{{ recipient }}"), nobody) == CannotCompose("no_recipient")


def test_templates_that_are_refused_make_no_message(job: Job) -> None:
    assert made(job, replace(MAIL, html="{{#each}}")) == CannotCompose("invalid_template")


def test_a_link_that_cannot_be_made_now_is_no_fault_of_the_row(job: Job) -> None:
    class Away(FakeLinks):
        def sign(self, wanted: Unsubscription) -> str:
            raise Retriable

    with pytest.raises(Retriable):
        Composition(job, MAIL, Away()).of(ANN)
    with pytest.raises(ValueError, match="links"):
        Composition(job, MAIL)


def test_a_message_weighs_its_segments_and_what_it_keeps_in_memory(job: Job) -> None:
    sms = Composition(replace(job, channel="sms"), SMS)
    weights = [sms.of(Recipient("+1", "+1", values={"text": t})).slots for t in ("x", "x" * 161, "é" * 800, "😀" * 36)]
    assert weights == [1, 2, 6, 2]
    assert sms.of(Recipient("+1", "+1")).slots == 0
    file = Attachment("a.pdf", "application/pdf", "QUJD")
    mail = Composition(job, replace(MAIL, attachments=(file,)), FakeLinks()).of(ANN)
    assert isinstance(mail.content, Content)
    assert (mail.slots, mail.size) == (1, len(mail.content.html) + len(mail.content.text) + 4)


VALUES = st.dictionaries(st.sampled_from(["name", "text", "recipient", "unsubscribe_url"]), st.text())


@pytest.mark.promise(6)
@given(values=VALUES, surrogate=st.sampled_from(["", "\ud83d", "\0"]), address=st.text())
def test_no_row_raises(job: Job, values: dict[str, str], surrogate: str, address: str) -> None:
    odd: dict[str, Any] = {k: v + surrogate for k, v in values.items()}
    for content, channel in ((MAIL, "email"), (SMS, "sms")):
        out = made(job, content, Recipient(address, address, values=odd), channel)
        assert isinstance(out, CannotCompose) or not re.search("[\0\ud800-\udfff]", out.subject + out.html + out.text)
