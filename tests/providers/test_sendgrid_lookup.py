import json
from typing import Any
from urllib.parse import unquote

import pytest

from shared.domain.jobs.outcomes import Accepted, Finding, Unknown
from shared.ports import AnswerLost, NotSent, Response
from shared.providers._common import REF_ARG
from shared.providers.sendgrid.lookup import MAX_READ, RESOLVES_WITHIN
from shared.providers.sendgrid.send import SendGrid
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed, insisted
from tests.providers.test_mailgun_lookup import Pages
from tests.providers.test_vendor_documents import FOLDER, faults, strict

HOUR = 3600.0
URL = "https://api.sendgrid.com/v3/logs"
NAME = "aaa111.recvd-node-abc-1-00000000-00.0"
"""As the vendor's own example has it (twilio.com/en-us/blog, "Introducing Email Logs")."""
DOCUMENT = json.loads((FOLDER / "logs" / "sendgrid.json").read_text("utf-8"))


def page(*names: str) -> Response:
    rest = {"from_email": "a@x.example", "subject": "x", "to_email": "reader0@example.com", "status": "delivered"}
    messages = [{"sg_message_id": n, **rest, "sg_message_id_created_at": "2026-09-21T13:46:40Z"} for n in names]
    return Response(200, {}, json.dumps({"messages": messages}).encode())


def message(ref: Any) -> Response:
    body = {
        "api_key_id": "",
        "events": [],
        "from_email": "a@x.example",
        "sg_message_id": NAME,
        "client_ip": "",
        "status": "delivered",
        "subject": "x",
        "to_email": "reader0@example.com",
        "custom_args": {} if ref is None else {REF_ARG: ref},
    }
    return Response(200, {}, json.dumps(body).encode())


def resolve(http: Pages, age: float = HOUR, address: str = "") -> Finding:
    provider = SendGrid(http, "", {"api_key": "SG.key"}, Fixed())
    return provider.resolve(CONTENT, target(0, address), at=NOW - age, deadline=NOW + 5)


OURS, OTHER = message(target(0).ref), message(target(1).ref)


def test_a_message_that_carries_the_attempt_was_taken() -> None:
    http = Pages(page("other.0", NAME), OTHER, OURS)
    assert resolve(http) == Accepted("aaa111")
    (_, url, headers, body), (method, first, *_), (_, second, *_) = http.requests
    assert (url, method, unquote(second)) == (URL, "GET", f"{URL}/{NAME}")
    assert first == f"{URL}/other.0"
    assert headers["Authorization"] == "Bearer SG.key"
    asked = json.loads(body)
    assert asked["query"].startswith('to_email = "reader0@example.com" AND sg_message_id_created_at >= TIMESTAMP "')
    assert faults(strict(DOCUMENT["operations"]["POST /v3/logs"]["request"]), asked) == []


def test_the_answers_here_are_as_the_vendor_documents_them() -> None:
    for name, answer in (("POST /v3/logs", page(NAME)), ("GET /v3/logs/{sg_message_id}", OURS)):
        assert faults(strict(DOCUMENT["operations"][name]["answer"]), json.loads(answer.body)) == []


@pytest.mark.promise(1)
@pytest.mark.parametrize("age", [0, HOUR, RESOLVES_WITHIN])
def test_nothing_ever_proves_absence(age: float) -> None:
    assert resolve(Pages(page()), age) == Unknown("not_found")
    assert resolve(Pages(page("a.0", "b.0", "c.0"), OTHER, message(None), message(7)), age) == Unknown("not_found")


def test_what_is_too_long_ago_is_not_asked_about() -> None:
    assert resolve(Pages(), RESOLVES_WITHIN + 1) == Unknown("too_late")


def test_a_question_reads_only_so_many_messages() -> None:
    http = Pages(page(*(f"m{n}.0" for n in range(50))), *[OTHER] * MAX_READ)
    assert resolve(http) == Unknown("not_found")
    assert len(http.requests) == 1 + MAX_READ


def test_another_spelling_is_asked_for_as_well() -> None:
    http = Pages(page(), page(NAME), OURS)
    assert resolve(http, address="Ada@Example.com") == Accepted("aaa111")
    asked = [json.loads(http.requests[n][3])["query"].split(" AND ")[0] for n in (0, 1)]
    assert asked == ['to_email = "Ada@Example.com"', 'to_email = "ada@example.com"']


@pytest.mark.parametrize("address", ['"a b"@x.example', 'a"b@x.example', "ä@x.example", "a' OR 1=1@x.example"])
def test_an_address_that_is_more_than_a_word_is_not_asked_about(address: str) -> None:
    assert resolve(Pages(), address=address) == Unknown("cannot_look_up")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(401, {}, b"{}"), "look_up_forbidden"),
        (Response(403, {}, b"{}"), "look_up_forbidden"),
        (Response(404, {}, b"{}"), "http_404"),
        (Response(429, {}, b"{}"), "http_429"),
        (Response(500, {}, b"{}"), "http_500"),
        (Response(200, {}, b""), "malformed_answer"),
        (Response(200, {}, b"[]"), "malformed_answer"),
        (Response(200, {}, b'{"messages": [1]}'), "malformed_answer"),
        (AnswerLost("read_timeout"), "read_timeout"),
        (NotSent("dns"), "dns"),
    ],
)
def test_a_failed_answer_proves_nothing(answer: Response | Exception, reason: str) -> None:
    assert resolve(Pages(*insisted(answer))) == Unknown(reason)


@pytest.mark.parametrize("answer", [Response(403, {}, b"{}"), Response(404, {}, b"{}"), Response(200, {}, b"7")])
def test_an_unreadable_message_proves_nothing(answer: Response) -> None:
    assert isinstance(resolve(Pages(page(NAME), answer)), Unknown)


def test_without_a_key_nothing_is_asked() -> None:
    provider = SendGrid(Pages(), "", {}, Fixed())
    assert provider.resolve(CONTENT, target(0), at=NOW, deadline=NOW + 5) == Unknown("no_api_key")
