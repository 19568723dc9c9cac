"""Calls side by side, whose results are taken in the order in which they end."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from shared.engine.pool import Pending, Pool

T = TypeVar("T")


class CompletionPool(Pool, Protocol):
    """A pool that says which calls have ended."""

    def ended(self) -> Sequence[Pending[Any]]:
        """Return the calls that have ended since it was last asked; wait for one if none has.

        At least one call that was not returned yet must have begun.
        """


class ThreadCompletionPool(ThreadPoolExecutor):
    """`CompletionPool` of threads, at most so many; each begins with a call for which no other is free."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._ended: SimpleQueue[Future[Any]] = SimpleQueue()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Begin a call of `fn` with these arguments."""
        call: Future[T] = super().submit(fn, *args, **kwargs)
        call.add_done_callback(self._ended.put)
        return call

    def ended(self) -> Sequence[Pending[Any]]:
        """Return the calls that have ended since it was last asked; wait for one if none has."""
        found = [self._ended.get()]
        while True:
            try:
                found.append(self._ended.get_nowait())
            except Empty:
                return found
