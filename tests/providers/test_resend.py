import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import resend as sdk

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, OverQuota, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NoTime, NotSent, Response, Target
from shared.providers._common import JOIN, REF_ARG, TO_ARG, digest
from shared.providers.resend.send import RESOLVES_WITHIN, Resend
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.fakes import FakeHttp as Transport

SENT = b'{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}'
TAKEN = Accepted("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")


class FakeHttp(Transport):
    def __init__(self, answer: Response | Exception | None = None) -> None:
        super().__init__(answer or Response(200, {}, SENT))

    @property
    def mail(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.requests[-1][3])
        return found


def resend(http: FakeHttp, secret: Mapping[str, str] | None = None, base_url: str = "") -> Resend:
    return Resend(http, base_url, {"api_key": "re_1"} if secret is None else secret, Fixed())


def outcome_of(answer: Response | Exception) -> Outcome:
    (outcome,) = resend(FakeHttp(answer)).send(CONTENT, [target(0)], deadline=NOW + 5)
    return outcome


def error(status: int, name: str, message: str = "x", **headers: str) -> Response:
    body = json.dumps({"statusCode": status, "name": name, "message": message}).encode()
    return Response(status, {k.replace("_", "-"): v for k, v in headers.items()}, body)


# The request

FULL = Content(
    Mailbox("news@sender.example", "News"),
    "Grüße \U0001f600 </script>",
    html='<p>Hällo \u2028 "x"</p>',
    text="Hällo\r\n\ttab",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    cc=(Mailbox("c@x.example", "Cé"),),
    bcc=(Mailbox("b@x.example"),),
    headers=(("X-Campaign", "spring"), ("X-Other", "ü")),
    attachments=(
        Attachment('a "b".txt', "text/plain", "aGVsbG8="),
        Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
    ),
)


class Recorder(sdk.HTTPClient):
    """The vendor's transport: keeps what the SDK would have sent."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, Mapping[str, str], Any]] = []

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        json: dict[str, object] | list[object] | None = None,
        files: dict[str, Any] | None = None,
        data: dict[str, str] | None = None,
    ) -> tuple[bytes, int, Mapping[str, str]]:
        self.seen.append((method, url, headers, json))
        return SENT, 200, {"content-type": "application/json"}


def test_the_request_is_the_one_the_vendors_sdk_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, http, t = Recorder(), FakeHttp(), target(0)
    monkeypatch.setattr(sdk, "default_http_client", recorder)
    monkeypatch.setattr(sdk, "api_key", "re_1")
    mail: sdk.Emails.SendParams = {
        "from": "News <news@sender.example>",
        "to": ["reader0@example.com"],
        "cc": ["Cé <c@x.example>"],
        "bcc": ["b@x.example"],
        "reply_to": "Answers <answers@sender.example>",
        "subject": FULL.subject,
        "html": FULL.html,
        "text": FULL.text,
        "headers": {"X-Campaign": "spring", "X-Other": "ü"},
        "tags": [
            {"name": REF_ARG, "value": t.ref},
            {"name": TO_ARG, "value": digest(t.ref, "reader0@example.com")},
        ],
        "attachments": [
            {"filename": 'a "b".txt', "content": "aGVsbG8=", "content_type": "text/plain"},
            {"filename": "logo.png", "content": "aWNvbg==", "content_type": "image/png", "content_id": "logo"},
        ],
    }
    assert sdk.Emails.send(mail, {"idempotency_key": t.ref})["id"] == TAKEN.id
    assert resend(http).send(FULL, [t], deadline=NOW + 5) == [TAKEN]
    ((method, url, headers, body),) = recorder.seen
    ((our_method, our_url, ours, _),) = http.requests
    assert (our_method, our_url) == (method.upper(), url) == ("POST", "https://api.resend.com/emails")
    for name in ("Authorization", "Idempotency-Key", "Accept"):
        assert ours[name] == headers[name]
    assert ours["User-Agent"]
    assert http.mail == body


def test_an_attempt_is_one_request_and_another_attempt_another() -> None:
    http = FakeHttp()
    first, again, second = target(0), target(0), target(0, attempt=2)
    provider = resend(http)
    provider.send(FULL, [first], deadline=NOW + 5)
    provider.send(CONTENT, [target(1)], deadline=NOW + 5)
    resend(http).send(replace(FULL), [again], deadline=NOW + 9)
    provider.send(FULL, [second], deadline=NOW + 5)
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in http.requests]
    bodies = [body for _, _, _, body in http.requests]
    assert keys == [first.ref, target(1).ref, first.ref, second.ref]
    assert bodies[0] == bodies[2]
    assert len(set(bodies)) == len(set(keys)) == 3


def test_resolving_is_the_very_same_request() -> None:
    http = FakeHttp()
    resend(http).send(FULL, [target(0)], deadline=NOW + 5)
    assert resend(http).resolve(FULL, target(0), at=NOW - 60, deadline=NOW + 5) == TAKEN
    first, second = http.requests
    assert first == second


def test_a_ref_is_a_key_and_a_tag_as_resend_wants_them() -> None:
    ref = target(499, attempt=15).ref
    assert len(ref) <= 256
    assert ref.isascii()
    assert set(ref) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    ("display", "box"),
    [
        ("", "a@x.example"),
        (" ", "a@x.example"),
        ("Zoë Ω", "Zoë Ω <a@x.example>"),
        ('A "b", \\ <c@d.example>', '"A \\"b\\", \\\\ <c@d.example>" <a@x.example>'),
        ("Dr. No\r\nBcc: a", '"Dr. No  Bcc: a" <a@x.example>'),
    ],
)
def test_a_name_cannot_be_another_address(display: str, box: str) -> None:
    http = FakeHttp()
    t = replace(target(0), recipient=Recipient("a@x.example", "k", display=display))
    resend(http).send(CONTENT, [t], deadline=NOW + 5)
    assert http.mail["to"] == [box]


def test_each_address_appears_once_among_recipient_and_copies() -> None:
    http = FakeHttp()
    boxes = (Mailbox("TO@x.example"), Mailbox("c@x.example"), Mailbox("C@x.example"))
    resend(http).send(replace(CONTENT, cc=boxes, bcc=boxes), [target(0, "to@x.example")], deadline=NOW + 5)
    assert (http.mail["cc"], "bcc" in http.mail) == (["c@x.example"], False)


@pytest.mark.promise(9)
def test_tags_hold_no_address() -> None:
    http = FakeHttp()
    resend(http).send(FULL, [target(0, "ada@x.example")], deadline=NOW + 5)
    assert "ada" not in json.dumps(http.mail["tags"])


def test_a_long_body_is_not_copied_for_each_call() -> None:
    http = FakeHttp()
    provider = resend(http)
    provider.send(replace(CONTENT, html="x" * JOIN), [target(0)], deadline=NOW + 5)
    assert (http.parts, http.mail["html"]) == (2, "x" * JOIN)
    provider.send(CONTENT, [target(0)], deadline=NOW + 5)
    assert http.parts == 1


@pytest.mark.promise(6)
@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\uffff", '"', "\\"])
def test_odd_characters_never_raise(text: str) -> None:
    http = FakeHttp()
    odd = Target(target(0).ref, Recipient("a@x.example", "k", display=text))
    content = replace(CONTENT, subject=text, html=text, cc=(Mailbox("c@x.example", text),))
    assert resend(http).send(content, [odd], deadline=NOW + 5) == [TAKEN]
    assert http.mail["subject"] == ("?" if text == "\ud800" else text)
    assert len(http.mail["to"]) == 1


@pytest.mark.parametrize("key", ["", "a\r\nEvil: 1", "ä"])
def test_without_a_usable_key_nothing_is_sent(key: str) -> None:
    http = FakeHttp()
    provider = resend(http, {"api_key": key})
    outcomes = provider.send(CONTENT, [target(0)], deadline=NOW + 5)
    assert outcomes == [Rejected("no_api_key", permanent=False, provider_down=True)]
    assert provider.resolve(CONTENT, target(0), at=NOW, deadline=NOW + 5) == Unknown("no_api_key")
    assert http.requests == []


def test_the_base_url_may_be_another() -> None:
    http = FakeHttp()
    resend(http, base_url="https://proxy.example/resend/").send(CONTENT, [target(0)], deadline=NOW + 5)
    assert http.requests[0][1] == "https://proxy.example/resend/emails"


# The error table

HTML = b"<html><body>502 Bad Gateway</body></html>"
TO_FIELD = "Invalid `to` field. The email address needs to follow the `email@example.com` format."


def down(code: str) -> Rejected:
    return Rejected(code, permanent=False, provider_down=True)


def bad(code: str) -> Rejected:
    return Rejected(code, permanent=True)


def unverified() -> Rejected:
    return Rejected("sender_not_verified", permanent=False, about_message=True)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Response(200, {}, SENT), TAKEN),
        (Response(200, {}, b""), Unknown("malformed_answer")),
        (Response(200, {}, b'{"id":""}'), Unknown("malformed_answer")),
        (Response(200, {}, b'{"id":7}'), Unknown("malformed_answer")),
        (Response(200, {}, b"[" * 100_000), Unknown("malformed_answer")),
        (Response(202, {}, SENT), Unknown("malformed_answer")),
        (error(400, "validation_error", "An error was found"), bad("validation_error")),
        (error(400, "invalid_idempotency_key"), Rejected("invalid_idempotency_key", False, about_message=True)),
        (Response(400, {}, HTML), bad("bad_request")),
        (error(422, "validation_error", TO_FIELD), bad("invalid_recipient")),
        (error(422, "validation_error", "Invalid `cc` field."), bad("invalid_copy")),
        (error(422, "validation_error", "Invalid `bcc` field."), bad("invalid_copy")),
        (error(422, "validation_error", "Invalid `from` field."), bad("invalid_from")),
        (error(422, "validation_error", "Invalid `reply_to` field."), bad("invalid_reply_to")),
        (error(422, "invalid_from_address"), bad("invalid_from")),
        (error(422, "invalid_attachment"), bad("invalid_attachments")),
        (error(422, "missing_required_field", "Missing `to` field."), bad("missing_required_field")),
        (error(422, "invalid_parameter"), bad("invalid_parameter")),
        (error(422, "something_new"), bad("unprocessable")),
        (error(401, "missing_api_key"), down("missing_api_key")),
        (error(401, "restricted_api_key"), down("restricted_api_key")),
        (Response(401, {}, b""), down("unauthorized")),
        (error(403, "invalid_api_key"), down("invalid_api_key")),
        (error(403, "suspended_api_key"), down("suspended_api_key")),
        (error(403, "invalid_permission"), down("invalid_permission")),
        (Response(403, {}, b"error code: 1010"), down("forbidden")),
        (error(403, "validation_error", "The `x.example` domain is not verified. Please, add"), unverified()),
        (error(403, "validation_error", "You can only send testing emails to your own address"), unverified()),
        (error(404, "not_found"), down("http_404")),
        (error(405, "method_not_allowed"), down("http_405")),
        (Response(301, {"location": "https://elsewhere"}, b""), down("http_301")),
        (Response(408, {}, b""), Unknown("http_408")),
        (error(409, "concurrent_idempotent_requests"), Unknown("in_progress")),
        (error(409, "invalid_idempotent_request"), Unknown("invalid_idempotent_request")),
        (error(409, "resource_locked"), Unknown("resource_locked")),
        (Response(409, {}, HTML), Unknown("http_409")),
        (Response(413, {}, b""), bad("too_large")),
        (error(429, "daily_quota_exceeded"), OverQuota(1.0)),
        (error(429, "monthly_quota_exceeded"), OverQuota(1.0)),
        (error(429, "rate_limit_exceeded"), Throttled(1)),
        (Response(429, {}, HTML), Throttled(1)),
        (error(500, "application_error"), Unknown("application_error")),
        (Response(500, {}, b""), Unknown("http_500")),
        (Response(502, {}, HTML), Unknown("http_502")),
        (error(502, "validation_error"), Unknown("http_502")),
        (error(503, "service_unavailable"), Unknown("http_503")),
        (error(451, "security_error"), Rejected("security_error", permanent=False, about_message=True)),
        (Response(503, {}, HTML), Unknown("http_503")),
        (Response(504, {}, b"{}"), Unknown("http_504")),
        (error(429, "Odd\nName"), Throttled(1)),
        (NotSent("connection_refused"), Rejected("connection_refused", permanent=False)),
        (NoTime("deadline"), NotStarted()),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
    ],
)
def test_every_answer_has_one_meaning_and_only_a_yes_resolves(answer: Response | Exception, outcome: Outcome) -> None:
    assert outcome_of(answer) == outcome
    found = resend(FakeHttp(answer)).resolve(CONTENT, target(0), at=NOW - 60, deadline=NOW + 5)
    if isinstance(outcome, Accepted | Unknown):
        assert found == outcome
    else:
        assert isinstance(found, Unknown)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7),
        ({"ratelimit_reset": "5"}, 5),
        ({"retry_after": "2", "ratelimit_reset": "5"}, 2),
        ({"retry_after": "99999"}, 900),
        ({"ratelimit_reset": "x"}, 1),
        ({}, 1),
    ],
)
def test_throttling_says_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert outcome_of(error(429, "rate_limit_exceeded", **headers)) == Throttled(seconds)


@pytest.mark.promise(1)
def test_no_call_is_made_again_when_its_key_may_be_gone() -> None:
    http = FakeHttp()
    for age, found in ((RESOLVES_WITHIN, TAKEN), (RESOLVES_WITHIN + 1, Unknown("too_late"))):
        assert resend(http).resolve(CONTENT, target(0), at=NOW - age, deadline=NOW + 5) == found
    assert len(http.requests) == 1
    assert RESOLVES_WITHIN <= 23 * 3600


def test_a_file_of_unknown_type_leaves_its_type_out() -> None:
    http = FakeHttp()
    files = (Attachment("a.pdf", "application/octet-stream", "aGVsbG8="), Attachment("b.txt", "text/plain", "aGVsbG8="))
    assert resend(http).send(replace(CONTENT, attachments=files), [target(0)], deadline=NOW + 5) == [TAKEN]
    assert [file.get("content_type") for file in http.mail["attachments"]] == [None, "text/plain"]
