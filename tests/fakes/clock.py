"""Time that moves only when everybody waits, and a thread pool that lives in it.

Outside `FakeClock.run` a sleep just moves the time. Inside, each piece of work is an actor, of which exactly one runs
at a time: the one that wakes first. So whatever the number of workers, a run is deterministic and takes no real time.
An actor is a greenlet: to give it a turn takes no call to the system, as to wake a thread does.
"""

import heapq
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Generic, Self, TypeVar

from greenlet import getcurrent, greenlet

from shared.engine.pool import Pending
from tests.fakes.faults import Crash

T = TypeVar("T")
START = 1_790_000_000.0


class _Actor(greenlet):
    """One piece of work of a run. Its parent, which goes on where it waits and when it ends, is the run's loop."""

    def __init__(self, clock: "FakeClock", work: Callable[[], Any], loop: greenlet) -> None:
        super().__init__(parent=loop)
        self.clock = clock
        self.work = work
        self.loop = loop
        self.result: Any = None
        self.failure: BaseException | None = None
        self.done = False
        self.waiting: list[_Actor] = []

    def run(self) -> None:
        try:
            self.result = self.work()
        except BaseException as e:  # noqa: BLE001 - handed to whoever waits for the actor
            self.failure = e
        self.done = True
        while self.waiting:
            self.clock._wake(self.waiting.pop(0), self.clock.now())


class FakeClock:
    """A clock for tests; see the module."""

    def __init__(self, start: float = START) -> None:
        self._now = start
        self._lock = threading.Lock()
        self._heap: list[tuple[float, int, _Actor]] = []
        self._order = count()

    def now(self) -> float:
        """Return the time, Unix seconds."""
        return self._now

    @property
    def ms(self) -> int:
        """The time in Unix milliseconds."""
        return int(self._now * 1000)

    def advance(self, seconds: float) -> None:
        """Move the time."""
        with self._lock:
            self._now += max(0.0, seconds)

    def sleep(self, seconds: float) -> None:
        """Wait; in a run, others go on meanwhile."""
        if seconds <= 0:
            return
        actor = _current(self)
        if actor is None:
            self.advance(seconds)
            return
        self._wake(actor, self._now + seconds)
        actor.loop.switch()

    def run(self, *work: Callable[[], T]) -> list[T | Crash]:
        """Do all work side by side and return its results, in order; a Crash is a result, other errors are raised."""
        actors = [self._spawn(w, getcurrent()) for w in work]
        while self._heap:
            when, _, actor = heapq.heappop(self._heap)
            self._now = max(self._now, when)
            actor.switch()
        out: list[T | Crash] = []
        for actor in actors:
            if not actor.done:
                raise AssertionError("an actor waits for something that nobody does")
            if actor.failure is not None and not isinstance(actor.failure, Crash):
                raise actor.failure
            out.append(actor.failure if actor.failure is not None else actor.result)
        return out

    def begin(self, work: Callable[[], Any]) -> None:
        """Begin more work beside the actor that asks."""
        me = _current(self)
        if me is None:
            raise AssertionError("only an actor can begin another")
        self._spawn(work, me.loop)

    def _spawn(self, work: Callable[[], Any], loop: greenlet) -> _Actor:
        actor = _Actor(self, work, loop)
        self._wake(actor, self._now)
        return actor

    def _wake(self, actor: _Actor, at: float) -> None:
        heapq.heappush(self._heap, (at, next(self._order), actor))


class SkewedClock:
    """A worker's clock that is off by some seconds. Implements `ports.Clock`."""

    def __init__(self, clock: FakeClock, offset: float) -> None:
        self._clock = clock
        self._offset = offset

    def now(self) -> float:
        return self._clock.now() + self._offset

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


def _current(clock: FakeClock | None = None) -> _Actor | None:
    actor = getcurrent()
    return actor if isinstance(actor, _Actor) and (clock is None or actor.clock is clock) else None


class _Task(Generic[T]):
    """A call in a run's pool."""

    def __init__(self, actor: _Actor) -> None:
        self.actor = actor

    def done(self) -> bool:
        """Tell whether the call has ended."""
        return self.actor.done

    def result(self) -> T:
        """Wait for the call and return what it gave."""
        me = _current()
        while not self.actor.done:
            if me is None:
                raise AssertionError("only an actor can wait for an actor")
            self.actor.waiting.append(me)
            me.loop.switch()
        if self.actor.failure is not None:
            raise self.actor.failure
        value: T = self.actor.result
        return value


def _await_one(tasks: Sequence[_Task[Any]]) -> None:
    """Wait until one of some calls has ended."""
    me = _current()
    if me is None or not tasks:
        raise AssertionError("only an actor can wait for actors, and there must be one")
    if not any(x.done() for x in tasks):
        first = [me]  # the first that ends wakes this actor, and the others find nobody to wake
        for x in tasks:
            x.actor.waiting = first
        me.loop.switch()


class _Done(Generic[T]):
    """A call that was made on the spot."""

    def __init__(self, value: T) -> None:
        self._value = value

    def done(self) -> bool:
        return True

    def result(self) -> T:
        return self._value


class FakePool:
    """`shared.engine.completion_pool.CompletionPool`: actors in a run, and calls made on the spot outside of one."""

    def __init__(self, size: int) -> None:
        self._tasks: list[_Task[Any]] = []
        self._left: list[_Task[Any]] = []
        self._done: list[_Done[Any]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
        me = _current()
        if me is None:
            done = _Done(fn(*args))
            self._done.append(done)
            return done
        task: _Task[T] = _Task(me.clock._spawn(lambda: fn(*args), me.loop))
        self._tasks.append(task)
        self._left.append(task)
        return task

    def ended(self) -> Sequence[Pending[Any]]:
        """Return the calls that have ended since it was last asked; wait for one if none has."""
        done, self._done = self._done, []
        if done:
            return done
        _await_one(self._left)
        ended = [x for x in self._left if x.done()]
        self._left = [x for x in self._left if not x.done()]
        return ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        for task in self._tasks:
            with suppress(BaseException):  # joining is all that leaving a pool does
                task.result()
