"""Reading the beginning of an HTTP/1.1 answer (RFC 9112): all of its head, and the first bytes of its body."""

import re
from email.utils import parsedate_to_datetime
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from shared.domain.times import Seconds
from shared.ports import HookUnreachable

HEAD_BYTES: Final = 16 * 1024
BODY_BYTES: Final = 1024
_FINAL: Final = 200
"""Answers below this status are interim."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SECONDS: Final = re.compile(r"[0-9]{1,9}")


class BriefAnswer:
    """The head of one answer (RFC 9112) and the first bytes of its body. The methods `on_…` are llhttp's callbacks.

    Attributes:
        headed: whether the final status is known.
        enough: whether nothing more is read.
        keep: whether the answer is read to its end and the connection can be used again.
        size: bytes fed.
    """

    def __init__(self) -> None:
        self.headed = False
        self.enough = False
        self.keep = False
        self.size = 0
        self.status = 0
        self.headers: dict[str, str] = {}
        self._body = b""
        self._parser: HttpResponseParser = HttpResponseParser(self)

    @property
    def text(self) -> str:
        """The part of the body that is kept, as text without control characters."""
        return _CONTROL.sub("\ufffd", self._body.decode("utf-8", "replace"))

    def feed(self, data: bytes) -> None:
        """Take what has arrived.

        Raises:
            HookUnreachable: it is no answer.
        """
        self.size += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.enough, self.keep = True, False
            if not self.headed:
                raise HookUnreachable("malformed_answer") from None
        if not self.headed and self.size > HEAD_BYTES:
            raise HookUnreachable("malformed_answer")
        if self.size > HEAD_BYTES + BODY_BYTES:
            self.enough, self.keep = True, False

    def on_message_begin(self) -> None:
        """Note that something follows the final answer: the connection cannot be used again."""
        if self.headed:
            self.keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows the last chunk is ignored."""
        if not self.headed:
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        """End a head; that of an interim answer is forgotten."""
        if self.headed:
            return
        status = self._parser.get_status_code()
        if status < _FINAL:
            self.headers = {}
            return
        self.headed, self.status = True, status

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._body += data[: BODY_BYTES - len(self._body)]
        if len(self._body) >= BODY_BYTES:
            self.enough = True

    def on_message_complete(self) -> None:
        """End the answer, unless it was an interim one."""
        if self.headed:
            self.enough = True
            self.keep = self._parser.should_keep_alive()


def retry_after(value: str, now: Seconds) -> int:
    """Return the milliseconds that a `Retry-After` header asks for; 0 if it asks for none that can be read.

    Args:
        value: of the header: seconds, or a date.
    """
    if _SECONDS.fullmatch(value):
        return int(value) * 1000
    try:
        return max(0, round((parsedate_to_datetime(value).timestamp() - now) * 1000))
    except (ValueError, OverflowError):
        return 0
