"""A provider whose answers are scripted, and an oracle that knows what it really took."""

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.domain.content.content import Content
from shared.domain.content.streams import Stream
from shared.domain.ids import Ref
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, NotStarted, NotTogether, Outcome, Rejected, Unknown
from shared.ports import Target
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap

TIMEOUT: Final = Unknown("timeout")


@dataclass(frozen=True, slots=True)
class Swallowed:
    """The provider takes the message, and its answer is lost, or is one of which the adapter makes `said`."""

    said: Outcome = TIMEOUT


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that a provider really took. `at`: Unix seconds of the call."""

    ref: Ref
    provider: str
    address: str
    at: float


class Oracle:
    """What all providers of a world really took; what a test believes, rather than the engine."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []
        self._of_jobs: dict[str, list[Taken]] = {}
        self._refs: set[str] = set()
        self.calls: list[tuple[float, str, int]] = []
        """(Unix seconds, provider, recipients) of every call that reached a provider."""

    def times(self, job: str, *, but: Collection[str] = ()) -> dict[tuple[int, int], int]:
        """Return (chunk, index) → how often that message was taken. `but`: refs of attempts that do not count."""
        out: dict[tuple[int, int], int] = {}
        for t in self.of(job):
            if str(t.ref) not in but:
                place = (t.ref.chunk, t.ref.index)
                out[place] = out.get(place, 0) + 1
        return out

    def take(self, taken: Taken) -> None:
        """Note that a provider took a message."""
        self.taken.append(taken)
        self._of_jobs.setdefault(taken.ref.job, []).append(taken)
        self._refs.add(str(taken.ref))

    def of(self, job: str) -> Sequence[Taken]:
        """Return what was taken of a job, in order."""
        return self._of_jobs.get(job, ())

    def has(self, ref: str) -> bool:
        """Say whether a provider took the message of a ref."""
        return ref in self._refs

    def refs(self) -> list[str]:
        """Return the refs of all messages taken, in order."""
        return [str(t.ref) for t in self.taken]


Script = Outcome | Swallowed | Exception


class FakeProvider:
    """`ports.Provider`: accepts everything that no script answers otherwise; thread-safe.

    Attributes:
        latency: seconds that a call takes.
        answer: what every recipient without a script gets; None: accepted.
        said: the contents of its calls.
    """

    def __init__(
        self, clock: FakeClock, oracle: Oracle, *, name: str = "fake", per_call: int = 1, tap: Tap | None = None
    ) -> None:
        self.name = name
        self.per_call = per_call
        self.has_feedback = True
        self.latency = 0.0
        self.answer: Script | None = None
        self.said: list[Content] = []
        self.before: Callable[[Sequence[Target]], None] = lambda _targets: None
        self._oracle = oracle
        self._clock = clock
        self._scripts: dict[str, deque[Script]] = {}
        self._tap = tap or Tap()
        self._lock = threading.Lock()

    def script(self, address: str, answers: Iterable[Script]) -> None:
        """Answer the next attempts for an address so, one after the other, then as to everybody."""
        self._scripts[address] = deque(answers)

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        if len(targets) > self.per_call:
            raise ValueError("too many recipients in one call")
        self.before(targets)
        self.said.append(content)
        at = self._clock.now()
        if at >= deadline:
            return [NotStarted() for _ in targets]
        outcomes = self._tap(f"provider.{self.name}", lambda: self._take(targets, at))
        self._clock.sleep(self.latency)
        fault = next((o for o in outcomes if isinstance(o, Exception)), None)
        if fault is not None:
            raise fault
        return [o for o in outcomes if not isinstance(o, Exception)]

    def _take(self, targets: Sequence[Target], at: float) -> list[Outcome | Exception]:
        with self._lock:
            self._oracle.calls.append((at, self.name, len(targets)))
            return [self._one(t, at) for t in targets]

    def _one(self, target: Target, at: float) -> Outcome | Exception:
        scripts = self._scripts.get(target.recipient.address)
        said = scripts.popleft() if scripts else self.answer
        if said is not None and not isinstance(said, Accepted | Swallowed):
            return said
        ref = Ref.parse(target.ref)
        if ref is None:
            raise ValueError("not a ref")
        self._oracle.take(Taken(ref, self.name, target.recipient.address, at))
        if isinstance(said, Swallowed):
            return said.said
        return said or Accepted(f"{self.name}-{target.ref}")


class AskedProvider(FakeProvider):
    """A provider that can be asked without a message.

    Attributes:
        silence: returns why it does not answer; empty: it does.
        asked: when it was asked, Unix seconds.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asked: list[float] = []
        self.silence: Callable[[], str] = str

    def ping(self, *, deadline: float) -> str:
        now = self._clock.now()
        if now >= deadline:
            return ""
        self.asked.append(now)
        self._clock.sleep(min(self.latency, deadline - now))
        return self.silence()


class CollectiveProvider(FakeProvider):
    """A provider that refuses a whole call for one bad address in it, and does not say which it is, as Mailgun does.

    Attributes:
        bad: addresses that it refuses.
    """

    bad: Collection[str] = ()

    def _take(self, targets: Sequence[Target], at: float) -> list[Outcome | Exception]:
        refused = any(t.recipient.address in self.bad for t in targets)
        if not refused or not targets:
            return super()._take(targets, at)
        with self._lock:
            self._oracle.calls.append((at, self.name, len(targets)))
        alone = len(targets) == 1
        return [Rejected("bad_address", permanent=True) if alone else NotTogether("batch_refused") for _ in targets]


class FinishedProvider(FakeProvider):
    """A provider that takes finished messages of up to 10,000 bytes.

    Attributes:
        messages: what it was handed.
    """

    finished_bytes = 10_000

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.messages: list[bytes] = []

    def send_finished(self, content: Content, message: Stream, target: Target, *, deadline: float) -> Outcome:
        self.messages.append(b"".join(message))
        (outcome,) = self.send(content, [target], deadline=deadline)
        return outcome


class ResolvingProvider(FakeProvider):
    """A provider that can be asked: it says what the oracle knows, after a while.

    Attributes:
        sure_after: seconds after an attempt from which it can prove that it never took it; None: it never can.
    """

    resolves_within = 86_400.0
    resends = False
    sure_after: float | None = 1_800.0

    def resolve(self, content: Content, target: Target, *, at: float, deadline: float) -> Finding:
        if self._clock.now() >= deadline:
            return Unknown("no_time")
        return self._tap(f"provider.{self.name}.resolve", lambda: self._find(target, at))

    def _find(self, target: Target, at: float) -> Finding:
        if self._oracle.has(target.ref):
            return Accepted(f"{self.name}-{target.ref}")
        sure = self.sure_after is not None and self._clock.now() - at >= self.sure_after
        return Absent() if sure else Unknown("too_early")


class ResendingProvider(ResolvingProvider):
    """A provider that is asked by the very same call: what it has not taken it takes then."""

    resends = True

    def _find(self, target: Target, at: float) -> Finding:
        self.before([target])
        if not self._oracle.has(target.ref):
            (said,) = self._take([target], self._clock.now())
            return said if isinstance(said, Accepted) else Unknown("timeout")
        return Accepted(f"{self.name}-{target.ref}")
