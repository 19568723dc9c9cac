"""The tables and the chart of docs/scale.md about the simulated day."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.scale.day import Result

WIDTH: Final = 30
"""Characters of the longest bar."""
LINES: Final = 12
"""Moments that a chart shows at the most."""
QUANTILES: Final = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Shown:
    """A scene as the page shows it, also as JSON.

    Attributes:
        trouble: when something fails, from and to; empty if nothing does.
        waits: kind of message → seconds that a half, 95 and 99 of a hundred do not exceed.
        samples: moments as seconds of the scene, messages that wait, events that are not joined.
    """

    name: str
    about: str
    trouble: Sequence[float]
    seconds: float
    per_second: float
    messages: int
    waits: Mapping[str, Sequence[float]]
    samples: Sequence[tuple[float, int, int]]
    worst: float
    refused: int
    twice: int
    left: int
    swept: tuple[int, int]
    throttled: int
    busiest: tuple[float, float]
    dollars: float

    @classmethod
    def of(cls, x: Result) -> "Shown":
        """Return what is shown of a result."""
        scene = x.scene
        return cls(
            scene.name,
            scene.about,
            list(scene.trouble or ()),
            scene.seconds,
            sum(scene.messages(rank) for rank in scene.ranks),
            x.messages,
            {kind: [round(x.quantile(kind, q), 2) for q in QUANTILES] for kind in x.waits},
            [(s.at, s.waiting, s.events) for s in x.samples],
            round(x.worst, 1),
            x.refused,
            x.twice,
            x.left,
            x.swept,
            sum(x.throttled.values()),
            x.busiest,
            round(x.cost, 2),
        )

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def waits(shown: Sequence[Shown]) -> str:
    """Return the table of waits."""
    head = ("scene", "seconds", "messages", "messages/s", "single: p50", "p95", "p99", "bulk: p50", "p95", "p99")
    rows = [
        (
            x.name,
            f"{x.seconds:,.0f}",
            f"{x.messages:,}",
            f"{x.per_second:,.0f}",
            *(f"{s:,.2f}" for k in ("single", "bulk") for s in x.waits[k]),
        )
        for x in shown
    ]
    return _table(head, rows)


def checks(shown: Sequence[Shown]) -> str:
    """Return the table of what must hold."""
    head = (
        "scene",
        "worst second, % of the rate",
        "sent twice",
        "not sent",
        "requests refused",
        "sweeps, whole",
        "calls without room",
        "busiest partition, write units/s",
        "read units/s",
        "$ a million",
    )
    rows = [
        (
            x.name,
            f"{x.worst:.0f}",
            str(x.twice),
            str(x.left),
            str(x.refused),
            f"{x.swept[0]}, {x.swept[1]}",
            f"{x.throttled:,}",
            *(f"{units:,.0f}" for units in x.busiest),
            f"{x.dollars:.2f}",
        )
        for x in shown
    ]
    return _table(head, rows)


def chart(x: Shown) -> str:
    """Return the backlog over time as bars of text."""
    step = max(1, -(-len(x.samples) // LINES))
    some = x.samples[::step]
    most = max(1, *(waiting for _, waiting, _ in some))
    lines = [f"{at:6.0f} s {waiting:8,} {'#' * round(WIDTH * waiting / most)}".rstrip() for at, waiting, _ in some]
    return "\n".join(["```text", *lines, "```"])


def markdown(shown: Sequence[Shown]) -> str:
    """Return the part of the page that the command writes."""
    parts = [waits(shown), checks(shown)]
    for x in shown:
        span = f" That is from {x.trouble[0]:,.0f} s to {x.trouble[1]:,.0f} s." if x.trouble else ""
        parts += [f"**{x.name}**: {x.about}{span} Messages that wait:", chart(x)]
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
