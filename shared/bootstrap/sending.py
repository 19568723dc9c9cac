"""What serves one credential."""

import logging
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared import contracts
from shared.bootstrap.use_cases import UseCases
from shared.contracts import Credential
from shared.lazy import lazy
from shared.providers.needs import ProviderNeeds, Transport, needs_of

if TYPE_CHECKING:
    from shared.adapters import secrets
    from shared.adapters.http import steps, transport, wire
    from shared.adapters.s3 import spooled
    from shared.adapters.smtp import transport as relay
    from shared.domain.content.content import Finished
    from shared.domain.content.streams import Stream
    from shared.engine.lane import access, group
    from shared.engine.outcome import resolve
    from shared.ports import Provider
    from shared.providers import registry
else:
    secrets, spooled, relay = lazy("shared.adapters", "secrets", "s3.spooled", "smtp.transport")
    steps, transport, wire = lazy("shared.adapters.http", "steps", "transport", "wire")
    access, group = lazy("shared.engine.lane", "access", "group")
    (resolve,) = lazy("shared.engine.outcome", "resolve")
    (registry,) = lazy("shared.providers", "registry")

_LOG: Final = logging.getLogger(__name__)


class _Messages:
    """`ports.FinishedMessages`, made when the first one comes by: most senders never meet one."""

    def __init__(self, deployment: UseCases) -> None:
        self._deployment = deployment
        self._lock = threading.Lock()
        self._made: spooled.SpooledMessages | None = None

    def open(self, finished: "Finished") -> "AbstractContextManager[Stream]":
        """Return a message's bytes, for a `with`; see `ports.FinishedMessages`."""
        with self._lock:
            made = self._made = self._made or spooled.SpooledMessages(self._deployment.files)
        return made.open(finished)


@dataclass(slots=True)
class SendingLane:
    """The services of one credential. Its provider is made again when the secret has changed."""

    deployment: UseCases
    credential: Credential
    _http: Any = None
    _smtp: "relay.SmtpClient | None" = None
    _secret: Mapping[str, str] | None = None
    _made: "Provider | None" = None
    _sender: "group.GroupSender | None" = None
    _messages: "_Messages" = field(init=False)

    def __post_init__(self) -> None:
        self._messages = _Messages(self.deployment)

    def prepare(self) -> None:
        """Make all that a sender needs except its secret, which must be read: clients, stores, transport."""
        d = self.deployment
        _ = d.records, d.ledgers, d.pacer, d.lanes, d.recovery, d.breaker_cache, d.links, group.GroupSender
        registry.provider(self.credential.provider)
        http = self._transport()
        needs = self._needs()
        if needs.transport is Transport.HTTP:
            http.prepare()
        if not needs.built_in:
            _ = d.secretsmanager.get_secret_value

    def sender(self, call_timeout: float) -> "group.GroupSender":
        """Return the lane's sender. `call_timeout`: seconds that a provider call may take."""
        provider = self._current()
        if self._sender is None:
            d = self.deployment
            self._sender = group.GroupSender(
                stores=self._stores(),
                access=access.ProviderAccess(provider, call_timeout, self._wire, self._renewed, self._messages),
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

    def resolution(self, call_timeout: float) -> "resolve.Resolution":
        """Return what asks the lane's provider about doubts. `call_timeout`: seconds that a question may take."""
        d = self.deployment
        return resolve.Resolution(
            stores=self._stores(),
            tracker=d.tracker,
            provider=self._current(),
            credential=self.credential,
            breaker_cache=d.breaker_cache,
            clock=d.clock,
            call_timeout=call_timeout,
            links=d.links,
        )

    def _stores(self) -> "access.LaneStores":
        d = self.deployment
        return access.LaneStores(d.records, d.ledgers, d.pacer, d.lanes, lambda: d.standings, self._quotas)

    def _quotas(self, credential: str) -> tuple[contracts.CredentialQuota, ...]:
        declared = {c.id: c.quotas for c in self.deployment.settings.credentials}
        return declared.get(credential, ())

    def _renewed(self) -> "Provider | None":
        """Read the secret again since the provider refuses the account; None if it is the same, or cannot be read."""
        refused = self._made
        try:
            provider = self._current(secrets.KEPT_REFUSED)
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
        if self._http is None:
            self._http = transport.HttpClient(self.deployment.clock)
        return self._http

    def _account(self) -> "registry.AwsAccount":
        """Return the function's own account."""
        aws = self.deployment.aws
        return registry.AwsAccount(aws.region, aws.keys)

    def _relay(self) -> "relay.SmtpClient":
        if self._smtp is None:
            self._smtp = relay.SmtpClient(self.deployment.clock)
        return self._smtp

    def _wire(self) -> "wire.HttpWire":
        client = self._transport()
        return steps.SteppingWire(client) if self.deployment.is_direct else wire.HttpWire(client)
