"""Queues of work, each with the one function that consumes it: lists, exports, inboxes and windows of digests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings
from shared import contracts

LISTS_AT_ONCE: Final = 5
"""Uploaded lists read at once, of an account one at a time. They share the tables' write capacity with the senders."""
EXPORTS_AT_ONCE: Final = 2
"""Exports made at once; of an account one at a time."""
DIGEST_MB: Final = 1024
"""The largest window takes a tenth of this memory."""


@dataclass
class QueueWorker:
    """A queue, its dead letters, and the function that consumes it.

    The function comes later, by `serve`: its environment has addresses of what the stack makes after the queue.

    Attributes:
        home: the construct that contains queue and function.
        name: of the function, as in `contracts.HANDLERS`.
        function_id: the function's construct id.
        queue: the queue's physical name.
        seconds: time-out.
        memory: MB.
        concurrency: the most invocations at once.
        batch: the most messages of an invocation.
        variable: the variable in which functions find the queue's URL; empty if they make the URL of its name.
        own: variables of the function.
    """

    home: Construct
    name: str
    function_id: str
    deployment: DeploymentSettings
    queue: str
    seconds: int
    memory: int
    concurrency: int
    batch: int = 1
    variable: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    work: WorkQueue = field(init=False)

    def __post_init__(self) -> None:
        self.work = WorkQueue(
            self.home, "Work", deployment=self.deployment, name=self.queue, consumer_seconds=self.seconds
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of functions that send to the queue."""
        return {self.variable: self.work.queue.queue_url} if self.variable else {}

    def serve(self, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function and let it consume the queue."""
        function = Function(
            self.home,
            self.function_id,
            deployment=self.deployment,
            code=code,
            name=self.name,
            seconds=self.seconds,
            memory=self.memory,
            environment={**environment, **self.environment, **self.own},
        )
        self.work.feed(function, batch=self.batch, concurrency=self.concurrency)
        return function


def lists(stack: Construct, deployment: DeploymentSettings) -> QueueWorker:
    """Create the queue of uploaded lists. The function hands over to its next invocation what it does not finish."""
    # On a laptop the lease of a reader that was killed runs out while a developer waits.
    seconds, lease_margin_seconds = (12, 5) if deployment.local else (900, 30)
    return QueueWorker(
        Construct(stack, "Lists"),
        "ingest",
        "Ingest",
        deployment,
        queue=f"{contracts.prefix(deployment.stage)}-ingest",
        seconds=seconds,  # a million rows take half a minute
        memory=1769,  # one whole processor, its limit: less would cost as much and take longer; a list needs a fifth
        concurrency=2 if deployment.local else LISTS_AT_ONCE,
        variable=contracts.ENV_INGEST_QUEUE_URL,
        # A lease lives longer than its function: clocks differ, and a frozen sandbox may wake up late.
        own={contracts.ENV_LEASE_MARGIN: str(lease_margin_seconds)},
    )


def exports(stack: Construct, deployment: DeploymentSettings) -> QueueWorker:
    """Create the queue of exports. An export that is not done in time continues from its last part."""
    return QueueWorker(
        Construct(stack, "Exports"),
        "export",
        "Make",
        deployment,
        queue=f"{contracts.prefix(deployment.stage)}-export",
        seconds=900,  # as long as Lambda allows
        memory=1769,  # one whole processor, which puts rows together; the memory is ten times what it takes
        concurrency=EXPORTS_AT_ONCE,
        variable=contracts.ENV_EXPORT_QUEUE_URL,
    )


def inbox(stack: Construct, deployment: DeploymentSettings) -> QueueWorker:
    """Create the queue of notifiers' inboxes that hold payloads."""
    return QueueWorker(
        Construct(stack, "Inbox"),
        "take",
        "Take",
        deployment,
        queue=contracts.inbox_queue_name(deployment.stage),
        seconds=60,  # ten thousand records take a few; it hands over what it does not finish
        memory=1024,  # a payload is 5 MB of JSON at most
        # Two at one inbox do the same work twice. On a laptop each further worker costs a second of a core, and after
        # a fault the emulator starts all of them anew.
        concurrency=2 if deployment.local else 5,
    )


def digest(stack: Construct, deployment: DeploymentSettings) -> QueueWorker:
    """Create the queue of hints about windows of digests."""
    return QueueWorker(
        Construct(stack, "Digest"),
        "digest",
        "Make",
        deployment,
        queue=contracts.digest_queue_name(deployment.stage),
        seconds=120,  # the largest windows take some each; where some are overdue, one may follow another
        memory=DIGEST_MB,
        concurrency=5,  # two at one window do the same work twice, and one of them wins
    )
