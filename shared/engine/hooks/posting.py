"""Posts deliveries of one endpoint, each once, and returns the result of each."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from shared.domain.hooks.delivery import HookAttempt, HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.signature import post_headers, secret_of
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass
from shared.ports import Clock, HookClient, HookSecrets, HookUnreachable

POST_S: Final[Seconds] = 10
"""Seconds that one post may take in all."""
FIRST_POST_S: Final[Seconds] = 1
"""Seconds for which workers for quick endpoints wait, until an endpoint has taken something of their turn."""
Post = Callable[[HookDelivery, Seconds], "HookResult"]
"""Posts a delivery once; the seconds are those that it may take, up to `POST_S`."""
_OK: Final = range(200, 300)
GONE: Final = 410
"""Status of an endpoint that wants nothing any more."""
Body = Callable[[HookDelivery, Endpoint], bytes]
"""Makes the body of a delivery to an endpoint, always the same bytes."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """The result of one post.

    Attributes:
        delivery: as it was.
        attempt: the post; None: there is nothing to post any more, or a fault.
        retry_after: milliseconds that the endpoint asked for; 0 for none.
        cut: it was given up after less than `POST_S`; another worker posts it again.
        fault: why it was not posted, or may not have been: `Retriable`, or anything unforeseen; None: there was none.
    """

    delivery: HookDelivery
    attempt: HookAttempt | None
    retry_after: Millis = 0
    cut: bool = False
    fault: Exception | None = None

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
        secrets: what endpoints' secrets are derived from.
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

    def to(self, endpoint: Endpoint) -> Post:
        """Return what posts deliveries to an endpoint, one by one; threads may share it.

        Raises:
            MalformedSecret: the deployment has no master secret.
            Retriable: the secret cannot be read just now.
        """
        master = self._secrets.master()
        now = int(self._clock.now() * 1000)
        return partial(self._once, endpoint, [secret_of(master, endpoint.id, x) for x in endpoint.secrets(now)])

    def _once(self, endpoint: Endpoint, secrets: Sequence[str], delivery: HookDelivery, seconds: Seconds) -> HookResult:
        """Post one delivery."""
        try:
            return self._posted(endpoint, secrets, delivery, seconds)
        except Exception as fault:  # noqa: BLE001 - raised by the worker, once the results of the other posts are stored
            return HookResult(delivery, None, fault=fault)

    def _posted(
        self, endpoint: Endpoint, secrets: Sequence[str], delivery: HookDelivery, seconds: Seconds
    ) -> HookResult:
        body = self._body(delivery, endpoint)
        if not body:
            return HookResult(delivery, None)
        at = self._clock.now()
        headers = post_headers(delivery.id, int(at), body, secrets)
        try:
            answer = self._client.post(endpoint.url, headers=headers, body=body, until=at + seconds)
        except HookUnreachable as failure:
            if seconds < POST_S and self._clock.now() >= at + seconds:
                return HookResult(delivery, None, cut=True)
            return HookResult(delivery, HookAttempt(int(at * 1000), ms=failure.ms, error=failure.code))
        attempt = HookAttempt(int(at * 1000), answer.status, answer.ms, answer.text)
        return HookResult(delivery, attempt, answer.retry_after)
