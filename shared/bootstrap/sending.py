"""What serves one credential."""

import logging
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared import contracts
from shared.bootstrap.deployment import Deployment
from shared.contracts import Credential
from shared.providers.needs import ProviderNeeds, Transport, needs_of

if TYPE_CHECKING:
    from shared.adapters.http.wire import HttpWire
    from shared.adapters.s3.spooled import SpooledMessages
    from shared.adapters.smtp.transport import SmtpClient
    from shared.domain.content.content import Finished
    from shared.domain.content.streams import Stream
    from shared.engine.lane.access import LaneStores
    from shared.engine.lane.send import Sender
    from shared.engine.outcome.resolve import Resolution
    from shared.ports import Provider
    from shared.providers.registry import AwsAccount

_LOG: Final = logging.getLogger(__name__)


class _Messages:
    """`ports.FinishedMessages`, made when the first one comes by: most senders never meet one."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._lock = threading.Lock()
        self._made: SpooledMessages | None = None

    def open(self, finished: "Finished") -> "AbstractContextManager[Stream]":
        """Return a message's bytes, for a `with`; see `ports.FinishedMessages`."""
        from shared.adapters.s3.spooled import SpooledMessages  # noqa: PLC0415

        with self._lock:
            made = self._made = self._made or SpooledMessages(self._deployment.files)
        return made.open(finished)


@dataclass(slots=True)
class SendingLane:
    """The services of one credential. Its provider is made again when the secret has changed."""

    deployment: Deployment
    credential: Credential
    _http: Any = None
    _smtp: "SmtpClient | None" = None
    _secret: Mapping[str, str] | None = None
    _made: "Provider | None" = None
    _sender: "Sender | None" = None
    _messages: "_Messages" = field(init=False)

    def __post_init__(self) -> None:
        self._messages = _Messages(self.deployment)

    def prepare(self) -> None:
        """Make all that a sender needs except its secret, which must be read: clients, stores, transport."""
        from shared.engine.lane.send import Sender  # noqa: F401, PLC0415
        from shared.providers import registry  # noqa: PLC0415

        d = self.deployment
        _ = d.records, d.ledgers, d.pacer, d.lanes, d.recovery, d.breaker_cache, d.links
        registry.provider(self.credential.provider)
        http = self._transport()
        needs = self._needs()
        if needs.transport is Transport.HTTP:
            http.prepare()
        if not needs.built_in:
            _ = d.secretsmanager.meta

    def sender(self, call_timeout: float) -> "Sender":
        """Return the lane's sender. `call_timeout`: seconds that a provider call may take."""
        provider = self._current()
        if self._sender is None:
            from shared.engine.lane.access import ProviderAccess  # noqa: PLC0415
            from shared.engine.lane.send import Sender  # noqa: PLC0415

            d = self.deployment
            self._sender = Sender(
                stores=self._stores(),
                access=ProviderAccess(provider, call_timeout, self._wire, self._renewed, self._messages),
                credential=self.credential,
                recovery=d.recovery,
                breaker_cache=d.breaker_cache,
                clock=d.clock,
                lease_margin=float(d.env[contracts.ENV_LEASE_MARGIN]),
                links=d.links,
                glance=d.expired_of(lambda: [self.credential.id]).glance,
            )
        else:
            self._sender.use(provider)
        return self._sender

    def resolution(self, call_timeout: float) -> "Resolution":
        """Return what asks the lane's provider about doubts. `call_timeout`: seconds that a question may take."""
        from shared.engine.outcome.resolve import Resolution  # noqa: PLC0415

        d = self.deployment
        return Resolution(
            stores=self._stores(),
            tracker=d.tracker,
            provider=self._current(),
            credential=self.credential,
            breaker_cache=d.breaker_cache,
            clock=d.clock,
            call_timeout=call_timeout,
            links=d.links,
        )

    def _stores(self) -> "LaneStores":
        from shared.engine.lane.access import LaneStores  # noqa: PLC0415

        d = self.deployment
        return LaneStores(d.records, d.ledgers, d.pacer, d.lanes, lambda: d.standings)

    def _renewed(self) -> "Provider | None":
        """Read the secret again since the provider refuses the account; None if it is the same, or cannot be read."""
        from shared.adapters.secrets import KEPT_REFUSED  # noqa: PLC0415

        refused = self._made
        try:
            provider = self._current(KEPT_REFUSED)
        except Exception:  # noqa: BLE001 - the breaker opens, as for any key that is refused; the next probe asks again
            _LOG.exception("secret not read", extra={"credential": self.credential.id})
            return None
        return None if provider is refused else provider

    def _current(self, kept: float | None = None) -> "Provider":
        """Return the provider under its present secret, read within `kept` seconds; another secret makes another."""
        secrets, name = self.deployment.secrets, self.credential.id
        if self._needs().built_in:
            secret: Mapping[str, str] = {}
        else:
            secret = secrets.get(name) if kept is None else secrets.get(name, kept=kept)
        if self._made is None or secret != self._secret:
            self._secret, self._made = secret, self._provider(secret)
        return self._made

    def _provider(self, secret: Mapping[str, str]) -> "Provider":
        from shared.providers import registry  # noqa: PLC0415

        d = self.deployment
        http = self._transport()
        mine = self._needs()
        feedback = d.feedback if mine.built_in else None
        smtp = self._relay() if mine.transport is Transport.SMTP else None
        aws = self._account() if mine.role_signs else None
        needs = registry.Needs(
            http, d.clock, secret, self.credential.base_url, feedback, smtp, self.credential, aws, d.address
        )
        return registry.provider(self.credential.provider)(needs)

    def _needs(self) -> ProviderNeeds:
        return needs_of(self.credential.provider)

    def _transport(self) -> Any:
        from shared.adapters.http.transport import HttpClient  # noqa: PLC0415

        if self._http is None:
            self._http = HttpClient(self.deployment.clock)
        return self._http

    def _account(self) -> "AwsAccount":
        """Return the function's own account; botocore keeps the role's keys current."""
        from shared.providers.registry import AwsAccount, AwsKeys  # noqa: PLC0415

        session = self.deployment.aws.session

        def keys() -> AwsKeys | None:
            found = session.get_credentials()
            if found is None:
                return None
            now = found.get_frozen_credentials()
            return AwsKeys(now.access_key or "", now.secret_key or "", now.token or "")

        return AwsAccount(session.get_config_variable("region") or "", keys)

    def _relay(self) -> "SmtpClient":
        from shared.adapters.smtp.transport import SmtpClient  # noqa: PLC0415

        if self._smtp is None:
            self._smtp = SmtpClient(self.deployment.clock)
        return self._smtp

    def _wire(self) -> "HttpWire":
        from shared.adapters.http.wire import HttpWire  # noqa: PLC0415

        return HttpWire(self._transport())


def lane(deployment: Deployment) -> SendingLane:
    """Return the lane that this function serves."""
    return SendingLane(deployment, deployment.settings.credential(deployment.env[contracts.ENV_LANE]))
