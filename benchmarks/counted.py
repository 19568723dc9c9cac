"""The rows that are counted: the same figures on every machine, so a miss is a defect."""

from benchmarks import cost, dead, rows
from benchmarks.rows import Row, named
from benchmarks.scenarios import batch, lane_of, rate_of, warm, words
from benchmarks.world import world

BATCH = 1000
EVENTS = 100


def windows() -> list[Row]:
    """Batches of a thousand, by the size of the window."""
    out = []
    for window, units, calls in ((50, 0.20, 0.11), (200, 0.16, 0.06)):
        with world(rate=rate_of(window)) as w:
            warm(w)
            _, tally = batch(w, BATCH)
            name = f"window {window}"
            out.append(Row(named(rows.WRITES, name), tally.wru / BATCH, units, "WRU", counted=True))
            out.append(Row(named(rows.CALLS, name), tally.aws_calls / BATCH, calls, "calls", counted=True))
    return out


def one() -> list[Row]:
    """A batch of one recipient with 2 KB of HTML."""
    with world(rate=150) as w:
        warm(w)
        _, tally = batch(w, 1)
        return [
            Row(named(rows.ONE, "write units"), tally.wru, 22, "WRU", counted=True),
            Row(named(rows.ONE, "AWS calls"), tally.aws_calls, 18, "calls", counted=True),
        ]


def feedback() -> list[Row]:
    """A hundred events of one chunk in one post, folded."""
    with world(rate=1000) as w:
        warm(w)
        job, _ = batch(w, BATCH)
        lane = lane_of(w, job)
        w.take()
        w.track(lane, [words(job, 0, range(EVENTS))])
        w.log()
        units = w.take().wru
        stored = w.deployment.records.job(job)
        if stored is None or stored.counts["delivered"] != EVENTS:
            raise RuntimeError("the events were not joined")
        return [Row(rows.FEEDBACK_WRITES, units / EVENTS, 0.10, "WRU", counted=True)]


def dead_provider() -> list[Row]:
    """Failed calls of a dead provider: not the same each time, but never more on a slower machine."""
    return dead.measure()


def costs() -> tuple[list[Row], list[cost.Bill]]:
    """The bills of a million messages: each kind of mail with each kind of feedback."""
    bills = []
    out = []
    for mail, body, per_call in (("2 KB bodies", 2000, 1), ("20 KB in calls of 50", 20_000, 50)):
        for kind, goal in (("batched feedback", 0.50), ("one post per event", 3.20)):
            bill = cost.bill(f"{mail}, {kind}", body=body, per_call=per_call, batched=kind.startswith("batched"))
            bills.append(bill)
            out.append(Row(named(rows.COST, f"{kind}, {mail}"), bill.total, goal, "$", counted=True))
    bill, tally = cost.campaign_bill("campaign, 2 KB bodies, batched feedback", body=2000)
    bills.append(bill)
    out += [
        Row(rows.CAMPAIGN_WRITES, tally.wru / cost.CAMPAIGN, 0.16, "WRU", counted=True),
        Row(rows.CAMPAIGN_CALLS, tally.aws_calls / cost.CAMPAIGN, 0.06, "calls", counted=True),
        Row(rows.CAMPAIGN_COST, bill.total, 0.60, "$", counted=True),
    ]
    return out, bills
