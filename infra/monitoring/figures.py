"""The figures that alarms and the dashboard look at: metrics of queues, functions and ours, and their expressions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import IMetric, MathExpression, Metric
from aws_cdk.aws_sqs import Queue

from infra.building.function import Function
from infra.limits import EXPRESSION
from infra.settings import DeploymentSettings
from shared import metrics

MINUTE: Final = 60
FIVE_MINUTES: Final = 300
QUARTER: Final = 900
HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class Pair:
    """A channel and one of its providers, in a stage. `rate`: messages a second, of all `credentials` together."""

    stage: str
    channel: str
    provider: str
    rate: float
    credentials: int = 1

    def metric(self, service: metrics.Service, name: metrics.Metric, seconds: int, *, statistic: str = "Sum") -> Metric:
        """Return the sum, or another statistic, of one of our figures.

        Args:
            service: the service that writes the metric.
            statistic: a CloudWatch statistic, as in `Sum` or `p99`.
        """
        return ours(
            self.stage, service, name, seconds, statistic=statistic, channel=self.channel, provider=self.provider
        )


def pairs(deployment: DeploymentSettings) -> list[Pair]:
    """Return the channels and providers of the declared credentials; not the test one, which fails by order."""
    rates: dict[tuple[str, str], list[float]] = {}
    for c in deployment.settings.credentials:
        rates.setdefault((c.channel, c.provider), []).append(c.rate)
    stage = deployment.stage
    return [Pair(stage, channel, provider, sum(some), len(some)) for (channel, provider), some in sorted(rates.items())]


def unknown_share(found: Sequence[Pair], seconds: int, *, least: int = 1) -> MathExpression:
    """Return the percentage of sent messages whose outcome is unknown.

    Args:
        found: the channel and provider pairs to add up.
        least: the number of messages below which the result is 0.
    """
    names = {
        "accepted": metrics.Metric.ACCEPTED,
        "refused": metrics.Metric.REFUSED,
        "throttled": metrics.Metric.THROTTLED,
        "unknown": metrics.Metric.UNKNOWN,
    }
    using = {
        f"{name}{i}": pair.metric(metrics.Service.SEND, metric, seconds)
        for i, pair in enumerate(found)
        for name, metric in names.items()
    }
    whole = ", ".join(f"FILL({name}, 0)" for name in using)
    unknown = ", ".join(f"FILL({name}, 0)" for name in using if name.startswith("unknown"))
    part = f"SUM([{unknown}])"
    return expression_of(f"IF({part} >= {least}, 100 * {part} / SUM([{whole}]), 0)", using, seconds)


def rate_share(pair: Pair, seconds: int, *, spare: int = 0) -> MathExpression:
    """Return the messages sent to a provider as a percentage of what its credentials' rates allow.

    Args:
        pair: the channel and provider, with the sum of the rates (messages a second).
        spare: slots that are not counted.
    """
    slots = pair.metric(metrics.Service.SEND, metrics.Metric.SLOTS, seconds)
    name = f"slots_{pair.channel}_{pair.provider}".replace("-", "_")  # unique within a widget
    sent = f"(FILL({name}, 0) - {spare})" if spare else f"FILL({name}, 0)"
    allowed = f"{seconds * pair.rate:.4f}"  # metric math is not said to know exponents
    return expression_of(f"100 * {sent} / {allowed}", {name: slots}, seconds)


def age(queue: Queue) -> Metric:
    """Return the age in seconds of a queue's oldest message."""
    return of_queue(queue, "ApproximateAgeOfOldestMessage", "Maximum")


def depth(queue: Queue) -> Metric:
    """Return the number of messages of a queue."""
    return of_queue(queue, "ApproximateNumberOfMessagesVisible", "Maximum")


def ours(
    stage: str,
    service: metrics.Service,
    name: metrics.Metric,
    seconds: int,
    *,
    statistic: str = "Sum",
    **dimensions: str,
) -> Metric:
    """Return one of Posthaste's own metrics.

    Args:
        service: the service that writes the metric.
        statistic: a CloudWatch statistic, as in `Sum` or `p99`.
    """
    return Metric(
        namespace=metrics.NAMESPACE,
        metric_name=name.value,
        dimensions_map={"stage": stage, "service": service.value, **dimensions},
        statistic=statistic,
        period=Duration.seconds(seconds),
    )


def together(function: str, found: Sequence[IMetric], seconds: int) -> MathExpression:
    """Return the SUM or MAX of metrics, each 0 where it has no data.

    Args:
        function: `SUM` or `MAX`.
        found: the metrics, at most 10 for an alarm and 500 for a widget.
    """
    using = {f"m{i}": metric for i, metric in enumerate(found)}
    listed = f"{function}([{', '.join(f'FILL({name}, 0)' for name in using)}])"
    every = f"{function}(FILL(METRICS(), 0))"  # of a widget; alarms take neither so many metrics nor this function
    return expression_of(listed if len(listed) <= EXPRESSION.most else every, using, seconds)


def unserved(stage: str, service: metrics.Service, overdue: metrics.Metric, runs: metrics.Metric) -> MathExpression:
    """Return 1 of a minute in which work was overdue and no run of its function saw all of it, else 0.

    Args:
        service: the service that writes both metrics.
        overdue: 1 for each look that found overdue work.
        runs: 1 for each run that saw all of it.
    """
    using = {
        "overdue": ours(stage, service, overdue, MINUTE, statistic="Maximum"),
        "runs": ours(stage, service, runs, MINUTE),
    }
    return expression_of("IF(FILL(overdue, 0) > FILL(runs, 0), 1, 0)", using, MINUTE)


def of_queue(queue: Queue, name: str, statistic: str) -> Metric:
    """Return one of SQS's metrics of a queue, over five minutes.

    Args:
        name: the metric of SQS, as in `ApproximateAgeOfOldestMessage`.
        statistic: a CloudWatch statistic, as in `Maximum`.
    """
    return queue.metric(name, statistic=statistic, period=Duration.seconds(FIVE_MINUTES))


def of_function(function: Function, name: str, statistic: str) -> Metric:
    """Return one of Lambda's metrics of a function, over five minutes.

    Args:
        name: the metric of Lambda, as in `Errors`.
        statistic: a CloudWatch statistic, as in `Sum`.
    """
    return function.function.metric(name, statistic=statistic, period=Duration.seconds(FIVE_MINUTES))


def expression_of(expression: str, using: Mapping[str, IMetric], seconds: int) -> MathExpression:
    """Return an expression over metrics. `seconds`: its period.

    Args:
        using: the metrics that it names.
    """
    return MathExpression(expression=expression, using_metrics=using, period=Duration.seconds(seconds), label="")
