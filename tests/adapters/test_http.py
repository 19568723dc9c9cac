import socket
import threading
from collections.abc import Iterator

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.answer import MAX_BODY
from shared.adapters.http.transport import READ_TIMEOUT, HttpClient
from shared.domain.content.streams import Framed
from shared.ports import AnswerLost, NoTime, NotSent
from tests.adapters.posting import BODY, WiredClient, post, reset
from tests.adapters.servers import OK, Conversation, refusing, serving
from tests.fakes.finished import Bytes
from tests.fakes.shifted import ShiftedClock


@pytest.fixture(params=[HttpClient, WiredClient])
def client(request: pytest.FixtureRequest, clock: ShiftedClock) -> Iterator[HttpClient]:
    made: HttpClient = request.param(clock)
    yield made
    made.close()


@pytest.mark.parametrize("size", [0, 1000, 3_000_000])
def test_a_stream_arrives_whole(client: HttpClient, size: int) -> None:
    data = bytes(range(256)) * (size // 256)
    with serving() as server:
        assert post(client, server.url, body=Framed(b"<", Bytes(data, 100_000), b">")).status == 202
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert body == b"<" + data + b">"
    assert f"Content-Length: {len(data) + 2}\r\n".encode() in head + b"\r\n"


def test_a_long_body_in_parts_arrives_whole(client: HttpClient) -> None:
    parts = (b"a" * 10, b"b" * 3_000_000, b"c")
    with serving() as server:
        assert post(client, server.url, body=parts).status == 202
    assert server.requests[0].partition(b"\r\n\r\n")[2] == b"".join(parts)


def test_a_connection_is_used_again(client: HttpClient) -> None:
    with serving() as server:
        for _ in range(5):
            assert post(client, server.url).status == 202
    assert (server.connections, len(server.requests)) == (1, 5)


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


# Written, and no answer: it may have arrived, and must not be sent again


def dropped(c: Conversation) -> None:
    c.hear()


def half_an_answer(c: Conversation) -> None:
    c.hear()
    c.say(OK[:-1])


@pytest.mark.parametrize(
    ("script", "code"),
    [(dropped, "connection_closed"), (reset, "connection_reset"), (half_an_answer, "connection_closed")],
)
@pytest.mark.parametrize("warm", [False, True])
def test_a_lost_answer_is_reported_and_the_request_arrives_once(
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


def test_no_answer_in_time_is_an_answer_lost(client: HttpClient, clock: ShiftedClock) -> None:
    heard = threading.Event()

    def talk(c: Conversation) -> None:
        c.hear()
        clock.go()
        heard.set()
        c.server.over.wait(10)

    with serving(talk) as server:
        with clock.stopped(), pytest.raises(AnswerLost, match="read_timeout"):
            post(client, server.url, seconds=0.2)
        assert heard.wait(10)
        assert len(server.requests) == 1


def test_a_dripping_answer_ends_at_the_deadline(client: HttpClient, clock: ShiftedClock) -> None:
    def talk(c: Conversation) -> None:
        c.hear()
        clock.go()
        c.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not c.server.over.wait(0.02):
            c.say(b"x")

    with serving(talk) as server:
        begun = SystemClock().now()
        with clock.stopped(), pytest.raises(AnswerLost, match="read_timeout"):
            post(client, server.url, seconds=0.3)
        assert SystemClock().now() - begun < READ_TIMEOUT / 2, "it ended at another time limit"


def test_a_server_that_does_not_read_ends_as_an_answer_lost(client: HttpClient, clock: ShiftedClock) -> None:
    def talk(c: Conversation) -> None:
        c.server.over.wait(10)

    with serving(talk) as server, clock.stopped(), pytest.raises(AnswerLost, match="write_timeout"):
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
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999999\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\n0\n\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\rContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA b: c\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
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
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n" + b"x" * 0x200000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;x=y\r\na\r\n" * 200_000,
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
    with refusing() as port, pytest.raises(NotSent, match="connection_refused") as caught:
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
