"""Events of webhooks other than changes of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from shared.domain.hooks.bodies import HookEvent
from shared.domain.hooks.kinds import HookKind
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class DomainEvent:
    """One event for the endpoints of one namespace.

    Attributes:
        namespace: whose endpoints get it; empty: that of the notifier.
        kind: of the event.
        event: the event.
        notifier: a notifier's name, if only that is known.
        ttl: Unix seconds until when it is remembered, since later writes of the same item show it again; 0: none does.
        look: job's id → chunks whose messages have changed without a mark: some were skipped at their acceptance.
    """

    namespace: str
    kind: HookKind
    event: HookEvent
    notifier: str = ""
    ttl: int = 0
    look: Mapping[str, Sequence[int]] = field(default_factory=dict)
