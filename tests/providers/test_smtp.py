"""The SMTP relay as a provider, against a real server: each accepted message is one delivery, each refused one none."""

import ssl
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http import HttpClient
from shared.adapters.smtp import SmtpClient
from shared.bootstrap import Deployment, Lane
from shared.contracts import Credential
from shared.domain.chunks import Recipient
from shared.domain.content import Attachment, Mailbox
from shared.domain.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.domain.smtp import Mail, Relay, Reply, Step, Tls
from shared.ports import AnswerLost, Interrupted, NoTime, NotSent, Target, Unfit
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.smtp import PAUSE, UNAUTHORIZED, SmtpRelay, judged, queue_id
from tests import certificates
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.relay import NEVER, PASSWORD, USER, Faults, RelayServer

SECRET = {"username": USER, "password": PASSWORD}
OPEN = {"auth": "none"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    return certificates.serving(certificate)


@pytest.fixture
def transport(certificate: Path) -> Iterator[SmtpClient]:
    made = SmtpClient(SystemClock(), context=certificates.trusting(certificate))
    yield made
    made.close()


def provider(transport: SmtpClient, url: str, secret: Mapping[str, str] = SECRET) -> SmtpRelay:
    return SmtpRelay(transport, url, secret, SystemClock())


def send(through: SmtpRelay, one: Target | None = None, content: object = CONTENT, seconds: float = 10) -> Outcome:
    (outcome,) = through.send(content, [one or target(0)], deadline=time.time() + seconds)  # type: ignore[arg-type]
    return outcome


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
        fake = FakeSmtp(Reply(Step.END, 250, "ok"))
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
    (Faults(rcpt="554 5.7.1 Relay access denied"), Rejected("relay_denied", permanent=False, provider_down=True)),
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
def test_what_nobody_knows_is_told_and_never_sent_twice(transport: SmtpClient, faults: Faults, arrivals: int) -> None:
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert send(through, target(0)) == Accepted("4F1")  # the connection is a used one then
        relay.faults = faults
        outcome = send(through, target(1), seconds=0.5 if faults.slow else 10)
        assert isinstance(outcome, Unknown)
        assert outcome.reason in ("connection_closed", "connection_reset", "malformed_reply", "read_timeout")
        assert relay.transactions == 2
        assert [d.ref for d in relay.deliveries].count(target(1).ref) == arrivals
        relay.faults = Faults()
        assert isinstance(send(through, target(2)), Accepted)


@pytest.mark.promise(1)
def test_fifty_threads_deliver_each_message_once(transport: SmtpClient) -> None:
    with RelayServer() as relay, ThreadPoolExecutor(50) as pool:
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


# What a transport and a reply mean, without a server


class FakeSmtp:
    def __init__(self, answer: Reply | Exception) -> None:
        self.answer = answer
        self.relay = Relay("", 0, Tls.NONE)

    def submit(self, relay: Relay, mail: Mail, *, deadline: float) -> Reply:
        self.relay = relay
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NoTime("deadline"), NotStarted()),
        (NotSent("dns"), Rejected("dns", permanent=False)),
        (NotSent("auth_not_offered"), Rejected("auth_not_offered", permanent=False, provider_down=True)),
        (NotSent("auth_needs_tls"), Rejected("auth_needs_tls", permanent=False, provider_down=True)),
        (NotSent("starttls_not_offered"), Rejected("starttls_not_offered", permanent=False, provider_down=True)),
        (Interrupted("read_timeout"), Rejected("read_timeout", permanent=False)),
        (Unfit("too_large"), Rejected("too_large", permanent=True)),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
    ],
)
def test_what_the_transport_says(error: Exception, expected: Outcome) -> None:
    through = SmtpRelay(FakeSmtp(error), "smtp://relay.example", SECRET, Fixed())
    assert through.send(CONTENT, [target(0)], deadline=NOW) == [expected]


@pytest.mark.parametrize(
    ("step", "code", "text", "expected"),
    [
        (Step.EHLO, 550, "5.7.1 who are you", Rejected("5.7.1", permanent=False, provider_down=True)),
        (Step.STARTTLS, 454, "4.7.0 TLS not available", Rejected("4.7.0", permanent=False)),
        (Step.AUTH, 535, "5.7.8 Error: authentication failed", Rejected("unauthorized", False, provider_down=True)),
        (Step.AUTH, 454, "4.7.0 Temporary authentication failure", Rejected("4.7.0", permanent=False)),
        (Step.AUTH, 421, "4.7.0 Too many login attempts, try again in 5 minutes", Throttled(300)),
        (Step.MAIL, 530, "5.7.0 Must issue a STARTTLS command first", Rejected("unauthorized", False, True)),
        (Step.MAIL, 530, "5.5.1 who", Rejected("unauthorized", permanent=False, provider_down=True)),
        (Step.MAIL, 552, "5.3.4 Message size exceeds fixed limit", Rejected("too_large", permanent=True)),
        (Step.MAIL, 450, "4.7.1 slow down, in 90s", Throttled(90)),
        (Step.MAIL, 550, "5.4.5 Daily sending quota exceeded", Rejected("quota_exceeded", False, provider_down=True)),
        (Step.RCPT, 550, "no such user", Rejected("smtp_550", permanent=True)),
        (Step.RCPT, 554, "no", Rejected("smtp_554", permanent=True)),
        (Step.RCPT, 503, "bad sequence", Rejected("smtp_503", permanent=False)),
        (Step.RCPT, 503, "5.5.1 bad sequence", Rejected("5.5.1", permanent=False)),
        (Step.RCPT, 450, "later", Rejected("smtp_450", permanent=False, about_message=True)),
        (Step.RCPT, 451, "later", Rejected("smtp_451", permanent=False)),
        (Step.RCPT, 450, "4.7.1 Greylisted, in 300s", Rejected("4.7.1", permanent=False, about_message=True)),
        (Step.RCPT, 452, "4.2.2 over quota, too many mails", Rejected("4.2.2", permanent=False, about_message=True)),
        (Step.RCPT, 550, "5.2.1 this account is disabled", Rejected("5.2.1", permanent=True)),
        (Step.RCPT, 550, "5.4.1 Recipient address rejected: Access denied", Rejected("5.4.1", permanent=True)),
        (Step.RCPT, 550, "4.1.1 a class that is not the code's", Rejected("smtp_550", permanent=True)),
        (Step.RCPT, 550, "relaying to x is prohibited", Rejected("relay_denied", permanent=False, provider_down=True)),
        (Step.RCPT, 550, "5.7.1 Unable to relay", Rejected("relay_denied", permanent=False, provider_down=True)),
        (Step.RCPT, 553, "5.6.7 non-ASCII addresses not permitted", Rejected("5.6.7", permanent=True)),
        (Step.END, 554, "Message rejected", Rejected("smtp_554", permanent=False, about_message=True)),
        (Step.END, 554, "Sending paused for this account.", Rejected("account_disabled", False, provider_down=True)),
        (Step.END, 552, "too big", Rejected("too_large", permanent=True)),
        (Step.END, 451, "4.7.1 grey", Rejected("4.7.1", permanent=False, about_message=True)),
        (Step.END, 432, "4.3.2 Concurrent connections limit exceeded", Throttled(PAUSE)),
        (Step.END, 421, "closing", Rejected("smtp_421", permanent=False)),
        (
            Step.END,
            554,
            "5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException",
            Rejected("quota_exceeded", permanent=False, provider_down=True),
        ),
    ],
)
def test_what_a_refusal_means(step: Step, code: int, text: str, expected: Outcome) -> None:
    assert judged(Reply(step, code, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.0.0 Ok: queued as 4XyZ1k2Rz3", "4XyZ1k2Rz3"),
        ("2.0.0 Ok: queued as <4XyZ1k2Rz3>", "4XyZ1k2Rz3"),
        ("OK id=1rABCD-000001-XX", "1rABCD-000001-XX"),
        (
            "2.6.0 <a-b@c.example> [InternalId=12345, Hostname=X.example] 1500 bytes in 0.1, 9 KB/sec Queued mail",
            "12345",
        ),
        ("2.0.0 47ABCxyz123456 Message accepted for delivery", "47ABCxyz123456"),
        ("Ok 0102018f0a1b2c3d-aaaa-bbbb-000000", "0102018f0a1b2c3d-aaaa-bbbb-000000"),
        ("ok 1700000000 qp 12345", "12345"),
        ("OK", ""),
        ("2.0.0 Ok", ""),
        ("Great success", ""),
        ("queued as " + "x" * 101, ""),
    ],
)
def test_the_queue_id(text: str, expected: str) -> None:
    assert queue_id(text) == expected


def test_without_a_queue_id_our_message_id_is_the_id() -> None:
    through = SmtpRelay(FakeSmtp(Reply(Step.END, 250, "thanks")), "smtp://relay.example", SECRET, Fixed())
    one = target(0)
    assert through.send(CONTENT, [one], deadline=NOW) == [Accepted(f"{one.ref}@sender.example")]


def test_it_is_found_by_its_name_and_needs_its_transport(transport: SmtpClient) -> None:
    clock = SystemClock()
    needs = Needs(HttpClient(clock), clock, SECRET, "smtp://relay.example", smtp=transport)
    made = registry.provider("smtp")(needs)
    assert (made.name, made.per_call, made.has_feedback) == ("smtp", 1, False)
    with pytest.raises(ValueError, match="transport"):
        registry.provider("smtp")(replace(needs, smtp=None))
    with pytest.raises(KeyError):
        registry.webhooks("smtp")


@pytest.mark.promise(1)
def test_a_lane_relays_and_keeps_its_connections_when_the_secret_changes() -> None:
    with RelayServer(auth=True) as server:
        declared = Credential("relay", "smtp", "email", 10, f"smtp+plain://127.0.0.1:{server.port}")
        served = Lane(Deployment({}), declared)
        for n, secret in enumerate([SECRET, {**SECRET, "password": "wrong"}, SECRET]):
            made = served._provider(secret)
            assert isinstance(made, SmtpRelay)
            outcome = send(made, target(n))
            assert outcome == (Accepted(f"4F{n // 2 + 1}") if secret == SECRET else UNAUTHORIZED)
        assert (server.connections, len(server.deliveries)) == (2, 2)
        assert served._smtp is not None
        served._smtp.close()
