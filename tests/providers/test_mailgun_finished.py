"""Finished messages by Mailgun: `messages.mime`, byte for byte."""

from dataclasses import replace
from hashlib import sha256

import pytest
from mailgun.client import Client

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential
from shared.domain.content.content import Mailbox
from shared.domain.jobs.outcomes import Absent, Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, FinishedSender, NoTime, NotSent, Provider, Resolver, Response
from shared.providers import registry
from shared.providers._common import REF_ARG, SMTPUTF8
from shared.providers.mailgun.send import Mailgun
from shared.providers.needs import needs_of
from shared.providers.registry import Needs
from simulator.formats.forms import parse
from simulator.run import Simulator
from tests.fakes.finished import Bytes
from tests.providers.contract import FAR, target
from tests.providers.corpus import CORPUS, HEADER, complete, content
from tests.providers.fakes import NOW, FakeHttp, Fixed

SECRET = {"api_key": "key-1", "domain": "mg.sender.example"}
TAKEN = Response(200, {}, b'{"id":"<20260203.1@mg.sender.example>","message":"Queued. Thank you."}')
TEXT = HEADER + b"\r\nx\r\n"
CLOCK = SystemClock()


def mailgun(http: FakeHttp) -> Mailgun:
    return Mailgun(http, "", SECRET, Fixed())


def send(by: FinishedSender, data: bytes, n: int = 0, now: float = NOW) -> Outcome:
    return by.send_finished(content(data), Bytes(data), target(n), deadline=now + FAR)


def test_mailgun_takes_finished_messages() -> None:
    by = mailgun(FakeHttp(TAKEN))
    assert isinstance(by, FinishedSender)
    assert by.finished_bytes == needs_of("mailgun").finished_bytes == 25_000_000


@pytest.mark.parametrize("name", CORPUS)
def test_bytes_in_are_bytes_out(name: str) -> None:
    http = FakeHttp(TAKEN)
    assert send(mailgun(http), CORPUS[name]) == Accepted("20260203.1@mg.sender.example")
    ((method, url, headers, body),) = http.requests
    assert (method, url) == ("POST", "https://api.mailgun.net/v3/mg.sender.example/messages.mime")
    form = parse(headers["Content-Type"], body)
    assert form.fields == {"to": ["reader0@example.com"], f"v:{REF_ARG}": [target(0).ref]}
    (file,) = form.files
    assert (file.name, file.data) == ("message", complete(CORPUS[name]))


def test_the_address_is_that_of_the_vendors_sdk() -> None:
    http = FakeHttp(TAKEN)
    send(mailgun(http), TEXT)
    ((_, url, _, _),) = http.requests
    with Client(auth=("api", "key-1")) as client:
        where = client.mimemessage._url
    assert url == f"{where['base']}{SECRET['domain']}/{'/'.join(where['keys'])}"


def test_blind_copies_stay_blind() -> None:
    http = FakeHttp(TAKEN)
    send(mailgun(http), b"Bcc: hidden@example.com\r\n" + TEXT)
    (file,) = parse(http.requests[0][2]["Content-Type"], http.requests[0][3]).files
    assert file.data == TEXT


def test_a_sender_in_another_script_is_left_to_others() -> None:
    http = FakeHttp(TAKEN)
    greek = replace(content(TEXT), sender=Mailbox("δ@sender.example"))
    assert mailgun(http).send_finished(greek, Bytes(TEXT), target(0), deadline=NOW + FAR) == SMTPUTF8
    assert http.requests == []


@pytest.mark.parametrize("name", [b"X-Mailgun-Variables", b"x-mailgun-drop-message"])
def test_a_header_that_instructs_mailgun_is_not_sent(name: bytes) -> None:
    http = FakeHttp(TAKEN)
    outcome = send(mailgun(http), name + b": {}\r\n" + TEXT)
    assert outcome == Rejected("header_not_allowed", permanent=False, about_message=True)
    assert http.requests == []


def test_without_a_key_nothing_is_sent() -> None:
    http = FakeHttp(TAKEN)
    outcome = send(Mailgun(http, "", {}, Fixed()), TEXT)
    assert outcome == Rejected("no_api_key", permanent=False, provider_down=True)
    assert http.requests == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (NoTime("deadline"), NotStarted()),
        (NotSent("refused"), Rejected("refused", permanent=False)),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
        (Response(200, {}, b"{}"), Unknown("malformed_answer")),
        (Response(413, {}, b""), Rejected("too_large", permanent=True)),
        (Response(429, {"retry-after": "7"}, b"{}"), Throttled(7.0)),
        (
            Response(400, {}, b'{"message":"to parameter is not a valid address. please check documentation"}'),
            Rejected("invalid_recipient", permanent=True),
        ),
    ],
)
def test_an_answer_means_what_it_means_for_other_mails(answer: Response | Exception, outcome: Outcome) -> None:
    http = FakeHttp(answer)
    assert send(mailgun(http), TEXT) == outcome
    assert len(http.requests) == 1


# The far side


def far_side(simulator: Simulator, http: HttpClient, credential: str) -> Provider:
    keys = simulator.control.keys("mailgun")
    secret = {"api_key": keys.pop("keys")[0], **keys}
    declared = Credential(credential, "mailgun", "email", 14)
    base = simulator.base_url("mailgun", credential)
    return registry.provider("mailgun")(Needs(http, CLOCK, secret, base, credential=declared))


@pytest.mark.slow
def test_the_far_side_gets_the_very_bytes(simulator: Simulator, http: HttpClient) -> None:
    by = far_side(simulator, http, "finished")
    assert isinstance(by, FinishedSender)
    large = HEADER + b"\r\n" + b"line\r\n" * 400_000
    messages = [*CORPUS.values(), large]
    for n, data in enumerate(messages):
        assert isinstance(send(by, data, n, CLOCK.now()), Accepted)
    log = simulator.control.log("mailgun", "finished")
    assert [line["finished_hash"] for line in log] == [sha256(complete(data)).hexdigest() for data in messages]
    assert [line["ref"] for line in log] == [target(n).ref for n in range(len(messages))]


def test_an_attempt_can_be_looked_up(simulator: Simulator, http: HttpClient) -> None:
    by = far_side(simulator, http, "finished-asked")
    assert isinstance(by, FinishedSender)
    assert isinstance(by, Resolver)
    made = content(TEXT)
    sent = send(by, TEXT, now=CLOCK.now())
    found = by.resolve(made, target(0), at=CLOCK.now(), deadline=CLOCK.now() + FAR)
    assert found == sent
    other = by.resolve(made, target(1), at=CLOCK.now(), deadline=CLOCK.now() + FAR)
    assert not isinstance(other, Accepted | Absent)


def test_the_far_side_refuses_what_mailgun_refuses(simulator: Simulator, http: HttpClient) -> None:
    by = far_side(simulator, http, "finished-refused")
    assert isinstance(by, FinishedSender)
    long = HEADER + b"\r\n" + b"x" * 1000 + b"\r\n"
    outcome = send(by, long, now=CLOCK.now())
    assert outcome == Rejected("bad_request", permanent=False, about_message=True)
    assert simulator.control.log("mailgun", "finished-refused") == []
