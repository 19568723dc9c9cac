"""Reading one HTTP/1.1 answer (RFC 9112), whoever receives its bytes."""

import re
from collections.abc import Callable, Generator, Iterator
from typing import Final

from shared.ports import AnswerLost, Response

MAX_BODY: Final = 1 << 20
MAX_HEAD: Final = 64 * 1024
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


class WireAnswer:
    """One answer (RFC 9112) as its bytes arrive; whatever is not a complete and well-formed one is AnswerLost.

    Attributes:
        response: the final answer, once `feed` has said that it is complete.
        keep: whether the connection can be used again then.
    """

    __slots__ = ("_buffer", "_ended", "_steps", "keep", "response")

    def __init__(self, method: str) -> None:
        self.response: Response
        self.keep = False
        self._buffer = b""
        self._ended = False
        self._steps = self._read(method)

    def feed(self, data: bytes) -> bool:
        """Take what has arrived, nothing at the end of the stream; True if the answer is complete."""
        if data:
            self._buffer = self._buffer + data if self._buffer else data
        else:
            self._ended = True
        return next(self._steps)

    def _read(self, method: str) -> Iterator[bool]:
        status, keep, headers = yield from self._head()
        while status < _FINAL:
            status, keep, headers = yield from self._head()
        coding = headers.get("transfer-encoding")
        length = headers.get("content-length")
        if method == "HEAD" or status in _NO_BODY:
            body = b""
        elif coding is not None:
            body = yield from self._chunked(coding)
            keep = keep and length is None
        elif length is not None:
            body = yield from self._exactly(_length(length))
        else:
            body, keep = (yield from self._to_the_end()), False
        self.response = Response(status, headers, body)
        self.keep = keep and not self._buffer
        yield True

    def _more(self) -> Iterator[bool]:
        """Wait for more bytes."""
        if self._ended:
            raise AnswerLost("connection_closed")
        yield False

    def _until_mark(self, mark: bytes, limit: int) -> Generator[bool, None, str]:
        """Take the text before a mark, and the mark."""
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) > limit:
                raise AnswerLost("malformed_answer")
            yield from self._more()
        text = self._buffer[:end].decode("latin-1")
        self._buffer = self._buffer[end + len(mark) :]
        return text

    def _exactly(self, size: int) -> Generator[bool, None, bytes]:
        while len(self._buffer) < size:
            yield from self._more()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _head(self) -> Generator[bool, None, tuple[int, bool, dict[str, str]]]:
        first, *lines = (yield from self._until_mark(b"\r\n\r\n", MAX_HEAD)).split("\r\n")
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

    def _chunked(self, coding: str) -> Generator[bool, None, bytes]:
        if coding.lower() != "chunked":
            raise AnswerLost("malformed_answer")
        chunks: list[bytes] = []
        room = MAX_BODY
        while True:
            size_text = _CHUNK_SIZE.match((yield from self._until_mark(b"\r\n", MAX_HEAD)))
            if size_text is None:
                raise AnswerLost("malformed_answer")
            size = int(size_text[1], 16)
            room -= size
            if room < 0:
                raise AnswerLost("answer_too_large")
            if size == 0:
                break
            chunks.append((yield from self._exactly(size)))
            if (yield from self._exactly(2)) != b"\r\n":
                raise AnswerLost("malformed_answer")
        while (yield from self._until_mark(b"\r\n", MAX_HEAD)):
            continue  # trailers
        return b"".join(chunks)

    def _to_the_end(self) -> Generator[bool, None, bytes]:
        while not self._ended:
            if len(self._buffer) > MAX_BODY:
                raise AnswerLost("answer_too_large")
            yield False
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
