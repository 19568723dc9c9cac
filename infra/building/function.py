"""A Lambda function with its own role and log group; the stack adds its rights."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk.aws_iam import Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal
from aws_cdk.aws_lambda import Architecture, CfnFunction, Code, LoggingFormat, Runtime, SystemLogLevel, Tracing
from aws_cdk.aws_lambda import Function as LambdaFunction
from aws_cdk.aws_logs import LogGroup, RetentionDays
from constructs import Construct

from infra.resources.queue import DeadLetters
from infra.settings import DeploymentSettings
from shared import contracts

RETENTION: Final[Mapping[int, RetentionDays]] = {
    1: RetentionDays.ONE_DAY,
    3: RetentionDays.THREE_DAYS,
    5: RetentionDays.FIVE_DAYS,
    7: RetentionDays.ONE_WEEK,
    14: RetentionDays.TWO_WEEKS,
    30: RetentionDays.ONE_MONTH,
    60: RetentionDays.TWO_MONTHS,
    90: RetentionDays.THREE_MONTHS,
    120: RetentionDays.FOUR_MONTHS,
    150: RetentionDays.FIVE_MONTHS,
    180: RetentionDays.SIX_MONTHS,
    365: RetentionDays.ONE_YEAR,
    400: RetentionDays.THIRTEEN_MONTHS,
    545: RetentionDays.EIGHTEEN_MONTHS,
    731: RetentionDays.TWO_YEARS,
    1096: RetentionDays.THREE_YEARS,
    1827: RetentionDays.FIVE_YEARS,
    2192: RetentionDays.SIX_YEARS,
    2557: RetentionDays.SEVEN_YEARS,
    2922: RetentionDays.EIGHT_YEARS,
    3288: RetentionDays.NINE_YEARS,
    3653: RetentionDays.TEN_YEARS,
}


FREQUENT: Final = frozenset({"api", "webhooks", "send", "track", "gather_hooks", "call_hooks", "pictures"})
"""Functions that can run once for each message, or for each that is opened. Of their invocations that succeed, Lambda
writes no lines of its own (550 bytes). Those that fail or time out are of level WARN. The others have the lines that
runbooks read."""
BATCHED: Final = frozenset({"sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"})
"""Actions that are also those of a call with several messages."""
_NAMED: Final = {"dynamodb:LeadingKeys": "false"}
"""`ForAllValues` holds of a request that names no key at all."""


def log_group(scope: Construct, deployment: DeploymentSettings, name: str | None = None) -> LogGroup:
    """Create the log group `Logs` in a construct. It is deleted with the stack: logs are no ground truth.

    Args:
        scope: the construct that contains it.
        deployment: the settings, with the days for which lines are kept.
        name: its physical name; None lets CloudFormation make one.
    """
    days = RETENTION[deployment.logs_days]
    return LogGroup(scope, "Logs", log_group_name=name, retention=days, removal_policy=RemovalPolicy.DESTROY)


class Function(Construct):
    """One function of the common asset.

    The role's policy is inline: one resource less per function, and nothing can run before its rights are there.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        name: str,
        seconds: int,
        memory: int,
        environment: Mapping[str, str],
        service: str = "",
        reserved: int | None = None,
    ) -> None:
        """Create function, role and log group.

        Args:
            name: as in `contracts.HANDLERS`, also of its dead letters.
            seconds: time-out.
            memory: MB; CPU comes in proportion, 1,769 MB being one processor.
            service: the name in each log line, if it is another.
            reserved: concurrent executions set aside for it and its upper bound; None: no bound.
        """
        super().__init__(scope, construct_id)
        self._deployment = deployment
        self.name = name
        self._policy = PolicyDocument()
        logs = log_group(self, deployment)
        self.role = Role(
            self,
            "Role",
            assumed_by=ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"access": self._policy},
        )
        self.allow("logs:CreateLogStream", "logs:PutLogEvents", on=[logs.log_group_arn])
        if deployment.tracing:
            self.allow("xray:PutTraceSegments", "xray:PutTelemetryRecords", on=["*"])  # X-Ray has no resources
        self.function = LambdaFunction(
            self,
            "Function",
            runtime=Runtime.PYTHON_3_13,
            architecture=Architecture.ARM_64,
            code=code,
            handler=contracts.HANDLERS[name],
            role=self.role.without_policy_updates(),  # what the library would add by itself is granted by the stack
            timeout=Duration.seconds(seconds),
            memory_size=memory,
            reserved_concurrent_executions=reserved,
            environment={"POWERTOOLS_SERVICE_NAME": service or name, **environment},
            log_group=logs,
            logging_format=LoggingFormat.JSON,
            system_log_level_v2=SystemLogLevel.WARN if name in FREQUENT else None,
            tracing=Tracing.ACTIVE if deployment.tracing else None,
        )

    def allow(
        self,
        *actions: str,
        on: list[str],
        partitions: Sequence[str] = (),
        conditions: Mapping[str, Any] | None = None,
    ) -> None:
        """Let the function do these actions on these resources (ARNs).

        Args:
            partitions: of tables, only partitions whose key fits one of these patterns.
            conditions: more of them, operator → key → values.
        """
        if self._deployment.local:  # the emulator asks for sqs:SendMessageBatch too, which on AWS is the same action
            actions = tuple(f"{a}*" if a in BATCHED else a for a in actions)
        within = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(partitions)}, "Null": _NAMED}
        every = {**(within if partitions else {}), **(conditions or {})}
        self._policy.add_statements(
            PolicyStatement(
                effect=Effect.ALLOW,
                actions=list(actions),
                resources=on,
                conditions=every or None,
            )
        )

    def refuse(self, *actions: str, on: list[str], partitions: Sequence[str] = ()) -> None:
        """Let the function do these actions on none of these resources, also if another right allows them.

        Args:
            *actions: IAM actions, as in `dynamodb:Query`.
            on: ARNs; of tables with `partitions`.
            partitions: only partitions whose key fits one of these patterns, as in `SECRET#*`.
        """
        within = {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": list(partitions)}} if partitions else None
        self._policy.add_statements(
            PolicyStatement(effect=Effect.DENY, actions=list(actions), resources=on, conditions=within)
        )

    def dead_letters(self, removal: RemovalPolicy | None = None) -> DeadLetters:
        """Create where reports of the function's failed invocations are kept. Their redrive finds it by its name.

        Args:
            removal: what happens to it with the stack; None: what happens to all that has a name.
        """
        name = f"{contracts.prefix(self._deployment.stage)}-{self.name}-dlq"
        return DeadLetters(self, "Dead", deployment=self._deployment, name=name, removal=removal)

    def may_call_itself(self) -> None:
        """Let the function send to the queue that it consumes, as often as its work takes."""
        bare = self.function.node.default_child
        if not isinstance(bare, CfnFunction):
            raise TypeError(f"a function is made of {type(bare)}")
        bare.recursive_loop = "Allow"
