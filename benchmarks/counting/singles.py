"""The cost of a million single messages: each has its own POST, its own job and its own event in its own post.

Assumed beside what `cost` assumes: 2 KB of HTML, a provider that answers after 0.1 s, and workers of 512 MB.

- *Quiet*: a message a minute or so. Every function is started for only this message.
- *Busy*: ten at a time. A sender serves them together. The logger serves the messages of a second or five at once,
  and so does the tracker. The event sources of queues get ten messages in a request.
"""

from dataclasses import replace
from typing import Final

from benchmarks.counting.cost import (
    API_GB,
    API_LINES,
    BASE_SECONDS,
    CALL_SECONDS,
    EVENT_BYTES,
    GB,
    MEMORY_GB,
    PLACE_BYTES,
    RECEIVED,
    WIRE_BYTES,
    WORKER_LINES,
    Bill,
    Way,
    dynamo,
    function,
    posted,
    received,
    requested,
)
from benchmarks.rig import prices
from benchmarks.rig.mail import recipients
from benchmarks.rig.scenarios import BODY, lane_of, warm, words
from benchmarks.rig.world import World, world
from cli.checks.account import SINGLES_PER_WORKER
from shared.contracts import Credential, ProviderEvent

RATE: Final = 1500.0
"""Messages a second: a rate that does not bind, so that each reservation finds the credential idle."""
BUSY: Final = 10
GROUP: Final = Credential("one", "sendgrid", "email", RATE).group
SENDER_SECONDS: Final = 1 / SINGLES_PER_WORKER
"""Of a sender for each message of a group, whose processor is what it waits for."""
PROVIDER_SECONDS: Final = 0.1
POINTER_BYTES: Final = 100
READ_BYTES: Final = 4096
"""That a consistent read unit reads."""
HOOKS_GB: Final = 1.0
"""infra/functions/hooks.py, GATHER_MB."""


def bill(way: Way, *, count: int) -> Bill:
    """Send single messages through the metered engine, with their feedback, and write the bill.

    Args:
        count: messages that functions find together; 1: each comes by itself.
    """
    busy = count > 1
    out = Bill("single message", way, "ten at a time" if busy else "by itself", count)
    with world(rate=RATE, spread=False) as w:
        warm(w)
        _warm_feedback(w)
        wire_calls, wire_bytes, before = w.wire.calls, w.wire.sent, w.stored()
        jobs = w.post_each(count, BODY)
        _api(out, w, count)
        w.send(GROUP if busy else 1)
        _sent(out, w, count, GROUP if busy else 1)
        out.add("egress", (w.wire.sent - wire_bytes + WIRE_BYTES * (w.wire.calls - wire_calls)) / GB * prices.EGRESS_GB)
        w.log(count)
        _run(out, w, gathered=_gathered(w, jobs))
        for kind in way.kinds:
            _heard(out, w, jobs, kind)
            posts = 1 if way is Way.BATCHED else count
            posted(out, posts, EVENT_BYTES * count // posts, RECEIVED if busy else 1)
        _walked(out, w, jobs)
        _logged(w, jobs, delivered=bool(way.kinds))
        out.keep(before, w)
    return out


def _warm_feedback(w: World) -> None:
    """Hear of a first message, as functions that have run before have."""
    job = w.post(recipients(1), BODY)
    w.finish()
    w.track(lane_of(w, job), [words(job, 0, range(1))])
    w.log()
    w.take()


def _api(out: Bill, w: World, count: int) -> None:
    tally = w.take()
    dynamo(out, tally)
    requested(out, count)
    function(out, count, tally.aws_calls, API_GB, lines=API_LINES)


def _sent(out: Bill, w: World, count: int, each: int) -> None:
    """Add the senders. `each`: messages of an invocation."""
    tally = w.take()
    dynamo(out, tally)
    seconds = max(tally.aws_calls / count * CALL_SECONDS, each * SENDER_SECONDS) + PROVIDER_SECONDS + BASE_SECONDS
    lines = WORKER_LINES + (each - 1) * PLACE_BYTES
    function(out, count / each, 0, MEMORY_GB, seconds * count / each, lines=lines)
    received(out, count, each, POINTER_BYTES, fair=True)


def _run(out: Bill, w: World, gathered: int) -> None:
    """Add the loggers or trackers that have run, and as many invocations of `gather_hooks` as jobs' ends were heard."""
    runs = sum(w.invocations.values())
    tally = w.take()
    dynamo(out, tally)
    function(out, runs, tally.aws_calls)
    function(out, gathered, 0, HOOKS_GB)


def _gathered(w: World, jobs: list[str]) -> int:
    """Return how often the stream's records of some jobs start `gather_hooks`: all are in one batch, if any."""
    return int(any(w.hears(x) for x in jobs))


def _heard(out: Bill, w: World, jobs: list[str], kind: str) -> None:
    """Add the trackers and loggers of an event about each message."""
    by_lane: dict[str, list[list[ProviderEvent]]] = {}
    for job in jobs:
        (word,) = words(job, 0, range(1))
        by_lane.setdefault(lane_of(w, job), []).append([replace(word, word=kind)])
    w.take()
    for lane, posts in by_lane.items():
        w.track(lane, [[x for post in posts for x in post]] if out.way is Way.BATCHED else posts)
    _run(out, w, gathered=0)
    w.log(len(jobs))
    _run(out, w, gathered=_gathered(w, jobs))


def _walked(out: Bill, w: World, jobs: list[str]) -> None:
    """Add what the sweeper reads of ended jobs: their part of a consistent page, once. Its run is at rest."""
    sizes = [size for name, (size, _) in w.stored().items() if any(job in name[-1] for job in jobs)]
    out.add("DynamoDB reads", sum(sizes) / READ_BYTES * prices.READ_UNIT)


def _logged(w: World, jobs: list[str], *, delivered: bool) -> None:
    """Check that everything was joined. Raises RuntimeError otherwise."""
    found = [w.deployment.records.job(job) for job in jobs]
    w.take()
    if any(x is None or x.state != "LOGGED" or x.counts["delivered"] != delivered for x in found):
        raise RuntimeError("not all was logged as it was told")
