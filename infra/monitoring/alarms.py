"""The alarms: what each watches, from when on it speaks, and what it says.

All numbers are here. The limits of CloudWatch decide the shapes: an alarm's expression takes ten metrics and no search.
So alarms watch lanes and queues in groups. All metrics of an alarm have one period.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from aws_cdk import Duration
from aws_cdk.aws_apigatewayv2 import HttpApi
from aws_cdk.aws_cloudwatch import ComparisonOperator, IMetric, TreatMissingData
from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_sqs import Queue

from infra.building.function import Function
from infra.limits import ALARM_METRICS
from infra.monitoring import figures
from infra.monitoring.figures import FIVE_MINUTES, HOUR, MINUTE, QUARTER, Pair
from infra.resources.queue import ExpressQueue, WorkQueue
from infra.resources.storage import INDICES
from shared import metrics
from shared.domain.channels.lookup import carried
from shared.providers.needs import needs_of

T = TypeVar("T")

# change: when an alarm fires
LANE_AGE: Final = 1200
"""Seconds that a pointer may wait in a lane where no sender takes any. A delayed one is as old as 900 by design."""
QUEUE_AGE: Final = 1800
"""Seconds that a message of another queue may wait; one that fails each time is that old before it is set aside."""
HOOKS_AGE: Final = 300
"""Seconds that a hint about events for endpoints may wait; workers hand a busy endpoint on after seconds."""
STREAM_LAG_MS: Final = 60_000
SINGLES_LATE_MS: Final = 60_000
"""For how long a due message of a small job may wait for a worker. One whose pointer is lost is seen at this age in two
runs of the sweeper, and then has a new one."""
UNKNOWN_LEAST: Final = 5
UNKNOWN_SHARE: Final = 1
"""Percent. A worker that dies leaves a window of each lease, up to 200 messages, of unknown fate; a healthy provider
next to none."""
SILENT_LEAST: Final = 100
SILENT_SHARE: Final = 50
"""Percent of an hour's accepted messages whose end no provider has told. Providers tell within minutes."""
RATE_SHARE: Final = 115
"""Percent. A sender tells at its end, after two minutes at the most: a quarter of an hour may hold the figures of 17
minutes, 113 %."""
BAD_POSTS: Final = 20
"""In a quarter of an hour: fewer are a stranger's try."""
BAD_POSTS_SHARE: Final = 1
"""Percent of a provider's posts that are refused. One of a hundred credentials with a wrong key makes more, as refused
posts come again. A stranger's hundred posts among a hundred thousand good ones make less."""
KEYS_ELSEWHERE: Final = 5
"""In a quarter of an hour. A laptop that leaves its office tries a call or two by mistake."""
KEYS_REFUSED: Final = 100
"""In a quarter of an hour. A program that comes every minute with an old key makes 15; it does no harm."""
KEYS_LIMITED: Final = 300
"""In a quarter of an hour. A program that waits as the answers say is refused once a second at the most, and ends."""
INGEST_FAILURES: Final = 2
"""A hiccup of the store fails a list once; the next try continues from its checkpoint."""


@dataclass(frozen=True, slots=True)
class Watch:
    """One alarm.

    Attributes:
        name: unique in the stage, in kebab case.
        runbook: the file in docs/runbooks, without its ending; several alarms may share one.
        says: in one sentence, what it means.
        metric: what is watched, with its period.
        threshold: the bound; it alarms where the metric is `comparison` to it.
        periods: how many it checks, of which `breaching` (all, if 0) must be beyond the bound.
        missing: what a period without data counts as.
    """

    name: str
    runbook: str
    says: str
    metric: IMetric
    threshold: float
    comparison: ComparisonOperator = ComparisonOperator.GREATER_THAN_THRESHOLD
    periods: int = 1
    breaching: int = 0
    missing: TreatMissingData = TreatMissingData.NOT_BREACHING


def lanes(work: Sequence[WorkQueue | ExpressQueue]) -> Iterable[Watch]:
    """Watch the lanes' queues: pointers wait, and no sender takes any."""
    for n, group in enumerate(_groups(work, ALARM_METRICS.most // 2), start=1):
        using: dict[str, IMetric] = {}
        terms = []
        for i, lane in enumerate(group):
            using[f"age{i}"] = figures.age(lane.queue)
            using[f"done{i}"] = figures.of_queue(lane.queue, "NumberOfMessagesDeleted", "Sum")
            terms.append(f"IF(FILL(age{i}, 0) > {LANE_AGE} AND FILL(done{i}, 0) < 1, 1, 0)")
        yield Watch(
            f"lane-stalled-{n}",
            "lane-stalled",
            "In one of these lanes messages have waited for 20 minutes while no worker took any.",
            figures.expression_of(" + ".join(terms), using, FIVE_MINUTES),
            0,
            periods=3,
        )


def queues(feedback: WorkQueue, others: Sequence[WorkQueue]) -> Iterable[Watch]:
    """Watch the age of what waits in the other queues."""
    yield Watch(
        "feedback-age",
        "feedback-age",
        "Providers' words have waited in the feedback queue for half an hour: states shown to clients are old.",
        figures.age(feedback.queue),
        QUEUE_AGE,
        periods=3,
    )
    for n, group in enumerate(_groups(others, ALARM_METRICS.most), start=1):
        yield Watch(
            f"queue-age-{n}",
            "queue-age",
            "Jobs whose time has come, uploads, exports or notifiers' records have waited in a queue for half an hour.",
            figures.together("MAX", [figures.age(q.queue) for q in group], FIVE_MINUTES),
            QUEUE_AGE,
            periods=3,
        )


def dead(letters: Sequence[Queue]) -> Iterable[Watch]:
    """Watch all dead-letter queues."""
    for n, group in enumerate(_groups(letters, ALARM_METRICS.most), start=1):
        yield Watch(
            f"dead-letters-{n}",
            "dead-letters",
            "Something failed five times and lies in a dead-letter queue, where it waits for somebody to look at it.",
            figures.together("SUM", [figures.depth(q) for q in group], FIVE_MINUTES),
            0,
        )


def sending(found: Sequence[Pair]) -> Iterable[Watch]:
    """Watch what providers say."""
    for n, group in enumerate(_groups(found, ALARM_METRICS.most), start=1):
        opened = [p.metric(metrics.Service.SEND, metrics.Metric.BREAKER_OPENED, FIVE_MINUTES) for p in group]
        yield Watch(
            f"breaker-open-{n}",
            "breaker-open",
            "A provider refused the account or failed several times in a row. It gets few messages until it recovers.",
            figures.together("SUM", opened, FIVE_MINUTES),
            0,
            periods=3,
            breaching=1,
        )
    for pair in found:
        yield _unknown(pair)
        yield _rate(pair)
        if needs_of(pair.provider).has_feedback:
            yield _silent(pair)


def _unknown(pair: Pair) -> Watch:
    return Watch(
        f"unknown-share-{pair.channel}-{pair.provider}",
        "unknown-share",
        f"Of over {UNKNOWN_SHARE} % of the messages given to this provider nobody knows whether it has them.",
        figures.unknown_share([pair], QUARTER, least=UNKNOWN_LEAST),
        UNKNOWN_SHARE,
    )


def _rate(pair: Pair) -> Watch:
    return Watch(
        f"above-rate-{pair.channel}-{pair.provider}",
        "above-rate",
        "This provider was sent more than all its credentials' declared rates allow.",
        figures.rate_share(pair, QUARTER, spare=_slots_at_once(pair) * pair.credentials),
        RATE_SHARE,
    )


def _slots_at_once(pair: Pair) -> int:
    """Return the most slots of one message, such as an SMS's segments.

    Any 17 minutes have so many of each credential beside what its rate says. For a rate of a message a minute that
    would be many percent.
    """
    return max((channel.most_slots for channel in carried(pair.channel)), default=1)


def _silent(pair: Pair) -> Watch:
    accepted, final = "FILL(accepted, 0)", "FILL(final, 0)"
    return Watch(
        f"unacknowledged-{pair.channel}-{pair.provider}",
        "unacknowledged",
        "In two of the last six hours this provider did not tell what became of most of the messages that it took.",
        figures.expression_of(
            f"IF({accepted} >= {SILENT_LEAST}, 100 * ({accepted} - {final}) / {accepted}, 0)",
            {
                "accepted": pair.metric(metrics.Service.SEND, metrics.Metric.ACCEPTED, HOUR),
                "final": pair.metric(metrics.Service.TRACK, metrics.Metric.FINAL_WORDS, HOUR),
            },
            HOUR,
        ),
        SILENT_SHARE,
        periods=6,
        breaching=2,
    )


def webhooks(found: Sequence[Pair]) -> Iterable[Watch]:
    """Watch what is posted to the webhooks."""
    heard = [p for p in found if needs_of(p.provider).has_feedback]
    for n, group in enumerate(_groups(heard, ALARM_METRICS.most // 2), start=1):
        using: dict[str, IMetric] = {}
        terms = []
        for i, pair in enumerate(group):
            using[f"bad{i}"] = pair.metric(metrics.Service.WEBHOOKS, metrics.Metric.BAD_POSTS, QUARTER)
            using[f"good{i}"] = pair.metric(metrics.Service.WEBHOOKS, metrics.Metric.POSTS, QUARTER)
            bad, good = f"FILL(bad{i}, 0)", f"FILL(good{i}, 0)"
            terms.append(f"IF({bad} > {BAD_POSTS} AND 100 * {bad} > {BAD_POSTS_SHARE} * ({bad} + {good}), 1, 0)")
        yield Watch(
            f"bad-webhooks-{n}",
            "bad-webhooks",
            "Over 1 % of a provider's webhook posts are refused: their signature or body does not hold.",
            figures.expression_of(" + ".join(terms), using, QUARTER),
            0,
            periods=2,
        )


def sweeper(stage: str) -> Iterable[Watch]:
    """Watch the sweeper, and what it sees."""
    yield Watch(
        "sweeper-silent",
        "sweeper-silent",
        "The sweeper has not ended a run in five minutes: nothing that was lost on the way is found again.",
        # Filled, since an alarm looks for what is missing two periods further back than it has.
        figures.together("SUM", [figures.ours(stage, metrics.Service.SWEEP, metrics.Metric.SWEPT, MINUTE)], MINUTE),
        1,
        comparison=ComparisonOperator.LESS_THAN_THRESHOLD,
        periods=5,
        missing=TreatMissingData.BREACHING,
    )
    yield Watch(
        "sweep-incomplete",
        "sweep-incomplete",
        "For five minutes no run of the sweeper has seen all that there is: what is lost on the way is found late. Its "
        "lines `walk not finished` name what it left.",
        figures.ours(stage, metrics.Service.SWEEP, metrics.Metric.SWEEP_INCOMPLETE, MINUTE, statistic="Maximum"),
        0,
        periods=5,
    )
    yield Watch(
        "singles-late",
        "singles-late",
        "Messages of small jobs have waited for over a minute, though they are due and nothing is paused: more are "
        "posted than a lane's express workers send.",
        # Not the queues' own age: it counts what is delayed or in flight, and costs a metric for each lane (ADR 219).
        figures.ours(stage, metrics.Service.SWEEP, metrics.Metric.EXPRESS_WAIT, MINUTE, statistic="Maximum"),
        SINGLES_LATE_MS,
        periods=5,
        breaching=3,
    )
    yield Watch(
        "jobs-stuck",
        "jobs-stuck",
        "Jobs that should go on have not moved for over two hours, and no retry, pause or queue explains it.",
        figures.ours(stage, metrics.Service.SWEEP, metrics.Metric.STUCK, FIVE_MINUTES, statistic="Maximum"),
        0,
        periods=3,
    )


def notices(stage: str) -> Iterable[Watch]:
    """Watch what begins the runs of notices."""
    yield Watch(
        "notices-silent",
        "notices-silent",
        "For ten minutes notices have been overdue, and no run has begun all of them: they are late, or expire.",
        figures.unserved(stage, metrics.Service.NOTICES, metrics.Metric.NOTICES_OVERDUE, metrics.Metric.NOTICED),
        0,
        periods=10,
    )


def digests(stage: str) -> Iterable[Watch]:
    """Watch what makes digests."""
    yield Watch(
        "digests-silent",
        "digests-silent",
        "For ten minutes windows have been overdue, and no run has looked at all of them: digests come late.",
        figures.unserved(stage, metrics.Service.DIGEST, metrics.Metric.DIGESTS_OVERDUE, metrics.Metric.DIGESTED),
        0,
        periods=10,
    )
    yield Watch(
        "digests-late",
        "digests-late",
        "A window closed more than ten minutes ago and is no digest yet: its events are kept, and not sent.",
        figures.ours(stage, metrics.Service.DIGEST, metrics.Metric.DIGESTS_LATE, FIVE_MINUTES),
        0,
    )


def mails(stage: str) -> Iterable[Watch]:
    """Watch the end of mails."""
    yield Watch(
        "mails-late",
        "mails-late",
        "A mail whose destinations have their end, or that has expired, keeps its content for hours.",
        figures.ours(stage, metrics.Service.MAILS, metrics.Metric.MAILS_LATE, HOUR),
        0,
    )


def hooks(stage: str, work: Sequence[WorkQueue]) -> Iterable[Watch]:
    """Watch what posts to accounts' endpoints.

    Args:
        work: the queues of changes and of calls.
    """
    woken = figures.ours(stage, metrics.Service.HOOKS, metrics.Metric.HOOKS_WOKEN, MINUTE)
    yield Watch(
        "hooks-late",
        "hooks-late",
        "Hints about events have waited for five minutes: accounts' endpoints hear of them late.",
        figures.together("MAX", [figures.age(q.queue) for q in work], FIVE_MINUTES),
        HOOKS_AGE,
        periods=2,
    )
    yield Watch(
        "hooks-silent",
        "hooks-late",
        "For ten minutes no run has looked for endpoints with work: later attempts and lost hints wait.",
        figures.together("SUM", [woken], MINUTE),
        1,
        comparison=ComparisonOperator.LESS_THAN_THRESHOLD,
        periods=10,
        missing=TreatMissingData.BREACHING,
    )


def lists(stage: str) -> Iterable[Watch]:
    """Watch the reading of uploaded lists."""
    yield Watch(
        "ingest-failures",
        "ingest-failures",
        "Uploaded lists could not be read several times within an hour, for faults that are not theirs.",
        figures.ours(stage, metrics.Service.INGEST, metrics.Metric.INGEST_FAILED, HOUR),
        INGEST_FAILURES,
    )


def functions(senders: Sequence[Function], others: Sequence[Function]) -> Iterable[Watch]:
    """Watch errors and throttles of all functions."""
    parts = [("functions", g) for g in _groups(others, ALARM_METRICS.most)] + [
        ("senders", g) for g in _groups(senders, ALARM_METRICS.most)
    ]
    counts = {"functions": 0, "senders": 0}
    for kind, group in parts:
        counts[kind] += 1
        yield Watch(
            f"errors-{kind}-{counts[kind]}",
            "function-errors",
            "A function fails or runs out of time or memory, in two of the last three five minutes.",
            figures.together("SUM", [figures.of_function(f, "Errors", "Sum") for f in group], FIVE_MINUTES),
            0,
            periods=3,
            breaching=2,
        )
        yield Watch(
            f"throttles-{kind}-{counts[kind]}",
            "function-throttles",
            "Lambda has refused to run functions for a quarter of an hour: the account's concurrency is used up.",
            figures.together("SUM", [figures.of_function(f, "Throttles", "Sum") for f in group], FIVE_MINUTES),
            0,
            periods=3,
        )


def streams(readers: Sequence[Function]) -> Iterable[Watch]:
    """Watch how far the readers of streams are behind."""
    yield Watch(
        "stream-lag",
        "stream-lag",
        "A table's stream is read over a minute late: jobs start late and their counts are old.",
        figures.together("MAX", [figures.of_function(f, "IteratorAge", "Maximum") for f in readers], FIVE_MINUTES),
        STREAM_LAG_MS,
        periods=2,
    )


def api(http: HttpApi, webhooks: Function | None) -> Iterable[Watch]:
    """Watch what the API answers. `webhooks`: the function that has an address of its own, if there is one."""
    faults: list[IMetric] = [http.metric_server_error(statistic="Sum", period=Duration.seconds(FIVE_MINUTES))]
    if webhooks is not None:
        faults.append(figures.of_function(webhooks, "Url5xxCount", "Sum"))
    yield Watch(
        "api-errors",
        "api-errors",
        "The API answers with 5xx in two of the last three five minutes: clients' requests are not taken.",
        faults[0] if len(faults) == 1 else figures.together("SUM", faults, FIVE_MINUTES),
        0,
        periods=3,
        breaching=2,
    )


def keys(stage: str) -> Iterable[Watch]:
    """Watch API keys that are refused, and those that ask for more than their allowance."""
    yield Watch(
        "keys-elsewhere",
        "leaked-key",
        "An API key is used from outside its networks: it has leaked, or its owner has moved.",
        figures.ours(stage, metrics.Service.API, metrics.Metric.KEYS_ELSEWHERE, QUARTER),
        KEYS_ELSEWHERE,
    )
    refused = (metrics.Metric.KEYS_WRONG, metrics.Metric.KEYS_REVOKED, metrics.Metric.KEYS_EXPIRED)
    yield Watch(
        "keys-refused",
        "leaked-key",
        "For half an hour somebody has tried API keys that are wrong, revoked or past their end.",
        figures.together("SUM", [figures.ours(stage, metrics.Service.API, x, QUARTER) for x in refused], QUARTER),
        KEYS_REFUSED,
        periods=2,
    )
    yield Watch(
        "keys-busy",
        "leaked-key",
        "For half an hour an API key has asked for far more than its allowance: a program in a loop, or a thief.",
        figures.ours(stage, metrics.Service.API, metrics.Metric.KEYS_LIMITED, QUARTER),
        KEYS_LIMITED,
        periods=2,
    )


def limits(stage: str) -> Iterable[Watch]:
    """Watch accounts that use up the deployment's default limits of a day; only where there are some."""
    yield Watch(
        "limits-used-up",
        "limits-used-up",
        "An account has used up a default limit of the day: it grows, or somebody misuses it.",
        figures.ours(stage, metrics.Service.LIMITS, metrics.Metric.DEFAULTS_USED_UP, QUARTER),
        0,
    )


def table(records: Table) -> Iterable[Watch]:
    """Watch what the table `records` refuses; only where it has a capacity of its own."""
    places: list[dict[str, str]] = [{}, *({"GlobalSecondaryIndexName": index} for index in INDICES)]
    refused = [
        records.metric(
            name, dimensions_map={"TableName": records.table_name, **place}, statistic="Sum", period=Duration.minutes(5)
        )
        for place in places
        for name in ("WriteThrottleEvents", "ReadThrottleEvents")
    ]
    yield Watch(
        "throttles-records",
        "throttles-records",
        "The table records has refused requests for a quarter of an hour: more is asked of it than it may grow to.",
        figures.together("SUM", refused, FIVE_MINUTES),
        0,
        periods=3,
    )


def _groups(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[i : i + size] for i in range(0, len(items), size)]
