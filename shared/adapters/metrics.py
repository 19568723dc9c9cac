"""Figures for CloudWatch, by its embedded metric format: one line of the log, which it reads by itself.

Source: the format's specification in CloudWatch's user guide. A line costs no call and no right.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from shared.contracts import Credential
from shared.domain.times import Seconds
from shared.metrics import GAUGES, MILLISECONDS, NAMESPACE, Metric, Service


def tell(stage: str, service: Service, figures: Mapping[Metric, float], credential: Credential | None = None) -> None:
    """Write one line with the figures of an invocation; none if there is nothing to tell.

    Args:
        stage: the deployment's, so that no other stage's alarms read them.
        figures: each 0 is left out, except gauges.
        credential: the one they are about; its channel and its provider become dimensions, never its id.
    """
    told = {metric: value for metric, value in figures.items() if value or metric in GAUGES}
    if not told:
        return
    line = AmazonCloudWatchEMFProvider(namespace=NAMESPACE, service=service.value)
    line.add_dimension("stage", stage)
    if credential is not None:
        line.add_dimension("channel", credential.channel)
        line.add_dimension("provider", credential.provider)
    for metric, value in told.items():
        line.add_metric(metric.value, MetricUnit.Milliseconds if metric in MILLISECONDS else MetricUnit.Count, value)
    line.flush_metrics()


def age_ms(records: Sequence[Mapping[str, Any]], now: Seconds) -> float:
    """Return the milliseconds since the oldest record of a stream's batch was written, by the second.

    Args:
        records: as Lambda gives them; `ApproximateCreationDateTime` is Unix seconds.
    """
    created = [r["dynamodb"].get("ApproximateCreationDateTime") for r in records]
    return max(((now - float(c)) * 1000 for c in created if c is not None), default=0.0)
