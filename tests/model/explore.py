"""Breadth-first search through every state of a world: no promise is broken, and everything can still end well."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tests.model import asking, closing, feedback, job, moving, recorded, restoring, worker
from tests.model.state import Broken, State
from tests.model.world import Step, World

S = TypeVar("S")

LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search found.

    Attributes:
        broken: what does not hold; empty if all does.
        trace: the shortest sequence of steps that leads there.
        states: how many states were seen; `steps` between them.
    """

    broken: str
    trace: tuple[str, ...]
    states: int
    steps: int


class Searched(Protocol[S]):
    """What can be searched."""

    def start(self) -> S: ...
    def check(self, s: S, /) -> None: ...
    def is_goal(self, s: S, /) -> bool: ...
    def steps(self, s: S, /) -> Iterable[Step[S]]: ...


class Engine:
    """A world by all rules but the breaker's."""

    _RULES = (
        *(job.steps, worker.steps, feedback.steps, asking.steps, closing.steps, recorded.steps, moving.steps),
        restoring.steps,
    )

    def __init__(self, world: World) -> None:
        self._world = world

    def start(self) -> State:
        return self._world.start()

    def check(self, s: State) -> None:
        self._world.check(s)

    def is_goal(self, s: State) -> bool:
        return self._world.is_goal(s)

    def steps(self, s: State) -> list[Step[State]]:
        """Return all that can happen next."""
        return [step for rule in self._RULES for step in rule(self._world, s)]


class _Search(Generic[S]):
    """What a search has seen: each state's number, and by number the step that led to it and the fair ones to it."""

    def __init__(self, start: S) -> None:
        self.steps = 0
        self.goals: list[int] = []
        self.fair_from: list[list[int]] = [[]]
        self.waiting = deque([(0, start)])
        self._number = {start: 0}
        self._came: list[tuple[int, str]] = [(-1, "")]

    @property
    def states(self) -> int:
        return len(self._came)

    def reach(self, here: int, step: Step[S]) -> None:
        """Note a step from the state with the number `here`."""
        self.steps += 1
        there = self._number.setdefault(step.after, len(self._came))
        if there == len(self._came):
            self._came.append((here, step.label))
            self.fair_from.append([])
            self.waiting.append((there, step.after))
        if step.fair:
            self.fair_from[there].append(here)

    def found(self, broken: str, at: int) -> Finding:
        """Return what is broken in a state, and how it was reached."""
        trace = []
        while at:
            at, label = self._came[at]
            trace.append(label)
        return Finding(broken, tuple(reversed(trace)), self.states, self.steps)


def explore(m: Searched[S], limit: int = LIMIT) -> Finding:
    """Search exhaustively.

    Raises:
        OverflowError: it has more than `limit` states.
    """
    search = _Search(m.start())
    while search.waiting:
        here, s = search.waiting.popleft()
        try:
            m.check(s)
            following = list(m.steps(s))
        except Broken as e:
            return search.found(str(e), here)
        if m.is_goal(s):
            search.goals.append(here)
        for step in following:
            search.reach(here, step)
        if search.states > limit:
            raise OverflowError(f"more than {limit} states")
    stuck = _stuck(search.fair_from, search.goals)
    return search.found("", 0) if stuck is None else search.found("stuck: no fair way to the end", stuck)


def search(task: tuple[str, World | Searched[Any]]) -> tuple[str, Finding, float]:
    """Search what has a name in a process of its own; returns its name, what was found, and the seconds of CPU time."""
    begun = time.process_time()
    name, m = task
    found = explore(Engine(m)) if isinstance(m, World) else explore(m)
    return name, found, time.process_time() - begun


def _stuck(fair_from: list[list[int]], goals: list[int]) -> int | None:
    """Return the first state from which no fair steps lead to a goal; None if there is none."""
    seen = bytearray(len(fair_from))
    todo = list(goals)
    for g in goals:
        seen[g] = 1
    while todo:
        for back in fair_from[todo.pop()]:
            if not seen[back]:
                seen[back] = 1
                todo.append(back)
    first = seen.find(0)
    return None if first < 0 else first
