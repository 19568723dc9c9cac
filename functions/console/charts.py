"""Charts as figures: shares of a bar and a flow by day, drawn as SVG by templates. No script, no inline style."""

from collections.abc import Mapping, Sequence
from typing import Final

from shared.frozen import dataclass

WIDTH: Final = 1000
HEIGHT: Final = 240
BAR_ORDER: Final = ("delivered", "sent", "sending", "queued", "unknown", "failed", "skipped")
FLOW_ORDER: Final = ("success", "queued", "failure")
WORDS: Final = {"failure": "failed"}
SERIES: Final = 6
"""Colours of things that have none of their own, as providers."""


@dataclass(frozen=True, slots=True)
class Share:
    """A piece of a bar. `x` and `width`: thousandths of the bar."""

    name: str
    count: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Counts side by side."""

    shares: tuple[Share, ...]

    @property
    def label(self) -> str:
        """The bar in words."""
        return ", ".join(f"{share.count:,} {share.name}" for share in self.shares) or "nothing"


def bar(counts: Mapping[str, int]) -> Bar:
    """Return the bar of some counts; what is 0 has no piece."""
    total = sum(counts.values())
    shares, x = [], 0.0
    for name in BAR_ORDER:
        count = counts.get(name, 0)
        if count:
            width = WIDTH * count / total
            shares.append(Share(name, count, round(x, 2), round(width, 2)))
            x += width
    return Bar(tuple(shares))


@dataclass(frozen=True, slots=True)
class Layer:
    """One amount of a flow. `fill`: its colour; `points`: of the polygon between it and what is below."""

    name: str
    fill: str
    points: str

    @property
    def word(self) -> str:
        """The amount as people read it."""
        return WORDS.get(self.name, self.name)

    @property
    def head(self) -> str:
        """The amount as the head of a column; names of providers stay as they are."""
        return self.word.capitalize() if self.name in FLOW_ORDER else self.name


@dataclass(frozen=True, slots=True)
class Flow:
    """Amounts by day, stacked.

    Attributes:
        layers: from the ground up.
        days: (date, amounts), oldest first.
        top: the largest sum of a day.
    """

    layers: tuple[Layer, ...]
    days: tuple[tuple[str, Mapping[str, int]], ...]
    top: int

    @property
    def label(self) -> str:
        """The flow in words."""
        if not self.layers:
            return "no messages"
        names = [layer.name for layer in self.layers]
        sums = {name: sum(amounts.get(name, 0) for _, amounts in self.days) for name in names}
        said = ", ".join(f"{count:,} {WORDS.get(name, name)}" for name, count in sums.items())
        return f"{self.days[0][0]} to {self.days[-1][0]}: {said}"


def flow(days: Sequence[tuple[str, Mapping[str, int]]], names: Sequence[str] = FLOW_ORDER) -> Flow:
    """Return the flow of some days; a single day is drawn as wide as the chart.

    Args:
        days: (date, name → amount), oldest first.
        names: what is stacked, from the ground up. Names that have no colour of their own share the `SERIES`.
    """
    top = max((sum(amounts.get(name, 0) for name in names) for _, amounts in days), default=0)
    drawn = list(days) * 2 if len(days) == 1 else list(days)
    if not top:
        return Flow((), tuple(days), 0)
    ground = [0.0] * len(drawn)
    layers = []
    for at, name in enumerate(names):
        above = [low + amounts.get(name, 0) for low, (_, amounts) in zip(ground, drawn, strict=True)]
        fill = name if name in FLOW_ORDER else f"series-{at % SERIES}"
        layers.append(Layer(name, fill, f"{_line(above, top)} {_line(ground, top, back=True)}"))
        ground = above
    return Flow(tuple(layers), tuple(days), top)


def _line(values: Sequence[float], top: int, *, back: bool = False) -> str:
    """Return the points of a line over the whole width.

    Args:
        values: one a day, oldest first.
        top: the value at the upper edge.
        back: from the newest day to the oldest.
    """
    step = WIDTH / (len(values) - 1)
    points = [f"{i * step:.1f},{HEIGHT * (1 - value / top):.1f}" for i, value in enumerate(values)]
    return " ".join(reversed(points) if back else points)
