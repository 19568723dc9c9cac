"""Follow a job until it ends: one line per change, or as JSON; `bars` draws it on a terminal.

Watching only reads: ending it, by Ctrl-C or a lost connection, changes nothing about the job.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from cli.errors import Failed
from cli.output import clean, emit, say
from cli.progress.polling import asked
from cli.progress.words import left_of, state_words, until_words, waiting_words
from shared.domain.jobs.states import JobState, MessageState

if TYPE_CHECKING:
    from shared.ports import Clock

SPEED_SECONDS: Final = 10.0
"""Time over which the speed is an average."""
HANDED_OVER: Final = (MessageState.SENT, MessageState.DELIVERED, MessageState.FAILED, MessageState.UNKNOWN)


@dataclass(frozen=True, slots=True)
class JobProgress:
    """A job at one moment.

    Attributes:
        counts: per state of a message.
        waiting_for: why it does not continue, or empty.
        rate: messages per second that it may send, 0 if that is not known.
        eta: when its last message goes out, as the API says, or empty.
        stop_reason: why it was last stopped, or empty.
        until: when its hours open, RFC 3339, or empty.
    """

    state: str
    counts: Mapping[str, int]
    waiting_for: str = ""
    rate: float = field(default=0.0, compare=False)
    eta: str = field(default="", compare=False)
    stop_reason: str = field(default="", compare=False)
    until: str = field(default="", compare=False)

    @property
    def total(self) -> int:
        """How many messages the job has."""
        return sum(self.counts.values())

    @property
    def handed_over(self) -> int:
        """How many messages a provider has had."""
        return sum(self.counts.get(state, 0) for state in HANDED_OVER)

    @property
    def words(self) -> str:
        """The state for people."""
        return state_words(self.state, left_of(self.counts), scheduled=self.waiting_for == "scheduled")

    def waits(self, now: float) -> str:
        """Return what it waits for, for people; empty if for nothing. `now`: Unix seconds."""
        until = f", until {by_the_clock(self.until, now)}" if self.until else ""
        words = waiting_words(self.waiting_for)
        return f"waiting for {words}{until}" if words else ""

    @property
    def finished(self) -> bool:
        """Whether the job is LOGGED."""
        return self.state == JobState.LOGGED

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> "JobProgress":
        """Read a job as the API describes it; Failed if it is not one."""
        state, counts, waiting = answer.get("state"), answer.get("counts"), answer.get("waiting_for")
        if not isinstance(state, str) or not isinstance(counts, dict):
            raise Failed("the answer does not describe a job: does POSTHASTE_URL name a Posthaste API?")
        known = {s.value: counts[s.value] for s in MessageState if isinstance(counts.get(s.value), int)}
        rate, eta = answer.get("rate"), answer.get("eta")
        return cls(
            clean(state),
            known,
            clean(waiting) if waiting else "",
            float(rate) if isinstance(rate, int | float) else 0.0,
            clean(eta) if eta else "",
            clean(answer.get("stop_reason") or ""),
            clean(until_words(answer)),
        )


class Speed:
    """How many messages a second have gone out lately."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, progress: JobProgress) -> float:
        """Take a reading; return messages per second over the last readings."""
        now = self._clock.now()
        self._seen.append((now, progress.handed_over))
        while len(self._seen) > 2 and now - self._seen[1][0] >= SPEED_SECONDS:  # noqa: PLR2004 - two make a speed
            self._seen.popleft()
        then, before = self._seen[0]
        return max(0.0, (progress.handed_over - before) / (now - then)) if now > then else 0.0


class Screen(Protocol):
    """Shows a job's progress."""

    def __call__(self, progress: JobProgress) -> None:
        """Show a change."""
        ...


def watch(read: Callable[[], JobProgress], show: Screen, clock: "Clock") -> JobProgress:
    """Read until the job is LOGGED, showing each change; return the last reading."""
    shown: JobProgress | None = None
    for progress in asked(read, clock):
        if progress != shown:
            show(progress)
            shown = progress
        if progress.finished:
            break
    return progress


def by_the_clock(moment: str, now: float) -> str:
    """Return an RFC 3339 moment as the user's clock shows it, with the day unless it is today; else as it is.

    Args:
        moment: as the API says it.
        now: Unix seconds.
    """
    try:
        then = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    today = datetime.fromtimestamp(now).astimezone().date()
    return f"{then:%H:%M:%S}" if then.date() == today else f"{then:%Y-%m-%d %H:%M}"


def as_json(batch_id: str, name: str = "batch_id") -> Screen:
    """Return a screen that prints one JSON document per change; `name`: what the id is called in it."""

    def show(progress: JobProgress) -> None:
        more = {"waiting_for": progress.waiting_for} if progress.waiting_for else {}
        more |= {"until": progress.until} if progress.until else {}
        emit({name: batch_id, "state": progress.state, "counts": progress.counts, **more})

    return show


def as_lines(clock: "Clock") -> Screen:
    """Return a screen that prints one line per change, for logs and pipes."""

    def show(progress: JobProgress) -> None:
        figures = "  ".join(f"{state} {n:,}" for state, n in progress.counts.items() if n)
        words = progress.waits(clock.now())
        waits = f"  ({words})" if words else ""
        ends = f"  (ends about {by_the_clock(progress.eta, clock.now())})" if progress.eta else ""
        say(f"{progress.words:8}  {figures}{waits}{ends}")

    return show
