"""Functions that another one starts, without waiting for their end."""

import json
from typing import TYPE_CHECKING, Final

from botocore import exceptions as sdk
from botocore.exceptions import ClientError

from shared.adapters.aws import ClientOptions
from shared.adapters.joining import BUSY
from shared.contracts import DueMinute
from shared.ports import Retriable

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient

CONFIG: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}
"""Lambda only keeps the event. A repeated one starts the function once more, which does no harm."""


class WokenFunction:
    """Starts a function for a minute in which its work is due.

    Args:
        client: of Lambda, made with CONFIG.
    """

    def __init__(self, client: "LambdaClient", function: str) -> None:
        self._client = client
        self._function = function

    def wake(self, minute: DueMinute) -> None:
        """Start it.

        Raises:
            Retriable: it may not be started.
        """
        event = json.dumps({"minute": minute.name}).encode()
        try:
            self._client.invoke(FunctionName=self._function, InvocationType="Event", Payload=event)
        except (sdk.ConnectionError, sdk.HTTPClientError):
            raise Retriable("function not woken: no answer") from None
        except ClientError as error:
            if error.response["Error"]["Code"] in BUSY:
                raise Retriable("function not woken: busy") from None
            raise
