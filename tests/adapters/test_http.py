import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.adapters import http as under_test
from shared.adapters.clock import SystemClock
from shared.adapters.http import Body, HttpClient, parse
from shared.adapters.http_answer import MAX_BODY
from shared.adapters.http_wire import Wire
from shared.ports import AnswerLost, NoTime, NotSent, Request, Response
from tests import certificates
from tests.adapters.servers import OK, Conversation, answering, serving

BODY = b'{"hello":1}'


class ShiftedClock(SystemClock):
    """The system's clock, that a test can put forward."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


class WiredClient(HttpClient):
    """Makes each request on a wire, over a connection that is opened for it if none is there."""

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        answers: list[Response | AnswerLost] = []
        with Wire(self) as wire:
            asked = Request(method, url, headers, body, deadline)
            if not wire.begin(asked, answers.append):
                origin = parse(url)[0]
                connection = self._connect(origin, deadline)
                connection.idle_since = self.now()
                self.keep(origin, connection)
                wire.begin(asked, answers.append)
        for answer in answers:
            if isinstance(answer, AnswerLost):
                raise answer
            return answer
        return super().request(method, url, headers=headers, body=body, deadline=deadline)


@pytest.fixture(params=[HttpClient, WiredClient])
def client(request: pytest.FixtureRequest, clock: ShiftedClock) -> Iterator[HttpClient]:
    made: HttpClient = request.param(clock)
    yield made
    made.close()


def post(client: HttpClient, url: str, seconds: float = 10, body: bytes | tuple[bytes, ...] = BODY) -> Response:
    deadline = client.now() + seconds
    return client.request("POST", url, headers={"Authorization": "Bearer k"}, body=body, deadline=deadline)


def test_it_writes_one_request_and_reads_its_answer(client: HttpClient) -> None:
    with serving() as server:
        response = post(client, server.url + "?a=b")
    assert (response.status, response.body) == (202, b"ok")
    assert response.headers["x-message-id"] == "abc"
    (request,) = server.requests
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v3/mail/send?a=b HTTP/1.1"
    assert f"Host: 127.0.0.1:{server.port}" in lines
    assert f"Content-Length: {len(BODY)}" in lines
    assert "Authorization: Bearer k" in lines
    assert body == BODY


def test_a_connection_is_used_again(client: HttpClient) -> None:
    with serving() as server:
        for _ in range(5):
            assert post(client, server.url).status == 202
    assert (server.connections, len(server.requests)) == (1, 5)


def test_a_long_body_in_parts_arrives_whole(client: HttpClient) -> None:
    parts = (b"a" * 10, b"b" * 3_000_000, b"c")
    with serving() as server:
        assert post(client, server.url, body=parts).status == 202
    assert server.requests[0].partition(b"\r\n\r\n")[2] == b"".join(parts)


# Written, and no answer: it may have arrived, and must not be sent again


def dropped(c: Conversation) -> None:
    c.hear()


def reset(c: Conversation) -> None:
    c.hear()
    c.reset()


def half_an_answer(c: Conversation) -> None:
    c.hear()
    c.say(OK[:-1])


@pytest.mark.parametrize(
    ("script", "code"),
    [(dropped, "connection_closed"), (reset, "connection_reset"), (half_an_answer, "connection_closed")],
)
@pytest.mark.parametrize("warm", [False, True])
def test_a_lost_answer_is_told_and_the_request_arrives_once(
    client: HttpClient, script: object, code: str, *, warm: bool
) -> None:
    def talk(c: Conversation) -> None:
        if warm:
            c.hear()
            c.say(OK)
        script(c)  # type: ignore[operator]

    with serving(talk) as server:
        if warm:
            post(client, server.url)
        with pytest.raises(AnswerLost, match=code):
            post(client, server.url)
    assert len(server.requests) == 1 + warm
    assert server.connections == 1


def test_no_answer_in_time_is_an_answer_lost(client: HttpClient) -> None:
    def talk(c: Conversation) -> None:
        c.hear()
        c.server.over.wait(10)

    with serving(talk) as server:
        with pytest.raises(AnswerLost, match="read_timeout"):
            post(client, server.url, seconds=0.2)
        assert len(server.requests) == 1


def test_a_dripping_answer_ends_at_the_deadline(client: HttpClient) -> None:
    def talk(c: Conversation) -> None:
        c.hear()
        while not c.server.over.wait(0.02):
            c.say(b"x")

    with serving(talk) as server:
        begun = SystemClock().now()
        with pytest.raises(AnswerLost, match="read_timeout"):
            post(client, server.url, seconds=0.3)
        assert SystemClock().now() - begun < 3


def test_a_server_that_does_not_read_ends_as_an_answer_lost(client: HttpClient) -> None:
    def talk(c: Conversation) -> None:
        c.server.over.wait(10)

    with serving(talk) as server, pytest.raises(AnswerLost, match="write_timeout"):
        post(client, server.url, seconds=0.5, body=b"x" * 50_000_000)


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad : name\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabcd\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000,
    ],
)
def test_a_malformed_answer_is_an_answer_lost(client: HttpClient, answer: bytes) -> None:
    def talk(c: Conversation) -> None:
        c.hear()
        c.say(answer)

    with serving(talk) as server, pytest.raises(AnswerLost, match="malformed_answer"):
        post(client, server.url)


@pytest.mark.parametrize(
    "answer",
    [
        f"HTTP/1.1 200 OK\r\nContent-Length: {MAX_BODY + 1}\r\n\r\n".encode(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (MAX_BODY + 1),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MAX_BODY + 100_000),
    ],
)
def test_a_boundless_answer_is_not_read(client: HttpClient, answer: bytes) -> None:
    def talk(c: Conversation) -> None:
        c.hear()
        c.say(answer)

    with serving(talk) as server, pytest.raises(AnswerLost, match="answer_too_large"):
        post(client, server.url)


# Not written


def test_refused(client: HttpClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    with pytest.raises(NotSent, match="connection_refused") as caught:
        post(client, f"http://127.0.0.1:{port}/")
    assert not isinstance(caught.value, NoTime)


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".example"])
def test_a_name_that_does_not_resolve(client: HttpClient, host: str) -> None:
    with pytest.raises(NotSent, match="dns"):
        post(client, f"http://{host}/")


def test_the_deadline_is_checked_before_connecting_and_before_writing(client: HttpClient) -> None:
    with serving() as server:
        with pytest.raises(NoTime):
            post(client, server.url, seconds=0)
        assert server.connections == 0
        post(client, server.url)
        with pytest.raises(NoTime):
            post(client, server.url, seconds=-1)
    assert len(server.requests) == 1


@pytest.fixture
def deaf() -> Iterator[str]:
    """A host that answers no SYN: a listener whose backlog is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(address)
            fillers.append(filler)
        yield f"http://127.0.0.1:{address[1]}/"
        for filler in fillers:
            filler.close()


def test_a_connect_timeout_is_not_sent(clock: ShiftedClock, deaf: str) -> None:
    with pytest.raises(NotSent, match="connect_timeout") as caught:
        post(HttpClient(clock, connect_timeout=0.2), deaf)
    assert not isinstance(caught.value, NoTime)


def test_a_connect_cut_short_by_the_deadline_does_not_blame_the_provider(client: HttpClient, deaf: str) -> None:
    with pytest.raises(NoTime):
        post(client, deaf, seconds=0.2)


@pytest.mark.parametrize(
    "url", ["ftp://a/", "http:///x", "relative", "http://a/\r\nEvil: 1", "http://a/ b", "http://ä/"]
)
def test_a_url_that_cannot_be_requested(client: HttpClient, url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        post(client, url)


@pytest.mark.parametrize("value", ["a\r\nEvil: 1", "a\nb", "a\rb"])
def test_a_header_cannot_smuggle_another(client: HttpClient, value: str) -> None:
    with serving() as server:
        with pytest.raises(ValueError, match="one line"):
            client.request("POST", server.url, headers={"A": value}, body=b"", deadline=client.now() + 5)
        assert server.connections == 0


# Connections that do not live for ever


def test_a_connection_the_server_closed_is_replaced_without_a_word(client: HttpClient) -> None:
    closed = threading.Event()

    def talk(c: Conversation) -> None:
        if c.number == 1:
            c.hear()
            c.say(OK)
            c.sock.close()
            closed.set()
        else:
            answering()(c)

    with serving(talk) as server:
        post(client, server.url)
        assert closed.wait(5)
        for _ in range(3):
            assert post(client, server.url).status == 202
    assert (server.connections, len(server.requests)) == (2, 4)


def test_a_connection_on_which_the_server_said_something_unasked_is_replaced(client: HttpClient) -> None:
    said = threading.Event()

    def talk(c: Conversation) -> None:
        c.hear()
        c.say(OK)
        if c.number == 1:
            c.say(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            said.set()
        c.server.over.wait(10)

    with serving(talk) as server:
        assert post(client, server.url).status == 202
        assert said.wait(5)
        assert post(client, server.url).status == 202
    assert server.connections == 2


def test_a_connection_idle_for_long_is_not_trusted(client: HttpClient, clock: ShiftedClock) -> None:
    with serving() as server:
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
        (b"HTTP/1.1 200\r\nContent-Length: 3, 3\r\n\r\nabc", b"abc", True),
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


def test_two_hundred_threads_share_a_client(client: HttpClient) -> None:
    with serving() as server, ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda n: post(client, server.url, 60, b"%d" % n), range(2000)))
        assert {r.status for r in answers} == {202}
        assert server.connections <= 200
    bodies = sorted(int(r.partition(b"\r\n\r\n")[2]) for r in server.requests)
    assert bodies == list(range(2000))


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    return certificates.serving(certificate)


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
