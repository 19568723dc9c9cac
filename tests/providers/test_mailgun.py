import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mailgun.builders import MailgunMessageBuilder

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotStarted, NotTogether, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NoTime, NotSent, Response, Target
from shared.providers._common import JOIN, REF_ARG, TO_ARG, digest
from shared.providers.mailgun.send import MAX_OPTIONS, Mailgun
from simulator.formats.forms import Form, parse
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.fakes import FakeHttp as Transport

SECRET = {"api_key": "key-1", "domain": "mg.sender.example"}
QUEUED = b'{"id":"<20260203.1@mg.sender.example>","message":"Queued. Thank you."}'
TAKEN = Accepted("20260203.1@mg.sender.example")


class FakeHttp(Transport):
    def __init__(self, answer: Response | Exception | None = None) -> None:
        super().__init__(answer or Response(200, {}, QUEUED))

    @property
    def form(self) -> Form:
        _, _, headers, body = self.requests[-1]
        return parse(headers["Content-Type"], body)


def mailgun(http: FakeHttp, secret: Mapping[str, str] | None = None, base_url: str = "") -> Mailgun:
    return Mailgun(http, base_url, SECRET if secret is None else secret, Fixed())


def outcomes_of(answer: Response | Exception, targets: int = 1) -> list[Outcome]:
    return mailgun(FakeHttp(answer)).send(CONTENT, [target(n) for n in range(targets)], deadline=NOW + 5)


def refusal(status: int, message: str, **headers: str) -> Response:
    return Response(
        status, {k.replace("_", "-"): v for k, v in headers.items()}, json.dumps({"message": message}).encode()
    )


# The request

FULL = Content(
    Mailbox("news@sender.example", 'News "quoted", Ω'),
    "Grüße \U0001f600 & 100% </script>",
    html='<p>Hällo \u2028 "x" \\ + =</p>',
    text="Hällo\r\n\ttab",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    headers=(("X-Campaign", "spring"), ("X-Other", "ü")),
)
FILES = (
    Attachment('a "b".txt', "text/plain", base64.b64encode(b"hello\r\n--x\r\n\x00\xff").decode()),
    Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
)


def sdk_fields(content: Content, targets: list[Target]) -> dict[str, Any]:
    """The same mail as the vendor's SDK writes it; it takes mailboxes as texts."""
    builder = MailgunMessageBuilder('"News \\"quoted\\", Ω" <news@sender.example>').set_idempotency_safe(safe=False)
    for t in targets:
        builder.add_recipient(t.recipient.address)
    builder.set_subject(content.subject).set_text(content.text).set_html(content.html)
    builder.add_custom_header("Reply-To", '"Answers" <answers@sender.example>')
    for name, value in content.headers:
        builder.add_custom_header(name, value)
    if len(targets) == 1:
        builder.add_custom_variable(REF_ARG, targets[0].ref)
    else:
        builder.add_custom_variable(REF_ARG, "%recipient.ref%")
        builder.set_recipient_variables({t.recipient.address: {"ref": t.ref} for t in targets})
    payload, _ = builder.build()
    return payload


@pytest.mark.parametrize("files", [(), FILES])
@pytest.mark.parametrize("count", [1, 2, 60])
def test_the_request_is_the_one_the_vendors_sdk_builds(count: int, files: tuple[Attachment, ...]) -> None:
    http = FakeHttp()
    targets = [target(n) for n in range(count)]
    content = replace(FULL, attachments=files)
    assert mailgun(http).send(content, targets, deadline=NOW + 5) == [TAKEN] * count
    ((method, url, headers, _),) = http.requests
    assert (method, url) == ("POST", "https://api.mailgun.net/v3/mg.sender.example/messages")
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"api:key-1").decode()
    kind = "multipart/form-data" if files else "application/x-www-form-urlencoded"
    assert headers["Content-Type"].partition(";")[0] == kind
    assert {name: ",".join(values) for name, values in http.form.fields.items()} == sdk_fields(content, targets)


def test_files_and_inline_images_arrive_as_they_are(tmp_path: Path) -> None:
    http = FakeHttp()
    mailgun(http).send(replace(FULL, attachments=FILES), [target(0)], deadline=NOW + 5)
    assert [(f.name, f.filename, f.content_type, f.data) for f in http.form.files] == [
        ("attachment", 'a "b".txt', "text/plain", b"hello\r\n--x\r\n\x00\xff"),
        ("inline", "logo", "image/png", b"icon"),
    ]
    (tmp_path / "logo").write_bytes(b"icon")
    built = MailgunMessageBuilder("a@b.example").attach_inline(tmp_path / "logo", "logo", tmp_path).build()[1]
    assert built is not None
    assert [(name, file[0], file[1]) for name, file in built] == [("inline", "logo", b"icon")]


def test_a_name_is_quoted_so_that_it_cannot_be_another_address() -> None:
    http = FakeHttp()
    t = target(0)
    t = replace(t, recipient=replace(t.recipient, display='Zoë "x" <evil@x.example>, \\ PhD\r\nBcc: a'))
    mailgun(http).send(CONTENT, [t], deadline=NOW + 5)
    quoted = '"Zoë \\"x\\" <evil@x.example>, \\\\ PhD  Bcc: a" <reader0@example.com>'
    assert http.form.fields["to"] == [quoted]


def test_copies_go_with_one_recipient_each_address_once() -> None:
    http = FakeHttp()
    boxes = (Mailbox("TO@x.example"), Mailbox("c@x.example", "Cé"), Mailbox("C@x.example"))
    t = target(0, "to@x.example")
    mailgun(http).send(replace(CONTENT, cc=boxes, bcc=(Mailbox("b@x.example"),)), [t], deadline=NOW + 5)
    fields = http.form.fields
    assert (fields["cc"], fields["bcc"]) == (['"Cé" <c@x.example>'], ["b@x.example"])
    assert fields[f"v:{TO_ARG}"] == [digest(t.ref, "to@x.example")]
    assert "to@x" not in fields[f"v:{TO_ARG}"][0] + fields[f"v:{REF_ARG}"][0]


def test_copies_never_go_with_several_recipients() -> None:
    http = FakeHttp()
    boxes = (Mailbox("c@x.example"),)
    mailgun(http).send(replace(CONTENT, cc=boxes, bcc=boxes), [target(0), target(1)], deadline=NOW + 5)
    assert set(http.form.fields) == {*("to", "recipient-variables", f"v:{REF_ARG}", "from", "subject", "text", "html")}


def test_equal_addresses_never_share_a_call() -> None:
    http = FakeHttp()
    targets = [target(0, "a@x.example"), target(1, "b@x.example"), target(2, "A@x.example")]
    outcomes = mailgun(http).send(CONTENT, targets, deadline=NOW + 5)
    assert outcomes == [TAKEN, TAKEN, NotTogether("repeated_address")]
    assert http.form.fields["to"] == ["a@x.example", "b@x.example"]


def test_each_content_gets_its_own_body_whatever_was_sent_before() -> None:
    http = FakeHttp()
    provider = mailgun(http)
    for n in range(40):
        files = FILES if n % 2 else ()
        provider.send(replace(CONTENT, subject=f"No. {n}", attachments=files), [target(n)], deadline=NOW + 5)
        assert http.form.fields["subject"] == [f"No. {n}"]
        assert len(http.form.files) == len(files)


def test_a_long_body_is_not_copied_for_each_call() -> None:
    http = FakeHttp()
    provider = mailgun(http)
    provider.send(replace(CONTENT, html="x" * JOIN), [target(0)], deadline=NOW + 5)
    assert http.parts == 2
    assert http.form.fields["html"] == ["x" * JOIN]
    provider.send(CONTENT, [target(0)], deadline=NOW + 5)
    assert http.parts == 1


@pytest.mark.promise(6)
@pytest.mark.parametrize("files", [(), FILES])
@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\uffff", "%", "&to=evil@x.example"])
def test_odd_characters_never_raise(text: str, files: tuple[Attachment, ...]) -> None:
    http = FakeHttp()
    odd = Target(target(0).ref, Recipient(f"a{text}@x.example", "k", display=text))
    content = replace(CONTENT, subject=text, html=text, cc=(Mailbox(f"c{text}@x.example", text),), attachments=files)
    assert mailgun(http).send(content, [odd], deadline=NOW + 5) == [TAKEN]
    assert http.form.fields["subject"] == ["?" if text == "\ud800" else text]
    assert len(http.form.fields["to"]) == 1
    assert mailgun(http).send(content, [odd, target(1)], deadline=NOW + 5) == [TAKEN] * 2


def test_a_file_that_is_not_base64_is_refused_for_good() -> None:
    http = FakeHttp()
    content = replace(CONTENT, attachments=(Attachment("a", "text/plain", "abc"),))
    outcomes = mailgun(http).send(content, [target(0)], deadline=NOW + 5)
    assert outcomes == [Rejected("invalid_attachments", permanent=True)]
    assert http.requests == []


def test_options_that_mailgun_would_refuse_are_not_sent() -> None:
    http = FakeHttp()
    ref = len(f"v:{REF_ARG}") + len(target(0).ref)
    for size, sent in ((MAX_OPTIONS - ref - 4, 1), (MAX_OPTIONS - ref - 3, 0)):
        content = replace(CONTENT, headers=(("XX", "x" * size),))
        (outcome,) = mailgun(http).send(content, [target(0)], deadline=NOW + 5)
        assert outcome == (TAKEN if sent else Rejected("options_too_large", permanent=False, about_message=True))
        assert len(http.requests) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"api_key": ""}, "no_api_key"),
        ({"api_key": "a\r\nEvil: 1"}, "no_api_key"),
        ({"api_key": "ä"}, "no_api_key"),
        ({"domain": ""}, "no_domain"),
        ({"domain": "mg"}, "no_domain"),
        ({"domain": "mg.x.example/../y"}, "no_domain"),
        ({"domain": "mg.x.example?"}, "no_domain"),
    ],
)
def test_without_a_usable_key_and_domain_nothing_is_sent(changes: dict[str, str], code: str) -> None:
    http = FakeHttp()
    outcomes = mailgun(http, {**SECRET, **changes}).send(CONTENT, [target(0), target(1)], deadline=NOW + 5)
    assert outcomes == [Rejected(code, permanent=False, provider_down=True)] * 2
    assert http.requests == []


def test_the_base_url_may_be_another() -> None:
    http = FakeHttp()
    mailgun(http, base_url="https://api.eu.mailgun.net/").send(CONTENT, [target(0)], deadline=NOW + 5)
    assert http.requests[0][1] == "https://api.eu.mailgun.net/v3/mg.sender.example/messages"


# The error table

HTML = b"<html><body>502 Bad Gateway</body></html>"
NOT_ALLOWED = "Domain mg.sender.example is not allowed to send: "
AGAIN = NotTogether("batch_refused")


def down(code: str, *, by_text: bool = False) -> Rejected:
    return Rejected(code, permanent=False, provider_down=True, by_text=by_text)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Response(200, {}, QUEUED), TAKEN),
        (Response(200, {}, b'{"id":"a@b","message":"Queued. Thank you."}'), Accepted("a@b")),
        (Response(200, {}, b""), Unknown("malformed_answer")),
        (Response(200, {}, b'{"id":""}'), Unknown("malformed_answer")),
        (Response(200, {}, b'{"id":7}'), Unknown("malformed_answer")),
        (Response(200, {}, b"[" * 100_000), Unknown("malformed_answer")),
        (Response(200, {}, b"Mailgun Magnificent API"), down("wrong_base_url")),
        (Response(202, {}, QUEUED), Unknown("malformed_answer")),
        (Response(401, {}, b"Forbidden"), down("unauthorized")),
        (refusal(401, "Invalid private key"), down("unauthorized")),
        (refusal(402, "pay"), down("payment_required")),
        (refusal(403, "Rejected: IP can't be used to send the message"), down("forbidden")),
        (refusal(403, NOT_ALLOWED + "domain disabled"), down("account_disabled")),
        (refusal(403, "Domain x is not allowed to send large batches yet"), down("batch_not_allowed")),
        (refusal(404, "Domain not found: mg.sender.example"), down("domain_not_found")),
        (refusal(405, "Method not allowed"), down("http_405")),
        (Response(301, {"location": "https://elsewhere"}, b""), down("http_301")),
        (Response(408, {}, b""), Unknown("http_408")),
        (refusal(413, "request size exceeds 52.4MiB limit"), Rejected("too_large", permanent=True)),
        (refusal(500, "Internal Server Error"), Unknown("http_500")),
        (Response(500, {}, b""), Unknown("http_500")),
        (Response(502, {}, HTML), Unknown("http_502")),
        (refusal(502, "upstream"), Unknown("http_502")),
        (refusal(504, "Endpoint request timed out"), Unknown("http_504")),
        (Response(503, {}, HTML), Unknown("http_503")),
        (refusal(503, "Service Unavailable"), Rejected("unavailable", permanent=False)),
        (Response(504, {}, b"{}"), Unknown("http_504")),
        (refusal(400, "from parameter is not a valid address"), Rejected("invalid_from", permanent=True)),
        (refusal(400, "'from' parameter is missing"), Rejected("invalid_from", permanent=True)),
        (refusal(400, "cc parameter is not a valid address"), Rejected("invalid_copy", permanent=True)),
        (refusal(400, "Need at least one of 'text' or 'html'"), Rejected("invalid_content", permanent=True)),
        (refusal(400, "Header name must be pure ASCII: X-Ü"), Rejected("invalid_headers", permanent=True)),
        (
            refusal(400, "Send options are limited to 16 kB total"),
            Rejected("options_too_large", permanent=False, about_message=True),
        ),
        (refusal(400, NOT_ALLOWED + "The domain is unverified"), down("domain_not_allowed", by_text=True)),
        (refusal(400, NOT_ALLOWED + "Free accounts are for tests only"), down("domain_not_allowed", by_text=True)),
        (
            refusal(400, "Rejected: Only 10 recipients per request is allowed on probation."),
            down("batch_not_allowed", by_text=True),
        ),
        (
            refusal(400, NOT_ALLOWED + "too fast, on probation, temporarily disabled"),
            down("account_disabled", by_text=True),
        ),
        (refusal(400, NOT_ALLOWED + "recipient limit exceeded"), Throttled(1)),
        (refusal(400, "Domains are limited to 100 messages / hour"), Throttled(1)),
        (refusal(420, NOT_ALLOWED + "recipient limit exceeded"), Throttled(1)),
        (Response(429, {}, HTML), Throttled(1)),
        (NotSent("connection_refused"), Rejected("connection_refused", permanent=False)),
        (NoTime("deadline"), NotStarted()),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
    ],
)
def test_every_answer_has_one_meaning(answer: Response | Exception, outcome: Outcome) -> None:
    assert outcomes_of(answer) == [outcome]
    assert outcomes_of(answer, 3) == [outcome] * 3


@pytest.mark.parametrize(
    ("answer", "code", "permanent"),
    [
        (refusal(400, "to parameter is not a valid address. please check documentation"), "invalid_recipient", True),
        (refusal(400, "'to' parameter is not a valid address"), "invalid_recipient", True),
        (refusal(400, "Please activate your Mailgun account."), "bad_request", False),
        (refusal(400, "something new"), "bad_request", False),
        (refusal(422, "something new"), "unprocessable", True),
        (Response(400, {}, b""), "bad_request", False),
    ],
)
def test_what_may_be_about_one_recipient_condemns_only_one_that_is_alone(
    answer: Response, code: str, *, permanent: bool
) -> None:
    assert outcomes_of(answer) == [Rejected(code, permanent=permanent, about_message=not permanent)]
    assert outcomes_of(answer, 3) == [AGAIN] * 3


UNTIL = "recipient limit exceeded, try again after "


@pytest.mark.parametrize(
    ("status", "message", "headers", "seconds"),
    [
        (429, "slow down", {"retry_after": "7"}, 7),
        (429, UNTIL + "Mon, 21 Sep 2026 14:13:25 UTC", {}, 5),
        (420, UNTIL + "Mon, 21 Sep 2026 14:14:20 UTC", {}, 60),
        (400, UNTIL + "Mon, 21 Sep 2026 14:14:20 GMT", {}, 60),
        (403, UNTIL + "Mon, 21 Sep 2026 19:14:20 UTC", {}, 900),
        (429, UNTIL + "Mon, 21 Sep 2026 14:14:20 UTC", {"retry_after": "3"}, 3),
        (429, UNTIL + "Mon, 21 Sep 2020 14:13:25 UTC", {}, 1),
        (429, UNTIL + "Xyz, no date at all UTC", {}, 1),
        (429, "", {}, 1),
    ],
)
def test_throttling_says_how_long_to_wait(status: int, message: str, headers: dict[str, str], seconds: float) -> None:
    assert outcomes_of(refusal(status, message, **headers), 2) == [Throttled(seconds)] * 2
