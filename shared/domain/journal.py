"""What happens to an account's things by itself or by somebody's hand, for its audit log and for its webhooks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SYSTEM: Final = "system"
"""The actor of what nobody asked for."""


class Log(StrEnum):
    """Where an event is kept."""

    AUDIT = "audit"
    """Who did what: kept for over a year."""
    EVENTS = "events"
    """What webhooks tell: kept for as long as they may be replayed."""


DAYS: Final = {Log.AUDIT: 400, Log.EVENTS: 30}
"""Days that an event is kept."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        account: whose.
        at: Unix milliseconds.
        id: of what it happened to; with `at` it names the event.
        kind: what happened, e.g. `job.stopped`.
        actor: id of the API key, or SYSTEM.
        data: more about it, by name.
    """

    account: str
    at: int
    id: str
    kind: str
    actor: str
    data: Mapping[str, str | int]

    def pack(self) -> str:
        """Serialise `data`: JSON."""
        return json.dumps(dict(self.data), ensure_ascii=False, separators=(",", ":"))
