"""What the guarded client reads of hostile answers, on real connections."""

from collections.abc import Callable

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.brief import BODY_BYTES, retry_after
from shared.adapters.http.guarded import GuardedClient
from shared.ports import HookAnswer
from tests.adapters.guarding import HEAD, OK, endless, post, unreachable
from tests.adapters.servers import Conversation, answering, serving


def served(client: GuardedClient, script: Callable[[Conversation], None]) -> HookAnswer:
    """Post to a local server by http and return the answer."""
    with serving(script) as server:
        return post(client, server.url)


# What it reads


@pytest.mark.parametrize("status", [200, 204, 301, 302, 307, 404, 410, 429, 500, 503])
def test_every_status_is_an_answer_and_no_redirect_is_followed(local: GuardedClient, status: int) -> None:
    lines = f"HTTP/1.1 {status} X\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n"
    with serving(answering(lines.encode())) as server:
        answer = post(local, server.url)
    assert (answer.status, answer.text, answer.retry_after) == (status, "", 7000)
    assert len(server.requests) == 1


def test_interim_answers_are_passed_over(local: GuardedClient) -> None:
    assert served(local, answering(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3 + OK)).status == 200


def gigabyte(c: Conversation) -> None:
    c.hear()
    c.say(HEAD + b"Content-Length: 1073741824\r\n\r\n")
    piece = b"x" * 65536
    for _ in range(16384):
        c.say(piece)


def test_of_a_gigabyte_the_first_kilobyte_is_kept(local: GuardedClient) -> None:
    answer = served(local, gigabyte)
    assert (answer.status, answer.text) == (200, "x" * BODY_BYTES)


def endless_extension(c: Conversation) -> None:
    c.hear()
    c.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;")
    while True:
        c.say(b"e" * 4096)


def test_endless_chunk_extensions_end_the_reading(local: GuardedClient) -> None:
    assert served(local, endless_extension).status == 200


@pytest.mark.parametrize(
    "script",
    [
        endless(HEAD, b"X-A: b\r\n" * 100),
        endless(HEAD + b"X: ", b"y" * 4096),
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        endless(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        endless(b"SSH-2.0-OpenSSH_9.6\r\n"),
        endless(b"HTTP/1.1 999999 OK\r\n\r\n"),
        endless(b"\x15\x03\x03\x00\x02\x02\x46"),
    ],
)
def test_what_is_no_answer_is_malformed(local: GuardedClient, script: Callable[[Conversation], None]) -> None:
    with serving(script) as server:
        assert unreachable(local, server.url) == "malformed_answer"


@pytest.mark.parametrize("part", [HEAD, HEAD + b"Content-", b"H"])
def test_a_head_that_is_cut_off_is_a_closed_connection(local: GuardedClient, part: bytes) -> None:
    with serving(endless(part)) as server:
        assert unreachable(local, server.url) == "connection_closed"


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 9\r\n\r\nok", b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz", b"\r\nok"]
)
def test_a_body_that_is_cut_off_does_not_matter(local: GuardedClient, rest: bytes) -> None:
    answer = served(local, endless(HEAD + rest))
    assert (answer.status, answer.text) == (200, "ok")


def hanging(say: bytes = b"") -> Callable[[Conversation], None]:
    def script(c: Conversation) -> None:
        c.hear()
        c.say(say)
        c.server.over.wait()

    return script


def dripping(data: bytes) -> Callable[[Conversation], None]:
    def script(c: Conversation) -> None:
        c.hear()
        for byte in data * 100:
            c.say(bytes((byte,)))
            if c.server.over.wait(0.02):
                return

    return script


@pytest.mark.parametrize("script", [hanging(), hanging(HEAD), dripping(HEAD + b"X-Y: z\r\n")])
def test_a_server_that_hangs_or_drips_is_left_in_time(
    local: GuardedClient, script: Callable[[Conversation], None]
) -> None:
    with serving(script) as server:
        began = SystemClock().now()
        assert unreachable(local, server.url, 0.3) == "read_timeout"
        assert SystemClock().now() - began < 2
        server.over.set()


def test_a_body_that_hangs_does_not_hide_the_status(local: GuardedClient) -> None:
    with serving(hanging(HEAD + b"Content-Length: 9\r\n\r\nok")) as server:
        answer = post(local, server.url, 0.2)
        server.over.set()
    assert (answer.status, answer.text) == (200, "ok")


def test_control_characters_of_an_answer_are_replaced(local: GuardedClient) -> None:
    assert (
        served(local, endless(HEAD + b"Content-Length: 9\r\n\r\na\x1b[2J\n\xff\x00\x9b")).text
        == "a\ufffd[2J\n\ufffd\ufffd\ufffd"
    )


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("0", 0),
        ("120", 120_000),
        ("", 0),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("9" * 50, 0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90_000),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0),
        ("Thu, 99 Jan 1970 00:00:01 GMT", 0),
    ],
)
def test_retry_after_is_read(value: str, ms: int) -> None:
    assert retry_after(value, 10.0) == ms
