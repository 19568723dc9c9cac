"""`ports.FirstAccounts` by the function that may make accounts, which its caller may not."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from botocore import exceptions as sdk
from botocore.config import Config
from botocore.exceptions import ClientError

from shared.domain.people import FirstAccount, Newcomer
from shared.ports import Retriable

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient

CONFIG: Final = Config(connect_timeout=2, read_timeout=12, retries={"mode": "standard", "total_max_attempts": 2})
"""A cold start and one transaction. A repeated call makes nothing new."""
BUSY: Final = frozenset({"TooManyRequestsException", "ServiceException", "EC2ThrottledException"})


class JoinFunction:
    """Calls the function.

    Args:
        client: of Lambda, made with CONFIG.
    """

    def __init__(self, client: "LambdaClient", function: str) -> None:
        self._client = client
        self._function = function

    def make(self, newcomer: Newcomer) -> FirstAccount:
        try:
            asked = json.dumps(asdict(newcomer)).encode()
            answer: Any = self._client.invoke(FunctionName=self._function, Payload=asked)
            body = json.loads(answer["Payload"].read())
        except (sdk.ConnectionError, sdk.HTTPClientError):
            raise Retriable("join: no answer") from None
        except ClientError as error:
            if error.response["Error"]["Code"] in BUSY:
                raise Retriable("join: busy") from None
            raise
        if "FunctionError" in answer:
            raise Retriable("join: failed")
        return FirstAccount(**body)
