"""AWS clients, made by botocore itself.

boto3's clients are botocore's; what boto3 adds (resources, S3 transfers) costs every cold start some 40 ms and is not
used here.
"""

import threading
from typing import Any, Final

from botocore.config import Config
from botocore.session import Session, get_session

from shared.sigv4 import AwsKeys

NAMED: Final = Config(user_agent="posthaste")
"""botocore puts its own description of itself together anew for every request, a tenth of what a call costs."""


class Aws:
    """Makes clients in one session. Safe for threads, as a session by itself is not; its clients are.

    Attributes:
        session: botocore's; listeners may be added to its events before a client is made.
    """

    def __init__(self) -> None:
        self.session: Session = get_session()
        self._lock = threading.Lock()

    def client(self, service: str, config: Config | None = None) -> Any:
        """Return a new low-level client of a service, such as `dynamodb`; its region and credentials: see botocore."""
        with self._lock:
            return self.session.create_client(service, config=NAMED.merge(config) if config else NAMED)

    def keys(self) -> AwsKeys | None:
        """Return the function's own keys, which botocore keeps current; None if there are none."""
        found = self.session.get_credentials()
        if found is None:
            return None
        now = found.get_frozen_credentials()
        return AwsKeys(now.access_key or "", now.secret_key or "", now.token or "")

    def later(self, service: str, config: Config | None = None) -> Any:
        """Return a client that is made when it is first used, for functions that seldom use it (15 ms each)."""
        return _Later(self, service, config)


class _Later:
    """Stands for a client."""

    def __init__(self, aws: Aws, service: str, config: Config | None) -> None:
        self._aws = aws
        self._service = service
        self._config = config
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._client is None:  # two threads may both make one: either serves
            self._client = self._aws.client(self._service, self._config)
        return getattr(self._client, name)
