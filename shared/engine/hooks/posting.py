"""Posts deliveries of one endpoint side by side, each once, and says what became of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from shared.domain.hooks.delivery import HookAttempt, HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.signature import secret_of, signed_headers
from shared.domain.times import Millis, Seconds
from shared.engine.pool import Pool
from shared.ports import Clock, HookClient, HookSecrets, HookUnreachable

POST_S: Final[Seconds] = 10
"""Seconds that one post may take in all."""
_OK: Final = range(200, 300)
GONE: Final = 410
"""Status of an endpoint that wants nothing any more."""
Body = Callable[[HookDelivery, Endpoint], bytes]
"""Makes the body of a delivery to an endpoint, always the same bytes."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """What became of one post.

    Attributes:
        delivery: as it was.
        attempt: the post; None: there is nothing to post any more.
        retry_after: milliseconds that the endpoint asked for; 0 for none.
    """

    delivery: HookDelivery
    attempt: HookAttempt | None
    retry_after: Millis = 0

    @property
    def delivered(self) -> bool:
        """Tell whether the endpoint took it."""
        return self.attempt is not None and self.attempt.status in _OK

    @property
    def gone(self) -> bool:
        """Tell whether the endpoint wants nothing any more."""
        return self.attempt is not None and self.attempt.status == GONE


class HookPoster:
    """Signs and posts.

    Args:
        client: posts to strangers.
        secrets: what endpoints' secrets are derived from.
        body: makes the bodies.
        clock: the time.
    """

    def __init__(
        self,
        *,
        client: HookClient,
        secrets: HookSecrets,
        body: Body,
        clock: Clock,
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._body = body
        self._clock = clock

    def post(self, endpoint: Endpoint, deliveries: Sequence[HookDelivery], pool: Pool) -> list[HookResult]:
        """Post deliveries side by side, and return the results in their order, which takes up to `POST_S`.

        Args:
            endpoint: where to.
            deliveries: at least one.
            pool: has a thread for each.

        Raises:
            MalformedSecret: the deployment has no master secret.
            Retriable: a body, or the secret, cannot be read just now. Nothing was posted.
        """
        master = self._secrets.master()
        now = int(self._clock.now() * 1000)
        secrets = [secret_of(master, endpoint.id, version) for version in endpoint.secrets(now)]
        bodies = [self._body(x, endpoint) for x in deliveries]
        if len(deliveries) == 1:
            return [self._once(endpoint, deliveries[0], bodies[0], secrets)]
        calls = [
            pool.submit(self._once, endpoint, delivery, body, secrets)
            for delivery, body in zip(deliveries, bodies, strict=True)
        ]
        return [x.result() for x in calls]

    def _once(self, endpoint: Endpoint, delivery: HookDelivery, body: bytes, secrets: Sequence[str]) -> HookResult:
        """Post one delivery.

        Args:
            endpoint: where to.
            delivery: which.
            body: its body; empty: what it is about is gone.
            secrets: that sign.
        """
        if not body:
            return HookResult(delivery, None)
        at = self._clock.now()
        headers = {"content-type": "application/json", **signed_headers(delivery.id, int(at), body, secrets)}
        try:
            answer = self._client.post(endpoint.url, headers=headers, body=body, until=at + POST_S)
        except HookUnreachable as failure:
            return HookResult(delivery, HookAttempt(int(at * 1000), ms=failure.ms, error=failure.code))
        attempt = HookAttempt(int(at * 1000), answer.status, answer.ms, answer.text)
        return HookResult(delivery, attempt, answer.retry_after)
