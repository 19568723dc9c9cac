"""What makes exports: a queue and the function behind it."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings
from shared import contracts

SECONDS: Final = 900
"""As long as Lambda allows: what is not done then goes on in another invocation, from the last part."""
MEMORY_MB: Final = 1769
"""One whole processor, which puts rows together; the memory itself is ten times what it takes."""
WORKERS: Final = 2


class ExportsConstruct(Construct):
    """The queue of exports."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        name = f"{contracts.prefix(deployment.stage)}-export"
        self.work = WorkQueue(self, "Work", deployment=deployment, name=name, consumer_seconds=SECONDS)
        self.environment = {contracts.ENV_EXPORT_QUEUE_URL: self.work.queue.queue_url}

    def serve(self, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function and let it consume the queue, one export at a time."""
        make = Function(
            self,
            "Make",
            deployment=self._deployment,
            code=code,
            handler=contracts.HANDLERS["export"],
            service="export",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment={**environment, **self.environment},
        )
        self.work.feed(make, batch=1, concurrency=WORKERS)
        return make
