"""Functions that others call: the console, for what it may not do itself, and the relay of minutes."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from botocore import exceptions as sdk
from botocore.exceptions import ClientError

from shared.adapters.aws import ClientOptions
from shared.contracts import DueMinute
from shared.domain.people import FirstAccount, Newcomer
from shared.ports import Retriable
from shared.ports.people import Pressed

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient

CONFIG: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 12,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}
"""A cold start and one transaction. A repeated call makes nothing new."""
BUTTONS_CONFIG: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 26,
    "retries": {"total_max_attempts": 1},
}
"""A redrive takes five seconds, and may wait for a batch of a stream. API Gateway gives the page 30 seconds."""
WAKING: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}
"""Lambda only keeps the event. A repeated one starts the function once more, which does no harm."""
BUSY: Final = frozenset({"TooManyRequestsException", "ServiceException", "EC2ThrottledException"})


def _called(client: "LambdaClient", function: str, event: Mapping[str, Any], what: str) -> Any:
    """Return what a function answers to an event.

    Args:
        what: names it in a fault.

    Raises:
        Retriable: it has done its work or not.
    """
    try:
        answer: Any = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        body = json.loads(answer["Payload"].read())
    except (sdk.ConnectionError, sdk.HTTPClientError):
        raise Retriable(f"{what}: no answer") from None
    except ClientError as error:
        if error.response["Error"]["Code"] in BUSY:
            raise Retriable(f"{what}: busy") from None
        raise
    if "FunctionError" in answer:
        raise Retriable(f"{what}: failed")
    return body


class JoinFunction:
    """`ports.FirstAccounts` by the function that may make accounts.

    Args:
        client: of Lambda, made with CONFIG.
    """

    def __init__(self, client: "LambdaClient", function: str) -> None:
        self._client = client
        self._function = function

    def make(self, newcomer: Newcomer) -> FirstAccount:
        return FirstAccount(**_called(self._client, self._function, asdict(newcomer), "join"))


class ButtonsFunction:
    """`ports.Buttons` by the function that does what operators press.

    Args:
        client: of Lambda, made with BUTTONS_CONFIG.
    """

    def __init__(self, client: "LambdaClient", function: str) -> None:
        self._client = client
        self._function = function

    def press(self, session: str, method: str, path: str, body: Mapping[str, Any]) -> Pressed:
        event = {"session": session, "method": method, "path": path, "body": body}
        found = _called(self._client, self._function, event, "buttons")
        return Pressed(found["status"], found["body"])


class WokenFunction:
    """Starts a function for a minute in which its work is due.

    Args:
        client: of Lambda, made with WAKING.
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
