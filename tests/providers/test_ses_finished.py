"""Finished messages by SES: `SendEmail` with `Raw`, byte for byte where they are 7-bit."""

import base64
import json
from dataclasses import replace
from email import message_from_bytes, policy
from hashlib import sha256
from typing import Any

import pytest
from botocore.validate import ParamValidator

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential
from shared.domain.content.content import Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, FinishedSender, NoTime, Response, Target
from shared.providers import registry
from shared.providers._common import REF_ARG, SMTPUTF8
from shared.providers.needs import needs_of
from shared.providers.registry import Needs
from shared.providers.ses.events import CREDENTIAL_ARG
from shared.providers.ses.send import Ses
from simulator.run import Simulator
from tests.fakes.finished import Bytes
from tests.providers.contract import FAR, target
from tests.providers.corpus import EIGHT_BIT, HEADER, SEVEN_BIT, complete, content
from tests.providers.fakes import NOW, FakeHttp, Fixed
from tests.providers.ses_calls import ID, KEYS, SHAPES, TAKEN, ses, tags

TEXT = HEADER + b"\r\nx\r\n"
CLOCK = SystemClock()


def send(by: FinishedSender, data: bytes, to: Target | None = None, now: float = NOW) -> Outcome:
    return by.send_finished(content(data), Bytes(data), to or target(0), deadline=now + FAR)


def request_of(data: bytes) -> dict[str, Any]:
    """Send a message, and return the request, which the vendor's own service model must allow."""
    http = FakeHttp(TAKEN)
    assert send(ses(http), data) == Accepted(ID)
    ((method, url, headers, body),) = http.requests
    assert (method, url) == ("POST", "https://email.eu-west-1.amazonaws.com/v2/email/outbound-emails")
    assert headers["Content-Type"] == "application/json"
    found: dict[str, Any] = json.loads(body)
    report = ParamValidator().validate(found, SHAPES.operation_model("SendEmail").input_shape)
    assert not report.has_errors(), report.generate_report()
    return found


def raw_of(data: bytes) -> bytes:
    return base64.b64decode(request_of(data)["Content"]["Raw"]["Data"], validate=True)


def test_ses_takes_finished_messages() -> None:
    by = ses(FakeHttp(TAKEN))
    assert isinstance(by, FinishedSender)
    assert by.finished_bytes == needs_of("ses").finished_bytes == 40_000_000


@pytest.mark.parametrize("name", SEVEN_BIT)
def test_bytes_in_are_bytes_out(name: str) -> None:
    assert raw_of(SEVEN_BIT[name]) == complete(SEVEN_BIT[name])


def test_the_envelope_names_the_recipient_alone() -> None:
    found = request_of(b"Bcc: hidden@example.com\r\n" + TEXT)
    assert found["Destination"] == {"ToAddresses": ["reader0@example.com"]}
    assert "FromEmailAddress" not in found, "the header has the sender"
    assert tags(found["EmailTags"]) == {REF_ARG: target(0).ref, CREDENTIAL_ARG: "ses-main"}
    assert found["ConfigurationSetName"] == "events"
    assert base64.b64decode(found["Content"]["Raw"]["Data"]) == TEXT


@pytest.mark.parametrize("name", EIGHT_BIT)
def test_eight_bits_are_encoded(name: str) -> None:
    data = raw_of(EIGHT_BIT[name])
    assert data.isascii()
    before, after = (message_from_bytes(d, policy=policy.SMTP) for d in (EIGHT_BIT[name], data))
    assert after.get_payload(decode=True) == before.get_payload(decode=True)


def test_a_header_in_utf8_is_encoded() -> None:
    data = raw_of("From: Jörg <ann@sender.example>\r\nSubject: Grüße\r\n\r\nx\r\n".encode())
    assert data.isascii()
    assert message_from_bytes(data, policy=policy.SMTP)["Subject"] == "Grüße"


@pytest.mark.parametrize("case", ["header", "recipient"])
def test_an_address_in_another_script_is_left_to_others(case: str) -> None:
    greek = Target(target(0).ref, Recipient("δ@example.com", "δ@example.com"))
    data = "From: jörg@sender.example\r\n\r\nx\r\n".encode() if case == "header" else TEXT
    http = FakeHttp(TAKEN)
    assert send(ses(http), data, greek if case == "recipient" else None) == SMTPUTF8
    assert http.requests == []


def test_a_header_that_instructs_ses_is_not_sent() -> None:
    http = FakeHttp(TAKEN)
    outcome = send(ses(http), b"X-SES-CONFIGURATION-SET: other\r\n" + TEXT)
    assert outcome == Rejected("header_not_allowed", permanent=False, about_message=True)
    assert http.requests == []


def test_a_sender_beyond_the_credentials_domains_is_left_to_others() -> None:
    http = FakeHttp(TAKEN)
    by = Ses(http, "https://email.eu-west-1.amazonaws.com", region="eu-west-1", keys=lambda: KEYS,
             configuration_set="", credential="", clock=Fixed(), domains=("sender.example",))  # fmt: skip
    assert send(by, TEXT) == Accepted(ID)
    other = replace(content(TEXT), sender=Mailbox("a@other.example"))
    outcome = by.send_finished(other, Bytes(TEXT), target(0), deadline=NOW + FAR)
    assert outcome == Rejected("domain_not_listed", permanent=False, about_message=True)
    assert len(http.requests) == 1


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (NoTime("deadline"), NotStarted()),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
        (Response(500, {}, b""), Unknown("http_500")),
        (Response(200, {}, b"{}"), Unknown("malformed_answer")),
        (Response(413, {}, b""), Rejected("too_large", permanent=True)),
        (Response(429, {"x-amzn-errortype": "TooManyRequestsException", "retry-after": "7"}, b""), Throttled(7.0)),
        (
            Response(400, {"x-amzn-errortype": "MessageRejected"}, b'{"message":"no"}'),
            Rejected("message_rejected", permanent=True),
        ),
    ],
)
def test_an_answer_means_what_it_means_for_other_mails(answer: Response | Exception, outcome: Outcome) -> None:
    http = FakeHttp(answer)
    assert send(ses(http), TEXT) == outcome
    assert len(http.requests) == 1


# The far side


def far_side(simulator: Simulator, http: HttpClient, credential: str) -> FinishedSender:
    keys = simulator.control.keys("ses")
    del keys["keys"]
    declared = Credential(credential, "ses", "email", 14, configuration_set="events")
    base = simulator.base_url("ses", credential)
    made = registry.provider("ses")(Needs(http, CLOCK, keys, base, credential=declared))
    assert isinstance(made, FinishedSender)
    return made


@pytest.mark.slow
def test_the_far_side_gets_the_very_bytes(simulator: Simulator, http: HttpClient) -> None:
    by = far_side(simulator, http, "finished")
    large = HEADER + b"\r\n" + b"line\r\n" * 400_000
    messages = [*SEVEN_BIT.values(), large]
    for n, data in enumerate(messages):
        assert isinstance(send(by, data, target(n), CLOCK.now()), Accepted)
    log = simulator.control.log("ses", "finished")
    assert [line["finished_hash"] for line in log] == [sha256(complete(data)).hexdigest() for data in messages]
    assert [line["ref"] for line in log] == [target(n).ref for n in range(len(messages))]


def test_the_far_side_refuses_what_ses_refuses(simulator: Simulator, http: HttpClient) -> None:
    by = far_side(simulator, http, "finished-refused")
    unverified = b"From: a@unverified.example\r\n\r\nx\r\n"
    assert send(by, unverified, now=CLOCK.now()) == Rejected(
        "identity_not_verified", permanent=False, about_message=True
    )
    long = HEADER + b"\r\n" + b"x" * 1000 + b"\r\n"
    assert send(by, long, now=CLOCK.now()) == Rejected("bad_request", permanent=True)
    assert simulator.control.log("ses", "finished-refused") == []
