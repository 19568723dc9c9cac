"""The use cases behind the console's lists, each built by the first page that asks for it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.bootstrap import Deployment
from shared.bootstrap.hooking import Hooking
from shared.engine.hooks.desk import HookDesk
from shared.ports import Journal


@dataclass(frozen=True, slots=True)
class Desks:
    """Use cases and reads."""

    suppressions: Suppressions
    journal: Journal
    hooks: Callable[[], HookDesk]


def build_desks(deployment: Deployment) -> Desks:
    """Build the use cases of a deployment."""
    client, table, clock = deployment.dynamo.client, deployment.records_table, deployment.clock
    days, homes = deployment.settings.audit_days, deployment.homes
    return Desks(
        suppressions=Suppressions(client, table, clock, audit_days=days, homes=homes),
        journal=DynamoJournal(deployment.dynamo, table),
        hooks=cache(lambda: Hooking(deployment).desk),
    )
