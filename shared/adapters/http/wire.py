"""Many exchanges at a time by one thread, on connections that are open already.

A thread of its own for each call costs three times what the call itself does. It is woken, waits for the interpreter's
lock at each system call, and hands its result back. Here one thread writes a window's requests at their slots and reads
the answers as they come. It opens no connection, as name look-up, TCP and TLS may take seconds. If a call finds no open
connection, `HttpClient` makes it in a thread, and the next call finds that connection here.

The rules for requests in `http` hold here: each is written once, and the errors mean the same.
"""

import selectors
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from types import TracebackType
from typing import Final, Self

from shared.adapters.http.answer import WireAnswer
from shared.adapters.http.transport import JOIN, RECV, Connection, HttpClient, Origin, head_of, parse
from shared.domain.content.streams import size_of, whole
from shared.domain.times import Seconds
from shared.ports import AnswerLost, NoTime, Response, WireRequest

FRESH: Final = 0.001
"""Seconds for which the idle connections count as looked at: a close takes longer on its way."""
TICK: Final = 0.001
"""Seconds: what a selector can tell apart; shorter waits are slept."""
_READ: Final = selectors.EVENT_READ
_BOTH: Final = selectors.EVENT_READ | selectors.EVENT_WRITE
_LATER: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Exchange:
    """A request that was written, at least in part, and its answer.

    Attributes:
        rest: what is not written yet.
        until: Unix seconds by which it ends.
        whole: false if the server stopped listening half way.
    """

    __slots__ = ("_done", "_failure", "_reader", "rest", "until", "whole")

    def __init__(
        self, answer: WireAnswer, data: bytes, until: Seconds, done: Callable[[Response | AnswerLost], None]
    ) -> None:
        self._done = done
        self._reader = answer
        self._failure: AnswerLost | None = None
        self.rest = memoryview(data)
        self.until = until
        self.whole = True

    @property
    def clean(self) -> bool:
        """Whether the connection can be used again."""
        return self._failure is None and self.whole and not self.rest and self._reader.keep

    def write(self, connection: Connection) -> bool:
        """Write what the socket takes; False if it took nothing."""
        try:
            self.rest = self.rest[connection.sock.send(self.rest) :]
        except _LATER:
            return False
        except OSError:
            self.rest = self.rest[:0]
            self.whole = False  # its answer may be there to read
            return False
        return True

    def read(self, connection: Connection) -> bool:
        """Read what is there; True if that ends the exchange."""
        try:
            while not self._reader.feed(connection.sock.recv(RECV)):
                if connection.is_used_up:
                    return False
        except _LATER:
            return False
        except AnswerLost as error:
            self._failure = error
        except OSError:
            self._failure = AnswerLost("connection_reset")
        return True

    def expire(self) -> None:
        """Fail for want of time."""
        self._failure = AnswerLost("write_timeout" if self.rest else "read_timeout")

    def tell(self) -> None:
        """Hand the answer over."""
        self._done(self._failure or self._reader.response)


@dataclass(slots=True)
class _Pool:
    """Open connections of one client to one origin that wait for a request."""

    client: HttpClient
    origin: Origin
    idle: deque[Connection] = field(default_factory=deque)


class HttpWire:
    """Implements `ports.Wire` over a client's connections, which it gives back at its end. For one thread."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._clock = client.clock
        self._now = client.now
        self._selector = selectors.DefaultSelector()
        self._pools: dict[tuple[HttpClient, Origin], _Pool] = {}
        self._open: dict[Connection, tuple[_Pool, _Exchange]] = {}
        self._soonest = inf
        self._looked = 0.0

    def begin(
        self,
        request: WireRequest,
        done: Callable[[Response | AnswerLost], None],
        client: HttpClient | None = None,
    ) -> bool:
        """Write a request on a connection that is open; False, and nothing was written, if there is none to trust.

        False also for bodies too long to be copied.

        Args:
            done: called with the answer once, while this thread rests.
            client: whose connection; None: the wire's own.

        Raises:
            NoTime: the deadline has passed; nothing was written.
            ValueError: the URL or a header cannot be written.
        """
        origin, target, host = parse(request.url)
        length = size_of(request.body)
        head = head_of(request.method, target, host, request.headers, length)
        pool = self._pool(client or self._client, origin)
        connection = self._take(pool) if length <= JOIN else None
        if connection is None:
            return False
        now = self._now()
        if now >= request.deadline:
            pool.idle.append(connection)
            raise NoTime("deadline")
        until = min(request.deadline, now + pool.client.read_timeout)
        answer = WireAnswer(request.method, pool.client.max_body)
        exchange = _Exchange(answer, head + whole(request.body), until, done)
        if not exchange.write(connection) and not connection.tls:  # TLS may have written before it fails
            self._drop(connection)
            return False
        self._open[connection] = (pool, exchange)
        self._soonest = min(self._soonest, until)
        if exchange.rest:
            self._selector.modify(connection.sock, _BOTH, connection)
        return True

    def rest(self, until: Seconds) -> None:
        """Wait for a moment, Unix seconds, and read what comes meanwhile."""
        if self._now() - self._looked > FRESH:
            self._look(0)
        while (left := until - self._now()) > 0:
            if self._busy and left >= TICK:
                self._look(left - TICK)
            else:
                self._clock.sleep(left)

    def join(self) -> None:
        """Wait for all answers."""
        while self._busy:
            self._look(None)

    @property
    def _busy(self) -> bool:
        """Whether something is waited for."""
        return bool(self._open)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        """Wait for all answers, and give the connections back."""
        try:
            self.join()
        finally:
            for connection in self._open:
                connection.close()
            self._selector.close()
            for pool in self._pools.values():
                for connection in pool.idle:
                    pool.client.keep(pool.origin, connection)

    def _pool(self, client: HttpClient, origin: Origin) -> _Pool:
        key = (client, origin)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _Pool(client, origin)
        return pool

    def _take(self, pool: _Pool) -> Connection | None:
        while pool.idle:
            connection = pool.idle.pop()
            now = self._now()
            fresh = now - connection.idle_since <= pool.client.idle
            if fresh and (now - self._looked <= FRESH or connection.is_quiet()):
                return connection
            self._drop(connection)
        taken = pool.client.take(pool.origin)
        if taken is not None:
            taken.sock.setblocking(False)
            self._selector.register(taken.sock, _READ, taken)
        return taken

    def _drop(self, connection: Connection) -> None:
        self._selector.unregister(connection.sock)
        connection.close()

    def _look(self, longest: float | None) -> None:
        """Wait for something to happen, `longest` seconds at the most, and see to all that has."""
        now = self._now()
        left = max(0.0, self._soonest - now)
        timeout = left if longest is None else min(left, longest)
        ready = [key.data for key, _ in self._selector.select(timeout if timeout != inf else None)]
        for connection in ready:
            if connection not in self._open:
                self._unasked(connection)
        self._looked = self._now()  # those that are idle still are quiet
        for connection in ready:
            held = self._open.get(connection)
            if held is not None:
                self._see_to(connection, *held)
        if self._soonest <= now:  # everything that had come by then is read
            self._expire(now)

    def _unasked(self, connection: Connection) -> None:
        """Drop a connection that was closed while it was idle, or whose server said something unasked."""
        for pool in self._pools.values():
            if connection in pool.idle:
                pool.idle.remove(connection)
        self._drop(connection)

    def _see_to(self, connection: Connection, pool: _Pool, exchange: _Exchange) -> None:
        if exchange.rest:
            exchange.write(connection)
            if not exchange.rest:
                self._selector.modify(connection.sock, _READ, connection)
        if exchange.read(connection):
            self._end(connection, pool, exchange)

    def _end(self, connection: Connection, pool: _Pool, exchange: _Exchange) -> None:
        del self._open[connection]
        if exchange.clean and connection.is_used_up:
            connection.idle_since = self._now()
            pool.idle.append(connection)
        else:
            self._drop(connection)
        exchange.tell()

    def _expire(self, now: Seconds) -> None:
        for connection, (pool, exchange) in list(self._open.items()):
            if exchange.until <= now and connection in self._open:
                exchange.expire()
                self._end(connection, pool, exchange)
        self._soonest = min((e.until for _, e in self._open.values()), default=inf)
