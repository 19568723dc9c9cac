"""The cost of a million notices: uploaded over HTTP, taken, sent by runs as texts, delivered at once and reported."""

from typing import Final

from benchmarks.counting.clinic import clinic
from benchmarks.counting.cost import (
    API_GB,
    API_LINES,
    EVENT_BYTES,
    GB,
    MEMORY_GB,
    RECEIVED,
    WIRE_BYTES,
    Bill,
    Way,
    dynamo,
    function,
    posted,
    received,
    requested,
)
from benchmarks.rig import prices
from benchmarks.rig.world import World
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.notices.notice import NoticeStatus

MANY: Final = 50
SECONDS: Final = 0.1
"""Of the provider for a text."""
TOGETHER: Final = 10
"""Calls that a lane makes at a time."""


def bill(way: Way, *, count: int) -> Bill:
    """Have a payload of notices delivered and write the bill. `count`: records of the payload, due in one minute."""
    out = Bill("notice (text message)", way, f"payloads of {count}" if count > 1 else "by itself", count)
    with clinic(spread=False) as c:
        w = c.world
        calls, sent, before = w.wire.calls, w.wire.sent, w.stored()
        w.take()
        uuids = c.upload(count)
        requested(out, 1)
        function(out, 1, 6, API_GB, lines=API_LINES)
        _counted(out, w)
        c.minute()
        out.add("egress", (w.wire.sent - sent + WIRE_BYTES * (w.wire.calls - calls)) / GB * prices.EGRESS_GB)
        function(out, 0, 0, MEMORY_GB, SECONDS * max(1, count / TOGETHER))
        received(out, 1, 1, EVENT_BYTES, fair=True)
        _counted(out, w)
        c.say(uuids, ProviderEventKind.DELIVERED)
        _counted(out, w)
        posted(out, count, EVENT_BYTES, RECEIVED if count > 1 else 1)
        out.keep(before, w)
        c.minute()  # finished runs are looked at
        _counted(out, w)
        if any(x.status is not NoticeStatus.SUCCESS for x in c.read(uuids)):
            raise RuntimeError("not all were delivered")
    return out


def _counted(out: Bill, w: World) -> None:
    """Add what was asked of AWS since the last time, and the functions that were started."""
    runs = sum(w.invocations.values())
    tally = w.take()
    dynamo(out, tally)
    function(out, runs, tally.aws_calls)
