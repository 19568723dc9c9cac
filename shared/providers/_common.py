"""Shared by the providers: requests, what is kept per content, and how an answer becomes outcomes."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, Generic, TypeVar

from shared.domain.content.content import Content, Mailbox
from shared.domain.content.streams import Body
from shared.domain.jobs.outcomes import (
    NotStarted,
    NotTogether,
    Outcome,
    Rejected,
    Throttled,
    Unknown,
    cannot_carry,
)
from shared.domain.recipients.local_parts import bare
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import AnswerLost, BadEvents, Http, NoTime, NotSent, Response, Steps, WireRequest

REF_ARG: Final = "posthaste_ref"
TO_ARG: Final = "posthaste_to"
"""Custom values that travel with a message and must hold no personal data: the attempt, and beside cc or bcc a digest
of the recipient."""
KEPT: Final = 4
"""Contents whose serialised form is remembered; a sender works on two leases."""
JOIN: Final = 64 * 1024
"""Longer bodies go to the transport in parts, so that hundreds in flight share one copy."""
MIN_WAIT: Final = 1.0
MAX_WAIT: Final = 900.0
INQUIRIES: Final = 3
"""Requests for one page of what a provider knows, until it answers."""
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TIMEOUT: Final = 408
_SERVERS: Final = 500
_NOT_ACCEPTABLE: Final = 406
STANDARD: Final = {"Accept": "application/json", "User-Agent": "posthaste"}
"""What every request says. SendGrid wants an `Accept` ("406: Missing Accept header"), Resend a `User-Agent`, and their
own SDKs send both to all."""

T = TypeVar("T")


# Requests


class PerContent(Generic[T]):
    """Remembers what was made of the latest contents; safe for threads."""

    def __init__(self, make: Callable[[Content], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: dict[int, tuple[Content, T]] = {}

    def __call__(self, content: Content) -> T:
        """Return what was made of this very content, made now if it is new."""
        known = self._made.get(id(content))
        if known is None or known[0] is not content:
            with self._lock:  # hundreds of threads begin a window together: one of them does the work
                known = self._made.get(id(content))
                if known is None or known[0] is not content:
                    known = (content, self._make(content))
                    if len(self._made) >= KEPT:
                        self._made.clear()
                    self._made[id(content)] = known
        return known[1]


def joined(start: bytes, common: bytes) -> bytes | tuple[bytes, ...]:
    """Return a call's own bytes and those of its content as one body, or as parts if they are long."""
    return start + common if len(common) <= JOIN else (start, common)


def copies(content: Content, to: str) -> Iterator[tuple[str, list[Mailbox]]]:
    """Return `to`, `cc` and `bcc` with further mailboxes, if there are any; no address is there twice.

    Args:
        to: the recipient's address, which is not among them.
    """
    seen = {to.lower()}
    for role, boxes in (("to", content.beside), ("cc", content.cc), ("bcc", content.bcc)):
        new = []
        for box in boxes:
            if box.address.lower() not in seen:
                seen.add(box.address.lower())
                new.append(box)
        if new:
            yield role, new


def digest(ref: str, address: str) -> str:
    """Return the mark of a recipient or cc in events, quoted or not. It is new in each attempt, so it links nothing."""
    return hashlib.sha256(f"{ref}\n{bare(address.lower())}".encode("utf-8", "replace")).hexdigest()[:12]


# Answers


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """One line of an error table. `scoped`: the refusal may be about some of a call's recipients only.

    The others as in `Rejected`.
    """

    code: str
    permanent: bool = False
    provider_down: bool = False
    about_message: bool = False
    scoped: bool = False
    unwanted: bool = False

    def rejected(self, code: str = "", *, by_text: bool = False) -> Rejected:
        """Return the outcome, with another code if one is given. `by_text`: only the answer's text says so."""
        said = by_text and self.provider_down
        return Rejected(code or self.code, self.permanent, self.provider_down, self.about_message, self.unwanted, said)


def parsed(text: str | bytes) -> Any:
    """Return the value of a JSON text; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def own_answer(body: bytes) -> dict[str, Any]:
    """Return a provider's own answer, a JSON object; empty if the body is none, so that of somebody between."""
    answer = parsed(body)
    return answer if isinstance(answer, dict) else {}


SMTPUTF8: Final = cannot_carry("smtputf8_not_supported")
"""Of addresses beyond ASCII for a provider that takes none: another one may."""


REPEATED: Final = NotTogether("repeated_address")
"""A target whose address is in its call already."""
BATCH_REFUSED: Final = NotTogether("batch_refused")
"""A call of several was refused for one of them. The others are not to blame, and neither is the provider. The engine
divides the call until that one has a call of its own, whose refusal is about its message."""


def exchange(
    http: Http, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds
) -> Response | Outcome:
    """Make one request. Return an outcome if there is no answer.

    Args:
        headers: headers, added to the standard ones.
        body: whole, in parts or as a stream.
        deadline: Unix seconds by which the exchange must have ended.
    """
    return perform(http, ask(method, url, headers=headers, body=body, deadline=deadline))


def inquire(
    http: Http, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds
) -> Response | Outcome:
    """Make a request that changes nothing, as `exchange` does: up to INQUIRIES times, while no real answer comes.

    A provider that is disturbed also loses answers to questions, and the next question is hours away.
    """
    found = exchange(http, method, url, headers=headers, body=body, deadline=deadline)
    for _ in range(INQUIRIES - 1):
        if not (isinstance(found, Unknown) or (isinstance(found, Response) and found.status >= _SERVERS)):
            break
        found = exchange(http, method, url, headers=headers, body=body, deadline=deadline)
    return found


def ask(
    method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: Seconds
) -> Steps[Response | Outcome]:
    """Yield the one request of a call. Return an outcome if there is no answer.

    Args:
        headers: headers, added to the standard ones.
        body: whole, in parts or as a stream.
        deadline: Unix seconds by which the exchange must have ended.
    """
    try:
        return (yield WireRequest(method, url, {**STANDARD, **headers}, body, deadline))
    except NoTime:
        return NotStarted()
    except NotSent as error:
        return Rejected(str(error) or "not_sent", permanent=False)
    except AnswerLost as error:
        return Unknown(str(error) or "answer_lost")


def perform(http: Http, steps: Steps[T]) -> T:
    """Make a call's request, and return the call's result."""
    try:
        request = next(steps)
        try:
            response = http.request(
                request.method, request.url, headers=request.headers, body=request.body, deadline=request.deadline
            )
        except Exception as error:  # noqa: BLE001 - the call's to judge
            steps.throw(error)
        else:
            steps.send(response)
    except StopIteration as end:
        value: T = end.value
        return value
    raise RuntimeError("a call makes one request")


def fault(status: int) -> Outcome:
    """Judge an answer outside a provider's table.

    A 5xx from any server leaves the fate open. SendGrid's 500 is "the request you made was valid, but an error
    occurred", and AWS asks for care with repeats. A gateway returns 502 or 504 after it passed the request on. Users
    report that such mails went out. `_not_taken` has the exceptions.

    A 406 is an unlucky call: SendGrid's edge returns it now and then. Any other 4xx, and redirects, are about the
    request as such (a wrong base URL): nothing was sent, and this credential sends nothing.
    """
    if status >= _SERVERS or status == _TIMEOUT:
        return Unknown(f"http_{status}")
    if status == _NOT_ACCEPTABLE:
        return Rejected("http_406", permanent=False)
    if status >= 400 or status in REDIRECTS:  # noqa: PLR2004
        return Rejected(f"http_{status}", permanent=False, provider_down=True)
    return Unknown("malformed_answer")


def doubt(outcome: Outcome) -> Unknown:
    """Return why a look-up has no result. Its own fault is no proof about the attempt."""
    if isinstance(outcome, Unknown):
        return outcome
    if isinstance(outcome, Throttled):
        return Unknown("throttled")
    return Unknown(outcome.code if isinstance(outcome, Rejected) else "no_time")


def wait(after: str, now: Seconds, *, otherwise: float = 0.0) -> float:
    """Return the seconds to wait, within bounds.

    Args:
        after: the header Retry-After, a number or a date; empty if there is none.
        otherwise: seconds if there is no header.
    """
    seconds = otherwise
    if after.isascii() and after.isdigit():
        seconds = float(after[:9])
    elif after:
        try:
            seconds = parsedate_to_datetime(after).timestamp() - now
        except (ValueError, OverflowError):
            seconds = 0.0
    return min(MAX_WAIT, max(MIN_WAIT, seconds))


def reset(text: str) -> float:
    """Return the seconds of a header such as `RateLimit-Reset`; 0 if it has none."""
    return float(text[:12]) if text.isascii() and text.isdigit() else 0.0


# Webhooks


def posted_json(body: bytes) -> Any:
    """Return the value of a post's body. Raises BadEvents: `not_json`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BadEvents("not_json") from None


def keys(text: str) -> list[str]:
    """Return the webhook keys of a secret's field: several, separated by commas, while they are rotated."""
    return [key for part in text.split(",") if (key := part.strip())]
