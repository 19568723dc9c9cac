"""Queues on SQS. Sending is at least once: a body may be queued again after a lost answer, which every reader bears."""

import logging
import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from shared.adapters.clock import SystemClock
from shared.contracts import EXPRESS_SUFFIX
from shared.domain.lanes.depth import QueueDepth
from shared.ports import Clock, Retriable

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.literals import QueueAttributeNameType

MAX_ENTRIES: Final = 10
MAX_BATCH_BYTES: Final = 256 * 1024
"""Bytes that one call carries; SQS takes up to 1 MiB, but bills by 64 KB, so a larger call saves nothing."""
MAX_DELAY: Final = 900
ATTEMPTS: Final = 4
"""Calls for the entries of one batch that SQS did not take for reasons of its own."""
PAUSE: Final = 0.05
"""Seconds before the second call; doubled each time, with jitter."""
TRANSIENT: Final = frozenset(
    {"InternalError", "InternalFailure", "OverLimit", "RequestThrottled", "ServiceUnavailable", "Throttling"}
    | {"ThrottlingException", "RequestTimeout", "KmsThrottled"}
)
_SERVER_FAULT: Final = 500
_LOG: Final = logging.getLogger(__name__)
_COUNTS: Final[tuple["QueueAttributeNameType", ...]] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def is_transient(error: ClientError) -> bool:
    """Tell whether an AWS error is about the moment, not about the request."""
    answer = error.response
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return answer.get("Error", {}).get("Code", "").rpartition(".")[2] in TRANSIENT or status >= _SERVER_FAULT


def arn_of(url: str, region: str, near: str) -> str:
    """Return a queue's ARN. `near`: any ARN of the same partition, such as `aws-cn`."""
    account, name = url.split("/")[-2:]
    return f"arn:{near.split(':')[1]}:sqs:{region}:{account}:{name}"


@contextmanager
def _retriable() -> Iterator[None]:
    """Turn what is about the moment into `Retriable`: a lost connection, or an answer that another try may change."""
    try:
        yield
    except ClientError as error:
        if is_transient(error):
            raise Retriable("sqs") from error
        raise
    except (BotoConnectionError, HTTPClientError) as error:
        raise Retriable("sqs") from error


class SqsQueue:
    """One queue. Implements `ports.Queue`; safe for threads, as boto3 clients are.

    Args:
        clock: for the short pauses between repeats of what SQS did not take.
    """

    def __init__(self, client: "SQSClient", url: str, clock: Clock | None = None) -> None:
        self._client = client
        self._url = url
        self._clock: Clock = clock or SystemClock()

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "") -> None:
        """Send messages, in tens and at most 256 KB a call; a single one by the cheaper call.

        Raises:
            Retriable: some messages may not have been queued; sending all of them again is safe.
            botocore.exceptions.ClientError: the queue or the right to it is missing, or a body is not allowed.
        """
        common: dict[str, Any] = {"DelaySeconds": min(MAX_DELAY, math.ceil(delay))} if delay > 0 else {}
        if group:
            common["MessageGroupId"] = group
        with _retriable():
            for batch in _batches(bodies):
                if len(batch) == 1:
                    self._client.send_message(QueueUrl=self._url, MessageBody=batch[0], **common)
                else:
                    self._send_batch([{"MessageBody": body, **common} for body in batch])

    def send_each(self, messages: Sequence[tuple[str, str]]) -> None:
        """Send short messages of several groups, in tens.

        Args:
            messages: each body with its group.

        Raises:
            Retriable: some messages may not have been queued; sending all of them again is safe.
            botocore.exceptions.ClientError: the queue or the right to it is missing, or a body is not allowed.
        """
        entries = [{"MessageBody": body, "MessageGroupId": group} for body, group in messages]
        with _retriable():
            for start in range(0, len(entries), MAX_ENTRIES):
                self._send_batch(entries[start : start + MAX_ENTRIES])

    def receive(self, most: int = 1, *, seconds: int | None = None) -> list[Mapping[str, Any]]:
        """Return up to `most` messages as an event source would hand them over, without the queue's ARN.

        `seconds`: to wait for the first; None: one for a single message, else none.

        Raises:
            Retriable: none was received, or it comes again when its visibility ends.
        """
        with _retriable():
            found = self._client.receive_message(
                QueueUrl=self._url,
                AttributeNames=["ApproximateReceiveCount"],
                MaxNumberOfMessages=min(most, MAX_ENTRIES),
                WaitTimeSeconds=int(most == 1) if seconds is None else seconds,
            ).get("Messages", [])
        return [{f"{key[0].lower()}{key[1:]}": value for key, value in m.items()} for m in found]

    def delete(self, receipts: Sequence[str]) -> None:
        """Remove up to ten messages that were received. Raises Retriable: some may come again."""
        entries = [{"Id": str(n), "ReceiptHandle": receipt} for n, receipt in enumerate(receipts)]
        with _retriable():
            failed = self._client.delete_message_batch(QueueUrl=self._url, Entries=entries).get("Failed", [])  # type: ignore[arg-type]
        if failed:
            raise Retriable("sqs")

    def put_off(self, receipt: str, seconds: float) -> None:
        """Let a message that was received, and not deleted, come again after some seconds.

        Raises:
            Retriable: it may come when its visibility ends.
            botocore.exceptions.ClientError: it is not in flight any more, or the right is missing.
        """
        with _retriable():
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=math.ceil(seconds)
            )

    def depth(self) -> QueueDepth:
        """Return about how many messages there are, as SQS's figures have it."""
        with _retriable():
            found = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=_COUNTS)["Attributes"]
        waiting, *hidden = (int(found.get(name, 0)) for name in _COUNTS)
        return QueueDepth(waiting, sum(hidden))

    def _send_batch(self, batch: Sequence[Mapping[str, Any]]) -> None:
        waiting = {str(n): {"Id": str(n), **entry} for n, entry in enumerate(batch)}
        for attempt in range(ATTEMPTS):
            if attempt:
                self._clock.sleep(PAUSE * 2 ** (attempt - 1) * (0.5 + random.random()))  # noqa: S311 - jitter
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=list(waiting.values()))  # type: ignore[arg-type]
            failed = answer.get("Failed", [])
            for fault in failed:
                if fault["SenderFault"] and fault["Code"] not in TRANSIENT:
                    raise ClientError({"Error": {"Code": fault["Code"], "Message": "refused"}}, "SendMessageBatch")
            waiting = {fault["Id"]: waiting[fault["Id"]] for fault in failed}
            if not waiting:
                return
        raise Retriable("sqs")


def _batches(bodies: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    weight = 0
    for body in bodies:
        size = len(body.encode())
        if batch and (len(batch) == MAX_ENTRIES or weight + size > MAX_BATCH_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(body)
        weight += size
    if batch:
        yield batch


class SqsLane:
    """A lane's queues. Implements `ports.Lane`; safe for threads.

    A missing express queue costs speed and nothing else. While a deployment is under way, or after it was rolled back,
    the lane's other queue takes its messages.

    Args:
        queue: of jobs of many messages.
        express: of those of a few.
    """

    def __init__(self, queue: SqsQueue, express: SqsQueue) -> None:
        self._queue = queue
        self._express = express

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "", express: bool = False) -> None:
        if express:
            try:
                return self._express.send(bodies, delay=delay, group=group)
            except ClientError as error:
                if not _is_missing(error):
                    raise
                _LOG.warning("no express queue")
        return self._queue.send(bodies, delay=delay, group=group)

    def receive(self, most: int = 1, *, express: bool, seconds: int | None = None) -> list[Mapping[str, Any]]:
        """Receive messages of one of the queues, as `Queue.receive` does."""
        return (self._express if express else self._queue).receive(most, seconds=seconds)

    def delete(self, receipts: Sequence[str], *, express: bool) -> None:
        """Remove messages that were received from one of the queues."""
        (self._express if express else self._queue).delete(receipts)

    def put_off(self, receipt: str, seconds: float, *, express: bool = False) -> None:
        """Have a received message delivered again later.

        Args:
            seconds: how long it is hidden from now on.
            express: whether it came from the queue for jobs of a few messages.
        """
        (self._express if express else self._queue).put_off(receipt, seconds)

    def depth(self, *, express: bool) -> QueueDepth:
        if express:
            try:
                return self._express.depth()
            except ClientError as error:
                if not _is_missing(error):
                    raise
        return self._queue.depth()


def _is_missing(error: ClientError) -> bool:
    code = error.response.get("Error", {}).get("Code", "")
    return code.rpartition(".")[2] in ("NonExistentQueue", "QueueDoesNotExist")


class Nowhere:
    """The lane of a credential that is declared no more. Messages to it are hints; the sweeper moves the work."""

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "", express: bool = False) -> None:
        """Drop messages."""

    def receive(
        self,
        most: int = 1,  # noqa: ARG002 - as of `SqsLane`
        *,
        express: bool,  # noqa: ARG002
        seconds: int | None = None,  # noqa: ARG002
    ) -> list[Mapping[str, Any]]:
        """Receive nothing. `most`, `express`, `seconds`: ignored."""
        return []

    def delete(self, receipts: Sequence[str], *, express: bool) -> None:
        """Do nothing: messages of a missing queue no longer exist. `receipts`, `express`: ignored."""

    def put_off(self, receipt: str, seconds: float, *, express: bool = False) -> None:
        """Do nothing: a message of a missing queue no longer exists.

        Args:
            seconds: ignored.
            express: ignored.
        """

    def depth(self, *, express: bool) -> QueueDepth:  # noqa: ARG002 - as the port has it
        """Return that there is nothing."""
        return QueueDepth(0, 0)


class SqsLanes:
    """The lanes: a credential's queue URL is the prefix followed by its id. Implements `ports.Lanes`.

    Args:
        prefix: `contracts.ENV_LANE_URL_PREFIX`'s value.
        declared: the credentials that have lanes.
    """

    def __init__(self, client: "SQSClient", prefix: str, declared: Collection[str], clock: Clock | None = None) -> None:
        self._client = client
        self._prefix = prefix
        self._declared = frozenset(declared)
        self._clock: Clock = clock or SystemClock()
        self._lanes: dict[str, SqsLane] = {}

    def __contains__(self, credential: object, /) -> bool:
        """Tell whether a credential is declared."""
        return credential in self._declared

    def __getitem__(self, credential: str) -> SqsLane | Nowhere:
        """Return a lane's queues; whether they exist shows when they are used."""
        if credential not in self._declared:
            return Nowhere()
        lane = self._lanes.get(credential)
        if lane is None:
            url = self._prefix + credential
            queue, express = (SqsQueue(self._client, x, self._clock) for x in (url, url + EXPRESS_SUFFIX))
            lane = self._lanes.setdefault(credential, SqsLane(queue, express))
        return lane
