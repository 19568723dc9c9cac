"""The parts of a deployment that post webhooks, each made when first asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.adapters.hooks import SqsHookHints, StoredHookSecrets

if TYPE_CHECKING:
    from shared.bootstrap.deployment import Deployment
    from shared.engine.hooks.desk import HookDesk


@dataclass(frozen=True)
class Hooking:
    """What posts webhooks, and what changes endpoints.

    Attributes:
        deployment: whose.
    """

    deployment: "Deployment"

    @property
    def local(self) -> bool:
        """Tell whether receivers may be on this machine."""
        return bool(self.deployment.env.get(contracts.ENV_LOCAL))

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
        """What the secrets of endpoints are derived from."""
        return StoredHookSecrets(self.deployment.secrets)

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
            clock=self.deployment.clock,
            local=self.local,
        )
