"""Steps that call stores, side by side in one thread: while one waits for its answer, the others continue.

A thread for each step costs more than its call. It is woken, waits for the interpreter's lock after each system call,
and hands its result back. Here a step is a greenlet. Code of a step is as any other. Where it makes a
request through `SteppingHttp`, the step waits on the wire, and another runs. All else that it waits for holds up the
whole thread, so it may hold no lock while it makes a request.
"""

import socket
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappop, heappush
from itertools import count
from threading import Thread
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from greenlet import getcurrent, greenlet

from shared.adapters.http.transport import Connection, HttpClient
from shared.adapters.http.wire import HttpWire
from shared.domain.content.streams import Body
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, WireRequest

T = TypeVar("T")
_READ: Final = 1


class _Step(greenlet, Generic[T]):
    """A step under way. Implements `Pending`, for the thread of its wire.

    Attributes:
        wire: on which it waits.
        caller: the greenlet that began it, and has the others continue.
    """

    def __init__(self, wire: "SteppingWire", fn: Callable[..., T], args: tuple[Any, ...]) -> None:
        self.caller = getcurrent()
        super().__init__(parent=self.caller)
        self.wire = wire
        self._fn = fn
        self._args = args
        self._value: T
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._value = self._fn(*self._args)
        except BaseException as e:  # noqa: BLE001 - handed to the one who waits for the step
            self._error = e

    def wait(self) -> Any:
        """Let the others run; returns what this step is woken with."""
        return self.caller.switch()

    def done(self) -> bool:
        return self.dead

    def result(self) -> T:
        self.wire.finish(self)
        if self._error is not None:
            raise self._error
        return self._value


class SteppingWire(HttpWire):
    """A wire that also runs steps."""

    def __init__(self, client: HttpClient) -> None:
        super().__init__(client)
        self._timers: list[tuple[Seconds, int, _Step[Any]]] = []
        self._number = count()
        self._aside = 0
        """Requests that threads make."""
        self._threads: list[Thread] = []
        self._answered: deque[tuple[_Step[Any], Response | Exception]] = deque()
        """Their answers and faults; threads append."""
        self._wake: tuple[socket.socket, socket.socket] | None = None

    def submit(self, fn: Callable[..., T], /, *args: Any) -> _Step[T]:
        """Begin a step: it runs until it waits for an answer for the first time."""
        step = _Step(self, fn, args)
        step.switch()
        return step

    def finish(self, step: _Step[Any]) -> None:
        """Wait for the end of a step, and let others run meanwhile."""
        while not step.dead:
            self._look(None)

    def request(self, step: _Step[Any], client: HttpClient, request: WireRequest) -> Response:
        """Make a request of a step, which waits for its answer; see `Http.request`."""
        if not self.begin(request, step.switch, client):
            self._begin_aside(step, client, request)
        answer: Response | Exception = step.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(self, step: _Step[Any], seconds: float) -> None:
        """Have a step wait."""
        heappush(self._timers, (self._now() + seconds, next(self._number), step))
        step.wait()

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        """Wait for all answers and steps, and give the connections back."""
        try:
            super().__exit__(kind, e, trace)
        finally:
            for thread in self._threads:  # each has answered
                thread.join()
            for end in self._wake or ():
                end.close()

    @property
    def _busy(self) -> bool:
        return bool(self._open or self._timers or self._aside)

    def _look(self, longest: float | None) -> None:
        if self._timers:
            left = max(0.0, self._timers[0][0] - self._now())
            longest = left if longest is None else min(left, longest)
        super()._look(longest)
        while self._timers and self._timers[0][0] <= self._now():
            heappop(self._timers)[2].switch()

    def _begin_aside(self, step: _Step[Any], client: HttpClient, request: WireRequest) -> None:
        """Have a thread make a request: to open a connection may take seconds."""
        if self._wake is None:
            self._wake = socket.socketpair()
            self._selector.register(self._wake[0], _READ, self._wake[0])
        self._aside += 1
        thread = Thread(target=self._make, args=(step, client, request, self._wake[1]), name="step", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _make(self, step: _Step[Any], client: HttpClient, request: WireRequest, wake: socket.socket) -> None:
        answer: Response | Exception
        try:
            answer = client.request(
                request.method, request.url, headers=request.headers, body=request.body, deadline=request.deadline
            )
        except Exception as fault:  # noqa: BLE001 - raised in the step
            answer = fault
        self._answered.append((step, answer))
        wake.send(b"x")

    def _unasked(self, connection: Connection | socket.socket) -> None:
        if isinstance(connection, Connection):
            return super()._unasked(connection)
        connection.recv(4096)
        while self._answered:
            step, answer = self._answered.popleft()
            self._aside -= 1
            step.switch(answer)
        return None


class SteppingHttp(Http):
    """Makes the requests of a step on its wire, and all others as its client does. Safe for threads."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds) -> Response:
        """Make one request; see `Http.request`."""
        step = getcurrent()
        if isinstance(step, _Step):
            return step.wire.request(step, self._client, WireRequest(method, url, headers, body, deadline))
        return self._client.request(method, url, headers=headers, body=body, deadline=deadline)

    def close(self) -> None:
        """Close all idle connections; the client can be used afterwards."""
        self._client.close()


def sleep(clock: Clock, seconds: float) -> None:
    """Wait some seconds; where a step waits, others run."""
    step = getcurrent()
    if isinstance(step, _Step):
        step.wire.sleep(step, seconds)
    else:
        clock.sleep(seconds)


def sleeper(clock: Clock) -> Callable[[float], None]:
    """Return what waits some seconds, as `sleep`."""
    return partial(sleep, clock)
