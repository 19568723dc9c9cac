"""Where tests cut in: calls that leave the process pass a tap, which counts them and can kill the process there."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from itertools import count
from typing import TypeVar

T = TypeVar("T")


class Crash(BaseException):
    """The process died here; no `except Exception` of the code under test sees it."""


class When(StrEnum):
    """What goes wrong with a call: no effect; an effect that nobody knows of; an effect whose lost answer a client
    below answers by making the call again."""

    BEFORE = "before"
    AFTER = "after"
    REPEATED = "repeated"


def is_store(name: str) -> bool:
    """Tell whether a call is to a store or queue, not to a provider."""
    return not name.startswith("provider.")


class Tap:
    """Counts the calls that leave the process; once armed, raises at one of them, once.

    Attributes:
        calls: the names of all calls so far.
        fired: how often it has raised.
        delay: waits as long as a call takes; that lets others go first.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fired = 0
        self.delay: Callable[[], None] = lambda: None
        self._wanted: Callable[[str], bool] | None = None
        self._when = When.BEFORE
        self._error: Callable[[], BaseException] = Crash

    def arm(
        self,
        nth: int,
        when: When = When.BEFORE,
        error: Callable[[], BaseException] = Crash,
        *,
        where: Callable[[str], bool] = lambda _name: True,
    ) -> None:
        """Raise at the `nth` call from now on (0: the next one) of those whose name `where` accepts."""
        left = count(nth, -1)
        self._wanted, self._when, self._error = (lambda name: where(name) and next(left) == 0), when, error

    def arm_at(self, name: str, when: When = When.BEFORE, error: Callable[[], BaseException] = Crash) -> None:
        """Raise at the next call of that name."""
        self.arm(0, when, error, where=lambda called: called == name)

    def disarm(self) -> None:
        """Raise no more."""
        self._wanted = None

    def __call__(self, name: str, operation: Callable[[], T]) -> T:
        """Make a call."""
        self.delay()
        here = self._wanted is not None and self._wanted(name)
        self.calls.append(name)
        if here:
            self._wanted = None
            self.fired += 1
            if self._when is When.BEFORE:
                raise self._error()
        result = operation()
        if here and self._when is When.REPEATED:
            return operation()
        if here:
            raise self._error()
        return result


class Atomic:
    """Makes the calls to one store in memory, each under its lock. `store`: what their names begin with."""

    def __init__(self, store: str, lock: AbstractContextManager[object], tap: Tap) -> None:
        self._store = store
        self._lock = lock
        self._tap = tap

    def __call__(self, name: str, operation: Callable[[], T]) -> T:
        """Make a call."""

        def step() -> T:
            with self._lock:
                return operation()

        return self._tap(f"{self._store}.{name}", step)
