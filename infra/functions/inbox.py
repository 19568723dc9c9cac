"""What takes the records of notifiers: a queue of hints, and the function behind it."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings, DeployTarget
from shared import contracts

SECONDS: Final = 60
"""Ten thousand records take a few seconds; what it does not finish it hands over to its next invocation."""
MEMORY_MB: Final = 1024
"""A payload is 5 MB of JSON at most."""
WORKERS: Final = {DeployTarget.AWS: 5, DeployTarget.LOCAL: 2}
"""Inboxes at once. Two at one inbox do the same work twice. On a laptop each further worker costs a second of a core,
and after a fault the emulator starts all of them anew."""


class InboxConstruct(Construct):
    """The queue of inboxes that hold payloads."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        name = contracts.inbox_queue_name(deployment.stage)
        self.work = WorkQueue(self, "Work", deployment=deployment, name=name, consumer_seconds=SECONDS)

    def serve(self, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function and let it consume the queue, one inbox at a time."""
        take = Function(
            self,
            "Take",
            deployment=self._deployment,
            code=code,
            handler=contracts.HANDLERS["take"],
            service="take",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment=environment,
        )
        self.work.feed(take, batch=1, concurrency=WORKERS[self._deployment.target])
        return take
