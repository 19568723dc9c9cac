"""What drills on a running local cloud share: when they kill, and how they end."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from infra.local.console import LocalCloudError, say
from tests.deployed.inside import NoLane


class DrillReport(Protocol):
    """What came of a drill. `wrong` is empty if every promise was kept."""

    wrong: list[str]

    def text(self) -> str:
        """Return the figures."""
        ...


class KillsAtAnswers:
    """Kills after numbers of answers, each a moment later: in the middle of what other clients ask for then.

    Args:
        total: answers that are expected; the kills are spread evenly over them.
        victims: in the order of their kills.
        rng: draws the moments.
        most: seconds that a kill waits at the most.
        kill: kills a victim; one at a time.
    """

    def __init__(
        self, total: int, victims: Sequence[str], rng: random.Random, most: float, kill: Callable[[str], object]
    ) -> None:
        self._due = {
            total * n // (len(victims) + 1): (victim, rng.uniform(0, most)) for n, victim in enumerate(victims, 1)
        }
        self._kill = kill
        self._answers = 0
        self._lock = threading.Lock()
        self._killing = threading.Lock()

    def answered(self, ended: threading.Event) -> None:
        """Count an answer, and kill what is due, unless the run has ended by then."""
        with self._lock:
            self._answers += 1
            due = self._due.get(self._answers)
        if due is None:
            return
        victim, delay = due
        if not ended.wait(delay):
            with self._killing:
                self._kill(victim)


@contextmanager
def killing(
    kill: Callable[[], bool], kills: int, rng: random.Random, seconds: tuple[float, float]
) -> Iterator[threading.Event]:
    """Kill now and then, until the block is left or so many kills are made.

    Args:
        kill: tells whether there was something to kill.
        kills: how many.
        rng: draws the times.
        seconds: the least and the most between two tries.

    Yields:
        Set once all kills are made.
    """
    ended, done = threading.Event(), threading.Event()

    def strike() -> None:
        left = kills
        while left and not ended.wait(rng.uniform(*seconds)):
            left -= kill()
        if not left:
            done.set()

    thread = threading.Thread(target=strike, daemon=True)
    thread.start()
    try:
        yield done
    finally:
        ended.set()
        thread.join()


def amounts(counts: Mapping[str, int]) -> str:
    """Return amounts as a line names them, by name: `3 API, 2 relay`; empty without any."""
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items()) if n)


def judged(drill: Callable[[], DrillReport]) -> int:
    """Run a drill and print what came of it; return the exit code, 1 if a promise was broken."""
    try:
        report = drill()
    except (LocalCloudError, NoLane) as error:
        say(f"error: {error}")
        return 1
    say(report.text())
    for what in report.wrong:
        say(f"WRONG: {what}")
    return 1 if report.wrong else 0
