"""Queues: each has a dead-letter queue; each is consumed with partial responses."""

from typing import Final, Protocol

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk.aws_kms import IKey
from aws_cdk.aws_lambda import EventSourceMapping, IFunction
from aws_cdk.aws_sqs import DeadLetterQueue, IQueue, Queue, QueueEncryption
from constructs import Construct

from infra.resources.encryption import customer_key
from infra.settings import DeploymentSettings
from shared import contracts

MAX_RECEIVES: Final = 5
"""A message that fails five times is a bug or poison. Handlers take care of later retries, and do not fail for them."""
VISIBILITY_FACTOR: Final = 6
"""AWS asks for a visibility of six times the function's time-out, so that throttled batches are not received twice."""


class Consumer(Protocol):
    """A function that works on a queue's messages."""

    @property
    def function(self) -> IFunction:
        """The function itself."""

    def may_call_itself(self) -> None:
        """Let the function send messages to its own queue."""


class DeadLetters(Construct):
    """A queue of what could not be handled, kept for 14 days, as long as SQS can."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        name: str,
        removal: RemovalPolicy | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        key = customer_key(self, deployment)
        self.queue = Queue(
            self,
            "Queue",
            queue_name=name,
            retention_period=Duration.days(14),
            encryption=QueueEncryption.KMS if key else QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=not deployment.local,
            removal_policy=removal or deployment.named_removal,
        )


class WorkQueue(Construct):
    """A standard queue and its dead-letter queue, `<name>-dlq`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        name: str,
        consumer_seconds: int,
        removal: RemovalPolicy | None = None,
    ) -> None:
        """Create them.

        Args:
            consumer_seconds: time-out of the function that consumes it.
            removal: what happens to both with the stack; None: what happens to all that has a name.
        """
        super().__init__(scope, construct_id)
        key = customer_key(self, deployment)
        removal = removal or deployment.named_removal
        self.dead = DeadLetters(self, "Dead", deployment=deployment, name=f"{name}-dlq", removal=removal)
        self.queue = _queue(self, deployment, key, name, consumer_seconds, self.dead.queue, removal)

    def feed(self, consumer: Consumer, *, batch: int, concurrency: int, window_seconds: int = 0) -> None:
        """Let a function consume the queue.

        Args:
            consumer: the function; it answers with the messages that failed, only those come back.
            batch: the most messages per invocation.
            concurrency: the most invocations at once, at least 2. A poll that meets a throttled function counts as a
                receive, so this must not exceed the function's reserved concurrency.
            window_seconds: how long to wait for a fuller batch.
        """
        _feed(self, self.queue, consumer, batch, concurrency, window_seconds)


class ExpressQueue(Construct):
    """A lane's queue of jobs of a few messages; its dead letters lie with those of the lane's other queue.

    In another stack that dead-letter queue is named, not referred to, since a stack takes 200 parameters. It is there
    before the lane's function, which is one of them.

    The queue is deleted with its stack, also in production: it holds hints, which the sweeper sends again. A nested
    stack is complete before the one around it can fail. So a rollback would keep a queue that is to be kept, and with
    it the name.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        lane: WorkQueue,
        credential: str,
        consumer_seconds: int,
    ) -> None:
        super().__init__(scope, construct_id)
        key = customer_key(self, deployment)
        dead: IQueue = lane.dead.queue
        if Stack.of(self) is not Stack.of(lane):
            name = f"{contracts.lane_queue_name(deployment.stage, credential)}-dlq"
            dead = Queue.from_queue_arn(self, "Dead", Stack.of(self).format_arn(service="sqs", resource=name))
        name = contracts.express_queue_name(deployment.stage, credential)
        self.queue = _queue(self, deployment, key, name, consumer_seconds, dead, RemovalPolicy.DESTROY)

    def feed(self, consumer: Consumer, *, batch: int, concurrency: int) -> None:
        """Let the lane's function consume the queue, as `WorkQueue.feed` does.

        Args:
            batch: the most messages per invocation.
            concurrency: the most invocations at once, at least 2.
        """
        _feed(self, self.queue, consumer, batch, concurrency, 0)


def _queue(
    scope: Construct,
    deployment: DeploymentSettings,
    key: IKey | None,
    name: str,
    consumer_seconds: int,
    dead: IQueue,
    removal: RemovalPolicy,
) -> Queue:
    return Queue(
        scope,
        "Queue",
        queue_name=name,
        visibility_timeout=Duration.seconds(VISIBILITY_FACTOR * consumer_seconds),
        retention_period=Duration.days(4),
        dead_letter_queue=DeadLetterQueue(queue=dead, max_receive_count=MAX_RECEIVES),
        encryption=QueueEncryption.KMS if key else QueueEncryption.SQS_MANAGED,
        encryption_master_key=key,
        enforce_ssl=not deployment.local,
        removal_policy=removal,
    )


def _feed(
    scope: Construct, queue: Queue, consumer: Consumer, batch: int, concurrency: int, window_seconds: int
) -> None:
    # Consumers send themselves what is left to do. Lambda would cut such a chain after 16 calls
    # (Lambda Developer Guide, "invocation-recursion"); each of ours ends by its own rules.
    consumer.may_call_itself()
    EventSourceMapping(
        scope,
        "Source",
        target=consumer.function,
        event_source_arn=queue.queue_arn,
        batch_size=batch,
        max_batching_window=Duration.seconds(window_seconds) if window_seconds else None,
        max_concurrency=concurrency,
        report_batch_item_failures=True,
    )
