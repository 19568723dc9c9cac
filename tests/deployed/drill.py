"""The frame of drills on a running local cloud: what goes wrong beside the work, what is waited for, how they end."""

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import psutil
from botocore.exceptions import ReadTimeoutError

from infra.local import accounts
from infra.local.console import LocalCloudError, say
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.inside import Inside, NoLane

Running = tuple[Inside, Api, ControlClient]
"""A cloud from inside, its API, and its simulator's control."""
BEGIN_SECONDS: Final = 4.0
"""So old a process is before it is killed."""


@dataclass(slots=True)
class Report:
    """What came of a drill.

    Attributes:
        seed: of what goes wrong, and when.
        figures: by name; the most important one first.
        kills: processes that were killed, by name.
        wrong: what breaks a promise.
    """

    seed: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def check(self, what: str, *, holds: object) -> None:
        """Note something that does not hold."""
        if not holds:
            self.wrong.append(what)

    def add(self, name: str, number: float = 1) -> None:
        """Add to a figure."""
        self.figures[name] = self.figures.get(name, 0) + number

    def happened(self, name: str) -> bool:
        """Tell whether a figure, or the kills of that name, are above zero."""
        return bool(self.kills[name] or self.figures.get(name))

    def text(self) -> str:
        """Return a row for each figure, and a last line with the first one."""
        shown = {name: _shown(value) for name, value in self.figures.items()}
        rows = [f"{name:<48} {value}" for name, value in shown.items()]
        first = "".join(f"{value} {name}; " for name, value in [*shown.items()][:1])
        killed = amounts(self.kills) or "nothing"
        return "\n".join([*rows, f"seed {self.seed}: {first}killed: {killed}; {len(self.wrong)} faults"])


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return amounts(value) or "none"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


class Drill:
    """What each drill has: a cloud, dice, a name that no other one has, and its report. A scenario adds the rest.

    Args:
        running: the cloud.
        seed: of the dice.
    """

    def __init__(self, running: Running, seed: int) -> None:
        self.inside, self.api, self.control = running
        self.report = Report(seed)
        self.rng = random.Random(seed)  # noqa: S311 - of a drill
        self.tag = uuid.uuid4().hex[:10]
        self.began = time.time()

    def until(self, holds: Callable[[], bool], seconds: float, what: str, *, pause: float = 1.0) -> bool:
        """Wait until something holds, and tell whether it does.

        Args:
            holds: is asked; a read that times out is a no.
            seconds: after which `what` is noted as wrong.
            what: has not come about then.
            pause: seconds between two questions.
        """
        came = wait_for(answered(holds), seconds, pause=pause)
        self.report.check(what, holds=came)
        return came

    def passed(self) -> float:
        """Return the seconds since the drill began."""
        return time.time() - self.began

    def account(self, name: str) -> Api:
        """Make an account that sends from example.com; return the API with a key of it."""
        deployment, port = self.inside.deployment, self.inside.port
        made = accounts.posthaste(deployment, port, "account", "create", name, "--sender", accounts.SENDER)
        key = accounts.posthaste(deployment, port, "key", "create", made["account_id"])["key"]
        return Api(self.api.url, key)

    def kill(self, name: str, killed: int) -> bool:
        """Count processes that were killed; tell whether there were some."""
        self.report.kills[name] += killed
        return killed > 0

    def kill_function(self, name: str) -> bool:
        """Kill a function's processes; tell whether there were some."""
        return self.kill(name, self.inside.kill_function(name))


@contextmanager
def beside(step: Callable[[], object], pause: Callable[[], float]) -> Iterator[threading.Event]:
    """Take a step again and again in a thread of its own, until the block is left; what the step raises ends it then.

    Args:
        step: is taken.
        pause: returns the seconds before the next one.

    Yields:
        Set as soon as the block is left.
    """
    ended, failed = threading.Event(), list[BaseException]()

    def go_on() -> None:
        try:
            while not ended.wait(pause()):
                step()
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            failed.append(error)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield ended
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]


@contextmanager
def killing(
    kill: Callable[[], bool], kills: int, rng: random.Random, seconds: tuple[float, float]
) -> Iterator[threading.Event]:
    """Kill now and then, until the block is left or so many kills are made.

    Args:
        kill: returns whether there was something to kill.
        kills: how many.
        rng: draws the times.
        seconds: the least and the most between two tries.

    Yields:
        Set once all kills are made.
    """
    left, done = [None] * kills, threading.Event()

    def strike() -> None:
        if left and kill():
            left.pop()
        if not left:
            done.set()

    with beside(strike, lambda: rng.uniform(*seconds)):
        yield done


def has_begun(pid: int) -> bool:
    """Tell whether a process is old enough to serve: the emulator ends all of a function with one that cannot begin."""
    try:
        return bool(time.time() - psutil.Process(pid).create_time() >= BEGIN_SECONDS)
    except psutil.NoSuchProcess:
        return False


def answered(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Return a condition that is false, to be asked again, when a read times out, as on a busy machine."""

    def holds() -> bool:
        try:
            return condition()
        except (TimeoutError, ReadTimeoutError):
            return False

    return holds


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
def troubled(control: ControlClient, places: Sequence[tuple[str, str]], **faults: Any) -> Iterator[None]:
    """Have providers answer badly meanwhile. `places`: provider and credential of each; `faults`: for the simulator."""
    for place in places:
        control.faults(*place, **faults)
    try:
        yield
    finally:
        for place in places:
            control.faults(*place)


def amounts(counts: Mapping[Any, int]) -> str:
    """Return amounts as a line names them, by name: `3 API, 2 relay`; empty without any."""
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items()) if n)


def percentile(some: Sequence[float], share: int) -> float:
    """Return the least of some figures that so many percent do not exceed; 0.0 without any."""
    return sorted(some)[-(-len(some) * share // 100) - 1] if some else 0.0


def judged(drill: Callable[[], Any]) -> int:
    """Run a drill and print what came of it; return the exit code, 1 if a promise was broken.

    Args:
        drill: returns a report, which has `wrong` and `text()`.
    """
    try:
        report = drill()
    except (LocalCloudError, NoLane) as error:
        say(f"error: {error}")
        return 1
    say(report.text())
    for what in report.wrong:
        say(f"WRONG: {what}")
    return 1 if report.wrong else 0
