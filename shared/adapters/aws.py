"""AWS clients that botocore makes, and what a client without botocore needs.

boto3 adds resources and S3 transfers, which cost a cold start 40 ms and are not used here. botocore itself takes 80 ms
to load. So the first client of botocore loads it: a function that calls only DynamoDB, SQS and Secrets
Manager does without (docs/adr/0292).
"""

import os
import re
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shared.sigv4 import AwsKeys

if TYPE_CHECKING:
    from botocore.session import Session

ClientOptions = Mapping[str, Any]
"""Parameters of `botocore.config.Config`."""

NAMED: Final[ClientOptions] = {"user_agent": "posthaste"}
"""botocore puts its own description of itself together anew for every request, a tenth of what a call costs."""

_SUFFIXES: Final = (
    (r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d", "amazonaws.com"),
    (r"cn-[a-z]+-\d", "amazonaws.com.cn"),
)
"""How the names of regions begin, and the domain of their services."""
_IDS: Final = {"dynamodb": "DYNAMODB", "sqs": "SQS", "secretsmanager": "SECRETS_MANAGER"}
"""Service → the end of the variable with its endpoint."""
_UNUSUAL: Final = (
    "AWS_CONFIG_FILE",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_CREDENTIAL_EXPIRATION",
)
"""Variables of which botocore says what they mean."""


class Aws:
    """Makes clients in one session. Safe for threads, as a session by itself is not; its clients are."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @cached_property
    def session(self) -> "Session":
        """botocore's; listeners may be added to its events before a client is made."""
        from botocore.session import get_session  # noqa: PLC0415 - 80 ms that most functions do not need

        return get_session()

    @cached_property
    def _is_usual(self) -> bool:
        """Whether only the environment says where AWS is: Lambda has no files of settings."""
        return not any(name in os.environ for name in _UNUSUAL) and not Path("~/.aws/config").expanduser().exists()

    @cached_property
    def region(self) -> str:
        """The region of clients that name none; empty if there is none."""
        if self._is_usual:
            return os.environ.get("AWS_DEFAULT_REGION", "")
        return self.session.get_config_variable("region") or ""

    @cached_property
    def _own_keys(self) -> AwsKeys | None:
        """The keys that the environment holds, which last as long as the process; None if it holds none."""
        access, secret = (os.environ.get(f"AWS_{name}") for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"))
        if not (self._is_usual and access and secret):
            return None
        return AwsKeys(access, secret, os.environ.get("AWS_SECURITY_TOKEN") or os.environ.get("AWS_SESSION_TOKEN", ""))

    def client(self, service: str, options: ClientOptions = NAMED) -> Any:
        """Return a new low-level client of a service, such as `dynamodb`; its region and credentials: see botocore."""
        from botocore.config import Config  # noqa: PLC0415 - see `session`

        with self._lock:
            return self.session.create_client(service, config=Config(**{**NAMED, **options}))

    def endpoint(self, service: str) -> tuple[str, str]:
        """Return a service's URL and region, as a client of botocore has them, without the 15 ms of making one.

        botocore's rules decide where variables or files ask for something unusual, or the region is not one of those
        whose URLs are alike.
        """
        suffix = next((end for start, end in _SUFFIXES if re.fullmatch(start, self.region)), None)
        if suffix is None or not self._is_usual or service not in _IDS:
            meta = self.client(service).meta
            return str(meta.endpoint_url), str(meta.region_name)
        given = os.environ.get(f"AWS_ENDPOINT_URL_{_IDS[service]}") or os.environ.get("AWS_ENDPOINT_URL")
        return given or f"https://{service}.{self.region}.{suffix}", self.region

    def keys(self) -> AwsKeys | None:
        """Return the function's own keys, which botocore keeps current if they end; None if there are none."""
        if self._own_keys is not None:
            return self._own_keys
        found = self.session.get_credentials()
        if found is None:
            return None
        now = found.get_frozen_credentials()
        return AwsKeys(now.access_key or "", now.secret_key or "", now.token or "")

    def later(self, service: str, options: ClientOptions = NAMED) -> Any:
        """Return a client that is made when it is first used, for functions that seldom use it (15 ms each)."""
        return _Later(self, service, options)


class _Later:
    """Stands for a client."""

    def __init__(self, aws: Aws, service: str, options: ClientOptions) -> None:
        self._aws = aws
        self._service = service
        self._options = options
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._client is None:  # two threads may both make one: either serves
            self._client = self._aws.client(self._service, self._options)
        return getattr(self._client, name)
