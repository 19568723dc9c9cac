"""AWS clients, made by botocore itself.

boto3's clients are botocore's; what boto3 adds (resources, S3 transfers) costs every cold start some 40 ms and is not
used here.
"""

import re
import threading
from typing import Any, Final

from botocore.config import Config
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.session import Session, get_session

from shared.sigv4 import AwsKeys

NAMED: Final = Config(user_agent="posthaste")
"""botocore puts its own description of itself together anew for every request, a tenth of what a call costs."""

_SUFFIXES: Final = (
    (r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d", "amazonaws.com"),
    (r"cn-[a-z]+-\d", "amazonaws.com.cn"),
)
"""How the names of regions begin, and the domain of their services."""


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

    def endpoint(self, service: str) -> tuple[str, str]:
        """Return a service's URL and region, as a client of botocore has them, without the 15 ms of making one.

        botocore's rules decide where variables or a configuration ask for FIPS or dual-stack, or the region is not one
        of those whose URLs are alike.
        """
        read = self.session.get_config_variable
        region = read("region") or ""
        suffix = next((end for start, end in _SUFFIXES if re.fullmatch(start, region)), None)
        if suffix is None or read("use_fips_endpoint") or read("use_dualstack_endpoint"):
            meta = self.client(service).meta
            return str(meta.endpoint_url), str(meta.region_name)
        given = None
        if not read("ignore_configured_endpoint_urls"):
            given = ConfiguredEndpointProvider(
                full_config=self.session.full_config,
                scoped_config=self.session.get_scoped_config(),
                client_name=service,
            ).provide()
        return given or f"https://{service}.{region}.{suffix}", region

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
