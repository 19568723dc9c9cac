"""Endpoints without a URL: a command fetches their deliveries, and reports how it forwarded them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.hooks.delivery import CONTENT_GONE, DeliveryState, HookAttempt, HookDelivery, attempted, ended
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.signature import post_headers, secret_of
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports import Clock, Endpoints, HookQueue, HookSecrets, Limit

MINUTE_MS: Final[Millis] = 60_000
Body = Callable[[HookDelivery, Endpoint], bytes]
"""Makes the body of a delivery to an endpoint, always the same bytes; empty if its messages no longer exist."""


@dataclass(frozen=True, slots=True)
class OutgoingHook:
    """A delivery as it is posted."""

    delivery: HookDelivery
    headers: Mapping[str, str]
    body: bytes


class ListenerService:
    """Hands out the deliveries of listeners.

    Args:
        secrets: what their secrets are derived from.
    """

    def __init__(
        self, *, endpoints: Endpoints, queue: HookQueue, secrets: HookSecrets, body: Body, clock: Clock
    ) -> None:
        self._endpoints = endpoints
        self._queue = queue
        self._secrets = secrets
        self._body = body
        self._clock = clock

    def pending(self, endpoint: Endpoint, limit: Limit) -> Sequence[OutgoingHook]:
        """Return the deliveries of a listener that wait, as they are posted, and note that it was polled.

        A delivery whose messages no longer exist fails instead.
        """
        now = self._now()
        minute = now // MINUTE_MS * MINUTE_MS
        if endpoint.polled_at < minute:
            polled = replace(endpoint, polled_at=minute, version=endpoint.version + 1)
            self._endpoints.change(endpoint, polled, event=None)  # a call that was faster has noted it
        found, _ = self._queue.pending(endpoint.id, limit=limit)
        if not found:
            return []
        master = self._secrets.master()
        secrets = [secret_of(master, endpoint.id, version) for version in endpoint.secrets(now)]
        out = []
        for x in found:
            if body := self._body(x, endpoint):
                headers = post_headers(x.id, now // 1000, body, secrets)
                out.append(OutgoingHook(x, headers, body))
            else:
                self.done(x, HookAttempt(now, error=CONTENT_GONE))
        return out

    def done(self, delivery: HookDelivery, attempt: HookAttempt) -> HookDelivery:
        """Note the result of a delivery that a listener fetched. One that has its end already keeps it."""
        if delivery.state is not DeliveryState.PENDING:
            return delivery
        delivered = 200 <= attempt.status < 300  # noqa: PLR2004 - HTTP's own numbers
        state = DeliveryState.DELIVERED if delivered else DeliveryState.FAILED
        new = ended(attempted(delivery, attempt), state, self._now())
        self._queue.settle([(delivery, new)])
        return new

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)
