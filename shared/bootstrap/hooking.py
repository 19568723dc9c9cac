"""The parts of a deployment that post webhooks, each made when first asked for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared import contracts
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.adapters.hooks import SqsHookHints, StoredHookSecrets
from shared.bootstrap.use_cases import Room
from shared.lazy import PartOf, lazy

if TYPE_CHECKING:
    from shared.adapters.dynamo import domain_events as stored
    from shared.adapters.dynamo.hooks import announcements
    from shared.adapters.http import guarded
    from shared.domain.hooks.domain_event import DomainEvent
    from shared.engine.hooks import adding, call, domain_events, gather, listening, outbox, posting, render, service
else:
    guarded, stored = lazy("shared.adapters", "http.guarded", "dynamo.domain_events")
    (announcements,) = lazy("shared.adapters.dynamo.hooks", "announcements")
    adding, call, service, gather = lazy("shared.engine.hooks", "adding", "call", "service", "gather")
    domain_events, listening, outbox = lazy("shared.engine.hooks", "domain_events", "listening", "outbox")
    posting, render = lazy("shared.engine.hooks", "posting", "render")

part = PartOf["Hooking"]()


class Hooking(Room):
    """The services that post webhooks and change endpoints."""

    @property
    def local(self) -> bool:
        """Tell whether receivers may be on this machine."""
        return bool(self.deployment.env.get(contracts.ENV_LOOPBACK))

    endpoints = part(lambda r: DynamoEndpoints(r.deployment.dynamo, records=r.deployment.records_table))
    queue = part(lambda r: DynamoHookQueue(r.deployment.dynamo, records=r.deployment.records_table))
    """Their deliveries."""
    works = part(lambda r: DynamoWorks(r.deployment.dynamo, records=r.deployment.records_table))
    """Their leases."""
    hints = part(
        lambda r: SqsHookHints(r.deployment.sqs, r.deployment.env[contracts.ENV_LANE_URL_PREFIX], r.deployment.clock)
    )
    """Messages that have work done soon."""
    secrets = part(lambda r: StoredHookSecrets(r.deployment.secrets))
    """The secrets from which those of endpoints are derived."""
    announcements = part(
        lambda r: announcements.DynamoAnnouncements(r.deployment.dynamo, records=r.deployment.records_table)
    )
    """What was handed on."""
    adder = part(lambda r: adding.HookAdder(queue=r.queue, hints=r.hints, clock=r.deployment.clock))
    outbox = part(lambda r: outbox.HookOutbox(endpoints=r.endpoints, adder=r.adder, clock=r.deployment.clock))
    """Makes deliveries."""
    gatherer = part(
        lambda r: gather.Gatherer(
            records=r.deployment.records,
            ledgers=r.deployment.ledgers,
            told=r.announcements,
            outbox=r.outbox,
            clock=r.deployment.clock,
        )
    )
    """Hands changes of messages on."""
    domain_events = part(
        lambda r: domain_events.DomainEvents(
            listeners=r.deployment.audience, outbox=r.outbox, told=r.announcements, hints=r.hints, owner=r.owner
        )
    )
    """Hands on what else has happened."""
    bodies = part(lambda r: render.HookBodies(r.deployment.records, r.deployment.clock))
    """Makes the bodies of deliveries."""
    listeners = part(
        lambda r: listening.ListenerService(
            endpoints=r.endpoints, queue=r.queue, secrets=r.secrets, body=r.bodies, clock=r.deployment.clock
        )
    )
    """Hands out the deliveries of listeners."""
    poster = part(
        lambda r: posting.HookPoster(
            client=guarded.GuardedClient(r.deployment.clock, local=r.local),
            secrets=r.secrets,
            body=r.bodies,
            clock=r.deployment.clock,
        )
    )
    calls = part(
        lambda r: call.CallHooks(
            endpoints=r.endpoints,
            queue=r.queue,
            works=r.works,
            hints=r.hints,
            poster=r.poster,
            clock=r.deployment.clock,
            draw=r.deployment.rng.random,
        )
    )
    """Posts what is due to endpoints."""
    service = part(
        lambda r: service.HookService(
            endpoints=r.endpoints,
            queue=r.queue,
            works=r.works,
            hints=r.hints,
            secrets=r.secrets,
            journal=r.deployment.journal,
            clock=r.deployment.clock,
            local=r.local,
        )
    )
    """Changes endpoints."""

    def owner(self, notifier: str) -> str:
        """Return the namespace of a notifier; empty: there is none of this name."""
        found = self.deployment.notifiers.get(notifier)
        return found.namespace if found is not None else ""

    def read(self, records: Sequence[Mapping[str, Any]]) -> "Iterator[DomainEvent]":
        """Yield what records of the tables' streams say."""
        return stored.read(records, int(self.deployment.clock.now()))

    def alarm(self, event: Mapping[str, Any]) -> "Iterator[DomainEvent]":
        """Yield what EventBridge says of an alarm."""
        yield stored.alarm(event)
