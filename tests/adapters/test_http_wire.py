"""What only a wire does; what it has in common with `HttpClient` is in `test_http`, which runs over both."""

import itertools
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.adapters.http.transport import IDLE_SECONDS, HttpClient, Origin
from shared.adapters.http.wire import HttpWire
from shared.ports import AnswerLost, NoTime, Response, WireRequest
from tests import certificates
from tests.adapters.servers import OK, Conversation, Server, answering, serving
from tests.fakes.shifted import ShiftedClock

Answers = list[Response | AnswerLost]


@pytest.fixture
def client(clock: ShiftedClock) -> Iterator[HttpClient]:
    made = HttpClient(clock)
    yield made
    made.close()


def request(client: HttpClient, server: Server, body: bytes = b"{}", seconds: float = 10) -> WireRequest:
    return WireRequest("POST", server.url, {}, body, client.now() + seconds)


def connect(client: HttpClient, server: Server, count: int = 1) -> Origin:
    """Leave open connections with the client."""
    origin = Origin("127.0.0.1", server.port, server.context is not None)
    for connection in [client._connect(origin, client.now() + 5) for _ in range(count)]:
        connection.idle_since = client.now()
        client.keep(origin, connection)
    return origin


def idle(client: HttpClient) -> int:
    return sum(map(len, client._idle.values()))


def nobody(_answer: object) -> None:
    raise AssertionError("an answer to what was not asked")


def statuses(answers: Answers) -> list[object]:
    return [a.status if isinstance(a, Response) else str(a) for a in answers]


@pytest.mark.slow
def test_two_hundred_at_a_time_by_one_thread(client: HttpClient, clock: ShiftedClock) -> None:
    held = threading.Barrier(200, timeout=20)

    def talk(c: Conversation) -> None:
        c.hear()
        held.wait()  # nobody is answered before all have asked
        c.say(OK)
        answering()(c)

    answers: Answers = []
    with serving(talk) as server, clock.stopped():
        connect(client, server, 200)
        with HttpWire(client) as wire:
            for n in range(200):
                assert wire.begin(request(client, server, b"%d" % n), answers.append)
            wire.join()
            assert statuses(answers) == [202] * 200
        assert (server.connections, idle(client)) == (200, 200)
    assert sorted(int(r.partition(b"\r\n\r\n")[2]) for r in server.requests) == list(range(200))


def test_it_opens_no_connection(client: HttpClient) -> None:
    with serving() as server, HttpWire(client) as wire:
        assert not wire.begin(request(client, server), nobody)
    assert server.connections == 0


def test_what_is_answered_meanwhile_frees_its_connection(client: HttpClient) -> None:
    answers: Answers = []
    with serving() as server:
        connect(client, server)
        with HttpWire(client) as wire:
            for n in range(1, 6):
                assert wire.begin(request(client, server), answers.append)
                assert len(answers) < n
                while len(answers) < n:
                    wire.rest(client.now() + 0.005)
        assert (server.connections, len(server.requests)) == (1, 5)


def test_a_rest_ends_when_it_should(client: HttpClient) -> None:
    def talk(c: Conversation) -> None:
        c.hear()
        c.server.over.wait(10)
        c.say(OK)

    with serving(talk) as server:
        connect(client, server)
        wire = HttpWire(client)
        assert wire.begin(request(client, server), lambda _answer: None)
        for seconds in (0.0, 0.0004, 0.0031, 0.02):
            begun = client.now()
            wire.rest(begun + seconds)
            assert seconds <= client.now() - begun < seconds + 2
        server.over.set()
        with wire:
            pass


def test_leaving_waits_for_every_answer(client: HttpClient) -> None:
    answers: Answers = []
    go = threading.Event()

    def talk(c: Conversation) -> None:
        c.hear()
        assert go.wait(10)
        c.say(OK)

    def lease() -> None:
        with HttpWire(client) as wire:
            wire.begin(request(client, server), answers.append)

    with serving(talk) as server:
        connect(client, server)
        thread = threading.Thread(target=lease)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        go.set()
        thread.join(10)
        assert statuses(answers) == [202]


@pytest.mark.parametrize("rested", [False, True])
def test_a_connection_that_the_server_closed_is_not_used(client: HttpClient, *, rested: bool) -> None:
    close = threading.Event()

    def talk(c: Conversation) -> None:
        c.hear()
        c.say(OK)
        assert close.wait(10)
        c.sock.close()

    answers: Answers = []
    with serving(talk) as server:
        connect(client, server)
        with HttpWire(client) as wire:
            assert wire.begin(request(client, server), answers.append)
            wire.join()
            close.set()
            assert wait_for_bytes(wire)
            wire.rest(client.now() + (0.02 if rested else 0.002))
            assert not wire.begin(request(client, server), answers.append)
        assert (statuses(answers), len(server.requests), idle(client)) == ([202], 1, 0)


def test_a_connection_idle_for_long_is_not_trusted(client: HttpClient, clock: ShiftedClock) -> None:
    answers: Answers = []
    with serving() as server:
        connect(client, server)
        with HttpWire(client) as wire:
            assert wire.begin(request(client, server), answers.append)
            wire.join()
            clock.ahead += IDLE_SECONDS + 1
            assert not wire.begin(request(client, server), answers.append)
        assert idle(client) == 0


def test_no_time_is_reported_at_once_and_the_connection_stays(client: HttpClient) -> None:
    with serving() as server:
        connect(client, server)
        with HttpWire(client) as wire, pytest.raises(NoTime):
            wire.begin(request(client, server, seconds=0), nobody)
        assert idle(client) == 1
    assert server.requests == []


def test_an_answer_that_came_in_time_counts_however_late_it_is_read(client: HttpClient, clock: ShiftedClock) -> None:
    said = threading.Event()

    def talk(c: Conversation) -> None:
        c.hear()
        c.say(OK)
        said.set()
        c.server.over.wait(10)

    answers: Answers = []
    with serving(talk) as server:
        connect(client, server)
        with HttpWire(client) as wire:
            assert wire.begin(request(client, server), answers.append)
            assert said.wait(10)
            assert wait_for_bytes(wire)
            clock.ahead += 60
        assert statuses(answers) == [202]


def wait_for_bytes(wire: HttpWire) -> bool:
    """Tell, without reading them, that the answer's bytes are here."""
    return bool(wire._selector.select(10))


def test_each_call_has_its_own_deadline(client: HttpClient, clock: ShiftedClock) -> None:
    def talk(c: Conversation) -> None:
        heard = c.hear()
        if heard.endswith(b"slow"):
            clock.go()
            c.server.over.wait(10)
        else:
            c.say(OK)
            c.hear()

    slow: Answers = []
    quick: Answers = []
    with serving(talk) as server:
        connect(client, server, 2)
        with clock.stopped(), HttpWire(client) as wire:
            assert wire.begin(request(client, server, b"slow", seconds=0.2), slow.append)
            assert wire.begin(request(client, server, b"quick"), quick.append)
        assert (statuses(slow), statuses(quick)) == (["read_timeout"], [202])
        assert idle(client) == 1


def narrow(client: HttpClient, origin: Origin) -> None:
    """Make the client's connection take a few KB at a time."""
    client._idle[origin][0].sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


def test_a_request_that_the_socket_takes_in_pieces_arrives_whole(client: HttpClient) -> None:
    go = threading.Event()

    def talk(c: Conversation) -> None:
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert go.wait(10)
        c.hear()
        c.say(OK)
        c.hear()

    body = bytes(itertools.islice(itertools.cycle(range(256)), 60_000))
    answers: Answers = []
    with serving(talk) as server:
        narrow(client, connect(client, server))
        with HttpWire(client) as wire:
            assert wire.begin(request(client, server, body), answers.append)
            ((_, exchange),) = wire._open.values()
            assert len(exchange.rest), "nothing was left to write: the test shows nothing"
            go.set()
        assert statuses(answers) == [202]
        assert idle(client) == 1
    assert server.requests[0].partition(b"\r\n\r\n")[2] == body


def test_a_server_that_does_not_read_is_an_answer_lost(client: HttpClient, clock: ShiftedClock) -> None:
    def talk(c: Conversation) -> None:
        c.server.over.wait(10)

    answers: Answers = []
    with serving(talk) as server:
        narrow(client, connect(client, server))
        with HttpWire(client) as wire, clock.stopped():
            assert wire.begin(request(client, server, b"x" * 65_000, seconds=0.2), answers.append)
        assert statuses(answers) in (["write_timeout"], ["read_timeout"])
        assert idle(client) == 0


def test_a_long_body_is_left_to_a_thread(client: HttpClient) -> None:
    with serving() as server:
        connect(client, server)
        with HttpWire(client) as wire:
            assert not wire.begin(request(client, server, b"x" * 70_000), nobody)
        assert idle(client) == 1


def test_tls(client: HttpClient, tmp_path: Path) -> None:
    certificate = certificates.self_signed(tmp_path)
    trusting = HttpClient(client.clock, context=certificates.trusting(certificate))
    body = b"x" * 60_000
    answers: Answers = []
    with serving(context=certificates.serving(certificate)) as server:
        first = request(trusting, server)
        trusting.request(first.method, first.url, headers={}, body=b"", deadline=first.deadline)
        with HttpWire(trusting) as wire:
            for _ in range(5):
                assert wire.begin(request(trusting, server, body), answers.append)
                wire.join()
        assert statuses(answers) == [202] * 5
        assert (server.connections, len(server.requests)) == (1, 6)
        trusting.close()
