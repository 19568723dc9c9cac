"""The bounds that a larger load meets first: counted partitions of DynamoDB, and quotas of AWS that noon uses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.scale import hot
from benchmarks.scale.day import API_CPU, CHUNK, SHARDS, TRACK_BULK_CPU, TRACK_CPU, TRACKERS, WEBHOOK_S, declared
from benchmarks.scale.hearing import GATHERERS
from benchmarks.scale.page import table
from benchmarks.scale.scenes import DAY
from shared.contracts import HOOK_WORKERS, SLOW_HOOK_WORKERS

MILLION: Final = 1_000_000
GOAL: Final = hot.A_DAY // MILLION
"""Million messages a day of which the counts are."""
MOST: Final = 1_000
"""Million messages a day up to which bounds are shown."""
GATEWAY: Final = 10_000
"""Requests a second of a region (API Gateway's quotas), which AWS raises."""
AT_ONCE: Final = 1_000
"""Invocations at once of a region (Lambda's quotas), which AWS raises."""
TABLE_UNITS: Final = 40_000
"""Write units a second of a table on demand (DynamoDB's quotas), which AWS raises."""
NEW_UNITS: Final = 4_000
"""Those that a new table takes before it has grown (DynamoDB's developer guide, on-demand capacity)."""
API_S: Final = 4 * API_CPU
"""Seconds of a request: its processor time, and its calls."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Something that a larger load meets.

    Attributes:
        taken: at noon of the goal's load.
        most: what there is.
        helps: what an operator does.
    """

    name: str
    taken: float
    most: float
    unit: str
    helps: str

    @property
    def at(self) -> float:
        """Million messages a day at which it is met."""
        return GOAL * self.most / self.taken


def bounds(found: hot.Found, written: Mapping[str, float]) -> list[Bound]:
    """Return what is met, the first one first.

    Args:
        written: write units of each table for a message, at noon.
    """
    return sorted([*_partitions(found), *_quotas(written)], key=lambda x: x.at)


def markdown(some: list[Bound]) -> str:
    """Return the table of what is met up to a thousand million messages a day."""
    head = ("million messages a day", "what is met", "at noon of 100 million", "there is", "what helps")
    rows = [
        (f"{x.at:,.0f}", x.name, f"{x.taken:,.0f} {x.unit}", f"{x.most:,.0f}", x.helps) for x in some if x.at <= MOST
    ]
    return table(head, rows)


def _partitions(found: hot.Found) -> Iterator[Bound]:
    for (where, name), heat in found.items():
        writes = heat.writes / hot.WRITES >= heat.reads / hot.READS
        units, most = (heat.writes, 2 * hot.WRITES) if writes else (heat.reads, 2 * hot.READS)
        if units:
            helps = next((said for part, said in HELPS.items() if part in name), "several stages")
            unit = "write units/s" if writes else "read units/s"
            yield Bound(f"partition {name} of `{where}`", units, most, unit, helps)


HELPS: Final = {
    "job": "two lists instead of one",
    "I#account": "more accounts",
    "account": "more accounts",
    "notifier": "more notifiers",
    "due": "notices over several minutes",
    "credential": "more credentials",
    "endpoint": "an endpoint with batches",
}
"""Part of a partition's name → what helps. The first one counts."""


def _quotas(written: Mapping[str, float]) -> Iterator[Bound]:
    every = hot.A_DAY / 86_400 * hot.PEAK
    singles, bulk = every * hot.SINGLE, every * (1 - hot.SINGLE)
    posts = singles + bulk / CHUNK + every
    yield Bound("requests of API Gateway", posts, GATEWAY, "a second", "a quota that AWS raises, or `webhooks_at_once`")
    some = [declared(DAY["busiest"], rank) for rank in range(1, hot.CREDENTIALS + 1)]
    senders = sum(c.workers + c.express_workers for c in some)
    trackers = singles * TRACK_CPU + bulk * TRACK_BULK_CPU
    others = TRACKERS + SHARDS + GATHERERS + HOOK_WORKERS + SLOW_HOOK_WORKERS
    at_once = senders + others + (singles + bulk / CHUNK) * API_S + every * WEBHOOK_S
    yield Bound("Lambda", at_once, AT_ONCE, "at once", "a quota that AWS raises")
    yield Bound("trackers", trackers, TRACKERS, "at once", "`TRACK_WORKERS`. Until then events wait, messages do not")
    for name, units in written.items():
        yield Bound(f"table `{name}`", every * units, TABLE_UNITS, "write units/s", "a quota that AWS raises")
        yield Bound(
            f"table `{name}`, new",
            every * units,
            NEW_UNITS,
            "write units/s",
            "ask AWS, or warm the table up",
        )
