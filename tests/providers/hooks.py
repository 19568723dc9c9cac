"""What arrives at a webhook, read as the webhook function reads it."""

from collections.abc import Mapping

from shared.contracts import ProviderEvent
from shared.ports import Clock, WebhookReader
from tests.simulator.conftest import Target


class Hook:
    """What a webhook target got, verified and read as the webhook function does."""

    def __init__(self, target: Target, reader: WebhookReader, secret: Mapping[str, str], clock: Clock) -> None:
        self.url = target.url
        self.target = target
        self._reader = reader
        self._secret = secret
        self._clock = clock

    @property
    def words(self) -> list[ProviderEvent]:
        for post in self.target.posts:
            self._reader.verify(post.headers, post.body, self._secret, self._clock.now())
        return [word for post in self.target.posts for word in self._reader.words(post.headers, post.body).words]
