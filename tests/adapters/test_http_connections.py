"""Connections of the HTTP transport: when one is used again, and whom it trusts."""

import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.adapters.http import transport as under_test
from shared.adapters.http.transport import HttpClient
from shared.ports import AnswerLost, NoTime, NotSent
from tests import certificates
from tests.adapters.posting import WiredClient, post, reset
from tests.adapters.servers import OK, Conversation, answering, serving
from tests.fakes.shifted import ShiftedClock


@pytest.fixture(params=[HttpClient, WiredClient])
def client(request: pytest.FixtureRequest, clock: ShiftedClock) -> Iterator[HttpClient]:
    made: HttpClient = request.param(clock)
    yield made
    made.close()


def has_news(client: HttpClient) -> bool:
    """Tell, once it is so, that something has come on the one idle connection: its end, or what nobody asked for."""
    ((connection,),) = client._idle.values()
    return bool(connection.poll.poll(10_000))


# Connections that do not live for ever


def test_a_connection_the_server_closed_is_replaced_without_a_word(client: HttpClient) -> None:
    def talk(c: Conversation) -> None:
        if c.number == 1:
            c.hear()
            c.say(OK)
            c.sock.close()
        else:
            answering()(c)

    with serving(talk) as server:
        post(client, server.url)
        assert has_news(client)
        for _ in range(3):
            assert post(client, server.url).status == 202
    assert (server.connections, len(server.requests)) == (2, 4)


def test_a_connection_on_which_the_server_said_something_unasked_is_replaced(client: HttpClient) -> None:
    said = threading.Event()

    def talk(c: Conversation) -> None:
        c.hear()
        c.say(OK)
        if c.number == 1:
            assert said.wait(10)
            c.say(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        c.server.over.wait(10)

    with serving(talk) as server:
        assert post(client, server.url).status == 202
        said.set()
        assert has_news(client)
        assert post(client, server.url).status == 202
    assert server.connections == 2


def test_a_connection_idle_for_long_is_not_trusted(client: HttpClient, clock: ShiftedClock) -> None:
    with serving() as server, clock.stopped():
        post(client, server.url)
        clock.ahead += under_test.IDLE_SECONDS - 1
        post(client, server.url)
        assert server.connections == 1
        clock.ahead += under_test.IDLE_SECONDS + 1
        post(client, server.url)
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "body", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", True),
        (b"HTTP/1.1 200\r\nX-Empty:\r\nContent-Length: 3\r\n\r\nabc", b"abc", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", b"a", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nT: 1\r\n\r\n",
            b"abcd",
            True,
        ),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", b"a", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", b"a", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", b"a", True),
        (b"HTTP/1.1 503 No\r\n\r\nto the end", b"to the end", False),
    ],
)
@pytest.mark.parametrize("piece", [1, 10_000])
def test_every_form_of_answer(client: HttpClient, answer: bytes, body: bytes, piece: int, *, kept: bool) -> None:
    def talk(c: Conversation) -> None:
        c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while c.hear():
            for i in range(0, len(answer), piece):
                c.say(answer[i : i + piece])
            if b"to the end" in answer:
                return

    with serving(talk) as server:
        assert post(client, server.url).body == body
        if kept:
            assert post(client, server.url).body == body
            assert server.connections == 1
        else:
            assert not any(client._idle.values())


def test_more_than_the_answer_ends_the_connection(client: HttpClient) -> None:
    with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc")) as server:
        assert post(client, server.url).body == b"a"
        assert not any(client._idle.values())


def test_an_early_refusal_of_a_long_body_is_read(client: HttpClient) -> None:
    def talk(c: Conversation) -> None:
        c.sock.recv(10)
        c.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        c.sock.shutdown(socket.SHUT_WR)
        while c.sock.recv(1 << 20):
            continue

    with serving(talk) as server:
        assert post(client, server.url, body=b"x" * 5_000_000).status == 413


@pytest.mark.slow
def test_two_hundred_threads_share_a_client(client: HttpClient, clock: ShiftedClock) -> None:
    with serving() as server, clock.stopped(), ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda n: post(client, server.url, 60, b"%d" % n), range(2000)))
        assert {r.status for r in answers} == {202}
        assert server.connections <= 200
    bodies = sorted(int(r.partition(b"\r\n\r\n")[2]) for r in server.requests)
    assert bodies == list(range(2000))


# TLS


def test_tls_with_keep_alive(clock: ShiftedClock, certificate: Path, server_tls: ssl.SSLContext) -> None:
    client = HttpClient(clock, context=certificates.trusting(certificate))
    with serving(context=server_tls) as server:
        for _ in range(3):
            assert post(client, server.url, body=(b"x" * 100_000, b"y")).status == 202
        assert server.connections == 1
        client.close()


def test_tls_with_a_lost_answer_arrives_once(
    clock: ShiftedClock, certificate: Path, server_tls: ssl.SSLContext
) -> None:
    client = HttpClient(clock, context=certificates.trusting(certificate))
    with serving(reset, context=server_tls) as server, pytest.raises(AnswerLost):
        post(client, server.url)
    assert len(server.requests) == 1


@pytest.mark.parametrize("words", [b"\x15\x03\x03\x00\x02\x02\x28", b""], ids=["handshake_failure", "closes"])
def test_a_server_that_refuses_tls_gets_no_byte_of_the_request(client: HttpClient, words: bytes) -> None:
    heard = []

    def refuse(c: Conversation) -> None:
        heard.append(c.sock.recv(65536))
        c.say(words)

    with serving(refuse) as server, pytest.raises(NotSent) as caught:
        post(client, server.url.replace("http:", "https:"))
    assert not isinstance(caught.value, NoTime)
    assert len(heard) == 1
    assert heard[0][0] == 0x16, "the handshake, and nothing else"


def test_an_untrusted_certificate_is_not_sent(client: HttpClient, server_tls: ssl.SSLContext) -> None:
    with serving(context=server_tls) as server:
        with pytest.raises(NotSent, match="tls"):
            post(client, server.url)
        assert server.requests == []


def test_a_certificate_of_another_name_is_not_sent(
    clock: ShiftedClock, certificate: Path, server_tls: ssl.SSLContext
) -> None:
    client = HttpClient(clock, context=certificates.trusting(certificate))
    with serving(context=server_tls) as server:
        with pytest.raises(NotSent, match="tls"):
            post(client, server.url.replace("127.0.0.1", "localhost"))
        assert server.requests == []


def test_a_handshake_that_hangs_is_not_sent(clock: ShiftedClock) -> None:
    def silent(c: Conversation) -> None:
        c.server.over.wait(10)

    client = HttpClient(clock, connect_timeout=0.2)
    with serving(silent) as server, pytest.raises(NotSent, match="connect_timeout"):
        post(client, server.url.replace("http:", "https:"))
