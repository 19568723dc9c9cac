"""The relay's SMTP server as `smtplib` and a bare socket see it."""

import base64
import smtplib
import socket
import threading
from pathlib import Path

import pytest

from cli.relay import server
from cli.relay.server import RelayAccess
from cli.relay.smtp import guests
from shared.domain.mails.mail import MAX_DESTINATIONS
from shared.domain.mails.message import MAX_BYTES
from tests.cli.relay.serving import PASSWORD, USER, Serving, secured

CONTENT = b"From: a@b.example\r\n\r\nHello!\r\n"


def client(relay: Serving) -> smtplib.SMTP:
    return smtplib.SMTP("127.0.0.1", relay.port, timeout=30)


def talk(relay: Serving, *lines: bytes) -> list[bytes]:
    """Send lines as they are, each when the last was answered; return the last line of each answer."""
    answers = []
    with socket.create_connection(("127.0.0.1", relay.port), timeout=30) as wire, wire.makefile("rb") as read:
        read.readline()
        for line in lines:
            wire.sendall(line + b"\r\n")
            while (answer := read.readline())[3:4] == b"-":
                pass
            answers.append(answer.rstrip())
    return answers


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_it_offers_what_programs_need() -> None:
    with Serving() as relay, client(relay) as smtp:
        smtp.ehlo()
        assert set(smtp.esmtp_features) == {"size", "8bitmime", "smtputf8", "help"}
        assert smtp.esmtp_features["size"] == str(MAX_BYTES)


@pytest.mark.parametrize(
    "content",
    [
        CONTENT,
        b"From: a\r\n\r\n.\r\n..\r\n.hidden\r\n...\r\n",
        b"From: a\r\n\r\n\x00\x80\xff \r\r\n",
        b"From: a\r\n\r\na bare LF\nand a bare CR\rare the API's to refuse\r\n",
        b"From: a\r\n\r\n" + b"x" * 998 + b"\r\n" + b"." * 998 + b"\r\n",
        b"\r\n",
        b"",
    ],
)
def test_the_content_arrives_byte_for_byte(content: bytes) -> None:
    stuffed = b"".join(b"." + x if x.startswith(b".") else x for x in content.split(b"\r\n") for x in (x + b"\r\n",))
    body = stuffed.removesuffix(b"\r\n") + b"."
    with Serving() as relay:
        *_, answer = talk(relay, b"EHLO me", b"MAIL FROM:<a@b.example>", b"RCPT TO:<c@d.example>", b"DATA", body)
    assert answer == b"250 2.0.0 accepted"
    assert relay.taken == [("a@b.example", ("c@d.example",), content)]


def test_the_envelope_arrives_as_it_was_given() -> None:
    with Serving() as relay, client(relay) as smtp:
        smtp.sendmail("ä@b.example", ["c+x@d.example", "ü@d.example"], CONTENT, ["SMTPUTF8", "BODY=8BITMIME"])
        smtp.sendmail("", ["c@d.example"], CONTENT)
    assert [x[:2] for x in relay.taken] == [
        ("ä@b.example", ("c+x@d.example", "ü@d.example")),
        ("", ("c@d.example",)),
    ]


def test_the_answer_is_the_intake_s() -> None:
    with Serving(take=lambda *_: "451 4.3.0 later") as relay, client(relay) as smtp:
        with pytest.raises(smtplib.SMTPDataError) as caught:
            smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)
        assert (caught.value.smtp_code, caught.value.smtp_error) == (451, b"4.3.0 later")


def test_a_fault_of_the_intake_lets_the_client_try_again() -> None:
    def fail(*_: object) -> str:
        raise ZeroDivisionError

    with Serving(take=fail) as relay, client(relay) as smtp:
        with pytest.raises(smtplib.SMTPDataError) as caught:
            smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)
        assert caught.value.smtp_code == 451


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> int:
    """A limit that tests reach soon."""
    monkeypatch.setattr(server, "MAX_BYTES", 1_000_000)
    return 1_000_000


def test_a_mail_that_is_too_large_is_refused(most: int) -> None:
    with Serving() as relay, client(relay) as smtp:
        with pytest.raises(smtplib.SMTPSenderRefused) as announced:
            smtp.sendmail("a@b.example", ["c@d.example"], b"x" * (most + 1))
        assert announced.value.smtp_code == 552
        smtp.rset()
        smtp.mail("a@b.example")
        smtp.rcpt("c@d.example")
        assert smtp.data((b"x" * 990 + b"\r\n") * (most // 992 + 1))[0] == 552
    assert relay.taken == []


def test_a_mail_as_large_as_allowed_is_taken(most: int) -> None:
    lines = most // 992
    content = (b"x" * 990 + b"\r\n") * lines + b"y" * (most - lines * 992 - 2) + b"\r\n"
    assert len(content) == most
    with Serving() as relay, client(relay) as smtp:
        smtp.sendmail("a@b.example", ["c@d.example"], content)
    assert relay.taken[0][2] == content


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"RCPT TO:<>", b"553"),
        (b"RCPT TO:<\xff@d.example>", b"553"),
        (b"RCPT TO:<a\x01@d.example>", b"553"),
        (b"RCPT TO:", b"501"),
    ],
)
def test_what_is_no_address_is_refused(line: bytes, answer: bytes) -> None:
    with Serving() as relay:
        assert talk(relay, b"EHLO me", b"MAIL FROM:<a@b.example>", line)[-1].startswith(answer)


def test_a_sender_that_is_not_utf_8_is_refused() -> None:
    with Serving() as relay:
        assert talk(relay, b"EHLO me", b"MAIL FROM:<\xff@b.example>")[-1].startswith(b"553")


@pytest.mark.slow
def test_recipients_beyond_a_thousand_are_for_the_next_mail() -> None:
    lines = [b"RCPT TO:<r%d@d.example>" % n for n in range(MAX_DESTINATIONS + 1)]
    with Serving() as relay:
        answers = talk(relay, b"EHLO me", b"MAIL FROM:<a@b.example>", *lines)[2:]
    assert {x[:3] for x in answers[:-1]} == {b"250"}
    assert answers[-1].startswith(b"452 4.5.3")


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed logins are answered at once."""
    monkeypatch.setattr(guests, "DELAYS", (0.0,))


@pytest.mark.usefixtures("_hasty")
def test_a_login_is_required_and_compared(tmp_path: Path) -> None:
    tls, trusting = secured(tmp_path)
    with Serving(RelayAccess(tls, USER, PASSWORD)) as relay, client(relay) as smtp:
        assert smtp.docmd("MAIL", "FROM:<a@b.example>")[0] == 530
        smtp.ehlo()
        assert "auth" not in smtp.esmtp_features
        assert smtp.docmd("AUTH", "PLAIN AHVzZXIAcGFzcw==")[0] == 530
        smtp.starttls(context=trusting)
        smtp.ehlo()
        assert smtp.esmtp_features["auth"].split() == ["LOGIN", "PLAIN"]
        assert smtp.mail("a@b.example")[0] == 530
        for user, password in ((USER, "wrong"), ("other", PASSWORD), ("", "")):
            assert smtp.docmd("AUTH", f"PLAIN {encoded(f'{chr(0)}{user}{chr(0)}{password}')}")[0] == 535
        assert smtp.docmd("AUTH", f"LOGIN {encoded(USER)}")[0] == 334
        assert smtp.docmd(encoded(PASSWORD))[0] == 235
        smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)
    assert len(relay.taken) == 1


@pytest.mark.usefixtures("_hasty")
def test_a_session_guesses_few_passwords() -> None:
    with Serving(RelayAccess(user=USER, password=PASSWORD)) as relay:
        answers = talk(relay, b"EHLO me", *[b"AUTH PLAIN AHVzZXIAcGFzcw=="] * (server.MOST_LOGINS + 1))
    assert [x[:3] for x in answers[1:]] == [b"535"] * server.MOST_LOGINS + [b"421"]


def test_a_login_without_tls_is_possible_on_this_machine() -> None:
    with Serving(RelayAccess(user="user", password="pass")) as relay, client(relay) as smtp:
        smtp.login("user", "pass")
        smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)


def test_commands_sent_before_tls_begins_are_discarded(tmp_path: Path) -> None:
    tls, trusting = secured(tmp_path)
    with Serving(RelayAccess(tls)) as relay, socket.create_connection(("127.0.0.1", relay.port), timeout=30) as wire:
        until(wire, b"220 ")
        wire.sendall(b"EHLO me\r\n")
        until(wire, b"250 HELP\r\n")
        wire.sendall(b"STARTTLS\r\nMAIL FROM:<evil@b.example>\r\n")
        until(wire, b"220 Ready to start TLS\r\n")
        with trusting.wrap_socket(wire, server_hostname="127.0.0.1") as safe:
            safe.sendall(b"EHLO me\r\nRCPT TO:<c@d.example>\r\n")
            until(safe, b"250 HELP\r\n503 ")


def until(wire: socket.socket, end: bytes) -> None:
    """Read until some bytes have come."""
    found = b""
    while end not in found:
        found += wire.recv(1) or pytest.fail(f"{found!r} ends without {end!r}")


def test_a_session_too_many_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "MOST_SESSIONS", 1)
    with Serving() as relay:
        with client(relay):
            with pytest.raises(smtplib.SMTPConnectError) as caught:
                client(relay)
            assert caught.value.smtp_code == 421
        with client(relay) as smtp:
            assert smtp.noop()[0] == 250


def test_few_mails_are_received_at_once() -> None:
    with Serving(room=1) as relay, client(relay) as first, client(relay) as second:
        for smtp in (first, second):
            smtp.ehlo()
            smtp.mail("a@b.example")
            smtp.rcpt("c@d.example")
        assert first.docmd("DATA")[0] == 354
        second.putcmd("DATA")
        second.sock.settimeout(0.2)  # type: ignore[union-attr]
        with pytest.raises(TimeoutError):
            second.sock.recv(10)  # type: ignore[union-attr]
        second.sock.settimeout(30)  # type: ignore[union-attr]
        first.send(b"From: a\r\n\r\n.\r\n")
        assert first.getreply()[0] == 250
        assert second.getreply()[0] == 354
        second.send(b".\r\n")
        assert second.getreply()[0] == 250


def test_a_stop_waits_for_the_mail_that_is_being_taken() -> None:
    began, go = threading.Event(), threading.Event()

    def take(*_: object) -> str:
        began.set()
        assert go.wait(30)
        return "250 2.0.0 accepted"

    with Serving(take=take) as relay, client(relay) as smtp:
        replies: list[int] = []
        sending = threading.Thread(target=lambda: replies.append(send(smtp)))
        sending.start()
        assert began.wait(30)
        stopping = threading.Thread(target=lambda: relay.call(relay.server.stop(20)))
        stopping.start()
        go.set()
        sending.join(30)
        stopping.join(30)
        assert replies == [250]
        with pytest.raises(ConnectionRefusedError):
            client(relay)


def send(smtp: smtplib.SMTP) -> int:
    smtp.ehlo()
    smtp.mail("a@b.example")
    smtp.rcpt("c@d.example")
    return smtp.data(CONTENT)[0]
