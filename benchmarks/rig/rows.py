"""One line of the table: what was measured, and its goal."""

from collections.abc import Mapping
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
CPU_SINGLE: Final = "CPU per single message in the sender as deployed"
CPU_OWN: Final = "CPU per message in the sender, campaign: three placeholders and an unsubscription"
ONE: Final = (
    "a batch of one recipient: write units / AWS calls, acceptance to LOGGED; "
    "time from 202 to the provider's call on the local cloud, p50"
)
FEEDBACK_CPU: Final = "feedback: CPU per event"
FAIR: Final = "a single mail behind another account's 5,000 at 14/s, fake time, from acceptance to the call: p95"
SINGLES: Final = "single messages a second of one worker, rate not binding, 3 to 8 ms a call of a store, fake time"
BURST: Final = (
    "10,000 single messages posted in 20 s at a credential of 500/s with default workers, provider at 100 ms, fake time"
)
MANY_SINGLES: Final = (
    "600 single messages posted in 24 s to one credential of the local cloud, from the last 202 to the last call"
)
SHARED: Final = "the smaller part of two accounts with endless batches on one credential, fake time"
LOWERED: Final = "a provider that takes 10 of the declared 20/s, fake time"
KILLED: Final = "killed workers at 20 and 200/s, fake time"
DEAD: Final = "failed calls before a dead provider is left alone"
STARTS: Final = "import + clients of each function against bare boto3"
MEMORY: Final = "memory of each function"
UPLOAD: Final = "1,000,000-row upload: CPU time and peak memory"
SWEEP: Final = "sweeper at 6 ms a call"
NOTICES: Final = "records of a notifier, from the upload to their notices"
NOTICE_RUNS: Final = "write units per notice of a run, from the upload to its word"
DIGEST_WRITES: Final = "write units per event of a digest, ten recipients each, from the post to the job of its window"
DIGEST_SPEED: Final = "single posts of one batch key a second, 6 ms a call, twenty functions"
MAIL: Final = "finished message to a thousand destinations, for each, from the post until its content is removed"
HOOKS: Final = "webhooks of a batch of 5,000, one endpoint with batches for delivered and failed: for each message"
HOOKS_SCATTERED: Final = "webhooks of words that come one by one, one endpoint with batches: for each word"
HOOKS_TOGETHER: Final = "webhooks of ten words of ten jobs at a time, one endpoint with batches: for each word"
HOOKS_SINGLY: Final = "webhooks of ten words of ten jobs at a time, one endpoint without batches: for each word"
HOOK_DELAY: Final = (
    "webhooks, from the change to the answer of an endpoint without batches while another hangs, fake time: p95"
)
DIGEST_MAKING: Final = "a window of 1,000 events and 100,000 pairs made into its job: CPU time and peak memory"
HOTTEST: Final = "the hottest partition of DynamoDB at 100 million messages a day, noon"
EXPORT: Final = "1,000,000-row export: CPU time and peak memory"
SHORT: Final[Mapping[str, str]] = {
    WRITES: "write units per message of a batch",
    FEEDBACK_WRITES: "write units per event, 100 of one chunk",
    SCATTERED: "scattered event",
    SCATTERED_SPEED: "scattered events, ten trackers",
    ENDING: "large job: last message to LOGGED",
    CALLS: "AWS calls per message of a batch",
    COST: "cost per million messages",
    CAMPAIGN_WRITES: "write units per message of a campaign",
    CAMPAIGN_CALLS: "AWS calls per message of a campaign",
    CAMPAIGN_COST: "cost per million messages of a campaign",
    SPEED: "speed of a worker, one message per call",
    SPEED_MANY: "speed of a worker, many messages per call",
    CPU: "CPU per message, sender",
    CPU_DEPLOYED: "CPU per message, deployed sender",
    CPU_SINGLE: "CPU per single message, deployed sender",
    CPU_OWN: "CPU per message, campaign's sender",
    ONE: "batch of one recipient",
    FEEDBACK_CPU: "CPU per event, feedback",
    FAIR: "single mail behind bulk, p95",
    SINGLES: "single messages of one worker",
    BURST: "10,000 single messages at 500 a second",
    MANY_SINGLES: "last of 600 single messages to the provider",
    SHARED: "smaller share of two accounts",
    LOWERED: "provider that lowered its rate",
    KILLED: "killed worker",
    DEAD: "failed calls of a dead provider",
    STARTS: "start above bare boto3",
    MEMORY: "memory",
    UPLOAD: "list of 1,000,000 rows",
    SWEEP: "sweeper",
    NOTICES: "records of a notifier",
    NOTICE_RUNS: "write units per notice",
    DIGEST_WRITES: "write units per event of a digest",
    DIGEST_SPEED: "single posts of one batch key",
    MAIL: "a destination of a finished message",
    HOOKS: "webhooks of a message",
    HOOKS_SCATTERED: "webhooks of a scattered word",
    HOOKS_TOGETHER: "webhooks of ten scattered words",
    HOOKS_SINGLY: "single webhooks of ten scattered words",
    HOOK_DELAY: "a webhook beside an endpoint that hangs, p95",
    DIGEST_MAKING: "a window of 100,000 pairs made",
    HOTTEST: "hottest partition at the goal's load",
    EXPORT: "export of 1,000,000 rows",
}
"""Metric → its name in the table."""
UNITS: Final[Mapping[str, str]] = {
    "WRU": "write units",
    "RRU": "read units",
    "us": "µs",
    "/s": "per second",
    "messages/s": "messages per second",
    "posts/s": "posts per second",
}
"""Unit → as the table shows it."""
WIDTH: Final = 68
"""Characters of the longest name in the table."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement.

    Attributes:
        metric: the measured quantity, and after a colon which of its figures, as in the JSON file.
        value, goal: in `unit`. The goal is met if the value is at most the goal (at least, if `more`).
        counted: exact and reproducible, so a miss fails the run. Timed rows only report.
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
    def name(self) -> str:
        """Return the name that the table shows."""
        (metric,) = (m for m in SHORT if self.metric == m or self.metric.startswith(f"{m}: "))
        return SHORT[metric] + self.metric.removeprefix(metric)

    def document(self) -> dict[str, Any]:
        """Return the row as the JSON file has it."""
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


def counted(metric: str, value: float, goal: float, unit: str, *, more: bool = False) -> Row:
    """Return a row that is exact, as `Row`."""
    return Row(metric, value, goal, unit, counted=True, more=more)


def amount(value: float, unit: str) -> str:
    """Return a value with its unit, for a person; what a unit has in brackets is left out."""
    plain = unit.partition(" (")[0]
    if plain == "$":
        return f"${value:.2f}"
    number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"  # noqa: PLR2004 - a separator from thousands on
    return f"{number} {UNITS.get(plain, plain)}".rstrip()


def table(rows: list[Row]) -> str:
    """Return the rows as text: name, result, goal, and whether it is met."""
    lines = []
    for r in rows:
        goal = f"{'at least' if r.more else 'at most'} {amount(r.goal, r.unit)}"
        note = r.unit.partition(" (")[2].rstrip(")")
        met = "met" if r.met else ("MISSED" if r.counted else "missed (timed: depends on the machine)")
        lines.append(f"{r.name:<{WIDTH}} {amount(r.value, r.unit):>26}  {goal:<36} {met}{note and f'; {note}'}")
    head = f"{'measured':<{WIDTH}} {'result':>26}  {'goal':<36} met?"
    return "\n".join([head, "-" * len(head), *lines])


def summary(rows: list[Row]) -> str:
    """Return how many rows met their goals."""
    return f"{sum(r.met for r in rows)} of {len(rows)} rows met"
