"""Hands on what has happened to endpoints: ends of jobs, closed windows, suppressions, breakers and the like.

It comes from streams, which repeat records and show an item again with each later write. An event's id is made of what
happened, so a repeat has the same one.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from shared.domain.hooks.bodies import HookEvent, packed
from shared.domain.hooks.domain_event import DomainEvent
from shared.domain.hooks.kinds import HookKind, HookPace
from shared.engine.hooks.outbox import HookOutbox
from shared.ports import Announcements, HookHints, Listeners


class DomainEvents:
    """Stores deliveries of what has happened.

    Args:
        told: which events were handed on.
        hints: for messages that have changed without a mark.
        owner: returns the namespace of a notifier; empty if there is no such notifier.
    """

    def __init__(
        self,
        *,
        listeners: Listeners,
        outbox: HookOutbox,
        told: Announcements,
        hints: HookHints,
        owner: Callable[[str], str],
    ) -> None:
        self._listeners = listeners
        self._outbox = outbox
        self._told = told
        self._hints = hints
        self._owner = owner

    def hear(self, domain_events: Iterable[DomainEvent]) -> int:
        """Store deliveries for all endpoints that want them; return how many.

        Raises:
            Retriable: a store fails. Nothing is lost: the records are to be repeated.
        """
        by_namespace: dict[str, dict[str, DomainEvent]] = {}
        for x in domain_events:
            namespace = x.namespace or self._owner(x.notifier)
            if namespace and self._listeners.has(namespace):
                by_namespace.setdefault(namespace, {})[x.event.id] = x
        return sum(self._namespace(name, list(found.values())) for name, found in by_namespace.items())

    def _namespace(self, namespace: str, found: Sequence[DomainEvent]) -> int:
        again = [self._name(namespace, x) for x in found if x.ttl]
        known = self._told.known(again) if again else set()
        new = [x for x in found if not x.ttl or self._name(namespace, x) not in known]
        new = [claimed for x in new if (claimed := self._claimed(namespace, x)) is not None]
        events = _by_kind(new)
        made = sum(self._outbox.happened(endpoint, events) for endpoint in self._outbox.endpoints(namespace))
        self._look(namespace, new)
        self._note(namespace, new)
        return made

    def _claimed(self, namespace: str, x: DomainEvent) -> DomainEvent | None:
        """Return an event with what it said when it was first seen, and its time; None: it was handed on meanwhile.

        The item of a job, say, shows other counts with each write, and an id stands for one body.
        """
        if not x.ttl:
            return x
        said = packed([x.event.at, x.event.data]).decode()
        data = self._told.claim(self._name(namespace, x), said, x.ttl)
        if not data:
            return None
        at, first = json.loads(data)
        return replace(x, event=HookEvent(x.event.id, first, at))

    def _note(self, namespace: str, new: Sequence[DomainEvent]) -> None:
        """Remember the events that later writes of their items show again."""
        for ttl in {x.ttl for x in new} - {0}:
            self._told.note([self._name(namespace, x) for x in new if x.ttl == ttl], ttl)

    def _look(self, namespace: str, new: Sequence[DomainEvent]) -> None:
        """Have deliveries made of messages that have changed without a mark."""
        for places in (x.look for x in new if x.look):
            for pace in HookPace:
                self._hints.gather(namespace, places, pace)

    def _name(self, namespace: str, x: DomainEvent) -> str:
        """Return the name under which an event is remembered for a namespace: the deployment may get the same event."""
        return f"{x.event.id}#{namespace}"


def _by_kind(domain_events: Iterable[DomainEvent]) -> dict[HookKind, list[HookEvent]]:
    events: dict[HookKind, list[HookEvent]] = {}
    for x in domain_events:
        events.setdefault(x.kind, []).append(x.event)
    return events
