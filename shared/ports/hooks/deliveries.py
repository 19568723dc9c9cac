"""Webhooks: endpoints, their queues of deliveries, and what posts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass
from shared.ports.common import After, Limit
from shared.ports.records import Idempotency, Mismatch, Replay, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shared.domain.audit import Event
    from shared.domain.hooks.delivery import DeliveryState, HookDelivery
    from shared.domain.hooks.endpoint import Endpoint
    from shared.domain.hooks.kinds import HookPace
    from shared.domain.hooks.work import HookWork, ReplayOrder


class Endpoints(Protocol):
    """Endpoints by namespace. Every write is all or nothing, and carries its entry of the audit log."""

    def create(
        self, endpoint: Endpoint, key: Idempotency | None, *, event: Event | None
    ) -> Stored | Replay | Mismatch | None:
        """Store a new endpoint, and note that its namespace has one. None: the namespace has `MAX_ENDPOINTS` already.

        Args:
            endpoint: new, with a random id.
            event: what is written to the audit log with it; None for none.
        """

    def get(self, endpoint: str) -> Endpoint | None:
        """Return an endpoint, consistent."""

    def of(self, namespace: str) -> Sequence[Endpoint]:
        """Return the endpoints of a namespace, the oldest first, consistent."""

    def change(self, old: Endpoint, new: Endpoint, *, event: Event | None) -> bool:
        """Write an endpoint if it is as read. False: it has changed since.

        Args:
            event: what is written to the audit log with it; None for none.
        """

    def delete(self, endpoint: Endpoint, *, event: Event | None) -> None:
        """Remove an endpoint of any version with its work; nothing happens if it does not exist any more.

        Its deliveries are removed as they expire.
        """


class Listeners(Protocol):
    """Which namespaces have endpoints, some seconds old; costs no call of its own as a rule."""

    def has(self, namespace: str) -> bool:
        """Tell whether a namespace has endpoints, disabled ones included."""


class HookQueue(Protocol):
    """Deliveries by endpoint. Ended ones are kept for seven days."""

    def add(self, endpoint: str, deliveries: Sequence[HookDelivery], *, wake: Millis) -> HookWork:
        """Store deliveries, count that in the endpoint's work, and return the work as it then is.

        A repeat with the same `due` stores them once.

        Args:
            deliveries: PENDING, any number; with none, the endpoint is only looked at again.
            wake: when to look at the endpoint at the latest, Unix milliseconds.
        """

    def pending(self, endpoint: str, *, after: After = "", limit: Limit) -> tuple[Sequence[HookDelivery], str]:
        """Return waiting deliveries, soonest first, and the place to continue from, empty at the end; consistent."""

    def ended(
        self,
        endpoint: str,
        *,
        state: DeliveryState | None = None,
        since: Millis = 0,
        until: Millis | None = None,
        after: After = "",
        limit: Limit,
    ) -> tuple[Sequence[HookDelivery], str]:
        """Return the deliveries that have ended, the newest first, and the place to continue from, empty at the end.

        A page may be shorter than the limit, even empty, although there are more.

        Args:
            state: only those in this state; None for all.
            since: of when the oldest was created, Unix milliseconds.
            until: of when the newest was; None: now.
        """

    def get(self, endpoint: str, name: str) -> HookDelivery | None:
        """Return a delivery by its `name`; None if there is none. If it waits and has ended before: as it waits."""

    def settle(self, moves: Sequence[tuple[HookDelivery, HookDelivery]]) -> None:
        """Replace deliveries by what an attempt made of them.

        A delivery that is PENDING or FAILED is stored under its new time before it is removed from the old one. If the
        process dies between the two, the delivery is posted again under the same id.

        Args:
            moves: each as it was read, PENDING, and as it is now.
        """


class Works(Protocol):
    """The leases of endpoints, and which to look at."""

    def get(self, endpoint: str) -> HookWork | None:
        """Return an endpoint's work, consistent; None: nothing was ever added."""

    def some(self, endpoints: Sequence[str]) -> Mapping[str, HookWork]:
        """Return the work of those endpoints that have any, by their ids, consistent, a hundred in one read."""

    def acquire(self, endpoint: str, owner: str, *, now: Millis, until: Millis) -> HookWork | None:
        """Take an endpoint's lease if it is free, and return its work; None: another has it, or there is no work.

        Args:
            until: when the lease ends.
        """

    def keep(self, old: HookWork, new: HookWork) -> HookWork | None:
        """Store the changes of a lease's owner, except `added` and `wake`, and return the work as it then is.

        Args:
            old: as the owner knows it; an order to replay that it does not know of stays.

        Returns:
            None: the lease was lost.
        """

    def release(self, work: HookWork) -> HookWork | None:
        """Store what the owner of a lease changed, and end the lease, if `added` is as the owner knows it.

        Args:
            work: with its `wake`; 0: nothing waits.

        Returns:
            None: the lease is released, or was lost. Otherwise the work as it is stored: more was added.
        """

    def drop(self, work: HookWork) -> None:
        """Remove the work of an endpoint that was removed, if its owner still has the lease."""

    def order(self, endpoint: str, replay: ReplayOrder, *, wake: Millis) -> bool:
        """Have deliveries replayed, unless an earlier order is not finished: False.

        Args:
            wake: when to look at the endpoint at the latest, Unix milliseconds.
        """

    def waking(self, shard: int, now: Millis) -> Iterable[str]:
        """Walk the ids of a shard's endpoints whose check is due by now, the earliest first: a hint."""


class HookHints(Protocol):
    """Messages that have work done soon. One that is lost is made up for."""

    def gather(self, namespace: str, places: Mapping[str, Sequence[int]], pace: HookPace) -> None:
        """Have deliveries made of changes of messages.

        Args:
            places: job's id → numbers of its changed chunks.
            pace: for endpoints without batches, at once; or for those with batches, after `LATER_S` and no sooner.

        Raises:
            Retriable: the hint may not be queued.
        """

    def call(self, endpoint: str, namespace: str, *, delay: Seconds = 0, apart: bool = False) -> None:
        """Have an endpoint's deliveries posted.

        Args:
            namespace: whose it is; each has its share of the workers.
            delay: seconds, at most 900.
            apart: by the workers for endpoints that fail or hang.

        Raises:
            Retriable: the hint may not be queued.
        """

    def wake(self, works: Sequence[HookWork]) -> None:
        """Have the deliveries of several endpoints posted: those that fail or hang by the workers for these.

        Raises:
            Retriable: some hints may not be queued.
        """


class HookSecrets(Protocol):
    """The key from which the secrets of endpoints are derived."""

    def master(self) -> str:
        """Return the deployment's master secret.

        Raises:
            MalformedSecret: there is none.
            Retriable: it cannot be read just now.
        """


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """An endpoint's answer.

    Attributes:
        status: of HTTP.
        ms: how long it took.
        text: the beginning of the body, at most 1,024 characters.
        retry_after: milliseconds for which it asked not to be called; 0 for none.
    """

    status: int
    ms: Millis
    text: str = ""
    retry_after: Millis = 0


class HookUnreachable(Exception):
    """An endpoint gave no answer. `code`: why, in snake_case; `ms`: how long that took."""

    def __init__(self, code: str, ms: Millis = 0) -> None:
        super().__init__(code)
        self.code = code
        self.ms = ms


class HookClient(Protocol):
    """Posts to strangers' addresses, never to one that is not public."""

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        """Post once; no redirect is followed.

        Args:
            url: as the endpoint has it.
            headers: besides those of the connection.
            body: JSON.
            until: Unix seconds when to give up, at any stage of the exchange.

        Raises:
            HookUnreachable: no whole answer came in time, or the address is refused.
        """
