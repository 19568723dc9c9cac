"""The bills of all shapes, and the tables of docs/cost.md."""

from typing import Final

from benchmarks.bills import notice
from benchmarks.counting import cost, singles
from benchmarks.counting.cost import Bill, Way
from benchmarks.rig import prices, rows
from benchmarks.rig.meter import Tally
from benchmarks.rig.rows import Row, counted, named

PLAIN: Final = "batch, 2 KB"
LARGE: Final = "batch, 20 KB in calls of 50"
CAMPAIGN: Final = "campaign, 2 KB"
SOURCES: Final = (
    "DynamoDB writes",
    "DynamoDB reads",
    "SQS",
    "API Gateway",
    "Lambda",
    "logs",
    "SNS",
    "S3",
    "egress",
)
USED: Final = (30, 50, 70)
"""Percent of a provisioned capacity that is used, on the mean of a month."""
GOALS: Final = {
    (PLAIN, Way.BATCHED): 0.50,
    (PLAIN, Way.POSTS): 2.70,
    (PLAIN, Way.OWN): 2.00,
    (LARGE, Way.BATCHED): 0.50,
    (LARGE, Way.POSTS): 2.70,
    (CAMPAIGN, Way.BATCHED): 0.60,
    ("single message", Way.NONE): 8.40,
    ("single message", Way.POSTS): 12.10,
    ("single message", Way.OWN): 11.00,
}
"""Dollars of a million at the high rate."""


def campaigns() -> tuple[list[Bill], Tally]:
    """Return the bills of campaigns, and what the first one took before its feedback."""
    first, tally = cost.campaign_bill(CAMPAIGN, body=2000, way=Way.BATCHED)
    others = [
        cost.campaign_bill(CAMPAIGN, body=2000, way=Way.POSTS)[0],
        cost.campaign_bill(CAMPAIGN, body=2000, way=Way.BATCHED, rate=cost.SLOW_RATE)[0],
    ]
    return [first, *others], tally


def batches() -> list[Bill]:
    """Return the bills of batches of a thousand."""
    plain = [
        cost.bill(PLAIN, body=2000, per_call=1, way=way)
        for way in (Way.BATCHED, Way.POSTS, Way.OWN, Way.TOPIC, Way.SNS)
    ]
    slow = [cost.bill(PLAIN, body=2000, per_call=1, way=w, rate=cost.SLOW_RATE) for w in (Way.BATCHED, Way.POSTS)]
    return [*plain, *slow, *(cost.bill(LARGE, body=20_000, per_call=50, way=w) for w in (Way.BATCHED, Way.POSTS))]


def alone() -> list[Bill]:
    """Return the bills of single messages."""
    busy = [singles.bill(way, count=singles.BUSY) for way in Way]
    return [*busy, *(singles.bill(way, count=1) for way in Way if way is not Way.BATCHED)]


def notices() -> list[Bill]:
    """Return the bills of notices."""
    return [
        *(notice.bill(way, count=notice.MANY) for way in (Way.POSTS, Way.OWN)),
        notice.bill(Way.POSTS, count=1),
    ]


def costs() -> tuple[list[Row], list[Bill]]:
    """Return the bills of a million messages of each shape, and the rows of those that have a goal."""
    of_campaigns, tally = campaigns()
    bills = [*batches(), *of_campaigns, *alone(), *notices()]
    seen: dict[tuple[str, Way], Bill] = {}
    for b in bills:
        seen.setdefault((b.shape, b.way), b)
    out = [counted(named(rows.COST, seen[key].name), seen[key].total, goal, "$") for key, goal in GOALS.items()]
    out += [
        counted(rows.CAMPAIGN_WRITES, tally.wru / cost.CAMPAIGN, 0.16, "WRU"),
        counted(rows.CAMPAIGN_CALLS, tally.aws_calls / cost.CAMPAIGN, 0.06, "calls"),
    ]
    return out, bills


def markdown(bills: list[Bill]) -> str:
    """Return the bills as a Markdown table, one a row."""
    heads = ["shape", "rate", "events", *SOURCES, "**total**", "kept"]
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for b in bills:
        if unknown := set(b.lines) - set(SOURCES):
            raise ValueError(f"no column for {', '.join(unknown)}")
        cells = [b.shape, b.rate, b.way.value, *(f"{b.lines.get(n, 0):.2f}" for n in SOURCES)]
        out.append(f"| {' | '.join([*cells, f'**{b.total:.2f}**', _kept(b.kept)])} |")
    return "\n".join(out)


def steady(bills: list[Bill]) -> str:
    """Return as a Markdown table what bills are on demand, and with a capacity that is used to some percentages."""
    heads = ["on demand", *(f"{used} % used" for used in USED)]
    out = [f"| $ per million messages | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    write, read = (x / 3600 for x in (prices.WRITE_CAPACITY, prices.READ_CAPACITY))
    for b in bills:
        if b.rate == "by itself" or b.shape == LARGE:
            continue
        writes, reads = b.lines["DynamoDB writes"], b.lines["DynamoDB reads"]
        others = b.total - writes - reads
        bought = writes / prices.WRITE_UNIT * write + reads / prices.READ_UNIT * read
        totals = [b.total, *(others + bought * 100 / used for used in USED)]
        out.append(f"| {b.name} | " + " | ".join(f"{x:.2f}" for x in totals) + " |")
    return "\n".join(out)


FEW_FIGURES: Final = 2
"""Dollars from which on what is kept has no figure after the point."""


def _kept(dollars: float) -> str:
    """Return what is kept in as many figures as are the same in each run: random ids compress differently."""
    if dollars >= FEW_FIGURES:
        return f"{dollars:.0f}"
    return f"{dollars:.1f}" if dollars >= 1 else f"{dollars:.2f}"
