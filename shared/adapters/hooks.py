"""Adapters of webhooks besides tables: hints by SQS, and the key from which the secrets of endpoints are derived."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.adapters.sqs import SqsQueue
from shared.contracts import HookCall, HookChanges, calls_queue_url, hooks_queue_url
from shared.domain.hooks.kinds import LATER_S, HookPace
from shared.domain.hooks.work import HookWork
from shared.domain.times import Seconds
from shared.ports import Clock, MalformedSecret

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient

    from shared.adapters.secrets import Secrets

MIN_KEY: Final = 32
"""Characters."""


class SqsHookHints:
    """`ports.HookHints` over the queues of a deployment.

    Args:
        lanes: `contracts.ENV_LANE_URL_PREFIX`'s value.
    """

    def __init__(self, client: "SQSClient", lanes: str, clock: Clock) -> None:
        self._changes = SqsQueue(client, hooks_queue_url(lanes), clock)
        self._calls = {apart: SqsQueue(client, calls_queue_url(lanes, apart=apart), clock) for apart in (False, True)}

    def gather(self, namespace: str, places: Mapping[str, Sequence[int]], pace: HookPace) -> None:
        changes = HookChanges(namespace, {job: tuple(chunks) for job, chunks in places.items()}, pace.value)
        delay = LATER_S if pace is HookPace.LATER else 0
        self._changes.send([x.dumps() for x in changes.cut()], delay=delay, group=namespace)

    def call(self, endpoint: str, namespace: str, *, delay: Seconds = 0, apart: bool = False) -> None:
        self._calls[apart].send([HookCall(endpoint).dumps()], delay=delay, group=namespace)

    def wake(self, works: Sequence[HookWork]) -> None:
        """Have the deliveries of several endpoints posted. Raises `Retriable`: some hints may not be queued.

        Args:
            works: of the endpoints; one without a namespace is a group of its own.
        """
        for apart, queue in self._calls.items():
            mine = [x for x in works if x.apart == apart]
            queue.send_each([(HookCall(x.endpoint).dumps(), x.namespace or x.endpoint) for x in mine])


class StoredHookSecrets:
    """`ports.HookSecrets` over a secret that is made with the deployment."""

    def __init__(self, secrets: "Secrets") -> None:
        self._secrets = secrets

    def master(self) -> str:
        """Return the key.

        Raises:
            MalformedSecret: there is none, or too short a one.
            Retriable: it cannot be read just now.
        """
        key = self._secrets.hooks().get("current", "")
        if len(key) < MIN_KEY:
            raise MalformedSecret("the secret of webhooks has no key, or too short a one")
        return key
