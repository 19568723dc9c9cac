"""What hooks use of the world, in memory: hints, the master secret, and receivers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.domain.hooks.kinds import HookPace
from shared.domain.hooks.work import HookWork
from shared.domain.times import Seconds
from shared.ports import HookAnswer
from tests.fakes.faults import Tap


@dataclass(frozen=True)
class GatherHint:
    """A hint for the function that makes deliveries."""

    namespace: str
    places: Mapping[str, tuple[int, ...]]
    pace: HookPace


@dataclass(frozen=True)
class CallHint:
    """A hint for the function that posts."""

    endpoint: str
    delay: Seconds = 0
    apart: bool = False
    namespace: str = field(default="", compare=False)


@dataclass
class FakeHookHints:
    """`ports.HookHints`: keeps what is sent, in order."""

    tap: Tap = field(default_factory=Tap)
    gathers: list[GatherHint] = field(default_factory=list)
    calls: list[CallHint] = field(default_factory=list)

    def gather(self, namespace: str, places: Mapping[str, Sequence[int]], pace: HookPace) -> None:
        hint = GatherHint(namespace, {job: tuple(chunks) for job, chunks in places.items()}, pace)
        self.tap("hook_hints.gather", lambda: self.gathers.append(hint))

    def call(self, endpoint: str, namespace: str, *, delay: Seconds = 0, apart: bool = False) -> None:
        self.tap("hook_hints.call", lambda: self.calls.append(CallHint(endpoint, delay, apart, namespace)))

    def wake(self, works: Sequence[HookWork]) -> None:
        woken = [CallHint(x.endpoint, apart=x.apart, namespace=x.namespace) for x in works]
        self.tap("hook_hints.wake", lambda: self.calls.extend(woken))


class FakeHookSecrets:
    """`ports.HookSecrets`: a constant."""

    def master(self) -> str:
        return "m" * 64


@dataclass(frozen=True)
class HookPost:
    """What was posted."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class FakeHookClient:
    """`ports.HookClient`: receivers in memory.

    Attributes:
        posts: what was posted, in order.
        until: when the latest post is to end.
        answer: what receivers answer; may raise `HookUnreachable`, or move a clock.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.posts: list[HookPost] = []
        self.until = 0.0
        self.answer: Callable[[HookPost], HookAnswer] = lambda _post: HookAnswer(204, 20)
        self._tap = tap or Tap()

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        def step() -> HookAnswer:
            post = HookPost(url, dict(headers), body)
            self.until = until
            self.posts.append(post)
            return self.answer(post)

        return self._tap("hook_client.post", step)
