"""The delivery of notices: a function that begins the runs that are due, and looks at finished ones and at mails."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration
from aws_cdk.aws_lambda import Code
from aws_cdk.aws_lambda_destinations import SqsDestination
from constructs import Construct

from infra.building.function import Function
from infra.settings import DeploymentSettings
from shared import contracts

SECONDS: Final = 60
MEMORY_MB: Final = 512


class NoticesConstruct(Construct):
    """The function, and what starts it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.run = Function(
            self,
            "Run",
            deployment=deployment,
            code=code,
            name="notices",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment=environment,
        )
        self.dead = self.run.dead_letters()
        self.named = {contracts.ENV_NOTICES_FUNCTION: self.run.function.function_name}
        """The variable in which a function finds this one's name."""
        self.run.may_call_itself()  # what it announces soon comes back by a queue
        self.run.function.configure_async_invoke(
            on_failure=SqsDestination(self.dead.queue), retry_attempts=0, max_event_age=Duration.minutes(1)
        )
