import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from postmarker.core import PostmarkClient

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotTogether, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NotSent, Response, Target
from shared.providers._common import BATCH_REFUSED, JOIN, REF_ARG, SMTPUTF8, TO_ARG, digest
from shared.providers.postmark.lookup import RESOLVES_WITHIN
from shared.providers.postmark.send import CODES, MAX_CALL, PER_CALL, Postmark
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed, insisted

TOKEN = "3ab1c2d0-token"
FULL = Content(
    Mailbox("news@sender.example", "News, daily"),
    "Grüße \U0001f600 </script>",
    html='<p>Hällo "x"</p>',
    text="Hällo\r\n\ttab",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    cc=(Mailbox("c@x.example", "Cé"),),
    bcc=(Mailbox("b@x.example"),),
    headers=(("X-Campaign", "spring"), ("List-Unsubscribe", "<https://mail.example.com/unsubscribe/x>")),
    attachments=(
        Attachment("a.txt", "text/plain", "aGVsbG8="),
        Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
    ),
)


def postmark(http: FakeHttp, secret: Mapping[str, str] | None = None, base_url: str = "") -> Postmark:
    return Postmark(http, base_url, {"api_key": TOKEN} if secret is None else secret, Fixed())


def result(code: int = 0, message: str = "OK", name: str = "b7bc2f4a") -> dict[str, Any]:
    return {"ErrorCode": code, "Message": message} | ({"MessageID": name, "To": "x"} if code == 0 else {})


def batch(*results: dict[str, Any]) -> Response:
    return Response(200, {}, json.dumps(results).encode())


def outcomes_of(answer: Response | Exception, n: int = 1, content: Content = CONTENT) -> list[Outcome]:
    targets = [target(i) for i in range(n)]
    return postmark(FakeHttp(answer)).send(content, targets, deadline=NOW + 5)


def error(status: int, code: int, message: str = "x", **headers: str) -> Response:
    return Response(status, headers, json.dumps({"ErrorCode": code, "Message": message}).encode())


# The request


class Session:
    """The transport of the SDK: keeps what it would have sent."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, Any, Mapping[str, str]]] = []

    def request(self, method: str, url: str, **given: Any) -> Any:
        self.seen.append((method, url, given["json"], given["headers"]))
        raise ConnectionError


def test_the_request_is_the_one_the_sdk_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    session, http, one = Session(), FakeHttp(batch(result())), target(0)
    client = PostmarkClient(server_token=TOKEN)
    client._session = session
    with pytest.raises(ConnectionError):
        client.emails.send_batch(
            {
                "From": '"News, daily" <news@sender.example>',
                "To": "reader0@example.com",
                "Cc": ["Cé <c@x.example>"],
                "Bcc": ["b@x.example"],
                "ReplyTo": "Answers <answers@sender.example>",
                "Subject": FULL.subject,
                "HtmlBody": FULL.html,
                "TextBody": FULL.text,
                "MessageStream": "outbound",
                "Metadata": {REF_ARG: one.ref, TO_ARG: digest(one.ref, "reader0@example.com")},
                "Headers": dict(FULL.headers),
                "Attachments": [
                    ("a.txt", "aGVsbG8=", "text/plain"),
                    ("logo.png", "aWNvbg==", "image/png", "cid:logo"),
                ],
            }
        )
    assert postmark(http).send(FULL, [one], deadline=NOW + 5) == [Accepted("b7bc2f4a")]
    ((method, url, body, headers),) = session.seen
    ((our_method, our_url, ours, sent),) = http.requests
    assert (our_method, our_url) == (method, url) == ("POST", "https://api.postmarkapp.com/email/batch")
    assert ours["X-Postmark-Server-Token"] == headers["X-Postmark-Server-Token"] == TOKEN
    assert (ours["Accept"], ours["Content-Type"]) == ("application/json", "application/json")
    assert json.loads(sent) == json.loads(json.dumps(body))


def test_each_target_has_a_message_of_its_own_and_all_share_one_copy_of_a_long_content() -> None:
    long = replace(CONTENT, html="x" * JOIN)
    http = FakeHttp(batch(*[result(name=f"m{n}") for n in range(3)]))
    outcomes = postmark(http, {"api_key": TOKEN, "message_stream": "broadcast"}).send(
        long, [target(n) for n in range(3)], deadline=NOW + 5
    )
    assert outcomes == [Accepted(f"m{n}") for n in range(3)]
    mails = json.loads(http.requests[0][3])
    assert [(m["To"], m["Metadata"]) for m in mails] == [
        (f"reader{n}@example.com", {REF_ARG: target(n).ref}) for n in range(3)
    ]
    assert {m["MessageStream"] for m in mails} == {"broadcast"}
    assert http.parts == 10


@pytest.mark.slow
def test_a_call_of_several_stays_within_its_size() -> None:
    provider = postmark(FakeHttp(batch()))
    assert provider.per_call_of(CONTENT) == PER_CALL
    assert provider.per_call_of(replace(CONTENT, html="x" * (MAX_CALL // 4))) == 3
    assert provider.per_call_of(replace(CONTENT, html="x" * (2 * MAX_CALL))) == 1


def test_what_it_cannot_carry_is_not_sent() -> None:
    http = FakeHttp(batch(result()))
    odd = Target(target(1).ref, Recipient("grüße@x.example", "grüße@x.example"))
    assert postmark(http).send(CONTENT, [target(0), odd], deadline=NOW + 5) == [Accepted("b7bc2f4a"), SMTPUTF8]
    assert len(json.loads(http.requests[0][3])) == 1
    sender = replace(CONTENT, sender=Mailbox("grüße@x.example"))
    assert postmark(http).send(sender, [target(0)], deadline=NOW + 5) == [SMTPUTF8]
    for secret in ({}, {"api_key": " "}, {"api_key": "é"}):
        down = Rejected("no_api_key", permanent=False, provider_down=True)
        assert postmark(http, secret).send(CONTENT, [target(0)], deadline=NOW + 5) == [down]
    assert len(http.requests) == 1


# What an answer means


@pytest.mark.promise(1)
@pytest.mark.parametrize("code", sorted(CODES))
def test_each_message_of_a_batch_has_an_outcome_of_its_own(code: int) -> None:
    answer = batch(result(), result(code), result(name="last"))
    assert outcomes_of(answer, 3) == [Accepted("b7bc2f4a"), CODES[code].rejected(), Accepted("last")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (10, Rejected("bad_api_token", permanent=False, provider_down=True)),
        (100, Rejected("maintenance", permanent=False)),
        (400, Rejected("sender_not_verified", permanent=False, about_message=True)),
        (401, Rejected("sender_not_verified", permanent=False, about_message=True)),
        (405, Rejected("not_allowed_to_send", permanent=False, provider_down=True)),
        (406, Rejected("inactive_recipient", permanent=True, unwanted=True)),
        (411, Rejected("forbidden_attachment", permanent=True)),
        (412, Rejected("account_pending", permanent=False, provider_down=True)),
        (413, Rejected("account_may_not_send", permanent=False, provider_down=True)),
        (1235, Rejected("unknown_message_stream", permanent=False, provider_down=True)),
        (4711, Rejected("refused_4711", permanent=False, about_message=True)),
    ],
)
def test_the_codes(code: int, expected: Rejected) -> None:
    assert outcomes_of(batch(result(code))) == [expected]
    if code in CODES:
        assert outcomes_of(error(422, code)) == [expected]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Invalid 'To' address: 'reader0@example.com'.", "invalid_recipient"),
        ("Invalid 'From' address: 'x'.", "invalid_from"),
        ("Invalid 'Cc' address: 'x'.", "invalid_copy"),
        ("Invalid 'ReplyTo' address: 'x'.", "invalid_reply_to"),
        ("Header name is not allowed.", "invalid_headers"),
        ("Hello", "invalid_request"),
        ("The subject 'From to To' is wrong", "invalid_request"),
    ],
)
def test_an_invalid_message_names_the_part(text: str, code: str) -> None:
    assert outcomes_of(batch(result(300, text))) == [Rejected(code, permanent=True)]


@pytest.mark.parametrize(
    ("answer", "one", "several"),
    [
        (error(401, 10), CODES[10].rejected(), CODES[10].rejected()),
        (Response(401, {}, b"no"), Rejected("unauthorized", permanent=False, provider_down=True), None),
        (error(422, 402), CODES[402].rejected(), BATCH_REFUSED),
        (error(422, 300, "x"), CODES[300].rejected(), BATCH_REFUSED),
        (error(422, 405), CODES[405].rejected(), CODES[405].rejected()),
        (Response(422, {}, b""), Rejected("unprocessable", permanent=True), BATCH_REFUSED),
        (Response(413, {}, b""), Rejected("too_large", permanent=True), BATCH_REFUSED),
        (error(429, 429, **{"retry-after": "7"}), Throttled(7.0), Throttled(7.0)),
        (error(500, 0), Unknown("http_500"), Unknown("http_500")),
        (error(503, 100), CODES[100].rejected(), CODES[100].rejected()),
        (error(503, 0), Unknown("http_503"), Unknown("http_503")),
        (error(500, 100), Unknown("http_500"), Unknown("http_500")),
        (Response(503, {}, b"<html>"), Unknown("http_503"), Unknown("http_503")),
        (error(404, 404), Rejected("http_404", permanent=False, provider_down=True), None),
        (Response(406, {}, b""), Rejected("http_406", permanent=False), None),
        (NotSent("refused"), Rejected("refused", permanent=False), None),
        (AnswerLost("reset"), Unknown("reset"), Unknown("reset")),
        (Response(200, {}, b"[]"), Unknown("malformed_answer"), Unknown("malformed_answer")),
        (Response(200, {}, b"{}"), Unknown("malformed_answer"), Unknown("malformed_answer")),
        (Response(200, {}, b"no"), Unknown("malformed_answer"), Unknown("malformed_answer")),
    ],
)
def test_a_call_that_is_answered_as_a_whole(
    answer: Response | Exception, one: Outcome, several: Outcome | NotTogether | None
) -> None:
    assert outcomes_of(answer) == [one]
    assert outcomes_of(answer, 3) == [several or one] * 3


def test_a_result_without_an_id_or_a_code_leaves_the_fate_open() -> None:
    answer = batch({"ErrorCode": 0}, {"ErrorCode": True, "MessageID": "x"}, {"MessageID": "x"}, result(429))
    assert outcomes_of(answer, 4) == [*[Unknown("malformed_answer")] * 3, Throttled(1.0)]


@given(st.binary(max_size=200), st.sampled_from([200, 400, 401, 422, 429, 500]))
def test_any_answer_is_judged(body: bytes, status: int) -> None:
    assert len(outcomes_of(Response(status, {}, body), 2)) == 2


@given(st.text(max_size=60), st.text(max_size=60))
def test_odd_input_never_raises(name: str, subject: str) -> None:
    http = FakeHttp(batch(result()))
    content = replace(CONTENT, sender=Mailbox("a@x.example", name), subject=subject, headers=(("X-A", name),))
    one = Target(target(0).ref, Recipient("b@x.example", "b@x.example", name))
    assert postmark(http).send(content, [one], deadline=NOW + 5) == [Accepted("b7bc2f4a")]
    json.loads(http.requests[0][3].decode("utf-8"))


# Look-ups


def listed(*metadata: Any) -> Response:
    messages = [{"MessageID": f"m{n}", "Metadata": m} for n, m in enumerate(metadata)]
    return Response(200, {}, json.dumps({"TotalCount": len(messages), "Messages": messages}).encode())


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (listed({REF_ARG: target(0).ref}), Accepted("m0")),
        (listed({}, None, {REF_ARG: target(1).ref}, {REF_ARG: target(0).ref}), Accepted("m3")),
        (listed(), Unknown("not_found")),
        (listed({REF_ARG: target(1).ref}), Unknown("not_found")),
        (Response(200, {}, b"[]"), Unknown("malformed_answer")),
        (error(401, 10), Unknown("http_401")),
        (error(500, 0), Unknown("http_500")),
        (AnswerLost("reset"), Unknown("reset")),
    ],
)
def test_a_message_in_the_list_was_accepted_and_one_that_is_not_may_have_been(
    answer: Response | Exception, found: Outcome
) -> None:
    http = FakeHttp(answer)
    assert postmark(http).resolve(CONTENT, target(0), at=NOW - 60, deadline=NOW + 5) == found
    assert len(http.requests) == len(insisted(answer))
    method, url, headers, body = http.requests[-1]
    assert (method, headers["X-Postmark-Server-Token"], body) == ("GET", TOKEN, b"")
    query = f"count=50&offset=0&metadata_{REF_ARG}={target(0).ref}"
    assert url == f"https://api.postmarkapp.com/messages/outbound?{query}"


def test_what_is_too_old_is_not_looked_up() -> None:
    http = FakeHttp(listed({REF_ARG: target(0).ref}))
    at = NOW - RESOLVES_WITHIN - 1
    assert postmark(http).resolve(CONTENT, target(0), at=at, deadline=NOW + 5) == Unknown("too_late")
    assert postmark(http, {}).resolve(CONTENT, target(0), at=NOW, deadline=NOW + 5) == Unknown("no_api_key")
    assert http.requests == []
