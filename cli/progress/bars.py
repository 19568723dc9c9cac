"""A job's figures as bars on a terminal. Only a command that draws them loads rich."""

from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cli.output import clean, counted
from cli.progress.watch import JobProgress, Speed, by_the_clock
from shared.domain.jobs.states import MessageState

if TYPE_CHECKING:
    from shared.ports import Clock

BAR_WIDTH: Final = 40
STYLES: Final = {
    MessageState.DELIVERED: "green",
    MessageState.SENT: "cyan",
    MessageState.FAILED: "red",
    MessageState.UNKNOWN: "yellow",
}


class Bars:
    """A live bar per state, speed and end. Use as a context manager; the last picture stays on the terminal."""

    def __init__(self, title: str, clock: "Clock", console: Console | None = None) -> None:
        self._title = clean(title)
        self._clock = clock
        self._speed = Speed(clock)
        self._live = Live(console=console or Console(), auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def __call__(self, progress: JobProgress) -> None:
        """Show a change."""
        self._live.update(self._picture(progress), refresh=True)

    def _picture(self, progress: JobProgress) -> Group:
        words = progress.waits(self._clock.now())
        waits = f", {words}" if words else ""
        bars = Table.grid(padding=(0, 2))
        for state, n in progress.counts.items():
            style = STYLES.get(MessageState(state), "white")
            bar = ProgressBar(total=max(1, progress.total), completed=n, width=BAR_WIDTH, complete_style=style)
            bar.finished_style = style
            bars.add_row(Text(state), bar, Text(f"{n:,}", justify="right"))
        speed = self._speed.of(progress)
        pace = f"{speed:,.1f}/s of {progress.rate:,g}/s" if progress.rate and not progress.finished else ""
        end = f"ends about {by_the_clock(progress.eta, self._clock.now())}" if progress.eta else ""
        if pace or end:
            bars.add_row(Text(""), Text(", ".join(x for x in (pace, end) if x)))
        total = counted(progress.total, "message")
        return Group(Text(f"{self._title}  {progress.words}  {total}{waits}", style="bold"), bars)
