"""What has notices delivered: a function that begins the runs that are due every minute, and looks at finished ones."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.building.minutely import every_minute
from infra.resources.queue import DeadLetters
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
            handler=contracts.HANDLERS["notices"],
            service="notices",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment=environment,
        )
        name = f"{contracts.prefix(deployment.stage)}-notices-dlq"
        self.dead = DeadLetters(self.run, "Dead", deployment=deployment, name=name)
        every_minute(self.run, self.dead)
