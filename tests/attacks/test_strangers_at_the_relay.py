"""Strangers without a login hold the relay's sessions and places, or guess its password.

Then: a place was taken before the login, and a client that read nothing kept it. So eight strangers stopped the relay.
"""

import base64
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

from cli.relay.server import ROOM, RelayAccess
from cli.relay.smtp import guests, session
from cli.relay.smtp.guests import MOST_FAILURES, MOST_STRANGERS_OF_NETWORK
from tests.cli.relay.serving import Serving, secured

USER, PASSWORD = "app", "correct horse"
CONTENT = b"From: a@b.example\r\n\r\nHello!\r\n"
SECONDS = 10.0
"""A mail passes in tenths of a second; the machine may be busy."""
FLOOD = b"DATA\r\n" * 10_000
ECHOED = b"VRFY @" + b"x" * 1_500 + b"\r\n"
"""A command that the relay repeats in its reply, so that little work fills the buffers of a connection."""


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return secured(tmp_path)


@pytest.fixture
def relay(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> Iterator[Serving]:
    with Serving(RelayAccess(contexts[0], USER, PASSWORD), room=ROOM) as found:
        yield found


def connected(relay: Serving, at: str = "127.0.0.1") -> socket.socket:
    """Connect as a stranger that reads little."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    wire.bind((at, 0))
    wire.settimeout(SECONDS)
    wire.connect(("127.0.0.1", relay.port))
    return wire


def greeted(wire: socket.socket, trusting: ssl.SSLContext) -> ssl.SSLSocket:
    """Begin TLS as anyone can."""
    read = wire.makefile("rb")
    read.readline()
    for line in (b"EHLO me\r\n", b"STARTTLS\r\n"):
        wire.sendall(line)
        while read.readline()[3:4] == b"-":
            pass
    safe = trusting.wrap_socket(wire, server_hostname="127.0.0.1")
    safe.sendall(b"EHLO me\r\n")
    return safe


def flood(wire: socket.socket, commands: bytes = FLOOD) -> None:
    """Send commands until the relay reads no more, and read nothing."""
    wire.settimeout(0.2)
    try:
        while True:
            wire.sendall(commands)
    except (TimeoutError, OSError):
        return


def is_dropped(talk: Callable[[], int | bytes]) -> bool:
    """Talk until the relay has closed the connection, not so long that it does for the talk's length alone."""
    end = monotonic() + 15
    while monotonic() < end:
        try:
            if not talk():
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def send(relay: Serving, trusting: ssl.SSLContext) -> float:
    """Send a mail as a program with a login does; return its seconds."""
    began = monotonic()
    try:
        with smtplib.SMTP("127.0.0.1", relay.port, timeout=SECONDS) as smtp:
            smtp.starttls(context=trusting)
            smtp.login(USER, PASSWORD)
            smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)
    except (smtplib.SMTPException, OSError) as error:
        raise AssertionError(f"the mail does not pass: {error!r}") from error
    return monotonic() - began


@pytest.mark.slow
def test_a_mail_passes_beside_as_many_strangers_as_places_that_read_nothing(
    relay: Serving, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    with ExitStack() as stack:
        strangers = [stack.enter_context(greeted(connected(relay), contexts[1])) for _ in range(ROOM)]
        floods = [threading.Thread(target=flood, args=(each,)) for each in strangers]
        for each in floods:
            each.start()
        for each in floods:
            each.join(30)
        assert send(relay, contexts[1]) < SECONDS
    assert len(relay.taken) == 1


@pytest.mark.slow
@pytest.mark.parametrize("networks", [1, 50, 200])
def test_a_mail_passes_beside_two_hundred_strangers(
    relay: Serving, contexts: tuple[ssl.SSLContext, ssl.SSLContext], networks: int
) -> None:
    with ExitStack() as stack:
        for n in range(200):
            stack.enter_context(connected(relay, f"127.0.1.{n % networks + 1}"))
        assert send(relay, contexts[1]) < SECONDS
    assert len(relay.taken) == 1


@pytest.mark.slow
def test_strangers_of_the_same_network_do_not_end_a_session_that_has_logged_in(
    relay: Serving, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    with smtplib.SMTP("127.0.0.1", relay.port, timeout=SECONDS) as smtp, ExitStack() as stack:
        smtp.starttls(context=contexts[1])
        smtp.login(USER, PASSWORD)
        for _ in range(MOST_STRANGERS_OF_NETWORK * 3):
            stack.enter_context(connected(relay))
        smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)
    assert len(relay.taken) == 1


@pytest.mark.slow
def test_a_stranger_that_is_busy_has_no_more_time_than_an_idle_one(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LOGIN_SECONDS", 0.5)
    monkeypatch.setattr(session, "MOST_LINES", 1_000_000_000)
    with Serving(RelayAccess(contexts[0], USER, PASSWORD)) as relay, connected(relay) as wire:
        began = monotonic()
        assert is_dropped(lambda: wire.send(b"NOOP\r\n") and wire.recv(100))
        assert monotonic() - began < SECONDS


@pytest.mark.slow
def test_a_stranger_that_only_talks_is_dropped(relay: Serving) -> None:
    with connected(relay) as wire:
        assert is_dropped(lambda: wire.send(b"NOOP\r\n" * 10) and wire.recv(1_000))


def test_a_stranger_that_is_evicted_is_disconnected(relay: Serving) -> None:
    with connected(relay) as oldest, ExitStack() as stack:
        assert oldest.recv(1)
        for _ in range(MOST_STRANGERS_OF_NETWORK):
            stack.enter_context(connected(relay))
        assert is_dropped(lambda: oldest.recv(1_000))


@pytest.mark.slow
def test_a_client_that_reads_nothing_loses_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a login, too: the deadline is not the strangers' alone."""
    monkeypatch.setattr(session, "WRITE_SECONDS", 0.3)
    with Serving(room=1, buffer=4_096) as relay:
        with connected(relay) as wire:
            flood(wire, ECHOED)
            assert is_dropped(lambda: wire.send(ECHOED))
        with smtplib.SMTP("127.0.0.1", relay.port, timeout=SECONDS) as smtp:
            smtp.sendmail("a@b.example", ["c@d.example"], CONTENT)
    assert len(relay.taken) == 1


def guess(relay: Serving, trusting: ssl.SSLContext, at: str, password: str) -> bytes:
    """Log in from an address; return the answer."""
    with smtplib.SMTP("127.0.0.1", relay.port, timeout=SECONDS, source_address=(at, 0)) as smtp:
        smtp.starttls(context=trusting)
        smtp.ehlo()
        text = base64.b64encode(f"\0{USER}\0{password}".encode()).decode()
        code, said = smtp.docmd("AUTH", f"PLAIN {text}")
        return str(code).encode() + b" " + said


@pytest.mark.slow
def test_guesses_are_printed_and_end_while_others_log_in(
    relay: Serving,
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(guests, "DELAYS", (0.0,))
    answers = [guess(relay, contexts[1], "127.0.0.9", f"wrong {n}") for n in range(MOST_FAILURES)]
    assert {x[:4] for x in answers} == {b"535 "}
    assert guess(relay, contexts[1], "127.0.0.9", PASSWORD).startswith(b"454 ")
    assert send(relay, contexts[1]) < SECONDS
    printed = capsys.readouterr().err.splitlines()
    assert sum(x.startswith("failed login from 127.0.0.9, number ") for x in printed) == MOST_FAILURES
    assert any(x.startswith("logins from 127.0.0.9 are refused for ") for x in printed)
    assert not any("wrong" in x or PASSWORD in x for x in printed)


def test_a_failed_login_is_answered_later_each_time() -> None:
    now = [0.0]
    lines: list[str] = []
    brake = guests.LoginBrake(lambda: now[0], lines.append)
    assert [brake.failed("192.0.2.1") for _ in range(6)] == [1, 2, 4, 8, 8, 8]
    assert brake.failed("192.0.2.2") == 1
    now[0] = guests.MEMORY
    assert not brake.is_shut("192.0.2.1")
    assert brake.failed("192.0.2.1") == 1


def test_the_failures_of_many_networks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "MOST_NETWORKS", 3)
    brake = guests.LoginBrake(lambda: 0.0, lambda _: None)
    for n in range(5):
        brake.failed(f"192.0.2.{n}")
    assert [brake.failed(f"192.0.2.{n}") for n in (4, 0)] == [2, 1]


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        (("192.0.2.1", 5), "192.0.2.1"),
        (("2001:db8::1", 5, 0, 0), "2001:db8::/64"),
        (("2001:db8::ffff:1%eth0", 5, 0, 0), "2001:db8::/64"),
        (("::ffff:192.0.2.1", 5, 0, 0), "192.0.2.1"),
        (None, "an unknown address"),
    ],
)
def test_a_site_is_one_network(peer: object, network: str) -> None:
    assert guests.network_of(peer) == network
