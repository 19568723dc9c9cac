"""Follow a batch until it is LOGGED: bars on a terminal, one line per change elsewhere or as JSON.

Watching only reads: ending it, by Ctrl-C or a lost connection, changes nothing about the job.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cli.errors import Failed
from cli.output import clean, emit, say
from shared.domain.states import JobState, MessageState
from shared.ports import Clock

QUICK: Final = 0.5
SLOW: Final = 2.0
QUICK_POLLS: Final = 60
"""Half-second polls for the first half minute, in which most batches end; then every two seconds."""
BAR_WIDTH: Final = 40
STYLES: Final = {
    MessageState.DELIVERED: "green",
    MessageState.SENT: "cyan",
    MessageState.FAILED: "red",
    MessageState.UNKNOWN: "yellow",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """A batch at one moment. `counts`: per state of a message; `waiting_for`: why it does not go on, or empty."""

    state: str
    counts: Mapping[str, int]
    waiting_for: str = ""

    @property
    def total(self) -> int:
        """How many messages the batch has."""
        return sum(self.counts.values())

    @property
    def finished(self) -> bool:
        """Whether the job is LOGGED."""
        return self.state == JobState.LOGGED

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> "Progress":
        """Read a batch as the API describes it; Failed if it is not one."""
        state, counts, waiting = answer.get("state"), answer.get("counts"), answer.get("waiting_for")
        if not isinstance(state, str) or not isinstance(counts, dict):
            raise Failed("the answer does not describe a batch: does POSTHASTE_URL name a Posthaste API?")
        known = {s.value: counts[s.value] for s in MessageState if isinstance(counts.get(s.value), int)}
        return cls(clean(state), known, clean(waiting) if waiting else "")


class Screen(Protocol):
    """Shows a batch's progress."""

    def __call__(self, progress: Progress) -> None:
        """Show a change."""
        ...


def watch(read: Callable[[], Progress], show: Screen, clock: Clock) -> Progress:
    """Read until the job is LOGGED, showing each change; return the last reading."""
    shown: Progress | None = None
    polls = 0
    while True:
        progress = read()
        if progress != shown:
            show(progress)
            shown = progress
        if progress.finished:
            return progress
        clock.sleep(QUICK if polls < QUICK_POLLS else SLOW)
        polls += 1


def as_json(batch_id: str) -> Screen:
    """Return a screen that prints one JSON document per change."""

    def show(progress: Progress) -> None:
        more = {"waiting_for": progress.waiting_for} if progress.waiting_for else {}
        emit({"batch_id": batch_id, "state": progress.state, "counts": progress.counts, **more})

    return show


def as_lines(progress: Progress) -> None:
    """Print one line per change, for logs and pipes."""
    figures = "  ".join(f"{state} {n:,}" for state, n in progress.counts.items() if n)
    say(f"{progress.state:8}  {figures}" + (f"  (waiting for: {progress.waiting_for})" if progress.waiting_for else ""))


class Bars:
    """A live bar per state. Use as a context manager; the last picture stays on the terminal."""

    def __init__(self, batch_id: str, console: Console | None = None) -> None:
        self._title = clean(batch_id)
        self._live = Live(console=console or Console(), auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show a change."""
        self._live.update(self._picture(progress), refresh=True)

    def _picture(self, progress: Progress) -> Group:
        waits = f", waiting for: {progress.waiting_for}" if progress.waiting_for else ""
        bars = Table.grid(padding=(0, 2))
        for state, n in progress.counts.items():
            style = STYLES.get(MessageState(state), "white")
            bar = ProgressBar(total=max(1, progress.total), completed=n, width=BAR_WIDTH, complete_style=style)
            bar.finished_style = style
            bars.add_row(Text(state), bar, Text(f"{n:,}", justify="right"))
        return Group(Text(f"{self._title}  {progress.state}  {progress.total:,} messages{waits}", style="bold"), bars)
