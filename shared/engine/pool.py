"""Threads for the provider calls of one lease.

A sender makes thousands of calls a second, each in a thread of its own for the length of an answer. The standard
library's executor pays for cancellation, callbacks and waiting on many futures at each of them; here a call is an
entry in a queue and a lock that is released when it is done.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """A call under way."""

    def result(self) -> T_co:
        """Wait for the call and return its value, or raise what it raised."""
        ...


class Pool(Protocol):
    """Runs calls side by side; leaving it waits for all of them."""

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
        """Begin a call."""
        ...

    def __enter__(self) -> Self:
        """Return the pool."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for all calls and end all threads."""
        ...


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
        except BaseException as e:  # noqa: BLE001 - handed to whoever waits for the call
            self._error = e
        finally:
            self._done.release()

    def result(self) -> T:
        with self._done:
            if self._error is not None:
                raise self._error
            return self._value


class CallPool:
    """`Pool` over at most `size` threads, started as calls come and ended when the pool is left.

    Only one thread may submit.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._begun = 0
        self._ended = 0

    def submit(self, fn: Callable[..., T], /, *args: Any) -> _Call[T]:
        """Begin a call; it waits if all threads are busy."""
        call = _Call(fn, args)
        self._begun += 1
        # An increment that two threads made at once may be lost: then there is a thread more than needed.
        if self._begun - self._ended > len(self._threads) and len(self._threads) < self._size:
            thread = threading.Thread(target=self._serve, name=f"call-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._calls.put(call)
        return call

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()
            self._ended += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()
