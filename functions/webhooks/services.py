"""The services of the receiver of provider webhooks, built once per process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from shared import contracts
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.http import direct, transport
from shared.adapters.secrets import Secrets
from shared.adapters.sqs import SqsQueue
from shared.contracts import ProviderEvent, Settings
from shared.frozen import dataclass
from shared.lazy import lazy
from shared.ports import BadSignature, Clock, Fetching, Queue, Seal, WebhookReader
from shared.providers import registry
from shared.web.access.edge import NO_EDGE, Edge, edge_by

if TYPE_CHECKING:
    from shared.adapters.dynamo.credentials import webhook_posts
else:  # most providers' signatures cover the body
    (webhook_posts,) = lazy("shared.adapters.dynamo.credentials", "webhook_posts")

MAX_MESSAGE_BYTES: Final = 200_000
"""Of one feedback message: a post of thousands of events is cut, so that one tracker invocation stays short."""
MAX_CHUNKS: Final = 10
"""Of one feedback message: words about many chunks take two writes each, and the tracker gets up to 500 messages."""


@dataclass(frozen=True, slots=True)
class Services:
    """Ports and settings.

    Attributes:
        reader: returns the webhook reader of a provider; KeyError if it has none.
        first: tells whether a signature that does not cover the body comes with the first body it came with. Without
            it such posts are not believed.
        edge: what posts to the API's address have to come by.
    """

    settings: Settings
    secret: Callable[[str], Mapping[str, str]]
    feedback: Queue
    clock: Clock
    reader: Callable[[str], WebhookReader]
    first: Callable[[Seal], bool] = field(default=lambda _: False)
    edge: Edge = NO_EDGE

    def seen_with(self, seal: Seal) -> None:
        """Remember what a signature came with; raises BadSignature if that was another body, or Retriable."""
        if not self.first(seal):
            raise BadSignature("used_before")

    def reader_of(self, provider: str, credential_id: str) -> WebhookReader:
        """Return what reads a credential's webhooks; KeyError if it is not declared, or for another provider."""
        if self.settings.credential(credential_id).provider != provider:
            raise KeyError(credential_id)
        return self.reader(provider)


def build(env: Mapping[str, str], client: Callable[[str], Any] | None = None) -> Services:
    """Build the services from a function's environment.

    Args:
        env: with the settings and the feedback queue's URL (`shared.contracts`).
        client: makes an AWS client by its service's name; with short time-outs, if left out.
    """
    clock = SystemClock()
    make = client or _clients(clock, is_direct=contracts.ON_LAMBDA in env)
    settings = Settings.loads(env[contracts.ENV_SETTINGS])
    posts = cache(lambda: webhook_posts.Posts(make("dynamodb"), env[contracts.ENV_OPS_TABLE], clock))

    @cache
    def reader(name: str) -> WebhookReader:
        found = registry.webhooks(name)
        if isinstance(found, Fetching):
            found.fetch_by(transport.HttpClient(clock, connect_timeout=2, read_timeout=3), clock)
        return found

    secrets = Secrets(make("secretsmanager"), settings.stage, clock)
    return Services(
        settings=settings,
        secret=secrets.verifying,
        feedback=SqsQueue(make("sqs"), env[contracts.ENV_FEEDBACK_QUEUE_URL], clock),
        clock=clock,
        reader=reader,
        first=lambda seal: posts().first(seal),
        edge=edge_by(env.get(contracts.ENV_EDGE, ""), secrets.edge),
    )


def _clients(clock: Clock, *, is_direct: bool) -> Callable[[str], Any]:
    # A provider waits some 10 s for the answer; what is slower than this it will rather post again.
    aws = Aws()
    if not is_direct:
        retries = {"mode": "standard", "total_max_attempts": 2}
        return lambda service: aws.client(service, {"connect_timeout": 2, "read_timeout": 3, "retries": retries})
    http = transport.HttpClient(clock, connect_timeout=2, idle=direct.IDLE, max_body=direct.MAX_BODY)
    known = {service.name: replace(service, tries=2) for service in (direct.DYNAMODB, direct.SQS, direct.SECRETS)}
    return lambda service: direct.client(known[service], aws, http, clock, clock.sleep, timeout=3)


def feedback_messages(credential_id: str, words: Sequence[ProviderEvent]) -> Iterator[str]:
    """Yield feedback messages of at most MAX_MESSAGE_BYTES and MAX_CHUNKS; the words of one chunk stay together."""
    in_order = sorted(words, key=lambda w: w.ref)
    by_chunk = groupby(in_order, key=lambda w: w.ref.rsplit("-", 2)[0])
    chunks = [list(about) for _, about in by_chunk]
    for start in range(0, len(chunks), MAX_CHUNKS):
        yield from _cut(credential_id, [word for about in chunks[start : start + MAX_CHUNKS] for word in about])


def _cut(credential_id: str, words: list[ProviderEvent]) -> Iterator[str]:
    body = contracts.dump_feedback(credential_id, words)
    if len(words) <= 1 or len(body.encode()) <= MAX_MESSAGE_BYTES:
        yield body
        return
    half = len(words) // 2
    yield from _cut(credential_id, words[:half])
    yield from _cut(credential_id, words[half:])
