"""Posts to URLs that strangers choose: resolved once, checked, connected to that very address, bounded in everything.

- Every address that the name resolves to must be public (`domain.hooks.addresses`). The connection is made to one of
  the checked addresses, so a second answer of the name server changes nothing. TLS verifies the URL's name.
- `until` bounds everything together: look-up, connection, TLS, request and answer, however slowly the bytes arrive.
- No redirect is followed, no cookie kept, no proxy used. An answer's head may have 16 KB. Of its body the first 1 KB is
  kept, and the rest is not read.

A connection is used again only for the same place, and for at most `LIFE_SECONDS` after its address was checked. If
such a connection fails before the first byte of an answer, the request is repeated on a new connection. So deliveries
arrive at least once, and a repeated one has the same id.
"""

import socket
import ssl
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Final

from shared.adapters.http.brief import BriefAnswer, retry_after
from shared.adapters.http.connect import connect_code, dial, time_left
from shared.adapters.http.transport import IDLE_SECONDS, RECV, Connection, head_of
from shared.domain.hooks.addresses import HookPlace, UrlRefused, may_call_all, parse_url
from shared.domain.times import Seconds
from shared.ports import Clock, HookAnswer, HookClient, HookUnreachable

CONNECT_SECONDS: Final = 5.0
"""For TCP and TLS to all addresses together, within `until`."""
BODY_SECONDS: Final = 1.0
"""How long the body's first bytes are waited for once the status is known."""
LIFE_SECONDS: Final = 10.0
MAX_IDLE: Final = 64
"""Idle connections of a process; the one that was used the longest ago is closed first."""
MAX_TRIED: Final = 4
"""Addresses of one name that are tried."""

Resolve = Callable[[str, int], Sequence[str]]
Secure = Callable[[socket.socket], socket.socket]
Connect = Callable[[str, int, float, Callable[[], float], Secure], socket.socket]


def resolve(host: str, port: int) -> Sequence[str]:
    """Return all addresses of a name, each once, in the resolver's order.

    Args:
        port: of the server.

    Raises:
        OSError: the name cannot be resolved.
        UnicodeError: a label that no DNS name can have.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class GuardedClient(HookClient):
    """Implements `ports.HookClient`. Safe for any number of threads.

    Args:
        clock: by which `until` is judged.
        local: whether this is the local cloud, which may call its own machine by http.
        resolve: returns all addresses of a name.
        connect: opens a connection to an address; the arguments are those of `dial`.
        context: TLS settings; the default verifies certificates and names.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        local: bool = False,
        resolve: Resolve = resolve,
        connect: Connect = dial,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._now = clock.now
        self._local = local
        self._resolve = resolve
        self._connect = connect
        self._given = context
        self._idle = _Idle()

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        """Post once and return the answer, whether its status is a success or not."""
        try:
            place = parse_url(url, local=self._local)
        except UrlRefused:
            raise HookUnreachable("url_refused") from None
        request = head_of("POST", place.target, place.header, headers, len(body)) + body
        began = self._now()
        try:
            return self._post(place, request, began, until)
        except HookUnreachable as error:
            error.ms = max(0, round((self._now() - began) * 1000))
            raise

    def close(self) -> None:
        """Close all idle connections; the client can be used afterwards."""
        self._idle.close()

    def _post(self, place: HookPlace, request: bytes, began: float, until: Seconds) -> HookAnswer:
        held = self._idle.take(place, began)
        if held is not None:
            try:
                return self._exchange(place, held, request, began, until)
            except _Unanswered:
                pass  # closed by the server meanwhile
        try:
            return self._exchange(place, self._open(place, until), request, began, until)
        except _Unanswered:
            raise HookUnreachable("connection_closed") from None

    def _open(self, place: HookPlace, until: Seconds) -> "_Checked":
        """Connect to the first of the name's checked addresses that answers."""
        addresses = self._addresses(place, until)
        checked_at = self._now()
        if not may_call_all(addresses, local=self._local and not place.tls):
            raise HookUnreachable("address_refused")

        def secure(sock: socket.socket) -> socket.socket:
            return self._tls.wrap_socket(sock, server_hostname=place.host) if place.tls else sock

        until = min(until, checked_at + CONNECT_SECONDS)
        tried = addresses[:MAX_TRIED]
        failure: OSError | UnicodeError = TimeoutError()
        for n, address in enumerate(tried):
            now = self._now()
            if now >= until:
                break
            try:
                sock = self._connect(address, place.port, now + (until - now) / (len(tried) - n), self._now, secure)
            except (OSError, UnicodeError) as error:
                failure = error
            else:
                return _Checked(Connection(sock, tls=place.tls), checked_at)
        raise HookUnreachable(connect_code(failure))

    def _addresses(self, place: HookPlace, until: Seconds) -> Sequence[str]:
        """Resolve the name in a thread of its own: the system's resolver cannot be cut short."""
        found: SimpleQueue[Sequence[str] | None] = SimpleQueue()

        def look_up() -> None:
            try:
                found.put(self._resolve(place.host, place.port))
            except (OSError, UnicodeError):
                found.put(None)

        threading.Thread(target=look_up, daemon=True).start()
        try:
            addresses = found.get(timeout=max(0.0, until - self._now()))
        except Empty:
            addresses = None
        if addresses is None:
            raise HookUnreachable("dns")
        return addresses

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given or ssl.create_default_context()

    def _exchange(
        self, place: HookPlace, checked: "_Checked", request: bytes, began: float, until: Seconds
    ) -> HookAnswer:
        """Write the request and read as much of the answer as is kept.

        Args:
            checked: the connection, which is kept or closed in any case.
            request: head and body.
            began: Unix seconds of the delivery's beginning.
            until: Unix seconds by which the exchange ends.

        Raises:
            _Unanswered: the connection ended before the first byte of an answer.
            HookUnreachable: no answer.
        """
        connection = checked.connection
        reader = BriefAnswer()
        keep = False
        try:
            self._write(connection.sock, request, until)
            headed_at = self._read_head(connection.sock, reader, until)
            self._read_body(connection.sock, reader, min(until, headed_at + BODY_SECONDS))
            keep = reader.keep and connection.is_used_up
            return HookAnswer(
                status=reader.status,
                ms=max(0, round((headed_at - began) * 1000)),
                text=reader.text,
                retry_after=retry_after(reader.headers.get("retry-after", ""), headed_at),
            )
        finally:
            if keep:
                connection.idle_since = self._now()
                self._idle.keep(place, checked)
            else:
                connection.close()

    def _write(self, sock: socket.socket, request: bytes, until: Seconds) -> None:
        """Write all; a server may answer and close before it has read everything, so a broken pipe is no failure."""
        rest = memoryview(request)
        while rest:
            try:
                sock.settimeout(time_left(until, self._now))
                rest = rest[sock.send(rest) :]
            except TimeoutError:
                raise HookUnreachable("read_timeout") from None
            except OSError:
                return

    def _read_head(self, sock: socket.socket, reader: BriefAnswer, until: Seconds) -> float:
        """Read until the status is known; return when that was."""
        while not reader.headed:
            try:
                sock.settimeout(time_left(until, self._now))
                data = sock.recv(RECV)
            except TimeoutError:
                raise HookUnreachable("read_timeout") from None
            except OSError:
                data = b""
            if not data:
                if not reader.size:
                    raise _Unanswered
                raise HookUnreachable("connection_closed")
            reader.feed(data)
        return self._now()

    def _read_body(self, sock: socket.socket, reader: BriefAnswer, until: Seconds) -> None:
        """Read the kept part of the body. An error changes nothing from here on: the status counts."""
        while not reader.enough:
            try:
                sock.settimeout(time_left(until, self._now))
                data = sock.recv(RECV)
                if not data:
                    return
                reader.feed(data)
            except (OSError, HookUnreachable):
                return


class _Unanswered(Exception):
    """The connection ended before the first byte of an answer."""


class _Checked:
    """A connection, and the Unix seconds at which its address was checked."""

    __slots__ = ("at", "connection")

    def __init__(self, connection: Connection, at: float) -> None:
        self.connection = connection
        self.at = at


class _Idle:
    """Connections that can be used again, the latest used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[int, tuple[tuple[str, int, bool], _Checked]] = OrderedDict()
        self._count = 0

    def take(self, place: HookPlace, now: Seconds) -> _Checked | None:
        """Take out a connection to a place that may still be used; None if there is none."""
        key = (place.host, place.port, place.tls)
        while (checked := self._pop(key)) is not None:
            connection = checked.connection
            if (
                now - checked.at <= LIFE_SECONDS
                and now - connection.idle_since <= IDLE_SECONDS
                and connection.is_quiet()
            ):
                return checked
            connection.close()
        return None

    def keep(self, place: HookPlace, checked: _Checked) -> None:
        """Keep a connection, in place of the oldest if there are too many."""
        oldest = None
        with self._lock:
            self._count += 1
            self._held[self._count] = ((place.host, place.port, place.tls), checked)
            if len(self._held) > MAX_IDLE:
                _, (_, oldest) = self._held.popitem(last=False)
        if oldest is not None:
            oldest.connection.close()

    def close(self) -> None:
        """Close all."""
        with self._lock:
            held, self._held = self._held, OrderedDict()
        for _, checked in held.values():
            checked.connection.close()

    def _pop(self, key: tuple[str, int, bool]) -> _Checked | None:
        with self._lock:
            for number in reversed(self._held):
                if self._held[number][0] == key:
                    return self._held.pop(number)[1]
        return None
