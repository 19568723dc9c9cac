"""Endpoints: where events of an account, or of the deployment, are posted.

A new endpoint gets a `test` event first. Events follow once it has answered that one with 2xx. It counts as enabled
some seconds later: from then on no process remembers that there was no such endpoint, so no event is missed. An
endpoint without a URL is a listener: a command fetches its deliveries for as long as it runs.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from shared.domain.ids import new_id
from shared.domain.times import DAY_MS, Millis, Seconds
from shared.frozen import dataclass

DEPLOYMENT: Final = "deployment"
"""The namespace of operators' endpoints."""
MAX_ENDPOINTS: Final = 20
"""Endpoints of a namespace."""
EVERY_KIND: Final = "*"
"""In place of names of kinds."""
PROOF: Final = "test"
"""The kind of event that a new endpoint has to answer."""
BOTH_SECRETS_MS: Final = DAY_MS
"""For so long after a rotation the former secret also signs."""
LISTENER_MS: Final = 600_000
"""A listener is removed so long after its last poll."""
UNHEARD_S: Final[Seconds] = 10.0
"""So long after a look that showed no endpoint of a namespace, none need hear of what happens there."""
LISTED_MS: Final[Millis] = 12_000
"""After so long each process knows that a namespace has endpoints: it remembers for 10 s that there are none."""
SEEN_MS: Final[Millis] = 7_000
"""After so long each process knows an endpoint as it is: it remembers for 5 s how it was."""
BOTH_PACES_MS: Final[Millis] = 60_000
"""For so long after `batch` has changed, changes are handed on at both paces: processes may know it as it was."""
_PREFIX: Final = "hook_"
_ID: Final = re.compile(r"hook_[0-9a-hjkmnp-tv-z]{26}")


class HookFormat(StrEnum):
    """The form of what is posted."""

    STANDARD = "standard"
    SLACK = "slack"
    TEAMS = "teams"
    DISCORD = "discord"


class EndpointState(StrEnum):
    """Whether events are posted to an endpoint."""

    PROVING = "proving"
    """It has not answered its `test` event yet, or just now."""
    ENABLED = "enabled"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    """Why an endpoint is disabled."""

    OWNER = "owner"
    GONE = "gone"
    """It answered 410."""
    FAILING = "failing"
    """It only failed for days."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint. Times are Unix milliseconds; 0: never.

    Attributes:
        id: `hook_` and 26 characters.
        namespace: whose: of an account's live or test keys, or DEPLOYMENT.
        url: empty for a listener.
        events: kinds of events, or EVERY_KIND.
        batch: several events of a kind are posted together.
        batch_at: when that has changed.
        secret: version of the secret that signs.
        former: version of the secret that also signs until `former_until`; 0: none.
        disabled_at: since when nothing is posted.
        reason: why, of `DisabledReason`; empty unless it is disabled.
        proven: it has answered its `test` event.
        enabled_at: from this time on no process misses an event of the endpoint, if it is proven.
        trial: counts how often its URL was changed, or it was enabled: each time it is called as if it were new.
        polled_at: when a listener last fetched, to the minute.
        version: counts the writes, from 1.
    """

    id: str
    namespace: str
    url: str
    events: tuple[str, ...]
    created_at: Millis
    description: str = ""
    batch: bool = False
    format: HookFormat = HookFormat.STANDARD
    secret: int = 1
    former: int = 0
    former_until: Millis = 0
    disabled_at: Millis = 0
    reason: str = ""
    proven: bool = False
    enabled_at: Millis = 0
    batch_at: Millis = 0
    trial: int = 0
    polled_at: Millis = 0
    version: int = 1

    @property
    def listening(self) -> bool:
        """Tell whether its deliveries are fetched rather than posted."""
        return not self.url

    @property
    def state(self) -> EndpointState:
        """Return whether events are posted to it."""
        if self.disabled_at:
            return EndpointState.DISABLED
        return EndpointState.ENABLED if self.proven else EndpointState.PROVING

    def state_at(self, now: Millis) -> EndpointState:
        """Return the state that its owner sees: it is enabled once no event is missed."""
        settling = self.state is EndpointState.ENABLED and now < self.enabled_at
        return EndpointState.PROVING if settling else self.state

    def wants(self, kind: str) -> bool:
        """Tell whether events of a kind are delivered to it."""
        if self.state is not EndpointState.ENABLED:
            return False
        return EVERY_KIND in self.events or kind in self.events

    def gathers(self, now: Millis, *, later: bool) -> bool:
        """Tell whether changes are handed on to it at a pace.

        Args:
            later: the pace of batches, or at once.
        """
        return self.batch == later or now < self.batch_at + BOTH_PACES_MS

    def secrets(self, now: Millis) -> tuple[int, ...]:
        """Return the versions of the secrets that sign, the current one first."""
        return (self.secret, self.former) if self.former and now < self.former_until else (self.secret,)

    def abandoned(self, now: Millis) -> bool:
        """Tell whether it is a listener that no command polls any longer."""
        return self.listening and max(self.polled_at, self.created_at) + LISTENER_MS <= now


def enabled_from(now: Millis, every: Iterable[Endpoint]) -> Millis:
    """Return from when on no process misses an event of an endpoint that proves itself now, Unix milliseconds.

    Args:
        every: the endpoints of its namespace, as read after it was created; they were listed all the time since.
    """
    listed = min((x.created_at for x in every), default=now)
    return max(now + SEEN_MS, listed + LISTED_MS)


def new_endpoint_id(now: Millis) -> str:
    """Return a new endpoint's id."""
    return _PREFIX + new_id(now)


def is_endpoint(text: str) -> bool:
    """Tell whether a text has the form of an endpoint's id."""
    return _ID.fullmatch(text) is not None


def rotated(endpoint: Endpoint, now: Millis) -> Endpoint:
    """Return an endpoint with a new secret. The one before it also signs for a day."""
    return replace(
        endpoint,
        secret=endpoint.secret + 1,
        former=endpoint.secret,
        former_until=now + BOTH_SECRETS_MS,
        version=endpoint.version + 1,
    )


def disabled(endpoint: Endpoint, reason: DisabledReason, now: Millis) -> Endpoint:
    """Return an endpoint to which nothing is posted."""
    return replace(endpoint, disabled_at=now, reason=reason.value, version=endpoint.version + 1)


def enabled(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that has to answer a `test` event anew."""
    return replace(
        endpoint,
        disabled_at=0,
        reason="",
        proven=endpoint.listening,
        trial=endpoint.trial + 1,
        version=endpoint.version + 1,
    )
