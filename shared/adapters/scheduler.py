"""Schedules of EventBridge Scheduler, in the stage's own group: one per waiting job, and per minute and kind."""

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
        schedule = self._schedule(job, at, due(job))
        if not self._created(schedule):
            self._replace(schedule)

    def set_once(self, name: str, at: int, body: str) -> None:
        """Have a message sent at a time, Unix seconds, unless a schedule of that name is there already."""
        self._created(self._schedule(name, at, body))

    def _schedule(self, name: str, at: int, body: str) -> dict[str, Any]:
        moment = datetime.fromtimestamp(at, UTC)
        return {
            "Name": name,
            "GroupName": self._group,
            "ScheduleExpression": f"at({moment:%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": self._queue,
                "RoleArn": self._role,
                "Input": body,
                "RetryPolicy": RETRIES,
                "DeadLetterConfig": {"Arn": f"{self._queue}-dlq"},
            },
        }

    def _created(self, schedule: dict[str, Any]) -> bool:
        """Create a schedule; return False if there is one of its name."""
        try:
            self._client.create_schedule(**schedule)
        except ClientError as error:
            if _code(error) != "ConflictException":
                raise Retriable(f"scheduler: {_code(error)}") from error
            return False
        except (sdk.ConnectionError, sdk.HTTPClientError) as error:
            raise Retriable("scheduler: no connection") from error
        return True

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
