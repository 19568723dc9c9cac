"""The cost of a deployment a month while nothing is sent: its idle functions metered, the rest by the price table.

Assumed: a month of 730 hours. Lambda keeps five long polls of 20 s on each queue that a function consumes. A run takes
6 ms per AWS call and 5 ms besides, and logs as in `cost`. Each credential has the two secrets that most providers need.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final
from unittest.mock import patch

from benchmarks.counting.cost import LAMBDA_LINES, MEMORY_GB, WORKER_LINES, Bill, dynamo, function
from benchmarks.counting.hooks import Hooks
from benchmarks.rig import prices
from benchmarks.rig.meter import Tally
from benchmarks.rig.scenarios import warm
from benchmarks.rig.world import World, world
from shared import contracts
from shared.engine.sweeper.expired import LOOKS

HOURS: Final = 730
MINUTES: Final = HOURS * 60
POLLS: Final = 5
POLL_SECONDS: Final = 20
QUEUES_OF_A_CREDENTIAL: Final = 2
QUEUES_BESIDES: Final = 11
"""Queues that functions consume: feedback, due, lists, exports, inboxes, digests, three of webhooks to accounts, two of
test keys."""
SECRETS_OF_A_CREDENTIAL: Final = 2
SECRETS_BESIDES: Final = 3
"""For unsubscription links, for webhooks to accounts, and for hashes of addresses."""
ALARMED: Final = 82
ALARMED_CREDENTIAL: Final = 7
ALARMED_PROVIDER: Final = 10
"""Metrics that alarms look at: of the deployment, of each credential, and of each provider of a channel."""
METRICS: Final = 2
METRICS_OF_A_PROVIDER: Final = 11
"""Our own metrics: those that have data all the time, and the most of each provider of a channel."""
SIZES: Final = ((1, 1), (2, 2), (30, 6), (100, 6))
"""Credentials and providers of the deployments that the page shows."""
SECOND: Final = 2
"""Runs before this one have made what every later run finds."""


@dataclass(frozen=True, slots=True)
class Line:
    """A cost of every month, in dollars."""

    what: str
    dollars: float


@dataclass(frozen=True, slots=True)
class _Idle:
    """A function that runs though nothing is to be done. `runs`: in each minute; `gb`: its memory."""

    what: str
    name: str
    event: Mapping[str, Any]
    runs: int = 1
    gb: float = MEMORY_GB


_LOOK: Final = {"Records": [{"messageId": "m", "body": contracts.LOOK}]}
IDLE: Final = (
    _Idle("the sweeper", "sweep", {}),
    _Idle("looks for dead workers' leases", "due", _LOOK, runs=len(LOOKS)),
    _Idle("the function that posts webhooks to accounts", "call_hooks", {}, gb=1.0),
)
"""infra/functions has their memory."""


def _at_rest(credentials: int, runs: list[Line]) -> list[Line]:
    return [
        Line("polls of empty queues", polls(QUEUES_BESIDES + QUEUES_OF_A_CREDENTIAL * credentials)),
        *runs,
        Line("secrets", prices.SECRET * (SECRETS_BESIDES + SECRETS_OF_A_CREDENTIAL * credentials)),
    ]


def markdown() -> str:
    """Return what deployments of one, two, thirty and a hundred credentials cost at rest, and what watches them."""
    runs = _runs()
    columns = [_at_rest(n, runs) for n, _ in SIZES]
    heads = [f"{n} credential{'' if n == 1 else 's'} of {p} provider{'' if p == 1 else 's'}" for n, p in SIZES]
    rows = [*((same[0].what, [x.dollars for x in same]) for same in zip(*columns, strict=True)), *_sums(columns)]
    table = ["| $ a month | " + " | ".join(heads) + " |", "|---" * (len(SIZES) + 1) + "|"]
    return "\n".join([*table, *(f"| {what} | " + " | ".join(f"{x:.2f}" for x in some) + " |" for what, some in rows)])


def _sums(columns: list[list[Line]]) -> list[tuple[str, list[float]]]:
    """Return the last rows of the table: what all lines of a size cost, and what watches it."""
    rest = [sum(x.dollars for x in lines) for lines in columns]
    alarms = [alarming(n, p) for n, p in SIZES]
    least = [x + y + prices.KMS_KEY + METRICS * prices.METRIC for x, y in zip(rest, alarms, strict=True)]
    most = [x + METRICS_OF_A_PROVIDER * p * prices.METRIC for x, (_, p) in zip(least, SIZES, strict=True)]
    return [
        ("**at rest**", rest),
        ("alarms", alarms),
        ("**with alarms and metrics, at least**", least),
        ("**with alarms and metrics, at most**", [x + prices.DASHBOARD for x in most]),
    ]


def polls(queues: int) -> float:
    """Return what a month's polls of so many empty queues cost, in dollars."""
    return queues * POLLS * (MINUTES * 60 / POLL_SECONDS) * prices.SQS_REQUEST


def alarming(credentials: int, providers: int) -> float:
    """Return what alarms cost a month, in dollars.

    Args:
        credentials: that are declared.
        providers: each counts once for each of its channels.
    """
    return prices.ALARM_METRIC * (ALARMED + ALARMED_CREDENTIAL * credentials + ALARMED_PROVIDER * providers)


def _runs() -> list[Line]:
    from functions.digest import services as digest_services  # noqa: PLC0415 - needs the library, as the functions do
    from functions.dispatch import services  # noqa: PLC0415

    with world(rate=1000) as w:
        warm(w)
        Hooks(w)
        with (
            patch.object(services, "deployment", lambda: w.deployment),
            patch.object(digest_services, "deployment", lambda: w.deployment),
        ):
            return [Line(x.what, _dollars(x, _third(w, x))) for x in IDLE]


def _third(w: World, x: _Idle) -> Tally:
    """Return what a run takes after two that found nothing to do either."""
    handler = import_module(contracts.HANDLERS[x.name].rpartition(".")[0]).handler  # the environment is set
    for _ in range(SECOND):
        w.idle(handler, x.event)
    w.take()
    w.idle(handler, x.event)
    return w.take()


def _dollars(x: _Idle, tally: Tally) -> float:
    bill = Bill(x.what, messages=prices.MILLION)
    dynamo(bill, tally)
    function(bill, 1, tally.aws_calls, x.gb, lines=WORKER_LINES + LAMBDA_LINES)
    return bill.total * MINUTES * x.runs
