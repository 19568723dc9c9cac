"""How the SMTP transport comes to a connection, and how long it trusts one."""

import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shared.adapters.smtp import transport as under_test
from shared.adapters.smtp.session import Session
from shared.adapters.smtp.transport import SmtpClient
from shared.domain.content.smtp import Relay, Reply, SmtpStep, Tls
from shared.ports import Interrupted, NoTime, NotSent
from tests import certificates
from tests.adapters.relays import Say, drop, hang, relay, reset
from tests.adapters.servers import Conversation, Server, refusing, serving
from tests.adapters.submitting import MAIL, PIPELINING, submit
from tests.fakes.shifted import ShiftedClock


@pytest.fixture
def client(clock: ShiftedClock, certificate: Path) -> Iterator[SmtpClient]:
    made = SmtpClient(clock, context=certificates.trusting(certificate))
    yield made
    made.close()


# TLS and AUTH


def with_login(server: Server, tls: Tls, password: str = "") -> Relay:
    return Relay("127.0.0.1", server.port, tls, "ann", password or "pä ss")


def test_starttls_comes_before_any_mail_data(client: SmtpClient, server_tls: ssl.SSLContext) -> None:
    commands: list[bytes] = []
    script = relay(
        extensions="STARTTLS,AUTH PLAIN LOGIN", tls=server_tls, say={"AUTH": b"235 ok\r\n"}, commands=commands
    )
    with serving(script) as server:
        for _ in range(3):
            assert submit(client, with_login(server, Tls.STARTTLS)).code == 250
        assert (server.connections, len(server.requests)) == (1, 3)
        client.close()
    verbs = [c.split()[0] for c in commands]
    assert verbs[:4] == [b"EHLO", b"STARTTLS", b"EHLO", b"AUTH"]
    assert commands[3] == b"AUTH PLAIN AGFubgBww6Qgc3M=\r\n"


def test_tls_from_the_first_byte(client: SmtpClient, server_tls: ssl.SSLContext) -> None:
    with serving(relay(), context=server_tls) as server:
        for _ in range(3):
            assert submit(client, Relay("127.0.0.1", server.port, Tls.IMPLICIT)).code == 250
        assert server.connections == 1
        client.close()


@pytest.mark.parametrize("extensions", ["", "AUTH PLAIN"])
def test_without_starttls_no_mail_data_is_sent(client: SmtpClient, extensions: str) -> None:
    commands: list[bytes] = []
    with (
        serving(relay(extensions=extensions, commands=commands)) as server,
        pytest.raises(NotSent, match="starttls_not_offered"),
    ):
        submit(client, with_login(server, Tls.STARTTLS))
    assert [c.split()[0] for c in commands] == [b"EHLO"]


@pytest.mark.parametrize("say", [b"454 4.7.0 no TLS now\r\n", b"502 5.5.1 what\r\n"])
def test_starttls_refused(client: SmtpClient, say: bytes) -> None:
    with serving(relay(extensions="STARTTLS", say={"STARTTLS": say})) as server:
        assert submit(client, with_login(server, Tls.STARTTLS)).step is SmtpStep.STARTTLS
        assert server.requests == []


def test_what_is_said_in_plain_behind_the_consent_to_tls_is_not_believed(
    client: SmtpClient, server_tls: ssl.SSLContext
) -> None:
    commands: list[bytes] = []
    said = b"220 go\r\n250-injected by somebody in between\r\n250 AUTH PLAIN\r\n"
    script = relay(extensions="STARTTLS", tls=server_tls, say={"STARTTLS": said}, commands=commands)
    with serving(script) as server, pytest.raises(NotSent, match=r"^tls$"):
        submit(client, with_login(server, Tls.STARTTLS))
    assert [c.split()[0] for c in commands] == [b"EHLO", b"STARTTLS"]


@pytest.mark.parametrize("tls", [Tls.STARTTLS, Tls.IMPLICIT])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_certificate_that_is_not_trusted_or_of_another_name(
    clock: ShiftedClock, certificate: Path, server_tls: ssl.SSLContext, tls: Tls, host: str
) -> None:
    client = SmtpClient(clock, context=None if host == "127.0.0.1" else certificates.trusting(certificate))
    implicit = server_tls if tls is Tls.IMPLICIT else None
    with serving(relay(extensions="STARTTLS", tls=server_tls), context=implicit) as server:
        with pytest.raises(NotSent, match="tls"):
            submit(client, Relay(host, server.port, tls, "ann", "secret"))
        assert server.requests == []


def test_a_handshake_that_hangs(client: SmtpClient, clock: ShiftedClock) -> None:
    def silent(c: Conversation) -> None:
        c.say(b"220 go\r\n")
        hang(c)

    with (
        serving(relay(extensions="STARTTLS", say={"STARTTLS": silent})) as server,
        clock.stopped(),
        pytest.raises(NotSent, match="tls_timeout"),
    ):
        submit(client, Relay("127.0.0.1", server.port, Tls.STARTTLS), seconds=0.3)


def challenges(*says: bytes) -> Say:
    """Answer AUTH by challenges, one after another."""

    def action(c: Conversation) -> None:
        for say in says[:-1]:
            c.say(say)
            while not c.sock.recv(4096).endswith(b"\r\n"):
                continue
        c.say(says[-1])

    return action


@pytest.mark.parametrize(
    ("extensions", "say", "started"),
    [
        ("AUTH PLAIN LOGIN", b"235 ok\r\n", b"AUTH PLAIN AGFubgBww6Qgc3M=\r\n"),
        ("AUTH=plain", b"235 ok\r\n", b"AUTH PLAIN AGFubgBww6Qgc3M=\r\n"),
        ("AUTH PLAIN", challenges(b"334 \r\n", b"235 ok\r\n"), b"AUTH PLAIN AGFubgBww6Qgc3M=\r\n"),
        ("AUTH CRAM-MD5 LOGIN", challenges(b"334 VXNlcm5hbWU6\r\n", b"334 x\r\n", b"235 ok\r\n"), b"AUTH LOGIN\r\n"),
    ],
)
def test_auth_on_loopback_needs_no_tls(client: SmtpClient, extensions: str, say: Say, started: bytes) -> None:
    commands: list[bytes] = []
    with serving(relay(extensions=extensions, say={"AUTH": say}, commands=commands)) as server:
        assert submit(client, with_login(server, Tls.NONE)).code == 250
    assert commands[1] == started


def test_auth_elsewhere_needs_tls(client: SmtpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "is_loopback", False)
    commands: list[bytes] = []
    with (
        serving(relay(extensions="AUTH PLAIN", commands=commands)) as server,
        pytest.raises(NotSent, match="auth_needs_tls"),
    ):
        submit(client, with_login(server, Tls.NONE))
    assert [c.split()[0] for c in commands] == [b"EHLO"]


@pytest.mark.parametrize("extensions", ["", "AUTH", "AUTH CRAM-MD5 XOAUTH2"])
def test_auth_that_is_not_offered(client: SmtpClient, extensions: str) -> None:
    with serving(relay(extensions=extensions)) as server:
        with pytest.raises(NotSent, match="auth_not_offered"):
            submit(client, with_login(server, Tls.NONE))
        assert server.requests == []


@pytest.mark.parametrize("code", [421, 454, 535])
def test_auth_refused(client: SmtpClient, code: int) -> None:
    with serving(relay(extensions="AUTH PLAIN", say={"AUTH": f"{code} 5.7.8 no\r\n".encode()})) as server:
        assert submit(client, with_login(server, Tls.NONE)) == Reply(SmtpStep.AUTH, code, "5.7.8 no")
        assert server.requests == []


def test_a_password_is_shown_nowhere() -> None:
    assert "secret" not in repr(Relay("a", 1, Tls.NONE, "ann", "secret"))


# Before a connection, and connections that do not live for ever


def test_refused(client: SmtpClient) -> None:
    with refusing() as port, pytest.raises(NotSent, match="connection_refused") as caught:
        submit(client, Relay("127.0.0.1", port, Tls.NONE))
    assert not isinstance(caught.value, (NoTime, Interrupted))


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".example"])
def test_a_name_that_does_not_resolve(client: SmtpClient, host: str) -> None:
    with pytest.raises(NotSent, match="dns"):
        submit(client, Relay(host, 25, Tls.NONE))


def test_the_deadline_is_checked_before_connecting_and_before_the_transaction(client: SmtpClient) -> None:
    commands: list[bytes] = []
    with serving(relay(commands=commands)) as server:
        with pytest.raises(NoTime):
            submit(client, server, seconds=0)
        assert server.connections == 0
        submit(client, server)
        with pytest.raises(NoTime):
            submit(client, server, seconds=-1)
        assert submit(client, server).code == 250
        assert (server.connections, len(server.requests)) == (1, 2)


@pytest.mark.parametrize("stale", [drop, reset, b"421 4.4.2 idle for too long\r\n", b"421 4.7.0 too many mails\r\n"])
@pytest.mark.parametrize("verb", ["MAIL", "RSET"])
@PIPELINING
def test_a_used_connection_of_no_use_any_more_is_replaced(
    client: SmtpClient, stale: Say, verb: str, extensions: str
) -> None:
    begun = threading.Event()

    def mail(c: Conversation) -> None:
        if not begun.is_set():
            begun.set()
            c.say(b"550 no\r\n" if verb == "RSET" else b"250 ok\r\n")
        elif callable(stale):
            stale(c)
        else:
            c.say(stale)

    first: dict[str, Say] = {"MAIL": mail, **({"RSET": stale} if verb == "RSET" else {})}
    with serving(relay(extensions=extensions, first=first)) as server:
        assert submit(client, server).code == (550 if verb == "RSET" else 250)
        heard = len(server.requests)
        assert submit(client, server).code == 250
        assert (server.connections, len(server.requests)) == (2, heard + 1)


def test_a_used_connection_that_the_server_has_closed_is_replaced(client: SmtpClient) -> None:
    closed = threading.Event()

    def end(c: Conversation) -> None:
        c.say(b"250 ok\r\n421 4.4.2 bye\r\n")
        closed.set()
        drop(c)

    with serving(relay(first={"END": end})) as server:
        assert submit(client, server).code == 250
        assert closed.wait(5)
        assert submit(client, server).code == 250
        assert (server.connections, len(server.requests)) == (2, 2)


def test_a_connection_idle_for_long_is_ended_politely(client: SmtpClient, clock: ShiftedClock) -> None:
    quit_said = threading.Event()

    def bye(c: Conversation) -> None:
        quit_said.set()

    with serving(relay(first={"QUIT": bye})) as server, clock.stopped():
        submit(client, server)
        clock.ahead += under_test.IDLE_SECONDS - 1
        submit(client, server)
        assert server.connections == 1
        clock.ahead += under_test.IDLE_SECONDS + 1
        submit(client, server)
        assert server.connections == 2
        assert quit_said.wait(5)


def test_connections_of_an_old_password_are_ended_too(client: SmtpClient, clock: ShiftedClock) -> None:
    script = relay(extensions="AUTH PLAIN", say={"AUTH": b"235 ok\r\n"})
    with serving(script) as server:
        submit(client, with_login(server, Tls.NONE, "old"))
        submit(client, with_login(server, Tls.NONE, "new"))
        assert server.connections == 2
        clock.ahead += under_test.IDLE_SECONDS + 1
        submit(client, with_login(server, Tls.NONE, "new"))
        assert [len(pool) for pool in client._idle.values()] == [0, 1]


def test_a_connection_carries_so_many_messages(client: SmtpClient) -> None:
    with serving(relay(extensions="PIPELINING")) as server:
        for _ in range(under_test.MAX_TRANSACTIONS + 1):
            assert submit(client, server).code == 250
        assert server.connections == 2


def test_after_421_a_connection_is_not_used_again(client: SmtpClient) -> None:
    with serving(relay(first={"RCPT": b"421 4.3.2 shutting down\r\n"})) as server:
        assert submit(client, server).code == 421
        assert submit(client, server).code == 250
        assert server.connections == 2


@pytest.mark.slow
def test_fifty_threads_share_a_client(client: SmtpClient, clock: ShiftedClock) -> None:
    def one(n: int) -> int:
        return submit(client, server, replace(MAIL, data=(b"%d\r\n" % n,)), 60).code

    with serving(relay(extensions="PIPELINING")) as server, clock.stopped(), ThreadPoolExecutor(50) as pool:
        assert set(pool.map(one, range(1000))) == {250}
        assert server.connections <= 60
        client.close()
    assert sorted(int(r.partition(b"\r\n")[0]) for r in server.requests) == list(range(1000))
