"""Schedules of EventBridge Scheduler: one per waiting job, named by it, in the stage's own group."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from botocore import exceptions as sdk
from botocore.exceptions import ClientError

from shared.adapters.aws import ClientOptions
from shared.contracts import due
from shared.ports import Retriable

if TYPE_CHECKING:
    from types_boto3_scheduler import EventBridgeSchedulerClient

CONFIG: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 3,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}
"""A region makes some hundred to a thousand schedules a second. So throttled calls are made again, with jitter and not
for long, since a client waits for the answer. Botocore gives each call a ClientToken, so its repeats are one call."""
RETRIES: Final = {"MaximumEventAgeInSeconds": 300, "MaximumRetryAttempts": 5}
"""For a message that the queue did not take: after five minutes the sweeper has long started the job."""


class EventBridgeScheduler:
    """`ports.Scheduler` over one schedule group.

    Args:
        client: of EventBridge Scheduler, made with CONFIG.
        queue: ARN of the queue that the messages go to; what cannot be delivered goes to its dead-letter queue.
        role: ARN of the role in which EventBridge Scheduler sends.
    """

    def __init__(self, client: "EventBridgeSchedulerClient", *, group: str, queue: str, role: str) -> None:
        self._client = client
        self._group = group
        self._queue = queue
        self._role = role

    def set(self, job: str, at: int) -> None:
        """Have a message about a job sent at a time, Unix seconds, and the schedule deleted then."""
        moment = datetime.fromtimestamp(at, UTC)
        schedule: dict[str, Any] = {
            "Name": job,
            "GroupName": self._group,
            "ScheduleExpression": f"at({moment:%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": self._queue,
                "RoleArn": self._role,
                "Input": due(job),
                "RetryPolicy": RETRIES,
                "DeadLetterConfig": {"Arn": f"{self._queue}-dlq"},
            },
        }
        try:
            self._client.create_schedule(**schedule)
        except ClientError as error:
            if _code(error) != "ConflictException":
                raise Retriable(f"scheduler: {_code(error)}") from error
            self._replace(schedule)
        except (sdk.ConnectionError, sdk.HTTPClientError) as error:
            raise Retriable("scheduler: no connection") from error

    def cancel(self, job: str) -> None:
        try:
            self._client.delete_schedule(Name=job, GroupName=self._group)
        except ClientError as error:
            if _code(error) != "ResourceNotFoundException":
                raise Retriable(f"scheduler: {_code(error)}") from error
        except (sdk.ConnectionError, sdk.HTTPClientError) as error:
            raise Retriable("scheduler: no connection") from error

    def _replace(self, schedule: dict[str, Any]) -> None:
        try:
            self._client.update_schedule(**schedule)
        except ClientError as error:  # also ResourceNotFoundException: it has just been sent and deleted
            raise Retriable(f"scheduler: {_code(error)}") from error
        except (sdk.ConnectionError, sdk.HTTPClientError) as error:
            raise Retriable("scheduler: no connection") from error


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")
