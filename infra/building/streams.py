"""What reads a table's stream."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_lambda import EventSourceMapping, StartingPosition
from aws_cdk.aws_lambda_event_sources import SqsDlq

from infra.building.function import Function
from infra.resources.queue import DeadLetters
from infra.settings import DeploymentSettings, DeployTarget

STREAM_BATCH: Final = 100
STREAM_RETRIES: Final = 5
STREAM_LANES: Final = 4
"""Batches of one shard in work at once; records of one partition, so of one job, stay in order."""
RECORD_AGE_SECONDS: Final = {DeployTarget.AWS: 600, DeployTarget.LOCAL: 60}
"""A record that is older is dropped, and reported: the sweeper does its work. 60 s is the least that AWS takes."""


def read_stream(
    consumer: Function,
    construct_id: str,
    *,
    deployment: DeploymentSettings,
    table: Table,
    patterns: Sequence[Mapping[str, Any]],
    dead: DeadLetters,
    window_seconds: int = 0,
    retries: int = STREAM_RETRIES,
    age_seconds: int = 0,
) -> None:
    """Let a function read a table's stream.

    Args:
        consumer: the function; it answers with the records that failed.
        construct_id: the id of the event source within the function's construct.
        patterns: of the records that it gets, at most five.
        dead: where reports of given up batches go.
        window_seconds: how long to wait for a fuller batch.
        retries: how often a batch that fails is tried again, in ever smaller parts.
        age_seconds: a record that is older is given up; 0: `RECORD_AGE_SECONDS`.
    """
    EventSourceMapping(
        consumer,
        construct_id,
        target=consumer.function,
        event_source_arn=table.table_stream_arn,
        starting_position=StartingPosition.TRIM_HORIZON,
        filters=[{"pattern": json.dumps(p)} for p in patterns],
        batch_size=STREAM_BATCH,
        max_batching_window=Duration.seconds(window_seconds) if window_seconds else None,
        max_record_age=Duration.seconds(age_seconds or RECORD_AGE_SECONDS[deployment.target]),
        retry_attempts=retries,
        bisect_batch_on_error=True,
        report_batch_item_failures=True,
        parallelization_factor=STREAM_LANES,
        on_failure=SqsDlq(dead.queue),
    )
