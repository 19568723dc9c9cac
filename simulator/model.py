"""The objects that the parts of the simulator hand to each other, and the seam that a provider fills.

A provider is one class in one file with the members of `Provider`, which the file names `PROVIDER`.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

RECEIVED: Final = "received"
"""The event of a text that somebody writes to a number of a credential."""


class Clock:
    """Unix time in seconds that never runs backwards: the arrival clock of the log.

    Args:
        source: tells the time instead, of a test in which it is made to pass.
    """

    def __init__(self, source: Callable[[], float] | None = None) -> None:
        self._offset = time.time() - time.monotonic()
        self._source = source

    def now(self) -> float:
        """Return the Unix time in seconds."""
        return self._source() if self._source else self._offset + time.monotonic()


class Mode(StrEnum):
    """The effects of a fault on a call; see `faults.py` for what each leaves in the log."""

    OK = "ok"
    UNAVAILABLE = "503"
    GATEWAY = "500"
    NOT_ACCEPTABLE = "406"
    THROTTLED = "429"
    UNAUTHORIZED = "401"
    REFUSE = "refuse"
    RESET = "reset"
    ACCEPT_AND_DROP = "accept_and_drop"
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Request:
    """One call to a provider's API. `path` starts with a slash, after provider and credential; `size`: body bytes.

    The body is empty if `size` is over the provider's limit: it is read, but not kept.
    """

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    size: int

    def header(self, name: bytes) -> str:
        """Return a header by its lower-case name, or the empty string."""
        for key, value in self.headers:
            if key == name:
                return value.decode("latin-1")
        return ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer; the app adds `content-length`."""

    status: int
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Content:
    """The parts that all messages of a call have in common, kept once.

    Attributes:
        size: bytes of the call's body.
        finished: the message as it came, if its author had finished it (RFC 5322).
    """

    sender: str
    html: str
    text: str
    attachments: tuple[str, ...]
    size: int
    finished: bytes = b""


@dataclass(slots=True)
class Call:
    """One call to a provider, as the log keeps it.

    Attributes:
        n: serial number within the simulator, from 1.
        at: arrival in Unix seconds.
        status: of the answer; 0 while or if there was none.
        fault: the mode that was injected, or `ok`.
        accepted: the number of recipients accepted, with any answer.
        answered: the whole answer was written to a connection that was still open.
        finished: it is over, whether answered or not.
        slack: seconds by which it may have arrived before `at`, because the simulator was busy.
    """

    n: int
    at: float
    provider: str
    credential: str
    status: int = 0
    fault: Mode = Mode.OK
    accepted: int = 0
    answered: bool = False
    finished: bool = False
    message_id: str = ""
    slack: float = 0.0


@dataclass(slots=True)
class Message:
    """One recipient of an accepted call.

    Attributes:
        to: the address exactly as received.
        role: `to`, `cc` or `bcc`.
        ref: our ref, from where the provider carries it; empty if there is none.
        id: the provider's id of the call or message.
        index: position of its personalization (or its like) in the call.
        args: custom values that the provider returns in its events.
        values: text replaced in subject and bodies, for this recipient.
        callback: URL of its events where the request names one; empty: the credential's.
        callbacks: word → URL, of events that go to another one.
        headers: those that the request adds; `values` are also put into them.
        behaviour: the message's fate, chosen at acceptance.
        family: beginning of the names of its behaviours, where a provider sends in several ways: `call:`.
        acknowledged: words the webhook target answered with 2xx, in order.
    """

    to: str
    role: str
    ref: str
    subject: str
    id: str
    index: int
    content: Content
    args: Mapping[str, Any]
    values: Mapping[str, str]
    callback: str = ""
    callbacks: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    call: Call | None = None
    seq: int = 0
    behaviour: str = ""
    family: str = ""
    acknowledged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """A provider's answer to a call if no fault interferes; with messages if it accepts."""

    reply: Reply
    messages: list[Message] = field(default_factory=list)


class Accepted(Protocol):
    """Lines of what a credential has accepted, as `/log` shows them, oldest first."""

    def to(self, recipients: Iterable[str]) -> list[dict[str, Any]]:
        """Return the lines of some recipients."""

    def all(self) -> list[dict[str, Any]]:
        """Return the lines of all recipients."""

    def line(self, seq: int) -> dict[str, Any] | None:
        """Return a line by its number."""


@dataclass(frozen=True, slots=True)
class Context:
    """Facts that a provider may know of a call beside the request.

    Attributes:
        credential: whose call it is.
        keys: the accepted API keys.
        id: a fresh provider's id, a function of the seed.
        at: arrival in Unix seconds.
        accepted: what this credential has accepted, for look-ups.
        memory: what the provider keeps for this credential from call to call; a reset empties it.
        events_late: seconds until the provider's own list of events tells of a message.
    """

    credential: str
    keys: frozenset[str]
    id: str
    at: float
    accepted: Accepted
    memory: dict[str, Any]
    events_late: float = 0.0


class Provider(Protocol):
    """One provider's wire format. Methods are functions of only their arguments, and may run in any thread.

    `receive` runs in one thread, and may keep what it needs in the context's memory. It is called before a fault can
    interfere: what it answers with messages is accepted only when a message's `call` is set.
    """

    name: str
    roots: frozenset[str]
    """First path segments of its API, which cannot be credential ids."""
    default_key: str
    max_body: int
    per_post: int
    """Most events in one webhook post."""
    wants: Collection[bytes]
    """Headers that the vendor's own SDK sends with every call; one without is refused with 406."""

    def receive(self, request: Request, context: Context) -> Answer:
        """Authenticate and check a call, and say what is answered and which messages are accepted."""

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:
        """Return the provider's own answer for modes 503, 429, 401, and 500 in its own text."""

    def words(self, behaviour: str) -> tuple[str, ...]:
        """Return the events of a behaviour in their natural order; KeyError if it is not known."""

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one event as the provider says it. `at`: Unix seconds."""

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:
        """Return the signed headers and the body of one webhook post."""

    def describe(self) -> dict[str, str]:
        """Return what a receiver needs to verify its webhooks."""


@runtime_checkable
class Writing(Protocol):
    """A provider whose numbers can be written to."""

    def wrote(self, sender: str, to: str, text: str, fresh: str) -> Message:
        """Return a text that somebody writes; `event` with the word RECEIVED reports it.

        Args:
            sender: the number of the phone.
            to: the number that is written to; empty: the provider's usual one.
        """


class BadRequest(Exception):
    """A control request that makes no sense; the text is for the caller."""
