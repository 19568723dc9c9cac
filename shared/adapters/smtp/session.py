"""One connection to an SMTP server: commands out, replies in, each by a moment in time (RFC 5321)."""

import contextlib
import ipaddress
import re
import select
import socket
import ssl
from collections.abc import Callable
from typing import Final

from shared.adapters.http.connect import time_left
from shared.domain.times import Seconds

MAX_REPLY: Final = 64 * 1024
"""Bytes of a reply; RFC 5321 4.5.3.1.5 has lines of 512, and a few of them."""
QUIT_TIMEOUT: Final = 0.1
_RECV: Final = 4096
_LINE: Final = re.compile(r"([2-5][0-9]{2})(?:([ -])(.*))?", re.DOTALL)


class Lost(Exception):
    """The conversation broke; `str(error)`: a stable snake_case code without addresses."""


class Session:
    """A connection and what is known of its server. Used by one thread at a time.

    Attributes:
        extensions: EHLO keyword in capitals → its parameters in capitals.
        used: transactions begun on it.
        dirty: the last transaction was refused half way, so the next begins with RSET.
        idle_since: Unix seconds.
    """

    __slots__ = ("_buffer", "_now", "_poll", "_sock", "dirty", "extensions", "idle_since", "used")

    def __init__(self, sock: socket.socket, now: Callable[[], float]) -> None:
        self._sock = sock
        self._now = now
        self._buffer = b""
        self._watch()
        self.extensions: dict[str, list[str]] = {}
        self.used = 0
        self.dirty = False
        self.idle_since = 0.0

    @property
    def is_tls(self) -> bool:
        """Whether the connection is private."""
        return isinstance(self._sock, ssl.SSLSocket)

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this very machine."""
        return ipaddress.ip_address(self._sock.getpeername()[0].partition("%")[0]).is_loopback

    @property
    def own_name(self) -> str:
        """Our address as a literal (RFC 5321 4.1.3): a function has no name that the DNS knows."""
        address = self._sock.getsockname()[0].partition("%")[0]
        return f"[IPv6:{address}]" if ":" in address else f"[{address}]"

    def is_quiet(self) -> bool:
        """Tell whether the server neither closed the connection nor said anything unasked (a 421)."""
        pending = isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0
        return not (self._buffer or pending or self._poll.poll(0))

    def command(self, line: str, until: Seconds) -> tuple[int, list[str]]:
        """Write one command and read its reply."""
        self.write(encode(line), until)
        return self.reply(until)

    def write(self, data: bytes, until: Seconds) -> None:
        """Write everything, or raise Lost: some of it may have been written then."""
        rest = memoryview(data)
        while rest:
            try:
                self._sock.settimeout(time_left(until, self._now))
                rest = rest[self._sock.send(rest) :]
            except TimeoutError:
                raise Lost("write_timeout") from None
            except OSError:
                raise Lost("connection_reset") from None

    def reply(self, until: Seconds) -> tuple[int, list[str]]:
        """Read one reply: its code and its lines without it; raises Lost."""
        lines: list[str] = []
        size = 0
        while True:
            text = self._line(until)
            size += len(text)
            found = _LINE.fullmatch(text)
            if found is None or size > MAX_REPLY:
                raise Lost("malformed_reply")
            lines.append(found[3] or "")
            if found[2] != "-":
                return int(found[1]), lines

    def secure(self, context: ssl.SSLContext, host: str, until: Seconds) -> None:
        """Encrypt the connection. Raises Lost.

        Bytes that the server sent in plain text after its consent may be an attacker's: the connection is refused.

        Args:
            host: the name that the server's certificate must have.
            until: Unix seconds by which the handshake must have ended.
        """
        if self._buffer:
            raise Lost("tls")
        try:
            self._sock.settimeout(time_left(until, self._now))
            self._sock = context.wrap_socket(self._sock, server_hostname=host)
        except TimeoutError:
            raise Lost("tls_timeout") from None
        except OSError:
            raise Lost("tls") from None
        self._watch()

    def close(self, *, politely: bool = False) -> None:
        """Close the connection. `politely`: say QUIT first, without waiting for the reply."""
        if politely:
            with contextlib.suppress(OSError):  # the server may have closed it before
                self._sock.settimeout(QUIT_TIMEOUT)
                self._sock.send(b"QUIT\r\n")
        self._sock.close()

    def _watch(self) -> None:
        self._poll = select.poll()
        self._poll.register(self._sock, select.POLLIN | select.POLLERR | select.POLLHUP)

    def _line(self, until: Seconds) -> str:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_REPLY:
                raise Lost("malformed_reply")
            try:
                self._sock.settimeout(time_left(until, self._now))
                data = self._sock.recv(_RECV)
            except TimeoutError:
                raise Lost("read_timeout") from None
            except OSError:
                raise Lost("connection_reset") from None
            if not data:
                raise Lost("connection_closed")
            self._buffer += data
        line, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return line.removesuffix(b"\r").decode("utf-8", "replace")


def encode(line: str) -> bytes:
    """Return a command as it is written; ValueError if it would be two."""
    if "\r" in line or "\n" in line or "\0" in line:
        raise ValueError("a command must be one line")
    return f"{line}\r\n".encode("utf-8", "replace")
