"""The SMTP relay as a provider, against a real server: each accepted message is one delivery, each refused one none."""

import ssl
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import pytest

from shared.adapters.smtp.transport import SmtpClient
from shared.domain.content.content import Attachment, Mailbox
from shared.domain.content.smtp import Reply, SmtpStep, Tls
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import Target
from shared.providers.smtp.send import PAUSE, SmtpRelay
from tests.fakes.shifted import ShiftedClock
from tests.providers.contract import CONTENT, FAR, NEAR, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.relay import NEVER, PASSWORD, USER, Faults, RelayServer
from tests.providers.relaying import OPEN, SECRET, FakeSmtp, provider, send

# TLS and AUTH, as operators set them


def test_starttls_and_auth(transport: SmtpClient, server_tls: ssl.SSLContext) -> None:
    with RelayServer(tls=server_tls, auth=True) as relay:
        through = provider(transport, f"smtp://127.0.0.1:{relay.port}")
        assert [send(through, target(n)) for n in range(5)] == [Accepted(f"4F{n + 1}") for n in range(5)]
        assert (relay.connections, relay.transactions) == (1, 5)
        assert [d.ref for d in relay.deliveries] == [target(n).ref for n in range(5)]


def test_tls_from_the_first_byte(transport: SmtpClient, server_tls: ssl.SSLContext) -> None:
    with RelayServer(implicit=server_tls, auth=True) as relay:
        assert send(provider(transport, f"smtps://127.0.0.1:{relay.port}")) == Accepted("4F1")
        assert len(relay.deliveries) == 1


@pytest.mark.parametrize(("scheme", "code"), [("smtp", "starttls_not_offered"), ("smtps", "tls")])
def test_a_server_without_tls_gets_neither_password_nor_message(transport: SmtpClient, scheme: str, code: str) -> None:
    with RelayServer(auth=True) as relay:
        outcome = send(provider(transport, f"{scheme}://127.0.0.1:{relay.port}"))
        assert outcome == Rejected(code, permanent=False, provider_down=code != "tls")
        assert (relay.logins, relay.transactions, relay.deliveries) == (0, 0, [])


def test_a_quoted_address_is_the_path_as_it_is(transport: SmtpClient) -> None:
    odd, box = '"a..b c"@docomo.ne.jp', Mailbox('"john doe"@sender.example', "Ann")
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        one = replace(target(0), recipient=Recipient(odd, odd, "Taro"))
        assert send(through, one, replace(CONTENT, sender=box, cc=(box,))) == Accepted("4F1")
        (got,) = relay.deliveries
    assert (got.sender, got.recipients) == (box.address, (odd, box.address))
    assert f'"Taro" <{odd}>' in got.content.decode()


@pytest.mark.parametrize("path", ['"a b"@x y', "a b@x", '"a\nb"@x', '"a<b"@x', '"a b"'])
def test_a_blank_outside_of_quotes_reaches_no_server(transport: SmtpClient, path: str) -> None:
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        one = replace(target(0), recipient=Recipient(path, path))
        assert send(through, one) == Rejected("invalid_recipient", permanent=True)
        assert relay.transactions == 0


def test_a_wrong_password_blames_the_account_and_not_the_message(
    transport: SmtpClient, server_tls: ssl.SSLContext
) -> None:
    with RelayServer(tls=server_tls, auth=True) as relay:
        through = provider(transport, f"smtp://127.0.0.1:{relay.port}", {**SECRET, "password": "wrong"})
        assert send(through) == Rejected("unauthorized", permanent=False, provider_down=True)
        open_door = provider(transport, f"smtp://127.0.0.1:{relay.port}", OPEN)
        assert send(open_door) == Rejected("unauthorized", permanent=False, provider_down=True)
        assert relay.deliveries == []


@pytest.mark.parametrize("secret", [{}, {"username": USER}, {"password": PASSWORD}, {"auth": "plain"}])
def test_without_a_secret_nothing_is_sent(transport: SmtpClient, secret: Mapping[str, str]) -> None:
    with RelayServer() as relay:
        outcome = send(provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", secret))
        assert outcome == Rejected("no_password", permanent=False, provider_down=True)
        assert relay.connections == 0


@pytest.mark.parametrize("url", ["", "smtp://", "https://relay.example", "relay.example:25", "smtp://relay.example:0x"])
def test_without_a_server_nothing_is_sent(transport: SmtpClient, url: str) -> None:
    assert send(provider(transport, url)) == Rejected("no_base_url", permanent=False, provider_down=True)


def test_a_url_without_a_port_has_the_usual_one() -> None:
    for url, tls, port in [
        ("smtp://r.example", Tls.STARTTLS, 587),
        ("smtps://r.example", Tls.IMPLICIT, 465),
        ("smtp+plain://127.0.0.1", Tls.NONE, 25),
    ]:
        fake = FakeSmtp(Reply(SmtpStep.END, 250, "ok"))
        SmtpRelay(fake, url, OPEN, Fixed()).send(CONTENT, [target(0)], deadline=NOW)
        assert (fake.relay.tls, fake.relay.port) == (tls, port)


# What arrives


def test_the_message_that_arrives(transport: SmtpClient) -> None:
    content = replace(
        CONTENT,
        sender=Mailbox("news@sender.example", "Zoë, News"),
        subject="Grüße 👨‍👩‍👧",
        text="Hällo\r\n.\r\n..dots",
        cc=(Mailbox("cc@x.example", "Cé"), Mailbox("READER0@example.com")),
        bcc=(Mailbox("secret@x.example"),),
        headers=(("X-Campaign", "spring"),),
        attachments=(Attachment("a.txt", "text/plain", "aGVsbG8="),),
    )
    one = target(0)
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, one, content) == Accepted("4F1")
        (delivery,) = relay.deliveries
    assert delivery.sender == "news@sender.example"
    assert delivery.recipients == ("reader0@example.com", "cc@x.example", "secret@x.example")
    message = delivery.message
    assert message["From"].addresses[0].display_name == "Zoë, News"
    assert message["Subject"] == "Grüße 👨‍👩‍👧"
    assert (message["To"], message["Cc"]) == ("reader0@example.com", "Cé <cc@x.example>")
    assert message["X-Posthaste-Ref"] == one.ref
    assert message["Message-ID"] == f"<{one.ref}@sender.example>"
    assert message["X-Campaign"] == "spring"
    assert b"secret@x.example" not in delivery.content
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == ["Hällo", ".", "..dots"]
    assert [a.get_content() for a in message.iter_attachments()] == ["hello"]


def test_the_others_of_a_call_are_not_begun(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        outcomes = through.send(CONTENT, [target(0), target(1)], deadline=time.time() + 10)
        assert outcomes == [Accepted("4F1"), NotStarted()]
        assert [d.recipients for d in relay.deliveries] == [("reader0@example.com",)]


def test_addresses_in_other_scripts(transport: SmtpClient) -> None:
    one = Target(target(0).ref, Recipient("δοκιμή@example.com", "δοκιμή@example.com"))
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, one) == Rejected("smtputf8_not_offered", permanent=True)
        assert relay.transactions == 0
    with RelayServer(utf8=True) as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, one) == Accepted("4F1")
        assert relay.deliveries[0].recipients == ("δοκιμή@example.com",)
        assert "To: δοκιμή@example.com\r\n".encode() in relay.deliveries[0].content


@pytest.mark.parametrize("address", ["a@b.example\r\nDATA", "a@b.example\nBcc: x@y.example", "a b@c", "<a@b>", ""])
def test_an_address_cannot_smuggle_anything(transport: SmtpClient, address: str) -> None:
    evil = Mailbox(address)
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        one = Target(target(0).ref, Recipient(address, "key"))
        assert send(through, one) == Rejected("invalid_recipient", permanent=True)
        assert send(through, None, replace(CONTENT, sender=evil)) == Rejected("invalid_from", permanent=True)
        assert send(through, None, replace(CONTENT, cc=(evil,))) == Rejected("invalid_copy", permanent=True)
        assert relay.connections == 0


def test_a_content_that_cannot_be_written(transport: SmtpClient) -> None:
    broken = replace(CONTENT, attachments=(Attachment("a", "text/plain", "%%%"),))
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, None, broken) == Rejected("invalid_attachments", permanent=True)
        assert relay.connections == 0


def test_a_message_over_the_servers_size(transport: SmtpClient) -> None:
    with RelayServer(size=500) as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through) == Rejected("too_large", permanent=True)
        assert relay.transactions == 0


# Faults: the server's deliveries are the oracle

SURELY_NOT: list[tuple[Faults, Outcome]] = [
    (Faults(greeting="421 4.3.2 shutting down"), Rejected("4.3.2", permanent=False)),
    (Faults(greeting="421 4.7.0 too many connections from you"), Throttled(PAUSE)),
    (Faults(greeting="554 5.7.1 go away"), Rejected("5.7.1", permanent=False, provider_down=True)),
    (Faults(mail="421 4.3.2 shutting down"), Rejected("4.3.2", permanent=False)),
    (Faults(mail="550 5.1.8 unknown sender"), Rejected("sender_refused", permanent=False, about_message=True)),
    (Faults(rcpt="450 4.2.1 busy"), Rejected("4.2.1", permanent=False, about_message=True)),
    (Faults(rcpt="451 4.3.0 trouble"), Rejected("4.3.0", permanent=False)),
    (Faults(rcpt="452 4.5.3 sending rate exceeded"), Throttled(PAUSE)),
    (Faults(rcpt="550 5.1.1 no such user"), Rejected("5.1.1", permanent=True)),
    (Faults(rcpt="554 5.7.1 Relay access denied"), Rejected("relay_denied", False, provider_down=True, by_text=True)),
    (Faults(rcpt="550 5.7.1 blocked"), Rejected("5.7.1", permanent=False, about_message=True)),
    (Faults(rcpt="550 5.1.1 who", only="cc@x.example"), Rejected("invalid_copy", permanent=True)),
    (Faults(rcpt="450 4.2.2 full", only="cc@x.example"), Rejected("4.2.2", permanent=False, about_message=True)),
    (Faults(data="451 4.3.0 no disk"), Rejected("4.3.0", permanent=False)),
    (Faults(data="554 5.5.1 no valid recipients"), Rejected("5.5.1", permanent=False)),
    (Faults(end="451 4.3.0 no disk"), Rejected("4.3.0", permanent=False)),
    (Faults(end="454 Throttling failure: Maximum sending rate exceeded."), Throttled(PAUSE)),
    (Faults(end="554 5.7.1 spam"), Rejected("5.7.1", permanent=False, about_message=True)),
    (Faults(end="552 5.3.4 too big"), Rejected("too_large", permanent=True)),
    (Faults(end="550 5.6.0 malformed"), Rejected("5.6.0", permanent=True)),
    (Faults(drop="greeting"), Rejected("connection_closed", permanent=False)),
    (Faults(drop="mail"), Rejected("connection_closed", permanent=False)),
    (Faults(drop="rcpt"), Rejected("connection_closed", permanent=False)),
    (Faults(drop="data"), Rejected("connection_closed", permanent=False)),
]
COPIED = replace(CONTENT, cc=(Mailbox("cc@x.example"),))


@pytest.mark.promise(1)
@pytest.mark.parametrize("pipelining", [True, False])
@pytest.mark.parametrize(("faults", "expected"), SURELY_NOT)
def test_what_is_surely_not_sent_is_not_delivered_and_can_be_sent_again(
    transport: SmtpClient, faults: Faults, expected: Outcome, *, pipelining: bool
) -> None:
    with RelayServer(faults=faults, pipelining=pipelining) as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        outcome = send(through, target(0), COPIED)
        if isinstance(outcome, Rejected) and outcome.code == "connection_reset":
            outcome = replace(outcome, code="connection_closed")  # the kernel's word for an aborted connection
        assert outcome == expected
        assert relay.deliveries == []
        relay.faults = Faults()
        assert isinstance(send(through, target(0, attempt=2), COPIED), Accepted)
        assert [d.ref for d in relay.deliveries] == [target(0, attempt=2).ref]


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("faults", "arrivals"),
    [
        (Faults(drop="end"), 0),
        (Faults(drop="end", accept=True), 1),
        (Faults(end="garbage"), 0),
        (Faults(end="garbage", accept=True), 1),
        (Faults(end="354 go on", accept=True), 1),
        (Faults(slow=NEVER), 1),
    ],
)
def test_unknown_outcomes_are_reported_and_never_sent_twice(
    transport: SmtpClient, clock: ShiftedClock, faults: Faults, arrivals: int
) -> None:
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, target(0)) == Accepted("4F1")  # the connection is a used one then
        relay.faults = faults
        with clock.stopped() if faults.slow else nullcontext():
            outcome = send(through, target(1), seconds=NEAR if faults.slow else FAR)
        assert isinstance(outcome, Unknown)
        assert outcome.reason in ("connection_closed", "connection_reset", "malformed_reply", "read_timeout")
        assert relay.transactions == 2
        assert [d.ref for d in relay.deliveries].count(target(1).ref) == arrivals
        relay.faults = Faults()
        assert isinstance(send(through, target(2)), Accepted)


@pytest.mark.slow
@pytest.mark.promise(1)
def test_fifty_threads_deliver_each_message_once(transport: SmtpClient, clock: ShiftedClock) -> None:
    with RelayServer() as relay, clock.stopped(), ThreadPoolExecutor(50) as pool:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        outcomes = list(pool.map(lambda n: send(through, target(n), seconds=60), range(500)))
        assert all(isinstance(o, Accepted) for o in outcomes)
        assert sorted(d.ref for d in relay.deliveries) == sorted(target(n).ref for n in range(500))
        assert relay.connections <= 55


def test_no_time(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, seconds=0) == NotStarted()
        assert relay.connections == 0
