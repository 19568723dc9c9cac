"""A provider as the engine sees it: calls, their outcomes, and webhooks."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, runtime_checkable

from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports.common import Clock
from shared.ports.providers.transports import Http, Response, WireRequest

if TYPE_CHECKING:
    from shared.contracts import ProviderEvent
    from shared.domain.content.content import Content, Finished
    from shared.domain.content.streams import Stream
    from shared.domain.jobs.chunks import Recipient
    from shared.domain.jobs.outcomes import Finding, Outcome


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """One recipient of a provider call.

    Attributes:
        ref: of the attempt, as text, and its idempotency key (docs/adr/0018).
        recipient: whom the message is for.
        not_after: Unix seconds after which the message must not be sent; 0: no limit. A provider gets this limit with
            the message. If less time is left than the shortest validity that the provider knows, it is not called:
            NotStarted.
    """

    ref: str
    recipient: Recipient
    not_after: float = 0.0


class Provider(Protocol):
    """One provider: its wire format, error table, webhook verification and event table."""

    name: str
    per_call: int
    """The most recipients in one call."""
    has_feedback: bool
    """False: `sent` is final and counts as success."""

    def send(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> list[Outcome]:
        """Call the provider exactly once, never again, and return one outcome per target, in order.

        Args:
            targets: at most `per_call`; none sees another.
            deadline: Unix seconds by which the answer must have come; too late to connect gives NotStarted.

        Returns:
            NotTogether for those to whom nothing was sent because of others in the call; they come again, in other
            calls, under the same refs.
        """


@runtime_checkable
class Sized(Protocol):
    """A provider whose calls take fewer recipients with some contents."""

    def per_call_of(self, content: Content) -> int:
        """Return the most recipients in one call with this content, at most `per_call`."""


@runtime_checkable
class Resolver(Protocol):
    """A provider that can find out the fate of an attempt."""

    resolves_within: float
    """Seconds after the attempt for which it can tell."""
    resends: bool
    """To ask is to make the very same call again: it may be only now that the message is taken."""

    def resolve(self, content: Content, target: Target, *, at: float, deadline: Seconds) -> Finding:
        """Find out the fate of one attempt: by a look-up, or by the very same call under its idempotency key.

        Never raises for what a provider answers, and never makes a provider take a message a second time.

        Args:
            target: the recipient; `ref` is that of the attempt.
            at: Unix seconds when the attempt was made.
            deadline: Unix seconds by which the answer must have come.
        """


@runtime_checkable
class Pingable(Protocol):
    """A provider that can be asked whether it is there, by a call that sends nothing and costs nothing."""

    def ping(self, *, deadline: Seconds) -> str:
        """Ask once, with the credential that sends. Return why there is no answer; empty if there is one.

        Any answer of the service counts, even one that refuses this question to this key. A fault of the service
        (5xx) is none. Never raises for what a provider answers.

        Args:
            deadline: Unix seconds by which the answer must have come.
        """


@runtime_checkable
class FinishedSender(Protocol):
    """A provider that takes a finished message (RFC 5322), and sends it as it is."""

    finished_bytes: int
    """The most bytes of one message."""

    def send_finished(self, content: Content, message: Stream, target: Target, *, deadline: Seconds) -> Outcome:
        """Call the provider exactly once, never again, for one recipient of a finished message.

        The header fields that name blind copies are left out. The recipient is the envelope's; the header has no effect
        on it.

        Args:
            content: with `finished`, the envelope's sender in it.
            message: the bytes of the message, in lines that end in CRLF.
            deadline: Unix seconds by which the answer must have come; too late to connect gives NotStarted.
        """


class FinishedMessages(Protocol):
    """The bytes of finished messages. Safe for threads."""

    def open(self, finished: Finished) -> AbstractContextManager[Stream]:
        """Return a message's bytes, for a `with`: they are at hand until it is left.

        Raises:
            FileChanged: the bytes were removed, or others are in their place.
            Retriable: they cannot be read now.
        """


Steps = Generator[WireRequest, Response, T]
"""A call that lets another make its one request: the answer, or what `Http.request` raises, comes back to it."""


@runtime_checkable
class Stepwise(Protocol):
    """A provider whose calls are one HTTP request each."""

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> Steps[list[Outcome]]:
        """Call as `Provider.send` does. Nothing happens before the request is asked for.

        Args:
            targets: the recipients of the call.
            deadline: Unix seconds by which the call must have ended.
        """


class BadSignature(Exception):
    """A webhook that its provider did not sign, or not lately."""


class BadEvents(Exception):
    """A webhook whose signature holds but whose body is not what the provider documents."""


@dataclass(frozen=True, slots=True)
class WebhookReply:
    """The answer that a provider waits for: the next instructions of a call, for one."""

    content_type: str
    body: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a webhook says.

    Attributes:
        events: how many it carries, with those that are not ours or change nothing.
        words: about attempts.
        reply: the answer that the provider waits for; None: any answer is right.
    """

    events: int
    words: list[ProviderEvent]
    reply: WebhookReply | None = None


POSTED_TO: Final = ":posted-to"
"""Among a webhook's headers: the public URL that it was posted to, with its query."""
POSTED_AT: Final = ":posted-at"
"""Among a webhook's headers: when it came in, Unix seconds. No client can send a header by such a name."""


class WebhookReader(Protocol):
    """The receiving half of a provider. Header names are lower-case; with them come `POSTED_TO` and `POSTED_AT`."""

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:
        """Check the signature over the raw body. Raises BadSignature, or Retriable.

        Args:
            headers: the request's headers, as the class describes them.
            body: the bytes as posted.
        """

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        """Return the body's words, normalised; events without our ref are left out. Raises BadEvents."""


@dataclass(frozen=True, slots=True)
class Seal:
    """A signature that does not cover its post's body.

    Attributes:
        signed: digest of what it does cover: the same of every post that carries this signature.
        said: digest of what the body says, however it is written.
        until: Unix seconds after which the signature is refused as too old.
    """

    signed: str
    said: str
    until: int


@runtime_checkable
class Sealing(Protocol):
    """A webhook reader whose signatures do not cover the body: each is believed with the first body it came with."""

    def seal(self, body: bytes) -> Seal:
        """Return the seal of a post that is verified, and whose words were read. Raises BadEvents."""


@runtime_checkable
class Fetching(Protocol):
    """A webhook reader that fetches what its provider points to: a certificate, a confirmation."""

    def fetch_by(self, http: Http, clock: Clock) -> None:
        """Take the transport. Until then nothing is fetched, and nothing that needs it is believed."""
