"""The tables and the chart of docs/scale.md about the simulated day."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.scale.result import Result

WIDTH: Final = 30
"""Characters of the longest bar."""
LINES: Final = 12
"""Moments that a chart shows at the most."""
SHOWN: Final = 10
"""Messages that wait at some moment, from which on a scene has a chart."""
QUANTILES: Final = (0.5, 0.95, 0.99)
NONE: Final = (0.0, 0.0, 0.0)
OTHERS: Final = {
    "notice": "notices, from the minute that they are due",
    "digest": "digests, from the end of their window",
    "mail": "finished mails",
    "webhook": "webhooks, from the provider's event",
}
"""Kind → what waits, and since when."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A scene as the page shows it, also as JSON.

    Attributes:
        trouble: when something fails, from and to; empty if nothing does.
        waits: kind of message that there was → seconds that a half, 95 and 99 of a hundred do not exceed.
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
    quota: float
    heard: tuple[int, int, int]
    written: Mapping[str, float]
    dollars: Mapping[str, float]

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
            {kind: [round(x.quantile(kind, q), 2) for q in QUANTILES] for kind, some in x.waits.items() if some},
            [(s.at, s.waiting, s.events) for s in x.samples],
            round(x.worst, 1),
            x.refused,
            x.twice,
            x.left,
            x.swept,
            sum(x.throttled.values()),
            x.busiest,
            round(x.quota, 1),
            x.heard,
            {table: round(units, 3) for table, units in x.written.items()},
            {what: round(dollars, 3) for what, dollars in x.dollars.items()},
        )

    @property
    def cost(self) -> float:
        """Dollars of a million messages."""
        return sum(self.dollars.values())

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def waits(shown: Sequence[Shown]) -> str:
    """Return the table of waits of messages."""
    head = ("scene", "seconds", "messages", "messages/s", "single: p50", "p95", "p99", "bulk: p50", "p95", "p99")
    rows = [
        (
            x.name,
            f"{x.seconds:,.0f}",
            f"{x.messages:,}",
            f"{x.per_second:,.0f}",
            *(f"{s:,.2f}" for k in ("single", "bulk") for s in x.waits.get(k, NONE)),
        )
        for x in shown
    ]
    return table(head, rows)


def others(shown: Sequence[Shown]) -> str:
    """Return the table of waits of what only some scenes have, and of webhooks."""
    head = ("what", "scene", "p50", "p95", "p99")
    rows = [
        (name, x.name, *(f"{s:,.2f}" for s in x.waits[kind]))
        for kind, name in OTHERS.items()
        for x in shown
        if kind in x.waits
    ]
    return table(head, rows)


def checks(shown: Sequence[Shown]) -> str:
    """Return the table of what must hold."""
    head = (
        "scene",
        "worst second, % of the rate",
        "worst day, % of the quota",
        "sent twice",
        "not sent",
        "webhooks: to be heard, heard",
        "requests refused",
        "sweeps, whole",
        "calls without room",
        "busiest partition, write units/s",
        "read units/s",
    )
    rows = [
        (
            x.name,
            f"{x.worst:.0f}",
            f"{x.quota:.0f}" if x.quota else "",
            str(x.twice),
            str(x.left),
            f"{x.heard[0]:,}, {x.heard[1]:,}",
            str(x.refused),
            f"{x.swept[0]}, {x.swept[1]}",
            f"{x.throttled:,}",
            *(f"{units:,.0f}" for units in x.busiest),
        )
        for x in shown
    ]
    return table(head, rows)


def costs(shown: Sequence[Shown]) -> str:
    """Return the table of what a million messages cost."""
    lines = list(dict.fromkeys(line for x in shown for line in x.dollars))
    rows = [(x.name, *(f"{x.dollars.get(line, 0):.2f}" for line in lines), f"**{x.cost:.2f}**") for x in shown]
    return table(("$ a million messages", *lines, "all"), rows)


def chart(x: Shown) -> str:
    """Return the backlog over time as bars of text."""
    last = max((n for n, (_, waiting, _) in enumerate(x.samples) if waiting), default=0)
    step = max(1, -(-(last + 2) // LINES))
    some = x.samples[: last + 1 + step : step]
    most = max([1, *(waiting for _, waiting, _ in some)])
    lines = [f"{at:6.0f} s {waiting:8,} {'#' * round(WIDTH * waiting / most)}".rstrip() for at, waiting, _ in some]
    return "\n".join(["```text", *lines, "```"])


def markdown(shown: Sequence[Shown]) -> str:
    """Return the part of the page about scenes: tables, and a chart of each in which messages waited."""
    parts = [waits(shown), others(shown), checks(shown), costs(shown)]
    for x in shown:
        if all(waiting < SHOWN for _, waiting, _ in x.samples):
            continue
        span = f" That is from {x.trouble[0]:,.0f} s to {x.trouble[1]:,.0f} s." if x.trouble else ""
        parts += [f"**{x.name}**: {x.about}{span} Messages that wait:", chart(x)]
    return "\n\n".join(parts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
