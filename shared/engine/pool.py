"""Threads for the provider calls of a lane.

A provider that blocks has a thread for each call, for the length of an answer. A provider whose calls use a wire needs
threads only to open connections, all of them in a burst. Threads outlive the leases that use them, since starting one
costs more than a call. But a thread without a call for some seconds ends, and its stack with it. A call is an entry in
a queue and a lock that is released when it is done. The standard library's executor pays for cancellation, callbacks
and waiting on many futures at each call. It also keeps its threads for ever (ADR 99). A thread without a call waits and
does nothing, so that one frozen with its sandbox is harmless. A lease ends only when all its calls have.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar, runtime_checkable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
IDLE: Final = 2.0
"""Seconds without a call after which a thread ends: longer than the pause between two leases of a lane at work."""


class Pending(Protocol[T_co]):
    """A call under way."""

    def done(self) -> bool:
        """Tell whether it has ended."""

    def result(self) -> T_co:
        """Wait for the call and return its value, or raise what it raised."""


@runtime_checkable
class SideBySide(Protocol):
    """Runs calls side by side."""

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
        """Begin a call."""


class Pool(SideBySide, Protocol):
    """Runs calls of one lease side by side; leaving it waits for all of them."""

    def __enter__(self) -> Self:
        """Return the pool."""

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for all calls."""


class _Call(Generic[T]):
    __slots__ = ("_args", "_done", "_error", "_fn", "_value")

    def __init__(self, fn: Callable[..., T], args: tuple[Any, ...]) -> None:
        self._fn = fn
        self._args = args
        self._done = threading.Lock()
        self._done.acquire()
        self._error: BaseException | None = None
        self._value: T

    def run(self) -> None:
        try:
            self._value = self._fn(*self._args)
        except BaseException as e:  # noqa: BLE001 - handed to the thread that waits for the call
            self._error = e
        finally:
            self._done.release()

    def wait(self) -> None:
        with self._done:
            return

    def done(self) -> bool:
        return not self._done.locked()

    def result(self) -> T:
        with self._done:
            if self._error is not None:
                raise self._error
            return self._value


class ThreadPool:
    """The threads of a lane: as many as calls were under way at once of late, at most what its leases asked for.

    Args:
        idle: seconds without a call after which a thread ends.
    """

    def __init__(self, idle: float = IDLE) -> None:
        self._idle = idle
        self._calls: SimpleQueue[_Call[Any]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._wanted = 0
        self._busy = 0

    def __call__(self, size: int) -> "_Turn":
        """Return a pool of at most `size` calls at once, for one lease."""
        return _Turn(self, size)

    def expect(self, threads: int) -> None:
        """Allow for so many more threads; negative when a lease ends."""
        with self._lock:
            self._wanted += threads

    def begin(self, call: _Call[Any]) -> None:
        """Hand a call to a thread, a new one if all are busy."""
        with self._lock:
            self._busy += 1
            start = self._busy > self._threads < self._wanted
            self._threads += start
        if start:
            threading.Thread(target=self._serve, name="call", daemon=True).start()
        self._calls.put(call)

    def _serve(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=self._idle)
            except Empty:
                with self._lock:
                    if self._threads > self._busy:  # each call that was begun keeps a thread
                        self._threads -= 1
                        return
                continue
            call.run()
            with self._lock:
                self._busy -= 1


class _Turn:
    """`Pool` of one lease over a lane's threads."""

    def __init__(self, crew: ThreadPool, size: int) -> None:
        self._crew = crew
        self._size = size
        self._begun: list[_Call[Any]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any) -> _Call[T]:
        """Begin a call; it waits if all threads are busy."""
        call = _Call(fn, args)
        self._begun.append(call)
        self._crew.begin(call)
        return call

    def __enter__(self) -> Self:
        self._crew.expect(self._size)
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        for call in self._begun:
            call.wait()
        self._crew.expect(-self._size)
