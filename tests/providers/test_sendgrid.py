import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from sendgrid.helpers.mail import (
    Attachment as SdkAttachment,
)
from sendgrid.helpers.mail import (
    Bcc,
    Cc,
    ContentId,
    CustomArg,
    Disposition,
    FileContent,
    FileName,
    FileType,
    Header,
    Mail,
    Personalization,
    ReplyTo,
    SubscriptionTracking,
    To,
    TrackingSettings,
)
from sendgrid.helpers.mail import Content as SdkContent
from sendgrid.helpers.mail import From as SdkFrom

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import (
    Accepted,
    NotStarted,
    NotTogether,
    Outcome,
    OverQuota,
    Rejected,
    Throttled,
    Unknown,
)
from shared.ports import AnswerLost, NoTime, NotSent, Response, Target
from shared.providers._common import JOIN, REF_ARG, STANDARD, TO_ARG, digest
from shared.providers.sendgrid.send import SendGrid
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.fakes import FakeHttp as Transport


class FakeHttp(Transport):
    def __init__(self, answer: Response | Exception | None = None) -> None:
        super().__init__(answer or Response(202, {"x-message-id": "id-1"}, b""))

    @property
    def mail(self) -> Any:
        return json.loads(self.requests[-1][3])


def sendgrid(http: FakeHttp, secret: Mapping[str, str] | None = None, base_url: str = "") -> SendGrid:
    return SendGrid(http, base_url, {"api_key": "SG.key"} if secret is None else secret, Fixed())


def outcomes_of(answer: Response | Exception, targets: int = 1) -> list[Outcome]:
    return sendgrid(FakeHttp(answer)).send(CONTENT, [target(n) for n in range(targets)], deadline=NOW + 5)


def refusal(status: int, *errors: tuple[str, str | None], **headers: str) -> Response:
    body = {"errors": [{"message": m, "field": f, "help": None} for m, f in errors]}
    return Response(status, {k.replace("_", "-"): v for k, v in headers.items()}, json.dumps(body).encode())


# The request


def sdk_personalization(content: Content, t: Target) -> Any:
    person = Personalization()
    person.add_to(To(t.recipient.address, t.recipient.display or None))
    for box in content.cc:
        person.add_cc(Cc(box.address, box.display or None))
    for box in content.bcc:
        person.add_bcc(Bcc(box.address, box.display or None))
    person.add_custom_arg(CustomArg(REF_ARG, t.ref))
    if content.cc or content.bcc:
        person.add_custom_arg(CustomArg(TO_ARG, digest(t.ref, t.recipient.address)))
    return person


def sdk_mail(content: Content, targets: list[Target]) -> Any:
    """The same mail as the vendor's SDK writes it."""
    mail = Mail()
    mail.from_email = SdkFrom(content.sender.address, content.sender.display or None)
    mail.subject = content.subject
    if content.text:
        mail.add_content(SdkContent("text/plain", content.text))
    if content.html:
        mail.add_content(SdkContent("text/html", content.html))
    if content.reply_to:
        mail.reply_to = ReplyTo(content.reply_to.address, content.reply_to.display or None)
    for name, value in content.headers:
        mail.add_header(Header(name, value))
    for a in content.attachments:
        mail.add_attachment(
            SdkAttachment(
                FileContent(a.data),
                FileName(a.filename),
                FileType(a.content_type),
                Disposition("inline" if a.content_id else "attachment"),
                ContentId(a.content_id) if a.content_id else None,
            )
        )
    if content.unsubscribe:
        mail.tracking_settings = TrackingSettings(subscription_tracking=SubscriptionTracking(enable=False))
    for t in targets:
        mail.add_personalization(sdk_personalization(content, t))
    built = mail.get()
    # The SDK puts what is added last first; neither order means anything to SendGrid.
    order = [t.ref for t in targets]
    built["personalizations"].sort(key=lambda p: order.index(p["custom_args"][REF_ARG]))
    if "attachments" in built:
        files = [a.filename for a in content.attachments]
        built["attachments"].sort(key=lambda a: files.index(a["filename"]))
    return built


FULL = Content(
    Mailbox("news@sender.example", "News “quoted” Ω"),
    "Grüße \U0001f600 </script>",
    html='<p>Hällo \u2028 "x" \\</p>',
    text="Hällo\r\n\ttab",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    headers=(("X-Campaign", "spring"), ("X-Other", "ü")),
    attachments=(
        Attachment("a.txt", "text/plain", "aGVsbG8="),
        Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
    ),
)


def named(index: int, display: str) -> Target:
    t = target(index)
    return replace(t, recipient=replace(t.recipient, display=display))


@pytest.mark.parametrize(
    ("content", "targets"),
    [
        (CONTENT, [target(0)]),
        (FULL, [named(0, 'Zoë "the" O\'Neil, PhD'), target(1), named(2, "李")]),
        (replace(FULL, cc=(Mailbox("cc@x.example", "Cé"),), bcc=(Mailbox("bcc@x.example"),)), [named(0, "A")]),
        (replace(CONTENT, html="", reply_to=Mailbox("r@x.example")), [target(n) for n in range(50)]),
        (replace(CONTENT, unsubscribe="https://mail.example.com/unsubscribe/"), [target(0)]),
    ],
)
def test_the_request_is_the_one_the_vendors_sdk_builds(content: Content, targets: list[Target]) -> None:
    http = FakeHttp()
    outcomes = sendgrid(http).send(content, targets, deadline=NOW + 5)
    assert outcomes == [Accepted("id-1")] * len(targets)
    ((method, url, headers, _),) = http.requests
    assert (method, url) == ("POST", "https://api.sendgrid.com/v3/mail/send")
    assert headers == {**STANDARD, "Authorization": "Bearer SG.key", "Content-Type": "application/json"}
    ours, theirs = http.mail, sdk_mail(content, targets)
    assert ours == theirs
    assert [c["type"] for c in ours["content"]] == [c["type"] for c in theirs["content"]]


def test_custom_arguments_hold_no_personal_data() -> None:
    http = FakeHttp()
    content = replace(CONTENT, cc=(Mailbox("cc@x.example"),))
    sendgrid(http).send(content, [target(0, "Ada@Example.com")], deadline=NOW + 5)
    args = http.mail["personalizations"][0]["custom_args"]
    assert set(args) == {REF_ARG, TO_ARG}
    assert "ada" not in json.dumps(args).lower()
    sendgrid(http).send(content, [target(1, "Ada@Example.com")], deadline=NOW + 5)
    assert http.mail["personalizations"][0]["custom_args"][TO_ARG] != args[TO_ARG]


def test_an_address_is_used_once_among_to_cc_and_bcc() -> None:
    http = FakeHttp()
    boxes = (Mailbox("TO@x.example"), Mailbox("c@x.example"), Mailbox("C@x.example"))
    sendgrid(http).send(replace(CONTENT, cc=boxes, bcc=boxes), [target(0, "to@x.example")], deadline=NOW + 5)
    person = http.mail["personalizations"][0]
    assert person["cc"] == [{"email": "c@x.example"}]
    assert "bcc" not in person


def test_copies_never_go_with_several_recipients() -> None:
    http = FakeHttp()
    sendgrid(http).send(replace(CONTENT, cc=(Mailbox("c@x.example"),)), [target(0), target(1)], deadline=NOW + 5)
    assert all(set(p) == {"to", "custom_args"} for p in http.mail["personalizations"])


def test_equal_addresses_never_share_a_call() -> None:
    http = FakeHttp()
    targets = [target(0, "a@x.example"), target(1, "b@x.example"), target(2, "A@x.example")]
    outcomes = sendgrid(http).send(CONTENT, targets, deadline=NOW + 5)
    assert outcomes == [
        Accepted("id-1"),
        Accepted("id-1"),
        NotTogether("repeated_address"),
    ]
    assert [p["to"][0]["email"] for p in http.mail["personalizations"]] == ["a@x.example", "b@x.example"]


def test_each_content_gets_its_own_body_whatever_was_sent_before() -> None:
    http = FakeHttp()
    provider = sendgrid(http)
    for n in range(40):
        provider.send(replace(CONTENT, subject=f"No. {n}"), [target(n)], deadline=NOW + 5)
        assert http.mail["subject"] == f"No. {n}"


def test_a_long_body_is_not_copied_for_each_call() -> None:
    http = FakeHttp()
    provider = sendgrid(http)
    provider.send(replace(CONTENT, html="x" * JOIN), [target(0)], deadline=NOW + 5)
    assert http.parts == 2
    assert http.mail["content"][1]["value"] == "x" * JOIN
    provider.send(CONTENT, [target(0)], deadline=NOW + 5)
    assert http.parts == 1


@pytest.mark.promise(6)
@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\uffff"])
def test_odd_characters_never_raise(text: str) -> None:
    http = FakeHttp()
    odd = Target(target(0).ref, Recipient("a@x.example", "k", display=text))
    content = replace(CONTENT, subject=text, html=text, cc=(Mailbox("c@x.example", text),))
    assert sendgrid(http).send(content, [odd], deadline=NOW + 5) == [Accepted("id-1")]
    assert http.mail["subject"] in (text, "?")


@pytest.mark.parametrize(
    "secret", [{}, {"api_key": ""}, {"api_key": " "}, {"api_key": "a\r\nEvil: 1"}, {"api_key": "ä"}]
)
def test_without_a_usable_key_nothing_is_sent(secret: dict[str, str]) -> None:
    http = FakeHttp()
    outcomes = sendgrid(http, secret).send(CONTENT, [target(0), target(1)], deadline=NOW + 5)
    assert outcomes == [Rejected("no_api_key", permanent=False, provider_down=True)] * 2
    assert http.requests == []


def test_the_base_url_may_be_another() -> None:
    http = FakeHttp()
    sendgrid(http, base_url="https://api.eu.sendgrid.com/").send(CONTENT, [target(0)], deadline=NOW + 5)
    assert http.requests[0][1] == "https://api.eu.sendgrid.com/v3/mail/send"


# The error table

UNVERIFIED = "The from address does not match a verified Sender Identity. Mail cannot be sent until this is resolved."
HTML = b"<html><body>502 Bad Gateway</body></html>"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Response(202, {"x-message-id": "abc"}, b""), Accepted("abc")),
        (Response(202, {}, b""), Unknown("malformed_answer")),
        (Response(200, {"x-message-id": "abc"}, b""), Unknown("malformed_answer")),
        (Response(204, {}, b""), Unknown("malformed_answer")),
        (refusal(400, ("no", "personalizations.0.to.0.email")), Rejected("invalid_recipient", permanent=True)),
        (refusal(400, ("no", "from.email")), Rejected("invalid_from", permanent=True)),
        (refusal(400, ("no", "subject")), Rejected("invalid_subject", permanent=True)),
        (refusal(400, ("no", None)), Rejected("bad_request", permanent=True)),
        (Response(400, {}, b""), Rejected("bad_request", permanent=True)),
        (Response(400, {}, b"[" * 100_000), Rejected("bad_request", permanent=True)),
        (refusal(401, ("authorization required", None)), Rejected("unauthorized", False, provider_down=True)),
        (refusal(401, ("Maximum credits exceeded", None)), OverQuota(1.0)),
        (refusal(403, ("access forbidden", None)), Rejected("forbidden", False, provider_down=True)),
        (refusal(403, (UNVERIFIED, "from")), Rejected("sender_not_verified", False, about_message=True)),
        (refusal(402, ("pay", None)), Rejected("payment_required", False, provider_down=True)),
        (refusal(404, ("Not Found", None)), Rejected("http_404", False, provider_down=True)),
        (Response(301, {"location": "https://elsewhere"}, b""), Rejected("http_301", False, provider_down=True)),
        (Response(408, {}, b""), Unknown("http_408")),
        (refusal(413, ("large", None)), Rejected("too_large", permanent=True)),
        (refusal(422, ("no", None)), Rejected("unprocessable", permanent=True)),
        (Response(406, {}, HTML), Rejected("http_406", permanent=False)),
        (refusal(503, ("down", None)), Rejected("unavailable", permanent=False)),
        (Response(503, {}, HTML), Unknown("http_503")),
        (refusal(500, ("down", None)), Unknown("http_500")),
        (refusal(502, ("down", None)), Unknown("http_502")),
        (refusal(504, ("down", None)), Unknown("http_504")),
        (Response(500, {}, b""), Unknown("http_500")),
        (Response(502, {}, HTML), Unknown("http_502")),
        (Response(504, {}, b'{"errors": []}'), Unknown("http_504")),
        (Response(500, {}, b'{"errors": "x"}'), Unknown("http_500")),
        (Response(520, {}, HTML), Unknown("http_520")),
        (NotSent("connection_refused"), Rejected("connection_refused", permanent=False)),
        (NotSent(), Rejected("not_sent", permanent=False)),
        (NoTime("deadline"), NotStarted()),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
        (AnswerLost(), Unknown("answer_lost")),
    ],
)
def test_every_answer_has_one_meaning(answer: Response | Exception, outcome: Outcome) -> None:
    assert outcomes_of(answer) == [outcome]
    if not isinstance(answer, Response) or answer.status not in (400, 422):
        assert outcomes_of(answer, 3) == [outcome] * 3


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after": "0"}, 1),
        ({"retry_after": "99999999999999"}, 900),
        ({"retry_after": "Mon, 21 Sep 2026 14:13:25 GMT"}, 5),
        ({"retry_after": "soon"}, 1),
        ({"x_ratelimit_reset": str(int(NOW) + 30)}, 30),
        ({"x_ratelimit_reset": "1"}, 1),
        ({"x_ratelimit_reset": "x"}, 1),
        ({}, 1),
    ],
)
def test_a_429_says_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert outcomes_of(refusal(429, ("too many requests", None), **headers), 2) == [Throttled(seconds)] * 2


def test_only_the_recipient_that_is_named_is_condemned() -> None:
    bad = Rejected("invalid_recipient", permanent=True)
    again = NotTogether("batch_refused")
    answer = refusal(400, ("Does not contain a valid address.", "personalizations.2.to.0.email"))
    assert outcomes_of(answer, 4) == [again, again, bad, again]
    answer = refusal(400, ("no", "personalizations.0.to"), ("no", "personalizations.3"))
    assert outcomes_of(answer, 4) == [bad, again, again, bad]
    answer = refusal(400, ("no", "personalizations.0.to"), ("no", None))
    assert outcomes_of(answer, 4) == [bad, again, again, again]


@pytest.mark.parametrize(
    "errors",
    [
        [("no", "content.0.value")],
        [("no", "subject")],
        [("no", "personalizations.0.to"), ("no", "subject")],
        [("no", None), ("no", "subject")],
    ],
)
def test_what_is_wrong_with_what_all_share_condemns_all(errors: list[tuple[str, str | None]]) -> None:
    (outcome,) = set(outcomes_of(refusal(400, *errors), 4))
    assert isinstance(outcome, Rejected)
    assert outcome.permanent
    assert outcome.code in ("invalid_content", "invalid_subject")


@pytest.mark.promise(6)
@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    "errors",
    [
        [("no", "personalizations.4.to")],
        [("no", "personalizations.0x")],
        [("no", "personalizations")],
        [("no", "template_id")],
        [("no", None)],
        [],
    ],
)
def test_a_refusal_without_address_blames_only_a_single_recipient(
    status: int, errors: list[tuple[str, str | None]]
) -> None:
    assert outcomes_of(refusal(status, *errors), 4) == [NotTogether("batch_refused")] * 4
    (outcome,) = outcomes_of(refusal(status, *errors))
    assert isinstance(outcome, Rejected)
    assert outcome.permanent
