"""A transport that makes each request exactly once and says truly whether it may have arrived.

```
NotSent              not a byte of the request was written: refused, dns, tls, connect time-out, unreachable
└── NoTime           the deadline had passed before the first byte
AnswerLost           at least one byte was written and no complete answer came: the provider may have acted on it
```

It never repeats a request, follows no redirect, and speaks HTTP/1.1 (RFC 9112) on sockets of its own. Httptools parses
the answers. Clients such as urllib3 do not say whether a byte was written, or repeat requests by themselves. There is
only one second try: an idle connection that turns out to be closed before a byte was written is replaced.

Codes (`str(error)`) are stable snake_case; addresses and bodies never appear in them.
"""

import re
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from shared.adapters.http.answer import MAX_BODY, WireAnswer
from shared.adapters.http.connect import connect_code, dial, time_left
from shared.domain.content.streams import Body, size_of, whole
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import AnswerLost, Clock, Http, NoTime, NotSent, Response

CONNECT_TIMEOUT: Final = 3.0
"""Seconds for DNS, TCP and TLS together: a provider in good health takes under 0.3 s."""
READ_TIMEOUT: Final = 30.0
"""Seconds from the first byte written to the whole answer, if the deadline is later still."""
IDLE_SECONDS: Final = 4.0
"""Reuse no connection that was idle for longer: common servers close theirs after 5 s (uvicorn, Node, Apache). A
request that crosses such a close on the wire would be `AnswerLost`. It also covers sandboxes that were frozen."""
MAX_IDLE: Final = 512
"""Idle connections kept per origin; more are closed."""
RECV: Final = 16 * 1024
JOIN: Final = 64 * 1024
"""Up to this size head and body leave in one piece; longer bodies are not copied, as hundreds may be in flight."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a connection leads."""

    host: str
    port: int
    tls: bool


_UNPRINTABLE: Final = re.compile(r"[^\x21-\x7e]")


@lru_cache(maxsize=256)
def parse(url: str) -> tuple[Origin, str, str]:
    """Return origin, request target and Host value; ValueError if the URL cannot be requested."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an absolute http(s) URL")
    if _UNPRINTABLE.search(url):
        raise ValueError("a URL must be printable ASCII")
    tls = parts.scheme == "https"
    standard = 443 if tls else 80
    port = parts.port or standard
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Origin(parts.hostname, port, tls), target, name if port == standard else f"{name}:{port}"


class Connection:
    """One socket. `idle_since`: Unix seconds of its last answer."""

    __slots__ = ("idle_since", "poll", "sock", "tls")

    def __init__(self, sock: socket.socket, *, tls: bool) -> None:
        self.sock = sock
        self.tls = tls
        self.idle_since = 0.0
        self.poll = select.poll()
        self.poll.register(sock, select.POLLIN | select.POLLERR | select.POLLHUP)

    def is_quiet(self) -> bool:
        """Tell whether the server neither closed it nor said anything unasked (a 408, a TLS alert)."""
        return not self.poll.poll(0)

    @property
    def is_used_up(self) -> bool:
        """Tell whether there is nothing left to read that has been received (TLS)."""
        return not isinstance(self.sock, ssl.SSLSocket) or not self.sock.pending()

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()


class _ClosedUnwritten(Exception):
    """The connection was gone before the first byte."""


class HttpClient(Http):
    """A pool of keep-alive connections, the latest used first. Safe for any number of threads.

    `take` and `keep` are for others that exchange on its connections, as `http_wire` does.
    DNS look-ups are the system resolver's and cannot be cut short; the deadline is checked again after them.

    Args:
        clock: by which deadlines are judged.
        connect_timeout: seconds for DNS, TCP and TLS together.
        read_timeout: seconds for writing and the whole answer.
        idle: seconds for which a connection without a request may be used again.
        max_body: bytes of the largest answer that is read.
        context: TLS settings; the default verifies certificates and names.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
        idle: float = IDLE_SECONDS,
        max_body: int = MAX_BODY,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.clock = clock
        self.now = clock.now
        self._connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self.idle = idle
        self.max_body = max_body
        self._context = context
        self._lock = threading.Lock()
        self._idle: dict[Origin, deque[Connection]] = {}

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds) -> Response:
        """Make one request and return the answer, whether its status is a success or not.

        Raises:
            NoTime: the deadline had passed before the first byte.
            NotSent: no byte was written; see the module's docstring.
            AnswerLost: written, wholly or in part, and no complete answer came.
            ValueError: the URL or a header cannot be written; nothing was sent.
        """
        origin, target, host = parse(url)
        head = head_of(method, target, host, headers, size_of(body))
        connection = self.take(origin)
        if connection is not None:
            try:
                return self._exchange(origin, connection, method, head, body, deadline)
            except _ClosedUnwritten:
                pass  # replaced by a new one: nothing was written
        try:
            return self._exchange(origin, self._connect(origin, deadline), method, head, body, deadline)
        except _ClosedUnwritten:
            raise NotSent("connection_closed") from None

    def close(self) -> None:
        """Close all idle connections; the client can be used afterwards."""
        for pool in self._idle.values():
            while pool:
                pool.pop().close()

    def take(self, origin: Origin) -> Connection | None:
        """Take out an idle connection that may be trusted; the caller keeps or closes it."""
        pool = self._idle.get(origin)
        while pool:
            try:
                connection = pool.pop()
            except IndexError:  # another thread took the last one
                return None
            if self.now() - connection.idle_since <= self.idle and connection.is_quiet():
                return connection
            connection.close()
        return None

    def keep(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection that is idle since `idle_since`."""
        pool = self._idle.get(origin)
        if pool is None:
            pool = self._idle.setdefault(origin, deque())
        if len(pool) < MAX_IDLE:
            pool.append(connection)
        else:
            connection.close()

    def _connect(self, origin: Origin, deadline: Seconds) -> Connection:
        """Open a connection; every failure is NotSent, and NoTime if it was the deadline that cut it short."""
        now = self.now()
        if now >= deadline:
            raise NoTime("deadline")
        until = min(deadline, now + self._connect_timeout)
        try:
            sock = self._dial(origin, until)
        except (OSError, UnicodeError) as error:
            if isinstance(error, TimeoutError) and self.now() >= deadline:
                raise NoTime("deadline") from None
            raise NotSent(connect_code(error)) from None
        return Connection(sock, tls=origin.tls)

    def _dial(self, origin: Origin, until: Seconds) -> socket.socket:
        def secure(sock: socket.socket) -> socket.socket:
            return self._tls().wrap_socket(sock, server_hostname=origin.host) if origin.tls else sock

        return dial(origin.host, origin.port, until, self.now, secure)

    def prepare(self) -> None:
        """Load the certificates that TLS trusts, some 20 ms, before a request waits for them."""
        self._tls()

    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self._context = ssl.create_default_context()
            return self._context

    def _exchange(
        self,
        origin: Origin,
        connection: Connection,
        method: str,
        head: bytes,
        body: Body,
        deadline: Seconds,
    ) -> Response:
        """Write the request and read its answer; the connection is always kept or closed."""
        reusable = False
        try:
            now = self.now()
            if now >= deadline:
                raise NoTime("deadline")
            until = min(deadline, now + self.read_timeout)
            whole = self._write(connection, head, body, until)
            answer = self._read(connection, WireAnswer(method, self.max_body), until)
            reusable = answer.keep and whole
            return answer.response
        finally:
            if not (reusable and connection.is_used_up):
                connection.close()
            else:
                connection.idle_since = self.now()
                self.keep(origin, connection)

    def _write(self, connection: Connection, head: bytes, body: Body, until: Seconds) -> bool:
        """Write everything; False if the server stopped listening half way (its answer may be there to read).

        Raises:
            _ClosedUnwritten: not one byte went out.
            AnswerLost: time ran out.
        """
        small = size_of(body) <= JOIN
        parts = (body,) if isinstance(body, bytes) else body
        pieces: Iterable[bytes] = (head + whole(body),) if small else chain((head,), parts)
        sock = connection.sock
        written = connection.tls  # TLS may have written before it fails
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                try:
                    sock.settimeout(time_left(until, self.now))
                    count = sock.send(rest)
                except TimeoutError:
                    if not written:
                        raise NoTime("deadline") from None
                    raise AnswerLost("write_timeout") from None
                except OSError:
                    if not written:
                        raise _ClosedUnwritten from None
                    return False
                written = True
                rest = rest[count:]
        return True

    def _read(self, connection: Connection, answer: WireAnswer, until: Seconds) -> WireAnswer:
        sock = connection.sock
        while True:
            try:
                sock.settimeout(time_left(until, self.now))
                data = sock.recv(RECV)
            except TimeoutError:
                raise AnswerLost("read_timeout") from None
            except OSError:
                raise AnswerLost("connection_reset") from None
            if answer.feed(data):
                return answer


def head_of(method: str, target: str, host: str, headers: Mapping[str, str], length: int) -> bytes:
    """Return a request's first line and headers. Raises ValueError if one of them is more than a line.

    Args:
        target: the path, with its query.
        host: the host, with a port that is not the default.
        length: the body's length in bytes.
    """
    lines = [f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\nContent-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) + 2 or text.count("\r") != len(lines) + 2:
        raise ValueError("a header must be one line")
    return (text + "\r\n\r\n").encode("latin-1")
