"""The base of vendors that send by one HTTP request a call. A vendor's own file has its payload, limits and tables."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from shared.domain.content.content import Content
from shared.domain.content.streams import Body
from shared.domain.jobs.outcomes import Outcome, OverQuota, Rejected, Throttled, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Steps, Target
from shared.providers._common import REPEATED, ask, exchange, perform, wait
from shared.providers.registry import Needs

_BROKEN: Final = 500


@dataclass(slots=True)
class VendorCall:
    """The POST that sends."""

    url: str
    headers: Mapping[str, str]
    body: Body


class Vendor(ABC):
    """A vendor's account. Implements `ports.Provider` and `Stepwise`; safe for threads.

    A subclass builds the call and judges its answer. It may also refuse a content, or single targets.

    Args:
        lacks: refuses every message, because the credential is incomplete; None: it is complete.
    """

    name: str
    per_call = 1
    has_feedback = True

    def __init__(self, http: Http, clock: Clock, lacks: Rejected | None = None) -> None:
        self._http = http
        self._clock = clock
        self._lacks = lacks

    def send(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> list[Outcome]:
        """Make one call; see `ports.Provider`."""
        return perform(self._http, self.steps(content, targets, deadline=deadline))

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> Steps[list[Outcome]]:
        """Make one call for the targets that may go together; see `ports.Stepwise`."""
        if refused := self._refused(content):
            return [refused] * len(targets)
        apart = self._apart(content, targets)
        called = _together(targets, apart) if any(apart) else targets
        if not called:
            return _merged(apart, ())
        call = self._call(content, called)
        if isinstance(call, VendorCall):
            answer = yield from ask("POST", call.url, headers=call.headers, body=call.body, deadline=deadline)
            outcomes = self._judged(answer, content, called) if isinstance(answer, Response) else [answer] * len(called)
        else:
            outcomes = [call] * len(called)
        return outcomes if called is targets else _merged(apart, outcomes)

    def _finished(self, call: VendorCall, content: Content, target: Target, deadline: Seconds) -> Outcome:
        """Make the call of a finished message; see `ports.FinishedSender`."""
        answer = exchange(self._http, "POST", call.url, headers=call.headers, body=call.body, deadline=deadline)
        if not isinstance(answer, Response):
            return answer
        (outcome,) = self._judged(answer, content, [target])
        return outcome

    def _refused(self, content: Content) -> Rejected | None:  # noqa: ARG002 - vendors look at it
        """Return why this credential sends no message of this content; None if it may."""
        return self._lacks

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:  # noqa: ARG002 - vendors look at it
        """Return the outcome of each target that is not in the call; None for those in the call."""
        return [None] * len(targets)

    @abstractmethod
    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall | Outcome:
        """Return the call for at least one target, or the outcome of all if there can be none."""

    @abstractmethod
    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:
        """Return one outcome per target of the call, in order."""

    def _throttled(self, headers: Mapping[str, str], otherwise: float = 0.0) -> Throttled:
        """Return how long to wait: `Retry-After`, else `otherwise` seconds."""
        return Throttled(wait(headers.get("retry-after", ""), self._clock.now(), otherwise=otherwise))

    def _over_quota(self, headers: Mapping[str, str]) -> OverQuota:
        """Return that the account's quota is used up: until `Retry-After`, if the answer has it."""
        return OverQuota(wait(headers.get("retry-after", ""), self._clock.now(), otherwise=0.0))


class JsonVendor(Vendor):
    """A vendor that takes JSON and one API key. Implements `ports.Pingable` also.

    Args:
        base_url: empty for the vendor's own.
        secret: with `api_key`; without it every message is refused, and nothing is sent.
    """

    address: ClassVar[str]
    """The vendor's own base URL."""
    sends: ClassVar[str]
    """Path of the call that sends."""
    asks: ClassVar[str]
    """Path of the question that `ping` asks by GET."""
    key_header: ClassVar[tuple[str, str]] = ("Authorization", "Bearer {}")
    """Name and value of the header with the key."""

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock) -> None:
        key, (name, value) = api_key(secret), self.key_header
        super().__init__(http, clock, None if key else NO_API_KEY)
        self._base = (base_url or self.address).rstrip("/")
        self._url = self._base + self.sends
        self._headers = {name: value.format(key), "Content-Type": "application/json"} if key else {}

    @classmethod
    def of(cls, needs: Needs) -> Self:
        """Build it; see `registry.ProviderFactory`."""
        return cls(needs.http, needs.base_url, needs.secret, needs.clock)

    def ping(self, *, deadline: Seconds) -> str:
        """Ask a question that sends nothing. See `ports.Pingable`."""
        return get(self._http, self._base + self.asks, self._headers, deadline=deadline)


# Credentials


def lacking(code: str) -> Rejected:
    """Return the refusal of every message by a credential that lacks something."""
    return Rejected(code, permanent=False, provider_down=True)


NO_API_KEY: Final = lacking("no_api_key")


def api_key(secret: Mapping[str, str]) -> str:
    """Return a secret's `api_key`; empty if it fits into no header."""
    key = secret.get("api_key", "").strip()
    return key if key.isascii() and key.isprintable() else ""


# Targets


def _together(targets: Sequence[Target], apart: Sequence[Outcome | None]) -> Sequence[Target]:
    return [t for t, known in zip(targets, apart, strict=True) if known is None]


def _merged(apart: Sequence[Outcome | None], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of all targets, in order. `outcomes`: of those in the call."""
    rest = iter(outcomes)
    return [known or next(rest) for known in apart]


def not_repeated(apart: list[Outcome | None], targets: Sequence[Target]) -> list[Outcome | None]:
    """Take targets out of the call whose address is in it already, in any case of letters.

    Args:
        apart: as `Vendor._apart` returns them; changed in place.
    """
    if len(targets) > 1:
        seen: set[str] = set()
        for i, target in enumerate(targets):
            if apart[i] is None:
                address = target.recipient.address.lower()
                if address in seen:
                    apart[i] = REPEATED
                seen.add(address)
    return apart


# Questions that send nothing


def get(http: Http, url: str, headers: Mapping[str, str], *, deadline: Seconds) -> str:
    """Ask by GET. Return why the service is not there; empty if it answers.

    Args:
        headers: with the authorization.
        deadline: Unix seconds by which the answer must have come.
    """
    return silence(exchange(http, "GET", url, headers=headers, body=b"", deadline=deadline))


def silence(answer: Response | Outcome) -> str:
    """Return why a service gave no answer; empty if it is there.

    A refusal is an answer, also a 429. The key may have no right to ask, and only a message shows its rights.
    """
    if isinstance(answer, Response):
        return f"http_{answer.status}" if answer.status >= _BROKEN else ""
    if isinstance(answer, Unknown):
        return answer.reason
    return answer.code if isinstance(answer, Rejected) else ""
