"""Parsing of one HTTP/1.1 answer (RFC 9112), independent of the connection that its bytes come by.

llhttp parses, by httptools: the parser of Node, so that what it refuses no vendor's own clients can read either.
"""

from functools import lru_cache
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from shared.ports import AnswerLost, Response

MAX_BODY: Final = 1 << 20
MAX_HEAD: Final = 64 * 1024
_FINAL: Final = 200
"""Answers below this status are interim."""


@lru_cache(maxsize=256)
def _lowered(name: bytes) -> str:
    return name.decode("latin-1").lower()


class WireAnswer:
    """One answer (RFC 9112) as its bytes arrive; anything except a complete and well-formed one is AnswerLost.

    The methods `on_…` are the parser's callbacks.

    Args:
        method: of the request; an answer to HEAD has no body.
        max_body: bytes of the largest body that is read.

    Attributes:
        response: the final answer, once `feed` has returned True.
        keep: whether the connection can be used again then.
    """

    __slots__ = ("_body", "_ended", "_has_body", "_headed", "_headers", "_max", "_parser", "_size", "keep", "response")

    def __init__(self, method: str, max_body: int = MAX_BODY) -> None:
        self._max = max_body
        self.response: Response
        self.keep = False
        self._ended = False
        self._has_body = method != "HEAD"
        self._headers: dict[str, str] = {}
        self._headed = False
        self._body: list[bytes] = []
        self._size = 0
        self._parser: HttpResponseParser = HttpResponseParser(self)

    def feed(self, data: bytes) -> bool:
        """Take what has arrived, nothing at the end of the stream; True if the answer is complete.

        Raises:
            AnswerLost: it is malformed or too large, or it was cut off.
        """
        if not data:
            if not self._headed or "content-length" in self._headers or "transfer-encoding" in self._headers:
                raise AnswerLost("connection_closed")
            self._end(keep=False)
            return True
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            if not self._ended:
                raise AnswerLost("malformed_answer") from None
            self.keep = False  # something else follows the answer
        if not self._ended:
            self._check()
            return False
        del self._parser  # refers to this object: neither would be freed before the next search for garbage
        return True

    def _check(self) -> None:
        """Refuse an answer that is, or is announced to be, larger than is read."""
        if not self._headed:
            if self._size > MAX_HEAD:
                raise AnswerLost("malformed_answer")
        elif self._size > MAX_HEAD + self._max or int(self._headers.get("content-length", 0)) > self._max:
            raise AnswerLost("answer_too_large")

    def _end(self, *, keep: bool) -> None:
        self._ended = True
        self.keep = keep
        self.response = Response(self._parser.get_status_code(), self._headers, b"".join(self._body))

    def on_message_begin(self) -> None:
        """Note that an answer begins: after the final one, nothing on the connection can be trusted."""
        if self._ended:
            self.keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or what follows the last chunk, which is ignored."""
        if not self._headed:
            key, text = _lowered(name), value.decode("latin-1")
            self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """End a head; that of an interim answer is forgotten."""
        if self._headed:
            return
        if self._parser.get_status_code() < _FINAL:
            self._headers = {}
            return
        self._headed = True
        if self._headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise AnswerLost("malformed_answer")
        if not self._has_body:
            self._end(keep=self._parser.should_keep_alive())

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        if not self._ended:
            self._body.append(data)
        else:
            self.keep = False

    def on_message_complete(self) -> None:
        """End an answer; after an interim one, begin the next."""
        if self._headed and not self._ended:
            self._end(keep=self._parser.should_keep_alive())
