"""Reading one HTTP/1.1 answer from a socket (RFC 9112)."""

import re
import socket
from collections.abc import Callable
from typing import Final

from shared.ports import AnswerLost, Response

MAX_BODY: Final = 1 << 20
MAX_HEAD: Final = 64 * 1024
_RECV: Final = 16 * 1024
_NO_BODY: Final = frozenset({204, 304})
_FINAL: Final = 200
"""Answers below this status are interim."""
_STATUS_LINE: Final = re.compile(r"HTTP/1\.([01]) (\d{3})(?: |$)")
_CHUNK_SIZE: Final = re.compile(r"([0-9a-fA-F]{1,8})[ \t]*(?:;|$)")
_LENGTH_DIGITS: Final = 12


def time_left(until: float, now: Callable[[], float]) -> float:
    """Return the seconds until a moment, more than zero; TimeoutError if it has passed."""
    left = until - now()
    if left <= 0:
        raise TimeoutError
    return left


class Reader:
    """Reads one answer (RFC 9112); whatever is not a complete and well-formed one is AnswerLost."""

    __slots__ = ("_buffer", "_now", "_sock", "_until")

    def __init__(self, sock: socket.socket, until: float, now: Callable[[], float]) -> None:
        self._sock = sock
        self._until = until
        self._now = now
        self._buffer = b""

    def answer(self, method: str) -> tuple[Response, bool]:
        """Return the final answer and whether the connection can be used again."""
        status, keep, headers = self._head()
        while status < _FINAL:
            status, keep, headers = self._head()
        coding = headers.get("transfer-encoding")
        length = headers.get("content-length")
        if method == "HEAD" or status in _NO_BODY:
            body = b""
        elif coding is not None:
            body = self._chunked(coding)
            keep = keep and length is None
        elif length is not None:
            body = self._exactly(_length(length))
        else:
            body, keep = self._to_the_end(), False
        return Response(status, headers, body), keep and not self._buffer

    def _fill(self) -> bool:
        """Read some more; False at the end of the stream."""
        try:
            self._sock.settimeout(time_left(self._until, self._now))
            data = self._sock.recv(_RECV)
        except TimeoutError:
            raise AnswerLost("read_timeout") from None
        except OSError:
            raise AnswerLost("connection_reset") from None
        self._buffer += data
        return bool(data)

    def _until_mark(self, mark: bytes, limit: int) -> str:
        """Take the text before a mark, and the mark."""
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) > limit:
                raise AnswerLost("malformed_answer")
            if not self._fill():
                raise AnswerLost("connection_closed")
        text = self._buffer[:end].decode("latin-1")
        self._buffer = self._buffer[end + len(mark) :]
        return text

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not self._fill():
                raise AnswerLost("connection_closed")
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _head(self) -> tuple[int, bool, dict[str, str]]:
        first, *lines = self._until_mark(b"\r\n\r\n", MAX_HEAD).split("\r\n")
        status = _STATUS_LINE.match(first)
        if status is None:
            raise AnswerLost("malformed_answer")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name[-1] in " \t" or name[0] in " \t":
                raise AnswerLost("malformed_answer")
            name, value = name.lower(), value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        wish = headers.get("connection", "").lower()
        keep = "close" not in wish if status[1] == "1" else "keep-alive" in wish
        return int(status[2]), keep, headers

    def _chunked(self, coding: str) -> bytes:
        if coding.lower() != "chunked":
            raise AnswerLost("malformed_answer")
        chunks: list[bytes] = []
        room = MAX_BODY
        while True:
            size_text = _CHUNK_SIZE.match(self._until_mark(b"\r\n", MAX_HEAD))
            if size_text is None:
                raise AnswerLost("malformed_answer")
            size = int(size_text[1], 16)
            room -= size
            if room < 0:
                raise AnswerLost("answer_too_large")
            if size == 0:
                break
            chunks.append(self._exactly(size))
            if self._exactly(2) != b"\r\n":
                raise AnswerLost("malformed_answer")
        while self._until_mark(b"\r\n", MAX_HEAD):
            continue  # trailers
        return b"".join(chunks)

    def _to_the_end(self) -> bytes:
        while self._fill():
            if len(self._buffer) > MAX_BODY:
                raise AnswerLost("answer_too_large")
        data, self._buffer = self._buffer, b""
        return data


def _length(text: str) -> int:
    """Read Content-Length; repeated equal values are one (RFC 9112, 6.3)."""
    values = set(text.replace(" ", "").split(","))
    value = values.pop()
    if values or not (value.isascii() and value.isdigit()) or len(value) > _LENGTH_DIGITS:
        raise AnswerLost("malformed_answer")
    if int(value) > MAX_BODY:
        raise AnswerLost("answer_too_large")
    return int(value)
