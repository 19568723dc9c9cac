"""The wires to providers, and the outcomes of a request on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from shared.domain.times import Seconds
from shared.frozen import dataclass

if TYPE_CHECKING:
    from shared.domain.content.smtp import Mail, Relay, Reply
    from shared.domain.content.streams import Body


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSent(Exception):
    """The request surely did not reach the provider: refused, DNS, TLS or connect time-out, no time left."""


class NoTime(NotSent):
    """There was no time left to begin."""


class AnswerLost(Exception):
    """The request may have reached the provider: read time-out, reset after it was written, a broken answer."""


class Http(Protocol):
    """A transport that makes each request exactly once."""

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds) -> Response:
        """Make one request and return the answer of any status. Raises NotSent or AnswerLost.

        Args:
            body: whole, in parts, so that hundreds of requests in flight share one copy of a long part, or as a stream.
            deadline: Unix seconds; checked just before connecting, and the whole exchange ends by then.
        """


class Interrupted(NotSent):
    """The server was lost in the midst of a transaction, before the message's end was written."""


class Unfit(NotSent):
    """The server cannot take this very message: it lacks an extension, or allows less; nothing was written."""


class Smtp(Protocol):
    """A transport that makes each SMTP transaction exactly once."""

    def submit(self, relay: Relay, mail: Mail, *, deadline: Seconds) -> Reply:
        """Make one transaction and return the reply that decided it. Raises NotSent or AnswerLost.

        AnswerLost only if something of the end of the message was written: without it no server takes a message.

        Args:
            relay: the server and how to authenticate.
            mail: the envelope and the message.
            deadline: Unix seconds; checked just before connecting, and the whole exchange ends by then.
        """

    def greet(self, relay: Relay, *, deadline: Seconds) -> Reply | None:
        """Connect, introduce ourselves and log in, on a new connection. Return the refusal; None if there is none.

        Args:
            relay: the server and how to authenticate.
            deadline: Unix seconds; the whole exchange ends by then.

        Raises:
            NotSent: the server is not there, or does not offer what the relay needs.
        """


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request of a provider call; see `Http.request`."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Body
    deadline: Seconds


class Wire(Protocol):
    """Makes many requests at a time, for one thread and by it: answers are read while it waits here."""

    def begin(self, request: WireRequest, done: Callable[[Response | AnswerLost], None]) -> bool:
        """Write a request on a connection that is open; False, and nothing has happened, if there is none to trust.

        `done` gets the answer, once, during a later wait; it must not raise. Raises what `Http.request` does if
        nothing was written.
        """

    def rest(self, until: Seconds) -> None:
        """Wait for a moment, Unix seconds."""

    def join(self) -> None:
        """Wait for all answers."""

    def __enter__(self) -> Self:
        """Return the wire."""

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for all answers."""
