"""One line of the table: a promise of docs/promises.md, its goal, and what was measured."""

from dataclasses import dataclass
from typing import Any, Final

WRITES: Final = "write units per message, acceptance to LOGGED, without feedback, provider ids of 60 B: window 50 / 200"
FEEDBACK_WRITES: Final = "write units per feedback event, 100 events of one chunk"
SCATTERED: Final = "feedback about ten messages of ten jobs, per word"
SCATTERED_SPEED: Final = "scattered words a second, ten trackers, 6 ms a call"
ENDING: Final = "seconds from the last accepted message to LOGGED, 2,000 chunks with 30 feedback writes a second"
CALLS: Final = "AWS calls per message, acceptance to LOGGED: window 50 (batch of 1,000) / 200"
COST: Final = "modelled cost per million messages without the provider's fee: batched feedback / one post per event"
CAMPAIGN_WRITES: Final = "write units per message, campaign of 5,000, creation to LOGGED, without feedback, window 200"
CAMPAIGN_CALLS: Final = "AWS calls per message, campaign of 5,000, creation to LOGGED, window 200"
CAMPAIGN_COST: Final = "modelled cost per million messages of a campaign without the provider's fee, batched feedback"
SPEED: Final = "messages/s per worker, one call per message, keep-alive HTTP, provider at 50 ms, rate not binding"
SPEED_MANY: Final = "messages/s per worker, multi-recipient calls"
CPU: Final = "CPU per message in the sender, one call per message"
CPU_DEPLOYED: Final = "CPU per message in the sender as deployed: its handler, the real stores and their client"
CPU_OWN: Final = "CPU per message in the sender, campaign: three placeholders and an unsubscription"
ONE: Final = (
    "a batch of one recipient: write units / AWS calls, acceptance to LOGGED; "
    "time from 202 to the provider's call on the local cloud, p50"
)
FEEDBACK_CPU: Final = "feedback: CPU per event"
FAIR: Final = "a single mail behind another account's 5,000 at 14/s, fake time, from acceptance to the call: p95"
SHARED: Final = "the smaller part of two accounts with endless batches on one credential, fake time"
LOWERED: Final = "a provider that takes 10 of the declared 20/s, fake time"
KILLED: Final = "killed workers at 20 and 200/s, fake time"
DEAD: Final = "failed calls before a dead provider is left alone"
STARTS: Final = "import + clients of each function against bare boto3"
MEMORY: Final = "memory of each function"
UPLOAD: Final = "1,000,000-row upload: CPU time and peak memory"
SWEEP: Final = "sweeper at 6 ms a call"
EXPORT: Final = "1,000,000-row export: CPU time and peak memory"


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement.

    Attributes:
        metric: the promise's name, and after a colon which of its figures.
        value, goal: in `unit`; met if the value is at most the goal (at least, if `more`).
        counted: exact and reproducible, so a miss fails the run; timed rows only report.
    """

    metric: str
    value: float
    goal: float
    unit: str
    counted: bool = False
    more: bool = False

    @property
    def met(self) -> bool:
        """Tell whether the goal is reached."""
        return self.value >= self.goal if self.more else self.value <= self.goal

    @property
    def ratio(self) -> float:
        """Return how well: 1 is the goal, more is better."""
        if self.more:
            return self.value / self.goal
        return self.goal / self.value if self.value > 0 else float("inf")

    def document(self) -> dict[str, Any]:
        """Return the row as it stands in the JSON file."""
        return {
            "metric": self.metric,
            "value": round(self.value, 4),
            "goal": self.goal,
            "unit": self.unit,
            "met": self.met,
        }


def named(metric: str, figure: str) -> str:
    """Return the name of one of a promise's figures; it begins with the promise's own name."""
    return f"{metric}: {figure}"


def table(rows: list[Row]) -> str:
    """Return the rows as text."""
    head = f"{'metric':<112} {'goal':>9} {'result':>10} {'ratio':>6}  met"
    lines = [head, "-" * len(head)]
    for r in rows:
        sign = ">=" if r.more else "<="
        name = r.metric if len(r.metric) <= 112 else r.metric[:70] + " … " + r.metric[-39:]  # noqa: PLR2004
        met = "yes" if r.met else ("NO" if r.counted else "no")
        lines.append(f"{name:<112} {sign}{r.goal:>7g} {r.value:>10.4g} {r.ratio:>5.2f}x  {met}  {r.unit}")
    return "\n".join(lines)
