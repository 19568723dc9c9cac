"""The cost of a million messages: the meter's figures times the price table, and assumptions about the rest.

Assumed:

- A batch is 1,000 messages to a lane of 1,000 or 20 a second with two workers. Each message has one event (delivered),
  by SES two (send, delivery).
- Batched feedback comes in posts of 100 events, and the tracker takes ten posts at once; on a slow lane, one.
- With one post per event, the tracker takes a hundred events of two chunks at once, of the 500 that it may take. Its
  five pollers collect for five seconds each, so that is 100 events a second; on a slow lane, 20. The changes are folded
  at once (the stream's window of a second).
- A function takes 6 ms per AWS call, and 5 ms besides.
- A sender is billed for as long as its lane's rate asks for, with both workers busy all the time.
- An invocation logs a line for people and one of figures; the API logs only the first. A test holds the sizes
  below. Lambda's own lines add 550 bytes, but not for functions that can run for each message.
- A request to a provider carries 450 bytes besides its body (headers and TLS).
- A campaign has 5,000 recipients. Each has a body of their own of three placeholders and an unsubscription link. Its
  text part is derived.
- A request to the API, and a post of a provider, add a line of 180 bytes to the access log.

DynamoDB's rule of sizes bills the items that are kept until they expire, with point-in-time recovery. They are listed
apart, because each deployment decides how long it keeps jobs. Not counted: idle resources (`rest` counts them), and
the provider's own fee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import ceil
from typing import Final

from benchmarks.rig import prices, scenarios
from benchmarks.rig.meter import Tally
from benchmarks.rig.world import World, world
from shared.contracts import ProviderEvent
from shared.domain.lanes.pacing import SHARE

MESSAGES: Final = 1000
CAMPAIGN: Final = 5000
CAMPAIGN_REQUESTS: Final = 4
"""To make it, to get a place for its list, to have that read, and to send it."""
ROW_SECONDS: Final = 60e-6
"""The ingest reads a million rows in a minute."""
CHUNK: Final = 500
RATE: Final = 1000.0
SLOW_RATE: Final = 20.0
WORKERS: Final = 2
POST_EVENTS: Final = 100
TRACK_POSTS: Final = {RATE: 10, SLOW_RATE: 1}
TRACK_SINGLES: Final = {RATE: 100, SLOW_RATE: 20}
"""By rate: posts of a hundred events, and posts of one, that the tracker takes at once."""
RECEIVED: Final = 10
"""Messages that SQS gives out, or deletes, in a request."""
CALL_SECONDS: Final = 0.006
BASE_SECONDS: Final = 0.005
MEMORY_GB: Final = 0.5
SENDER_GB: Final = {RATE: 1.0, SLOW_RATE: MEMORY_GB}
"""infra/functions/lane.py, FAST_MB and SLOW_MB: a lane of more than 250 messages a second and worker has the first."""
API_GB: Final = 1.0
"""infra/functions/api.py, MEMORY_MB."""
API_LINES: Final = 380
EDGE_LINES: Final = 600
WORKER_LINES: Final = 650
"""Bytes that an invocation logs, with CloudWatch's 26 a line: of the API, of the webhooks' end, of other functions."""
PLACE_BYTES: Final = 40
"""Of a sender's line, for each pointer beside the first."""
LAMBDA_LINES: Final = 550
"""Lambda's own lines about an invocation, of functions that are not `FREQUENT` (infra/building/function.py)."""
ACCESS_BYTES: Final = 180
"""A line of the access log (infra/functions/api.py, LOG_LINE) and the 26 bytes that CloudWatch adds."""
MONTH_SECONDS: Final = 730 * 3600
WIRE_BYTES: Final = 450
EVENT_BYTES: Final = 240
SNS_BYTES: Final = 3000
"""Of a notification of SNS with an event of SES."""
GB: Final = 1e9


Stored = Mapping[tuple[str, str, str], tuple[int, int]]
"""As `World.stored` returns it."""


class Way(Enum):
    """How providers' events come in."""

    NONE = "none"
    BATCHED = "batched posts"
    POSTS = "a post each"
    OWN = "a post each, to the own address"
    TOPIC = "SES in this region"
    SNS = "SES in another region"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The events about each message, in their order."""
        if self is Way.NONE:
            return ()
        return ("accepted", "delivered") if self in (Way.TOPIC, Way.SNS) else ("delivered",)


@dataclass(slots=True)
class Bill:
    """Dollars per million messages by what they are paid for. `kept`: for what is stored until it expires, apart.

    Attributes:
        shape: of the messages.
        way: of their events.
        rate: how many come at once, in words.
        messages: of which the amounts are.
    """

    shape: str
    way: Way = Way.NONE
    rate: str = ""
    messages: int = MESSAGES
    lines: dict[str, float] = field(default_factory=dict)
    kept: float = 0.0

    def add(self, what: str, dollars: float) -> None:
        """Add dollars for `messages`."""
        self.lines[what] = self.lines.get(what, 0.0) + dollars * prices.MILLION / self.messages

    def keep(self, before: Stored, w: World) -> None:
        """Add what is stored now and was not before, for as long as it is kept."""
        now = w.clock.now()
        new = [found for key, found in w.stored().items() if key not in before]
        months = sum(size * (until - now) for size, until in new) / GB / MONTH_SECONDS
        self.kept += months * (prices.STORED_GB + prices.PITR_GB) * prices.MILLION / self.messages

    @property
    def name(self) -> str:
        """The shape, its rate and its events."""
        return f"{self.shape}, {self.rate}, {self.way.value}"

    @property
    def total(self) -> float:
        """Return dollars per million messages, without what is kept."""
        return sum(self.lines.values())


def dynamo(bill: Bill, tally: Tally, times: float = 1) -> None:
    bill.add("DynamoDB writes", times * tally.wru * prices.WRITE_UNIT)
    bill.add("DynamoDB reads", times * tally.rru * prices.READ_UNIT)
    bill.add("SQS", times * (tally.sqs * prices.SQS_REQUEST + tally.sqs_fair * prices.SQS_FAIR))


def function(
    bill: Bill,
    invocations: float,
    calls: float,
    gb: float = MEMORY_GB,
    seconds: float = 0,
    *,
    lines: int = WORKER_LINES,
) -> None:
    """Add invocations that make `calls` AWS calls in all, or last `seconds` in all if that is longer.

    Args:
        lines: bytes that each logs.
    """
    busy = max(seconds, calls * CALL_SECONDS + invocations * BASE_SECONDS)
    bill.add("Lambda", invocations * prices.LAMBDA_REQUEST + busy * gb * prices.LAMBDA_GB_SECOND)
    bill.add("logs", invocations * lines / GB * prices.LOG_GB)


def received(bill: Bill, messages: float, per_receive: int, size: int, *, fair: bool = False) -> None:
    """Add what the event source asks of a queue: receives, and as many deletes."""
    batches = messages / per_receive
    requests = batches * (ceil(per_receive * size / 65536) + 1)
    bill.add("SQS", requests * (prices.SQS_REQUEST + (prices.SQS_FAIR if fair else 0)))


def bill(shape: str, *, body: int, per_call: int, way: Way, rate: float = RATE) -> Bill:
    """Send a thousand messages through the metered engine, with their feedback, and write the bill."""
    out = Bill(shape, way, f"{rate:,.0f} a second")
    with world(rate=max(rate, SHARE * per_call if rate == RATE else rate), per_call=per_call) as w:
        scenarios.warm(w)
        calls, sent, before = w.wire.calls, w.wire.sent, w.stored()
        job, tally = scenarios.batch(w, MESSAGES, body)
        out.keep(before, w)
        calls, sent = w.wire.calls - calls, w.wire.sent - sent
        pointers = tally.service("sqs", "SendMessage", "SendMessageBatch")
        dynamo(out, tally)
        requested(out, 1)
        function(out, 1, 6, API_GB, lines=API_LINES)
        _delivered(out, pointers, sent + calls * WIRE_BYTES, rate)
        _heard(out, w, job, rate)
    return out


def campaign_bill(shape: str, *, body: int, way: Way, rate: float = RATE) -> tuple[Bill, Tally]:
    """Send a campaign, from its creation on, with feedback; return its bill and what was counted before that."""
    out = Bill(shape, way, f"{rate:,.0f} a second", CAMPAIGN)
    with world(rate=rate) as w:
        scenarios.warm(w)
        calls, sent, before = w.wire.calls, w.wire.sent, w.stored()
        job, tally = scenarios.campaign(w, CAMPAIGN, body)
        out.keep(before, w)
        calls, sent = w.wire.calls - calls, w.wire.sent - sent
        dynamo(out, tally)
        puts, gets = tally.service("s3", "PutObject"), tally.service("s3", "GetObject", "HeadObject")
        out.add("S3", puts * prices.S3_PUT + gets * prices.S3_GET)
        requested(out, CAMPAIGN_REQUESTS)
        function(out, CAMPAIGN_REQUESTS, CAMPAIGN_REQUESTS * 10, API_GB, lines=API_LINES)
        function(out, 1, 0, MEMORY_GB, CAMPAIGN * ROW_SECONDS, lines=WORKER_LINES + LAMBDA_LINES)
        # The planner looks at the job that begins and at the one that ends.
        function(out, 2, 6, lines=WORKER_LINES + LAMBDA_LINES)
        _delivered(out, -(-CAMPAIGN // CHUNK), sent + calls * WIRE_BYTES, rate)
        _heard(out, w, job, rate)
    return out, tally


def _delivered(out: Bill, pointers: int, wire: int, rate: float) -> None:
    """Add what senders, loggers, lanes and the wire to the provider cost; `wire`: bytes."""
    function(out, pointers, 0, SENDER_GB[rate], WORKERS * out.messages / rate)
    function(out, pointers, 6 * pointers, lines=WORKER_LINES + LAMBDA_LINES)
    received(out, pointers, 1, 100, fair=True)
    out.add("egress", wire / GB * prices.EGRESS_GB)


def _heard(out: Bill, w: World, job: str, rate: float) -> None:
    """Add the feedback about all messages."""
    for kind in out.way.kinds:
        (_batched if out.way is Way.BATCHED else _single)(out, w, job, rate, kind)


def _batched(out: Bill, w: World, job: str, rate: float, kind: str) -> None:
    """Posts of a hundred events, some of them in an invocation of the tracker, each thousand folded at once."""
    w.take()
    for chunk in range(out.messages // CHUNK):
        posts = [_words(job, chunk, range(i, i + POST_EVENTS), kind) for i in range(0, CHUNK, POST_EVENTS)]
        together = TRACK_POSTS[rate]
        for start in range(0, len(posts), together):
            w.track(scenarios.lane_of(w, job, chunk), posts[start : start + together])
        if chunk % 2:
            w.log()
    tally = w.take()
    posts_made = out.messages // POST_EVENTS
    dynamo(out, tally)
    posted(out, posts_made, POST_EVENTS * EVENT_BYTES)
    function(out, posts_made / TRACK_POSTS[rate], tally.aws_calls)


def _single(out: Bill, w: World, job: str, rate: float, kind: str) -> None:
    """A post for every event, some in each invocation of the tracker, of two chunks and folded together."""
    w.take()
    together = TRACK_SINGLES[rate]
    for chunk in (0, 1):
        events = _words(job, chunk, range(together // 2), kind)
        w.track(scenarios.lane_of(w, job, chunk), [[e] for e in events])
    w.log()
    tally = w.take()
    times = out.messages / together
    dynamo(out, tally, times)
    posted(out, out.messages, EVENT_BYTES)
    function(out, times, times * tally.aws_calls)


def _words(job: str, chunk: int, indices: range, kind: str) -> Sequence[ProviderEvent]:
    return [replace(x, word=kind) for x in scenarios.words(job, chunk, indices)]


def posted(out: Bill, posts: int, size: int, per_receive: int = RECEIVED) -> None:
    """Add what it costs that posts come in by the bill's way: the request, the function, the queue in and out.

    Args:
        posts: requests of a provider, or messages of its topic.
        size: of each in the queue, in bytes.
        per_receive: how many of them a request of the event source gets.
    """
    if out.way is Way.TOPIC:  # the topic writes into the queue
        out.add("SNS", posts * prices.SNS_PUBLISH)
        size = SNS_BYTES
    else:
        if out.way is not Way.OWN:
            requested(out, posts)
        if out.way is Way.SNS:
            out.add("SNS", posts * prices.SNS_HTTP)
        function(out, posts, posts, lines=EDGE_LINES)
    out.add("SQS", posts * ceil(size / 65536) * prices.SQS_REQUEST)
    received(out, posts, per_receive, size)


def requested(out: Bill, requests: int) -> None:
    """Add requests at the HTTP API, with their lines in the access log."""
    out.add("API Gateway", requests * prices.HTTP_API_REQUEST)
    out.add("logs", requests * ACCESS_BYTES / GB * prices.LOG_GB)
