"""The relay's calls of the API, over HTTP, and what it makes of each answer."""

from collections.abc import Iterator
from io import BytesIO

import pytest

from cli.environment import Destination
from cli.relay.api import AT_ONCE, UPLOADS, MailAnswer, MailApi, PostFate
from cli.relay.mail import RelayMail, relay_mail
from tests.cli.relay.api import KEY, Arrived, FakeMailApi, Mood
from tests.fakes.clock import FakeClock

CONTENT = b"From: a@b.example\r\n\r\nHello!\r\n"


@pytest.fixture
def client(api: FakeMailApi) -> Iterator[MailApi]:
    found = MailApi(Destination(api.url, KEY), FakeClock(), "1", 2)
    yield found
    found.close()


def mail(content: bytes = CONTENT, *recipients: str, sender: str = "a@b.example") -> RelayMail:
    return relay_mail(sender, recipients or ("c+x@d.example", "ü@d.example"), BytesIO(content))


def test_the_same_envelope_and_content_have_the_same_key() -> None:
    first = relay_mail("a@b.example", ["c@d.example", "e@d.example"], BytesIO(b"x"))
    again = relay_mail("a@b.example", ["e@d.example", "c@D.example", "c@d.example", "C@d.example"], BytesIO(b"x"))
    assert first.key == relay_mail("a@b.example", ["e@d.example", "c@d.example", "c@d.example"], BytesIO(b"x")).key
    assert len(again.recipients) == 2
    others = {
        relay_mail("", ["c@d.example", "e@d.example"], BytesIO(b"x")).key,
        relay_mail("a@b.example", ["c@d.example"], BytesIO(b"x")).key,
        relay_mail("a@b.example", ["c@d.example", "e@d.example"], BytesIO(b"y")).key,
    }
    assert len(others | {first.key}) == 4


def test_a_small_mail_is_one_call(api: FakeMailApi, client: MailApi) -> None:
    assert client.post(mail()) == MailAnswer(PostFate.TAKEN, "m1")
    assert api.mails == [Arrived("a@b.example", ("c+x@d.example", "ü@d.example"), CONTENT)]
    assert api.calls == [("/mails", mail().key)]


def test_a_null_sender_is_posted_as_an_empty_one(api: FakeMailApi, client: MailApi) -> None:
    assert client.post(mail(sender="")).fate is PostFate.TAKEN
    assert api.mails[0].sender == ""


def test_a_post_whose_answer_was_lost_is_repeated_without_harm(api: FakeMailApi, client: MailApi) -> None:
    api.mood = lambda _: Mood(lost=True)
    assert client.post(mail()).fate is PostFate.UNREADY
    api.mood = lambda _: Mood()
    assert client.post(mail()) == MailAnswer(PostFate.TAKEN, "m1")
    assert len(api.mails) == 1


@pytest.mark.parametrize(
    "large",
    [mail(CONTENT + b"x" * AT_ONCE), mail(CONTENT, *(f"{n:030}@d.example" for n in range(200)))],
    ids=["many bytes", "many recipients"],
)
def test_a_large_mail_is_uploaded_and_committed(api: FakeMailApi, client: MailApi, large: RelayMail) -> None:
    large.content.seek(0)
    content = large.content.read()
    assert client.post(large) == MailAnswer(PostFate.TAKEN, "mail0")
    assert api.mails == [Arrived("a@b.example", large.recipients, content)]
    assert client.post(large).says == "mail0"
    assert len(api.mails) == 1


@pytest.mark.parametrize("lost", ["/mails/uploads", "/store/mail0", "/mails/mail0/commit"])
def test_a_large_mail_is_taken_once_whatever_answer_is_lost(api: FakeMailApi, client: MailApi, lost: str) -> None:
    large = mail(CONTENT + b"x" * AT_ONCE)
    api.mood = lambda path: Mood(lost=path == lost)
    assert client.post(large).fate is PostFate.UNREADY
    api.mood = lambda _: Mood()
    assert client.post(large) == MailAnswer(PostFate.TAKEN, "mail0")
    assert len(api.mails) == 1


@pytest.mark.slow
def test_an_upload_that_expired_begins_anew(api: FakeMailApi, client: MailApi) -> None:
    large = mail(CONTENT + b"x" * AT_ONCE)
    api.mood = lambda path: Mood(status=503 if path.startswith("/store") else 0)
    assert client.post(large).fate is PostFate.UNREADY
    api.uploads["mail0"].expired = True
    api.mood = lambda path: Mood(status=503 if path == "/store/mail1" else 0)
    assert client.post(large).fate is PostFate.UNREADY
    api.uploads["mail1"].expired = True
    api.mood = lambda _: Mood()
    assert client.post(large) == MailAnswer(PostFate.TAKEN, "mail2")
    assert len(api.mails) == 1


def test_an_expired_upload_that_was_committed_is_not_sent_again(api: FakeMailApi, client: MailApi) -> None:
    large = mail(CONTENT + b"x" * AT_ONCE)
    api.mood = lambda path: Mood(lost=path.endswith("commit"))
    assert client.post(large).fate is PostFate.UNREADY
    api.uploads["mail0"].expired = True
    api.mood = lambda _: Mood()
    assert client.post(large) == MailAnswer(PostFate.TAKEN, "mail0")
    assert len(api.mails) == len(api.uploads) == 1


def test_a_store_that_refuses_every_upload_fails_the_mail(api: FakeMailApi, client: MailApi) -> None:
    api.mood = lambda path: Mood(status=403 if path.startswith("/store") else 0)
    assert client.post(mail(CONTENT + b"x" * AT_ONCE)).fate is PostFate.LATER
    assert len(api.uploads) == UPLOADS


def test_a_refused_commit_is_a_refusal(api: FakeMailApi, client: MailApi) -> None:
    answer = client.post(mail(b"From: a\n\n" + b"x" * AT_ONCE))
    assert answer == MailAnswer(PostFate.REFUSED, "Line 3 ends with a bare LF. (bare_lf)", "bare_lf")


@pytest.mark.parametrize(
    ("status", "code", "fate"),
    [
        (422, "from_not_allowed", PostFate.REFUSED),
        (400, "invalid_request", PostFate.REFUSED),
        (422, "too_large", PostFate.TOO_LARGE),
        (413, "", PostFate.TOO_LARGE),
        (422, "", PostFate.UNREADY),  # not the API's
        (409, "in_progress", PostFate.LATER),
        (500, "", PostFate.LATER),
        (401, "unauthorized", PostFate.UNREADY),
        (403, "", PostFate.UNREADY),
        (404, "", PostFate.UNREADY),
        (408, "", PostFate.UNREADY),
        (429, "too_many_requests", PostFate.UNREADY),
        (502, "", PostFate.UNREADY),
        (503, "", PostFate.UNREADY),
        (301, "", PostFate.UNREADY),
    ],
)
def test_each_answer_has_its_fate(api: FakeMailApi, client: MailApi, status: int, code: str, fate: PostFate) -> None:
    api.mood = lambda _: Mood(status, code, f"It is {KEY}\nno.", headers={"Retry-After": "7", "Location": "/other"})
    answer = client.post(mail())
    assert answer.fate is fate
    assert KEY not in answer.says
    assert answer.says.isprintable()
    assert answer.wait == (7.0 if fate in (PostFate.LATER, PostFate.UNREADY) else None)
    assert api.mails == []


@pytest.mark.parametrize(
    ("field", "answer"),
    [
        (
            {"field": "content", "message": "A line ends in LF.", "code": "bare_lf", "line": 3},
            MailAnswer(PostFate.REFUSED, "A line ends in LF. (line 3) (bare_lf)", "bare_lf"),
        ),
        (
            {"field": "content", "message": "No credential takes it.", "code": "too_large"},
            MailAnswer(PostFate.TOO_LARGE, "No credential takes it. (too_large)", "too_large"),
        ),
        ({"field": "x", "message": "Wrong."}, MailAnswer(PostFate.REFUSED, "Wrong. (invalid_mail)", "invalid_mail")),
        ({}, MailAnswer(PostFate.REFUSED, "No. (invalid_mail)", "invalid_mail")),
    ],
)
def test_an_invalid_mail_is_refused_with_its_fault(
    api: FakeMailApi, client: MailApi, monkeypatch: pytest.MonkeyPatch, field: dict[str, object], answer: MailAnswer
) -> None:
    problem = {"code": "invalid_mail", "detail": "No.", "errors": [field]}
    monkeypatch.setattr(api, "_posted", lambda *_: (422, problem, {}))
    assert client.post(mail()) == answer


def test_an_api_that_cannot_be_reached_is_not_ready(api: FakeMailApi, client: MailApi) -> None:
    api.close()
    answer = client.post(mail())
    assert answer == MailAnswer(PostFate.UNREADY, f"cannot reach {api.url}")
    api.reopen()


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"mail_id": "m"},
        {"mail_id": "m", "method": "PUT", "headers": {}, "url": "http://elsewhere.example/x"},
        {"mail_id": "m", "method": "POST", "headers": {}, "url": "https://elsewhere.example/x"},
    ],
)
def test_a_strange_answer_takes_nothing(
    api: FakeMailApi, client: MailApi, place: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_posted", lambda *_: (202, place, {}))
    assert client.post(mail(CONTENT + b"x" * AT_ONCE)).fate is PostFate.UNREADY


def test_a_success_without_an_id_takes_nothing(
    api: FakeMailApi, client: MailApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_posted", lambda *_: (202, {"other": 1}, {}))
    assert "does not answer like Posthaste" in client.post(mail()).says
