"""Webhooks out: one account in ten has an endpoint, and hears that its messages were delivered.

The gatherer and the workers that post are the real ones, over the real stores. Hints wait in queues as SQS keeps them.
"""

import heapq
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from benchmarks.counting import cost
from benchmarks.rig import prices
from benchmarks.scale.cloud import Function
from infra.functions.hooks import CALL_MB, GATHER_MB
from shared.bootstrap import Deployment
from shared.contracts import HOOK_WORKERS, SLOW_HOOK_WORKERS
from shared.domain.hooks.endpoint import Endpoint, new_endpoint_id
from shared.domain.hooks.kinds import LATER_S, HookKind, HookPace
from shared.domain.hooks.work import HookWork
from shared.domain.times import Seconds
from shared.engine.hooks.call import CallHooks
from shared.engine.hooks.posting import HookPoster
from shared.ports import HookAnswer, Retriable
from tests.fakes.clock import FakeClock, FakePool

HEARD: Final = 10
"""One account in so many has an endpoint."""
WANTED: Final = (HookKind.MESSAGE_DELIVERED.value, HookKind.MESSAGE_FAILED.value)
POLL: Final = 0.1
SEND_S: Final = 0.010
QUEUED_S: Final = 0.030
"""To hand a message to SQS, and from there to the function."""
TOGETHER: Final = 10
"""Hints of one invocation."""
GATHERERS: Final = 10
ANSWER_S: Final = 0.050
WORK_S: Final = 45.0
MINUTE_S: Final = 60.0
MB: Final = 1024.0
_OLD_MS: Final = 3_600_000


class HintQueues:
    """`ports.HookHints`: the queues of gatherers and of workers that post. `sent`: messages."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._order = count()
        self._gathers: list[tuple[Seconds, int, tuple[str, Mapping[str, Sequence[int]], HookPace]]] = []
        self._calls: dict[bool, list[tuple[Seconds, int, str]]] = {False: [], True: []}
        self.sent = 0
        self.busy = 0
        """Hints that are being served."""

    @property
    def empty(self) -> bool:
        """Tell whether nothing waits to be gathered or posted, nor is."""
        return not (self._gathers or self._calls[False] or self._calls[True] or self.busy)

    def gather(self, namespace: str, places: Mapping[str, Sequence[int]], pace: HookPace) -> None:
        """Queue a hint; see `ports.HookHints`."""
        wait = LATER_S if pace is HookPace.LATER else QUEUED_S
        self._send(self._gathers, wait, (namespace, dict(places), pace))

    def call(self, endpoint: str, namespace: str, *, delay: Seconds = 0, apart: bool = False) -> None:
        """Queue a hint; see `ports.HookHints`."""
        del namespace
        self._send(self._calls[apart], max(delay, QUEUED_S), endpoint)

    def wake(self, works: Sequence[HookWork]) -> None:
        """Queue hints; see `ports.HookHints`."""
        for x in works:
            self.call(x.endpoint, x.namespace, apart=x.apart)

    def take_gathers(self) -> list[tuple[str, Mapping[str, Sequence[int]], HookPace]]:
        """Take the hints of one invocation."""
        return self._take(self._gathers, TOGETHER)

    def take_call(self, *, apart: bool) -> str | None:
        """Take the hint of one endpoint."""
        return next(iter(self._take(self._calls[apart], 1)), None)

    def _send(self, queue: list[Any], wait: Seconds, what: object) -> None:
        self.sent += 1
        self._clock.sleep(SEND_S)
        heapq.heappush(queue, (self._clock.now() + wait, next(self._order), what))

    def _take(self, queue: list[Any], most: int) -> list[Any]:
        found: list[Any] = []
        while queue and queue[0][0] <= self._clock.now() and len(found) < most:
            found.append(heapq.heappop(queue)[2])
        return found


class Hearing:
    """The functions of webhooks in a scene.

    Args:
        part: of all workers, which the scene has.
        over: whether the scene has ended.

    Attributes:
        expected: job and message → when its event came from the provider, Unix seconds.
        heard: job and message → seconds from there to the endpoint's answer.
        again: posts of an event that an endpoint had already.
    """

    def __init__(
        self, d: Deployment, clock: FakeClock, hints: HintQueues, part: float, over: Callable[[], bool]
    ) -> None:
        self._d = d
        self._clock = clock
        self._over = over
        self.hints = hints
        self._gatherers, self._quick, self._slow = (
            max(1, round(x * part)) for x in (GATHERERS, HOOK_WORKERS, SLOW_HOOK_WORKERS)
        )
        self.gather_function = Function(clock, self._gatherers)
        self.call_function = Function(clock, self._quick + self._slow)
        self.expected: dict[tuple[str, str], Seconds] = {}
        self.heard: dict[tuple[str, str], Seconds] = {}
        self.again = 0
        self.posts = 0

    def register(self, accounts: Iterable[str]) -> None:
        """Give accounts an endpoint each, an hour ago."""
        now = self._clock.ms
        for name in accounts:
            made = Endpoint(
                id=new_endpoint_id(now),
                namespace=name,
                url=f"https://{name.replace('_', '-')}.example.com/hook",
                events=WANTED,
                created_at=now - _OLD_MS,
                proven=True,
                enabled_at=now - _OLD_MS,
            )
            self._d.hooking.endpoints.create(made, None, event=None)

    @property
    def over(self) -> bool:
        """Tell whether all is heard."""
        return len(self.heard) == len(self.expected) and self.hints.empty

    def work(self) -> list[Callable[[], None]]:
        """Return the workers."""
        posting = [self._quick_calls] * self._quick + [self._slow_calls] * self._slow
        return [self._wake, *[self._gather] * self._gatherers, *posting]

    def _gather(self) -> None:
        while not self._over():
            some = self.hints.take_gathers()
            if not some:
                self._clock.sleep(POLL)
                continue
            self.hints.busy += 1
            groups: dict[tuple[str, HookPace], list[tuple[str, int]]] = {}
            for namespace, places, pace in some:
                here = groups.setdefault((namespace, pace), [])
                here += [(job, n) for job, chunks in places.items() for n in chunks]
            with self.gather_function.invocation():
                for (namespace, pace), all_places in groups.items():
                    try:
                        self._d.hooking.gatherer.gather(namespace, all_places, pace)
                    except Retriable:
                        self.hints.gather(namespace, _by_job(all_places), pace)
            self.hints.busy -= 1

    def _quick_calls(self) -> None:
        self._call(apart=False)

    def _slow_calls(self) -> None:
        self._call(apart=True)

    def _call(self, *, apart: bool) -> None:
        h = self._d.hooking
        poster = HookPoster(client=self, secrets=h.secrets, body=h.bodies, clock=self._clock)
        draw = random.Random(1).random
        calls = CallHooks(
            endpoints=h.endpoints,
            queue=h.queue,
            works=h.works,
            hints=self.hints,
            poster=poster,
            clock=self._clock,
            draw=draw,
            pool=FakePool,
        )
        while not self._over():
            endpoint = self.hints.take_call(apart=apart)
            if endpoint is None:
                self._clock.sleep(POLL)
                continue
            self.hints.busy += 1
            with self.call_function.invocation():
                try:
                    calls.work(endpoint, apart=apart, stop_at=self._clock.now() + WORK_S)
                except Retriable:
                    self.hints.call(endpoint, "", delay=1, apart=apart)
            self.hints.busy -= 1

    def _wake(self) -> None:
        while not self._over():
            self._clock.sleep(MINUTE_S)
            try:
                self._d.hooking.calls.wake(stop_at=self._clock.now() + WORK_S)
            except Retriable:
                continue  # the next minute's run does it

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        """Be an endpoint that answers; see `ports.HookClient`."""
        del url, headers, until
        self._clock.sleep(ANSWER_S)
        self.posts += 1
        data = json.loads(body)["data"]
        for one in data if isinstance(data, list) else [data]:
            name = one["job_id"], one["message"]
            self.again += name in self.heard
            self.heard.setdefault(name, self._clock.now() - self.expected.get(name, self._clock.now()))
        return HookAnswer(204, int(ANSWER_S * 1000))

    def bill(self, out: cost.Bill) -> None:
        """Add what webhooks cost beside DynamoDB."""
        out.add("SQS", 3 * self.hints.sent * prices.SQS_REQUEST)
        for function, mb in ((self.gather_function, GATHER_MB), (self.call_function, CALL_MB)):
            cost.function(out, function.invocations, 0, mb / MB, function.billed)


def _by_job(places: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for job, chunk in places:
        out.setdefault(job, []).append(chunk)
    return out
