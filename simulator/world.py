"""The state of one simulator: its providers, and for each credential keys, faults and webhooks."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from simulator.faults import Faults, Injector
from simulator.log import Log
from simulator.model import BadRequest, Clock, Provider
from simulator.registry import providers
from simulator.servers.listener import Listener
from simulator.servers.relay import Relay
from simulator.webhooks import Courier, Webhooks

CREDENTIAL_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
DEFAULT_CREDENTIAL: Final = "default"
"""The credential of calls whose path names none: `/sendgrid/v3/mail/send`."""
MAX_CREDENTIALS: Final = 1000
POST_THREADS: Final = 8


@dataclass(slots=True)
class Credential:
    """One provider account as the simulator sees it."""

    provider: Provider
    id: str
    keys: frozenset[str]
    faults: Injector
    courier: Courier
    listener: Listener | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    """The data that the provider keeps for it, see `Context`."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a simulator starts.

    Attributes:
        seed: of all chances and ids.
        webhook_url_template: URL with `{provider}` and `{credential_id}`; empty: no target until one is set.
        keys: provider → accepted keys; a provider's default key otherwise.
        key_files: provider → file of its webhook signing key, made if it is missing.
        webhooks: settings that every credential starts with; its `url` is the template's.
        clock: what tells the time.
    """

    seed: str
    webhook_url_template: str = ""
    keys: dict[str, frozenset[str]] | None = None
    key_files: dict[str, Path] | None = None
    webhooks: Webhooks = field(default_factory=Webhooks)
    clock: Clock = field(default_factory=Clock)


class World:
    """Everything there is. Lives in the event loop's thread."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.clock = options.clock
        self.log = Log()
        self.pool = ThreadPoolExecutor(POST_THREADS, "webhooks")
        files = options.key_files or {}
        self.providers: dict[str, Provider] = {name: make(files.get(name)) for name, make in providers().items()}
        self.credentials: dict[tuple[str, str], Credential] = {}
        self.relays: dict[str, Relay] = {}

    def credential(self, provider_name: str, credential_id: str) -> Credential:
        """Return a credential, made when it is first named; BadRequest if there is no such provider or name."""
        found = self.credentials.get((provider_name, credential_id))
        if found is not None:
            return found
        provider = self.providers.get(provider_name)
        if provider is None:
            raise BadRequest(f"no provider {provider_name}; there are {', '.join(self.providers)}")
        if not CREDENTIAL_ID.fullmatch(credential_id) or credential_id in provider.roots:
            raise BadRequest("a credential id has letters, digits, dots, dashes and underscores")
        if len(self.credentials) >= MAX_CREDENTIALS:
            raise BadRequest("too many credentials")
        url = self.options.webhook_url_template.replace("{provider}", provider_name)
        url = url.replace("{credential_id}", credential_id)
        made = Credential(
            provider=provider,
            id=credential_id,
            keys=(self.options.keys or {}).get(provider_name, frozenset({provider.default_key})),
            faults=Injector(),
            courier=Courier(
                provider=provider,
                credential=f"{provider_name}/{credential_id}",
                seed=self.options.seed,
                clock=self.clock,
                pool=self.pool,
                settings=self.options.webhooks.model_copy(update={"url": url}),
            ),
        )
        self.credentials[provider_name, credential_id] = made
        return made

    def relay(self, name: str) -> Relay:
        """Return an SMTP relay, made when it is first named; BadRequest if it cannot be named so."""
        if not CREDENTIAL_ID.fullmatch(name) or len(self.relays) >= MAX_CREDENTIALS:
            raise BadRequest("a relay's name has letters, digits, dots, dashes and underscores")
        return self.relays.setdefault(name, Relay(name, self.log, self.clock, self.options.seed))

    async def set_faults(self, credential: Credential, faults: Faults) -> None:
        """Replace a credential's faults; BadRequest if it is to refuse connections without a port of its own."""
        refuse = next((r for r in faults.rules if r.refuses), None)
        listener = credential.listener
        if refuse is not None and listener is None:
            raise BadRequest("refuse needs a port of its own: start with --listen, or POST …/listener, and use its URL")
        credential.faults.set(faults, self.clock.now())
        if listener is None:
            return
        if refuse is not None:
            listener.close(refuse.seconds, credential.faults.listening)
        else:
            await listener.open()

    async def flush(self, *, now: bool, patience: float) -> dict[str, Any]:
        """Wait at most `patience` seconds until no webhook is pending; see `Courier.flush`."""
        couriers = [c.courier for c in self.credentials.values()]
        before = sum(c.counters.delivered for c in couriers)
        tasks = [asyncio.ensure_future(c.flush(now=now)) for c in couriers]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=patience)
            for task in late:
                task.cancel()
        total = sum(c.counters.delivered for c in couriers)
        return {
            "delivered": total - before,
            "total": total,
            "failed": sum(c.counters.failed for c in couriers),
            "pending": sum(c.pending for c in couriers),
        }

    async def reset(self) -> None:
        """Forget log, faults and undelivered webhooks; keys, targets and ports stay."""
        self.log.clear()
        for relay in self.relays.values():
            relay.reset()
        for credential in list(self.credentials.values()):
            await self.set_faults(credential, Faults())
            credential.courier.drop()
            credential.memory.clear()

    async def close(self) -> None:
        """Stop deliveries and listeners."""
        for relay in self.relays.values():
            relay.close()
        for credential in self.credentials.values():
            if credential.listener is not None:
                credential.listener.shut()
            await credential.courier.close()
        self.pool.shutdown()
