"""One answer as it is parsed, without a socket."""

import gc

import pytest

from shared.adapters.http.answer import WireAnswer
from shared.ports import AnswerLost, Response

HEAD = b"HTTP/1.1 200 OK\r\n"


def read(data: bytes, method: str = "POST", piece: int = 1 << 20) -> tuple[Response, bool]:
    answer = WireAnswer(method)
    pieces = [data[i : i + piece] for i in range(0, len(data), piece)]
    ended = [answer.feed(p) for p in pieces]
    assert ended == [False] * (len(pieces) - 1) + [True]
    return answer.response, answer.keep


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_the_final_answer_is_read_after_interim_ones(piece: int) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n"
    final = HEAD + b"Set-Cookie: a\r\nX-Empty:\r\nset-cookie: b\xe9\r\nContent-Length: 2\r\n\r\nhi"
    expected = Response(200, {"set-cookie": "a, b\xe9", "x-empty": "", "content-length": "2"}, b"hi")
    assert read(interim + final, piece=piece) == (expected, True)


def test_headers_after_the_last_chunk_are_ignored() -> None:
    found, keep = read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Late: 1\r\n\r\n")
    assert found == Response(200, {"transfer-encoding": "chunked"}, b"a")
    assert keep


@pytest.mark.parametrize(
    "rest",
    [b"x", b"HTTP/1.1 2", HEAD + b"Content-Length: 1\r\n\r\nb", b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n"],
    ids=["x", "half", "another", "upgrade"],
)
def test_a_connection_on_which_more_follows_is_not_kept_and_the_answer_is_the_first(rest: bytes) -> None:
    found, keep = read(HEAD + b"Content-Length: 1\r\n\r\na" + rest)
    assert found == Response(200, {"content-length": "1"}, b"a")
    assert not keep


def test_an_answer_to_head_has_no_body() -> None:
    head = HEAD + b"Content-Length: 5\r\n\r\n"
    assert read(head, "HEAD") == (Response(200, {"content-length": "5"}, b""), True)
    assert read(head + b"x", "HEAD") == (Response(200, {"content-length": "5"}, b""), False)


@pytest.mark.parametrize(
    "data",
    [b"", HEAD[:9], HEAD + b"A: b\r\n", HEAD + b"Content-Length: 2\r\n\r\na", HEAD + b"\r\n"],
    ids=["nothing", "line", "head", "cut", "whole"],
)
def test_the_end_of_the_stream_ends_only_an_answer_without_a_length(data: bytes) -> None:
    answer = WireAnswer("POST")
    if data:
        assert not answer.feed(data)
    if data == HEAD + b"\r\n":
        assert answer.feed(b"")
        assert (answer.response, answer.keep) == (Response(200, {}, b""), False)
    else:
        with pytest.raises(AnswerLost, match="connection_closed"):
            answer.feed(b"")


def test_a_chunked_answer_that_is_cut_off_is_lost() -> None:
    answer = WireAnswer("POST")
    assert not answer.feed(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
    with pytest.raises(AnswerLost, match="connection_closed"):
        answer.feed(b"")


@pytest.mark.slow
def test_an_answer_is_freed_without_a_search_for_garbage() -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            assert WireAnswer("POST").feed(HEAD + b"Content-Length: 0\r\n\r\n")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_server_may_offer_another_protocol() -> None:
    offer = b"Upgrade: h2,h2c\r\nConnection: Upgrade, Keep-Alive\r\n"  # as Apache does
    found, keep = read(HEAD + offer + b"Content-Length: 2\r\n\r\nhi")
    assert (found.status, found.body, keep) == (200, b"hi", True)
