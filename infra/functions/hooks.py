"""Webhooks to accounts' own endpoints: the function that makes deliveries reads much, the one that posts them little.

On AWS all of it is in a nested stack. Its queues go with their stack: a rollback would otherwise keep them, and with
them their names. Nothing makes up for a hint about changes that are folded. So the stack must not go before its queue
of changes is empty. The secret is in the stack itself, since all endpoints' secrets are derived from it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_events import EventPattern, Rule
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda import Code
from aws_cdk.aws_lambda_destinations import SqsDestination
from constructs import Construct

from infra.building.function import Function
from infra.building.minutely import by_rule
from infra.building.streams import read_stream
from infra.limits import RULE_PATTERN
from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings, DeployTarget
from shared import contracts

GATHER_SECONDS: Final = 60
CALL_SECONDS: Final = 60
"""A worker begins no post in the last 15 s, and hands an endpoint on after some seconds."""
GATHER_MB: Final = 1024
"""Two conditional writes for each chunk take 1.7 ms of a whole processor, and it buys 0.58 of one."""
CALL_MB: Final = 1024
"""Buys 0.58 of a processor. A post by TLS takes 0.75 ms of a whole one, so a worker could post some 750 a second."""
BATCH: Final = 10
"""Hints about changes at once: the most that SQS gives without waiting."""
STREAM_RETRIES: Final = 50
STREAM_AGE_SECONDS: Final = 6 * 3600
"""Nothing makes up for a record of a stream that is given up, so it is tried for hours."""
ALARM_AGE: Final = Duration.hours(6)
"""The same holds for a change of an alarm: AWS tries three times, and waits so long while calls are throttled."""
PATTERN: Final = 200
"""Characters of a rule's pattern around the names of alarms."""
QUOTED: Final = 3
"""Characters around each name."""
GATHERERS: Final = {DeployTarget.AWS: 10, DeployTarget.LOCAL: 2}
WORKERS: Final = {DeployTarget.AWS: contracts.HOOK_WORKERS, DeployTarget.LOCAL: 3}
SLOW_WORKERS: Final = {DeployTarget.AWS: contracts.SLOW_HOOK_WORKERS, DeployTarget.LOCAL: 2}
"""On a laptop each further worker costs a second of a core to start."""
WALKS: Final = contracts.HOOKS_RESERVED - contracts.HOOK_WORKERS - contracts.SLOW_HOOK_WORKERS
"""Executions that full queues leave to the walk of every minute."""


class HooksConstruct(Construct):
    """Queues and functions of webhooks to accounts."""

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
    ) -> None:
        """Create them.

        Args:
            scope: the stack, nested on AWS.
            code: the common asset, as one of that stack.
            records: the table, whose stream has what happens to jobs, lists and recipients.
            ops: the table, whose stream has what happens to breakers.
        """
        super().__init__(scope, construct_id)
        self._deployment = deployment
        target = deployment.target
        changes, calls, slow = self.names
        queue = partial(WorkQueue, self, deployment=deployment, removal=RemovalPolicy.DESTROY)
        self.changes = queue("Changes", name=changes, consumer_seconds=GATHER_SECONDS)
        self.calls = queue("Calls", name=calls, consumer_seconds=CALL_SECONDS)
        self.slow = queue("SlowCalls", name=slow, consumer_seconds=CALL_SECONDS)
        function = partial(Function, self, deployment=deployment, code=code, environment=environment)
        self.gather = function("Gather", name="gather_hooks", seconds=GATHER_SECONDS, memory=GATHER_MB)
        reserved = WORKERS[target] + SLOW_WORKERS[target] + WALKS if deployment.reserved else None
        self.call = function("Call", name="call_hooks", seconds=CALL_SECONDS, memory=CALL_MB, reserved=reserved)
        self.changes.feed(self.gather, batch=BATCH, concurrency=GATHERERS[target])
        self.calls.feed(self.call, batch=1, concurrency=WORKERS[target])
        self.slow.feed(self.call, batch=1, concurrency=SLOW_WORKERS[target])
        self.gather_dead = self.gather.dead_letters(RemovalPolicy.DESTROY)
        self.call_dead = self.call.dead_letters(RemovalPolicy.DESTROY)
        for name, table, patterns in (
            ("Records", records, contracts.HOOKS_RECORDS_FILTERS),
            ("Ops", ops, contracts.HOOKS_OPS_FILTERS),
        ):
            read_stream(
                self.gather,
                f"{name}Source",
                deployment=deployment,
                table=table,
                patterns=patterns if deployment.target is DeployTarget.AWS else [_emulated(x) for x in patterns],
                dead=self.gather_dead,
                retries=STREAM_RETRIES,
                age_seconds=STREAM_AGE_SECONDS,
            )
        by_rule(self.call, self.call_dead)

    @property
    def names(self) -> tuple[str, str, str]:
        """The physical names of the queues of changes, of calls and of slow calls."""
        stage = self._deployment.stage
        return (
            contracts.hooks_queue_name(stage),
            contracts.calls_queue_name(stage),
            contracts.calls_queue_name(stage, apart=True),
        )

    @property
    def queues(self) -> tuple[WorkQueue, ...]:
        """All queues."""
        return self.changes, self.calls, self.slow

    def hear(self, alarms: Sequence[str]) -> None:
        """Bring changes of this stage's alarms to the function that makes deliveries. One that fails is kept.

        By their names: the alarms of a stage `prod-eu` begin as those of a stage `prod` do.

        Args:
            alarms: the names, as many as there are; each rule takes as many as its pattern has room for.
        """
        self.gather.function.configure_async_invoke(
            on_failure=SqsDestination(self.gather_dead.queue), retry_attempts=2, max_event_age=ALARM_AGE
        )
        for n, names in enumerate(_groups(alarms), start=1):
            pattern = EventPattern(
                source=["aws.cloudwatch"],
                detail_type=["CloudWatch Alarm State Change"],
                detail={"alarmName": names},
            )
            target = LambdaFunction(
                self.gather.function,
                dead_letter_queue=self.gather_dead.queue,
                retry_attempts=2,
                max_event_age=ALARM_AGE,
            )
            Rule(self, "Alarms" if n == 1 else f"Alarms{n}", event_pattern=pattern, targets=[target])


def _emulated(pattern: Any) -> Any:
    """Return a pattern as the local cloud reads it: it never finds an attribute's type absent, only the attribute."""
    if not isinstance(pattern, Mapping):
        return pattern
    absent = [{"exists": False}]
    return {k: absent if isinstance(v, Mapping) and absent in v.values() else _emulated(v) for k, v in pattern.items()}


def _groups(names: Sequence[str]) -> list[list[str]]:
    """Return names in groups that a rule's pattern has room for."""
    groups: list[list[str]] = [[]]
    room = RULE_PATTERN.most - PATTERN
    for name in names:
        taken = sum(len(x) + QUOTED for x in groups[-1])
        if taken + len(name) + QUOTED > room:
            groups.append([])
        groups[-1].append(name)
    return groups
