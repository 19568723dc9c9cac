"""A stage: engine code in greenlets that stop at each call they make to the outside, until told how that call goes.

Exactly one runs at a time, and it is always the test's choice which, so that a run is a function of its choices.
"""

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

from greenlet import getcurrent, greenlet

from shared.engine.pool import Pending
from shared.ports import Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, Tap, is_store

T = TypeVar("T")
_here: ContextVar["Actor | None"] = ContextVar("_here", default=None)
"""The actor whose turn it is. A greenlet has a context of its own."""


class Fate(StrEnum):
    """How a call goes.

    DIES: the process dies there, before the call has an effect or after. FAILS: it is answered with an error, before
    or after. REPEATED: the answer is lost, and a client below makes the call again.
    """

    GOES = "goes"
    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    FAILS_BEFORE = "fails before"
    FAILS_AFTER = "fails after"
    REPEATED = "is repeated"


def running() -> str:
    """Return the name of the process whose turn it is, empty if it is the test itself."""
    actor = _here.get()
    return actor.root.name if actor is not None else ""


class Actor:
    """One thread of execution of engine code.

    Attributes:
        name: for traces.
        call: the name of the call it stopped at; empty while it waits for `waits_for`, or when it is done.
        result: what its work returned.
        error: what its work raised.
    """

    def __init__(self, name: str, work: Callable[[], Any], parent: "Actor | None") -> None:
        self.name = name
        self.call = ""
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.waits_for: Actor | None = None
        self.children: list[Actor] = []
        self.parent = parent
        self.fate = Fate.GOES
        self.dead = False
        self._work = work
        self._greenlet = greenlet(self._main)

    def __repr__(self) -> str:
        return f"{self.name} at {self.call or 'the end'}"

    @property
    def root(self) -> "Actor":
        """The actor whose process this one belongs to."""
        return self if self.parent is None else self.parent.root

    @property
    def family(self) -> "list[Actor]":
        """This actor and all it started, those first."""
        return [x for child in self.children for x in child.family] + [self]

    def pause(self) -> None:
        """Give the turn back and wait for the next; from the actor's own greenlet."""
        giver = self._greenlet.parent
        assert giver is not None
        giver.switch()
        if self.dead and self.fate is Fate.GOES:
            raise Crash

    def turn(self) -> None:
        """Let the actor run to its next call or its end."""
        self._greenlet.parent = getcurrent()
        self._greenlet.switch()

    def _main(self) -> None:
        _here.set(self)
        try:
            self.result = self._work()
        except BaseException as e:  # noqa: BLE001 - the test looks at it
            self.error = e
        self.call, self.done = "", True


class Stage(Tap):
    """All actors, and the tap that stops them. Calls that do not come from an actor pass.

    Attributes:
        actors: those that are not done, their children not counted.
        happened: told of each call that had an effect, in the actor's turn.
        said: told of what goes on, for traces.
    """

    def __init__(self) -> None:
        super().__init__()
        self.actors: list[Actor] = []
        self.happened: Callable[[str], None] = lambda _name: None
        self.said: Callable[[str], None] = lambda _text: None
        self._looking = False

    def start(self, name: str, work: Callable[[], Any]) -> Actor:
        """Start an actor; it runs to its first call."""
        actor = Actor(name, work, None)
        actor.turn()
        self.actors += [] if actor.done else [actor]
        return actor

    def begin_child(self, work: Callable[[], Any]) -> Actor:
        """Start an actor of the running actor's process."""
        parent = _here.get()
        assert parent is not None
        child = Actor(f"{parent.name}.{len(parent.children)}", work, parent)
        parent.children.append(child)
        child.turn()
        return child

    def ready(self) -> list[Actor]:
        """Return the actors that stand at a call, oldest process first."""
        return [a for root in self.actors for a in root.family if a.call]

    def resume(self, actor: Actor, fate: Fate = Fate.GOES) -> None:
        """Let an actor's call go as told, and the actor run to its next call. A death is its whole process's."""
        if fate in (Fate.DIES_BEFORE, Fate.DIES_AFTER):
            self._kill(actor, fate)
        else:
            actor.fate = fate
            actor.turn()
            self._wake_parents(actor)
        self.actors = [a for a in self.actors if not a.done]

    def finish(self, root: Actor) -> None:
        """Let a process run to its end without adversity."""
        while not root.done:
            self.resume(next(a for a in root.family if a.call))

    def close(self) -> None:
        """End all actors."""
        for root in list(self.actors):
            self.resume(next(a for a in root.family if a.call), Fate.DIES_BEFORE)

    def wait_for(self, child: Actor) -> None:
        """Wait for a child; from the parent's own greenlet."""
        me = _here.get()
        assert me is not None
        while not child.done:
            me.waits_for = child
            me.pause()
        me.waits_for = None

    def rest(self) -> None:
        """Stop the running actor while calls that it began are under way, as if it called; this cannot fail."""
        me = _here.get()
        if me is None or self._looking or all(child.done for child in me.children):
            return
        if me.dead:
            raise Crash
        me.call, me.fate = "rest", Fate.GOES
        me.pause()
        me.call, fate = "", me.fate
        me.fate = Fate.GOES
        if fate in (Fate.DIES_BEFORE, Fate.DIES_AFTER):
            raise Crash

    def _wake_parents(self, actor: Actor) -> None:
        parent = actor.parent
        if actor.done and parent is not None and parent.waits_for is actor:
            parent.turn()
            self._wake_parents(parent)

    def _kill(self, actor: Actor, fate: Fate) -> None:
        root = actor.root
        for a in root.family:
            a.dead = True
        actor.fate = fate
        for a in [actor, *root.family]:
            while not a.done:
                a.turn()
        if root.error is not None:
            root.error = Crash()

    def __call__(self, name: str, operation: Callable[[], T]) -> T:
        """Make a call."""
        actor = _here.get()
        if actor is None or self._looking:
            result = operation()
            self._told(name)
            return result
        if actor.dead:
            raise Crash
        actor.call, actor.fate = name, Fate.GOES
        actor.pause()
        actor.call, fate = "", actor.fate
        actor.fate = Fate.GOES
        self.said(f"  {actor.name} {name} {fate.value}")
        failure: BaseException = Retriable("lost") if is_store(name) else RuntimeError("an adapter's fault")
        if fate is Fate.DIES_BEFORE:
            raise Crash
        if fate is Fate.FAILS_BEFORE:
            raise failure
        result = operation()
        self._told(name)
        if fate is Fate.REPEATED and is_store(name):
            result = operation()
            self._told(name)
        if fate is Fate.DIES_AFTER:
            raise Crash
        if fate is Fate.FAILS_AFTER:
            raise failure
        return result

    def _told(self, name: str) -> None:
        if not self._looking:
            self._looking = True
            try:
                self.happened(name)
            finally:
                self._looking = False


class _Task(Generic[T]):
    def __init__(self, stage: Stage, actor: Actor) -> None:
        self._stage = stage
        self._actor = actor

    def done(self) -> bool:
        return self._actor.done

    def result(self) -> T:
        self._stage.wait_for(self._actor)
        if self._actor.error is not None:
            raise self._actor.error
        value: T = self._actor.result
        return value


class _Made(Generic[T]):
    def __init__(self, value: T) -> None:
        self._value = value

    def done(self) -> bool:
        return True

    def result(self) -> T:
        return self._value


class StageClock:
    """A clock whose sleeper sees the calls go on that it began. Implements `ports.Clock`."""

    def __init__(self, clock: FakeClock, stage: Stage) -> None:
        self._clock = clock
        self._stage = stage

    def now(self) -> float:
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
        self._stage.rest()


class StagePool:
    """`shared.engine.pool.Pool` whose calls are actors; outside of an actor they are made on the spot."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._tasks: list[_Task[Any]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
        if _here.get() is None:
            return _Made(fn(*args))
        task: _Task[T] = _Task(self._stage, self._stage.begin_child(lambda: fn(*args)))
        self._tasks.append(task)
        return task

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        for task in self._tasks:
            with suppress(Exception):  # joining is all that leaving a pool does
                task.result()
