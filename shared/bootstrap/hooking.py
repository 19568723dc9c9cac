"""The parts of a deployment that post webhooks, each made when first asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.listeners import DynamoListeners
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.adapters.hooks import SqsHookHints, StoredHookSecrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from shared.adapters.dynamo.hooks.told import DynamoToldChanges
    from shared.bootstrap.deployment import Deployment
    from shared.domain.hooks.happening import Happening
    from shared.engine.hooks.call import CallHooks
    from shared.engine.hooks.desk import HookDesk
    from shared.engine.hooks.gather import Gatherer
    from shared.engine.hooks.happenings import Happenings
    from shared.engine.hooks.listening import ListenerDesk
    from shared.engine.hooks.outbox import HookOutbox
    from shared.engine.hooks.render import HookBodies


@dataclass(frozen=True)
class Hooking:
    """The services that post webhooks and change endpoints.

    Attributes:
        deployment: whose.
    """

    deployment: "Deployment"

    @property
    def local(self) -> bool:
        """Tell whether receivers may be on this machine."""
        return bool(self.deployment.env.get(contracts.ENV_LOOPBACK))

    @cached_property
    def endpoints(self) -> DynamoEndpoints:
        """Endpoints."""
        return DynamoEndpoints(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def queue(self) -> DynamoHookQueue:
        """Their deliveries."""
        return DynamoHookQueue(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def works(self) -> DynamoWorks:
        """Their leases."""
        return DynamoWorks(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def hints(self) -> SqsHookHints:
        """Messages that have work done soon."""
        d = self.deployment
        return SqsHookHints(d.sqs, d.env[contracts.ENV_LANE_URL_PREFIX], d.clock)

    @cached_property
    def secrets(self) -> StoredHookSecrets:
        """The secrets from which those of endpoints are derived."""
        return StoredHookSecrets(self.deployment.secrets)

    @cached_property
    def listeners(self) -> "ListenerDesk":
        """Hands out the deliveries of listeners."""
        from shared.engine.hooks.listening import ListenerDesk  # noqa: PLC0415

        return ListenerDesk(
            endpoints=self.endpoints,
            queue=self.queue,
            secrets=self.secrets,
            body=self.bodies,
            clock=self.deployment.clock,
        )

    @cached_property
    def audience(self) -> DynamoListeners:
        """Which namespaces have endpoints."""
        return DynamoListeners(
            self.deployment.dynamo, records=self.deployment.records_table, clock=self.deployment.clock
        )

    @cached_property
    def told(self) -> "DynamoToldChanges":
        """What was handed on."""
        from shared.adapters.dynamo.hooks.told import DynamoToldChanges  # noqa: PLC0415

        return DynamoToldChanges(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def outbox(self) -> "HookOutbox":
        """Makes deliveries."""
        from shared.engine.hooks.adding import HookAdder  # noqa: PLC0415
        from shared.engine.hooks.outbox import HookOutbox  # noqa: PLC0415

        clock = self.deployment.clock
        adder = HookAdder(queue=self.queue, hints=self.hints, clock=clock)
        return HookOutbox(endpoints=self.endpoints, adder=adder, clock=clock)

    @cached_property
    def gatherer(self) -> "Gatherer":
        """Hands changes of messages on."""
        from shared.engine.hooks.gather import Gatherer  # noqa: PLC0415

        d = self.deployment
        return Gatherer(records=d.records, ledgers=d.ledgers, told=self.told, outbox=self.outbox, clock=d.clock)

    @cached_property
    def happenings(self) -> "Happenings":
        """Hands on what else has happened."""
        from shared.engine.hooks.happenings import Happenings  # noqa: PLC0415

        return Happenings(
            listeners=self.audience, outbox=self.outbox, told=self.told, hints=self.hints, owner=self._owner
        )

    def _owner(self, notifier: str) -> str:
        found = self.deployment.notifiers.get(notifier)
        return found.namespace if found is not None else ""

    def read(self, records: "Sequence[Mapping[str, Any]]") -> "Iterator[Happening]":
        """Yield what records of the tables' streams say."""
        from shared.adapters.dynamo import happenings  # noqa: PLC0415

        return happenings.read(records, int(self.deployment.clock.now()))

    def alarm(self, event: "Mapping[str, Any]") -> "Iterator[Happening]":
        """Yield what EventBridge says of an alarm."""
        from shared.adapters.dynamo import happenings  # noqa: PLC0415

        yield happenings.alarm(event)

    @cached_property
    def bodies(self) -> "HookBodies":
        """Makes the bodies of deliveries."""
        from shared.engine.hooks.render import HookBodies  # noqa: PLC0415

        return HookBodies(self.deployment.records, self.deployment.clock)

    @cached_property
    def calls(self) -> "CallHooks":
        """Posts what is due to endpoints."""
        from shared.adapters.http.guarded import GuardedClient  # noqa: PLC0415
        from shared.engine.hooks.call import CallHooks  # noqa: PLC0415
        from shared.engine.hooks.posting import HookPoster  # noqa: PLC0415

        clock = self.deployment.clock
        client = GuardedClient(clock, local=self.local)
        return CallHooks(
            endpoints=self.endpoints,
            queue=self.queue,
            works=self.works,
            hints=self.hints,
            poster=HookPoster(client=client, secrets=self.secrets, body=self.bodies, clock=clock),
            clock=clock,
            draw=self.deployment.rng.random,
        )

    @cached_property
    def desk(self) -> "HookDesk":
        """Changes endpoints."""
        from shared.engine.hooks.desk import HookDesk  # noqa: PLC0415

        return HookDesk(
            endpoints=self.endpoints,
            queue=self.queue,
            works=self.works,
            hints=self.hints,
            secrets=self.secrets,
            journal=DynamoJournal(self.deployment.dynamo, self.deployment.records_table),
            clock=self.deployment.clock,
            local=self.local,
        )
