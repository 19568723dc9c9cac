"""What reads uploaded lists: a queue, and a function that works on one list at a time, for as long as AWS lets it."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings, DeployTarget
from shared import contracts

SECONDS: Final = {DeployTarget.AWS: 900, DeployTarget.LOCAL: 12}
"""What it does not finish it hands over to its next invocation; a million rows take half a minute. On a laptop the
lease of one that was killed runs out while somebody waits."""
LEASE_MARGIN_SECONDS: Final = {DeployTarget.AWS: 30, DeployTarget.LOCAL: 5}
"""How much longer than its function a lease lives: clocks differ, and a frozen sandbox may wake up late."""
MEMORY_MB: Final = 1769
"""One whole processor, by which it is bound: less memory would cost as much and take longer. The largest list needs a
fifth of it."""
WORKERS: Final = {DeployTarget.AWS: 5, DeployTarget.LOCAL: 2}
"""Lists read at once; others wait in the queue. They share the tables' write capacity with the senders."""


class ListsConstruct(Construct):
    """The queue of uploaded lists."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        self.work = WorkQueue(
            self,
            "Work",
            deployment=deployment,
            name=f"{contracts.prefix(deployment.stage)}-ingest",
            consumer_seconds=SECONDS[deployment.target],
        )
        self.environment = {contracts.ENV_INGEST_QUEUE_URL: self.work.queue.queue_url}

    def serve(self, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function and let it consume the queue."""
        ingest = Function(
            self,
            "Ingest",
            deployment=self._deployment,
            code=code,
            handler=contracts.HANDLERS["ingest"],
            service="ingest",
            seconds=SECONDS[self._deployment.target],
            memory=MEMORY_MB,
            environment={
                **environment,
                **self.environment,
                contracts.ENV_LEASE_MARGIN: str(LEASE_MARGIN_SECONDS[self._deployment.target]),
            },
        )
        self.work.feed(ingest, batch=1, concurrency=WORKERS[self._deployment.target])
        return ingest
