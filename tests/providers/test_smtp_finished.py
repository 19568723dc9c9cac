"""Finished messages by SMTP: the bytes that went in are those at the relay's far end."""

import logging
import ssl
import time
from email import message_from_bytes, policy

import pytest

from shared.adapters.smtp.transport import SmtpClient
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Unknown
from shared.ports import FinishedSender, Target
from shared.providers.needs import needs_of
from shared.providers.smtp.send import SmtpRelay
from tests.fakes.finished import Bytes
from tests.fakes.shifted import ShiftedClock
from tests.providers.contract import FAR, target
from tests.providers.corpus import CORPUS, EIGHT_BIT, HEADER, ODD, SEVEN_BIT, complete, content
from tests.providers.relay import Delivery, Faults, RelayServer
from tests.providers.relaying import OPEN, provider

TEXT = HEADER + b"\r\nx\r\n"
GREEK = Target(target(0).ref, Recipient("δοκιμή@example.com", "δοκιμή@example.com"))


def through(transport: SmtpClient, relay: RelayServer) -> SmtpRelay:
    return provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)


def send(
    by: SmtpRelay, data: bytes, to: Target | None = None, mail_from: str = "bounces@sender.example", block: int = 100
) -> Outcome:
    made = content(data, mail_from)
    return by.send_finished(made, Bytes(data, block), to or target(0), deadline=time.time() + FAR)


def sent(transport: SmtpClient, relay: RelayServer, data: bytes) -> Delivery:
    assert isinstance(send(through(transport, relay), data), Accepted)
    return relay.deliveries[-1]


def test_the_relay_takes_finished_messages(transport: SmtpClient) -> None:
    by = SmtpRelay(transport, "", {}, ShiftedClock())
    assert isinstance(by, FinishedSender)
    assert by.finished_bytes == needs_of("smtp").finished_bytes == 40 * 1024 * 1024


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_bytes_in_are_bytes_out(transport: SmtpClient, block: int) -> None:
    with RelayServer(utf8=True) as relay:
        by = through(transport, relay)
        for name, data in (ODD if block == 1 else CORPUS).items():
            assert send(by, data, block=block) == Accepted(f"4F{len(relay.deliveries)}"), name
            assert relay.deliveries[-1].content == complete(data), name
            assert relay.deliveries[-1].sender == "bounces@sender.example"
            assert relay.deliveries[-1].recipients == ("reader0@example.com",)


@pytest.mark.slow
def test_a_relay_without_extensions_gets_the_same_bytes_of_seven_bit_messages(transport: SmtpClient) -> None:
    with RelayServer(eight_bit=False) as relay:
        for name, data in SEVEN_BIT.items():
            assert sent(transport, relay, data).content == complete(data), name
        assert relay.transactions == len(SEVEN_BIT), "each was sent once"


@pytest.mark.slow
def test_a_message_goes_by_starttls_and_auth(transport: SmtpClient, server_tls: ssl.SSLContext) -> None:
    data = HEADER + b"\r\n" + b".line\r\n" * 50_000
    with RelayServer(tls=server_tls, auth=True) as relay:
        by = provider(transport, f"smtp://127.0.0.1:{relay.port}")
        assert [send(by, data, target(n), block=1 << 16) for n in range(3)] == [Accepted(f"4F{n}") for n in (1, 2, 3)]
        assert [d.content for d in relay.deliveries] == [data] * 3
        assert (relay.connections, relay.logins) == (1, 1)


def test_blind_copies_stay_blind(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        found = sent(transport, relay, b"Bcc: a@hidden.example,\r\n b@hidden.example\r\n" + TEXT)
    assert found.content == TEXT


@pytest.mark.slow
def test_a_large_message_arrives_whole(transport: SmtpClient) -> None:
    data = HEADER + b"\r\n" + (b".line %07d\r\n" * 200_000) % tuple(range(200_000))
    with RelayServer() as relay:
        assert isinstance(send(through(transport, relay), data, block=1 << 20), Accepted)
        assert relay.deliveries[-1].content == data


def test_a_notification_has_a_null_return_path(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        assert isinstance(send(through(transport, relay), TEXT, mail_from=""), Accepted)
        assert relay.deliveries[-1].sender == "<>"


def test_eight_bits_go_as_they_are_where_the_relay_takes_them(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        for data in EIGHT_BIT.values():
            assert sent(transport, relay, data).content == data
        assert all("BODY=8BITMIME" in options for options in relay.options)


def test_eight_bits_are_encoded_for_a_relay_that_takes_seven(
    transport: SmtpClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with RelayServer(eight_bit=False) as relay:
        found = sent(transport, relay, EIGHT_BIT["8-bit text"])
        assert relay.transactions == 1, "nothing of the first form was written"
    assert found.content.isascii()
    assert found.message.get_content() == "Grüße\r\n.ü\r\n"
    (line,) = [r for r in caplog.records if r.message == "finished message encoded again"]
    assert (line.ref, line.reason) == (target(0).ref, "eight_bit_not_offered")  # type: ignore[attr-defined]


def test_a_header_in_utf8_is_encoded_for_a_relay_without_smtputf8(transport: SmtpClient) -> None:
    body = "\r\nGrüße\r\n".encode()
    data = "From: Jörg <ann@sender.example>\r\nSubject: Grüße\r\nX-Kept:  1  \r\n".encode() + body
    with RelayServer() as relay:
        found = sent(transport, relay, data)
        assert relay.options == [(f"SIZE={len(found.content)}", "BODY=8BITMIME")]
    assert found.content.endswith(b"\r\nX-Kept:  1  \r\n" + body), "the body goes as it is"
    assert str(found.message["Subject"]) == "Grüße"
    with RelayServer(eight_bit=False) as relay:
        found = sent(transport, relay, data)
    assert found.content.isascii()
    assert message_from_bytes(found.content, policy=policy.SMTP)["From"].addresses[0].display_name == "Jörg"


@pytest.mark.parametrize("case", ["recipient", "header"])
def test_an_address_in_another_script_needs_smtputf8(transport: SmtpClient, case: str) -> None:
    to = GREEK if case == "recipient" else None
    data = TEXT if case == "recipient" else "From: jörg@sender.example\r\n\r\nx\r\n".encode()
    with RelayServer() as relay:
        assert send(through(transport, relay), data, to) == Rejected("smtputf8_not_offered", permanent=True)
        assert relay.transactions == 0
    with RelayServer(utf8=True) as relay:
        assert isinstance(send(through(transport, relay), data, to), Accepted)
        assert relay.deliveries[-1].content == data


def test_eight_bits_without_another_form_are_left_to_other_relays(transport: SmtpClient) -> None:
    data = b"From: a@b.example\r\nContent-Transfer-Encoding: base64\r\n\r\n\xff\r\n"
    with RelayServer(eight_bit=False) as relay:
        outcome = send(through(transport, relay), data)
        assert outcome == Rejected("eight_bit_not_offered", permanent=False, about_message=True)
        assert relay.transactions == 0


@pytest.mark.parametrize("name", [b"X-SMTPAPI", b"X-SES-CONFIGURATION-SET", b"X-Mailgun-Variables"])
def test_a_header_that_instructs_servers_is_not_sent(transport: SmtpClient, name: bytes) -> None:
    with RelayServer() as relay:
        outcome = send(through(transport, relay), name + b": {}\r\n" + TEXT)
        assert outcome == Rejected("header_not_allowed", permanent=False, about_message=True)
        assert relay.connections == 0


@pytest.mark.parametrize(
    ("to", "mail_from", "code"),
    [("a@b>", "a@b.example", "invalid_recipient"), ("", "a@b.example", "invalid_recipient"),
     ("a@b.example", "a b@c", "invalid_mail_from")],
)  # fmt: skip
def test_an_envelope_that_cannot_be_written_is_refused(
    transport: SmtpClient, to: str, mail_from: str, code: str
) -> None:
    with RelayServer() as relay:
        outcome = send(through(transport, relay), TEXT, Target(target(0).ref, Recipient(to, to)), mail_from)
        assert outcome == Rejected(code, permanent=True)
        assert relay.connections == 0


def test_one_refused_recipient_of_three_keeps_nobody_from_the_mail(transport: SmtpClient) -> None:
    with RelayServer(faults=Faults(rcpt="550 5.1.1 No such user", only="reader1@example.com")) as relay:
        by = through(transport, relay)
        outcomes = [send(by, TEXT, target(n)) for n in range(3)]
    assert outcomes == [Accepted("4F1"), Rejected("5.1.1", permanent=True), Accepted("4F2")]
    assert [d.recipients for d in relay.deliveries] == [("reader0@example.com",), ("reader2@example.com",)]


def test_a_lost_answer_leaves_the_fate_open_and_is_not_repeated(transport: SmtpClient) -> None:
    with RelayServer(faults=Faults(drop="end", accept=True)) as relay:
        assert isinstance(send(through(transport, relay), TEXT), Unknown)
        assert len(relay.deliveries) == 1


def test_without_time_nothing_is_sent(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        made = content(TEXT)
        outcome = through(transport, relay).send_finished(made, Bytes(TEXT), target(0), deadline=time.time() - 1)
        assert outcome == NotStarted()
        assert relay.deliveries == []


def test_without_a_relay_nothing_is_sent(transport: SmtpClient) -> None:
    by = SmtpRelay(transport, "", OPEN, ShiftedClock())
    assert send(by, TEXT) == Rejected("no_base_url", permanent=False, provider_down=True)
