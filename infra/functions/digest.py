"""What makes digests: a queue of hints about windows, and the function behind it, which also runs every minute."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.building.minutely import every_minute
from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings
from shared import contracts

SECONDS: Final = 120
"""The largest windows take some seconds each; in a run of every minute one may follow another."""
MEMORY_MB: Final = 1024
"""The largest window takes a tenth of it."""
WORKERS: Final = 5
"""Windows at once. Two at one window do the same work twice, and one of them wins."""


class DigestConstruct(Construct):
    """The queue of hints about windows."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        name = contracts.digest_queue_name(deployment.stage)
        self.work = WorkQueue(self, "Work", deployment=deployment, name=name, consumer_seconds=SECONDS)

    def serve(self, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function, let it consume the queue, and run it every minute."""
        make = Function(
            self,
            "Make",
            deployment=self._deployment,
            code=code,
            handler=contracts.HANDLERS["digest"],
            service="digest",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment=environment,
        )
        self.work.feed(make, batch=1, concurrency=WORKERS)
        every_minute(make, self.work.dead)
        return make
