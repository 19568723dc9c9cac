"""The delivery of notices: a function that begins the runs that are due every minute, and looks at finished ones."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.building.minutely import by_rule
from infra.settings import DeploymentSettings

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
        by_rule(self.run, self.dead)
