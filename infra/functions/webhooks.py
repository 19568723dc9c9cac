"""The function that takes the providers' webhooks: verify, normalise, enqueue, answer."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.settings import DeploymentSettings

SECONDS: Final = 10
"""Providers wait no longer, and post again."""
MEMORY_MB: Final = 512


class Webhooks(Construct):
    """The webhook function; its route is the API's."""

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
        self.receive = Function(
            self,
            "Receive",
            deployment=deployment,
            code=code,
            name="webhooks",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment=environment,
        )
