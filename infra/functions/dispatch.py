"""The functions that move jobs beside the lanes, plan, log, track and sweep, with their streams, queue and schedule."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_lambda import Code
from aws_cdk.aws_scheduler import CfnScheduleGroup
from constructs import Construct

from infra.building.function import Function
from infra.building.minutely import EveryMinute
from infra.building.streams import read_stream
from infra.resources.queue import WorkQueue
from infra.serving import SWEEPERS
from infra.settings import DeploymentSettings, DeployTarget
from shared import contracts

SECONDS: Final = 60
MEMORY_MB: Final = 512
LOG_WINDOW_SECONDS: Final = {DeployTarget.AWS: 1, DeployTarget.LOCAL: 0}
"""Folding several chunks of a job at once trades freshness for writes."""
TRACK_WINDOW_SECONDS: Final = {DeployTarget.AWS: 5, DeployTarget.LOCAL: 0}
"""The same for feedback."""
TRACK_BATCH: Final = {DeployTarget.AWS: 500, DeployTarget.LOCAL: 10}
"""Messages of feedback at once: many providers post each event by itself, and jobs and ledgers are read a hundred in
one call. A batch of more than ten needs a window."""
TRACK_WORKERS: Final = {DeployTarget.AWS: 10, DeployTarget.LOCAL: 2}
"""On a laptop each further worker costs a second of a core to start, at the time of the first feedback."""


class Feedback(Construct):
    """The queue between webhooks and tracker."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self.work = WorkQueue(
            self,
            "Work",
            deployment=deployment,
            name=f"{contracts.prefix(deployment.stage)}-feedback",
            consumer_seconds=SECONDS + TRACK_WINDOW_SECONDS[deployment.target],
        )


class Dispatch(Construct):
    """The four functions, and what starts each."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        environment: Mapping[str, str],
        records: Table,
        ops: Table,
        feedback: Feedback,
        group: CfnScheduleGroup,
    ) -> None:
        super().__init__(scope, construct_id)
        target = deployment.target
        function = partial(Function, self, deployment=deployment, code=code, seconds=SECONDS, memory=MEMORY_MB)
        self.plan = function("Plan", name="plan", environment=environment)
        self.plan_dead = self.plan.dead_letters()
        self.log = function("Log", name="log", environment=environment)
        self.log_dead = self.log.dead_letters()
        for consumer, table, patterns, dead, window_seconds in (
            (self.plan, records, contracts.PLAN_STREAM_FILTERS, self.plan_dead, 0),
            (self.log, ops, (contracts.LOG_STREAM_FILTER,), self.log_dead, LOG_WINDOW_SECONDS[target]),
        ):
            read_stream(
                consumer,
                "Source",
                deployment=deployment,
                table=table,
                patterns=patterns,
                dead=dead,
                window_seconds=window_seconds,
            )
        self.track = function("Track", name="track", environment=environment)
        feedback.work.feed(
            self.track,
            batch=TRACK_BATCH[target],
            concurrency=TRACK_WORKERS[target],
            window_seconds=TRACK_WINDOW_SECONDS[target],
        )
        reports = {
            contracts.ENV_LOG_REPORTS_URL: self.log_dead.queue.queue_url,
            contracts.ENV_PLAN_REPORTS_URL: self.plan_dead.queue.queue_url,
        }
        kept = SWEEPERS if deployment.at_once else None
        self.sweep = function("Sweep", name="sweep", environment={**environment, **reports}, reserved=kept)
        self.sweep_dead = self.sweep.dead_letters()
        self.minutely = EveryMinute(self.sweep, self.sweep_dead, group)
