"""The cost of digests: events of a flood are posted, collected in windows and made into jobs, over moto and metered.

The flood: a million events of ten recipients each, about 500 bytes of JSON, for a thousand people, over a hundred keys.
So each key gets one window after the other that fills up, and each window is one job for nearly all people. Other rows
count the cost of sending its messages.
"""

import math
import random
from collections.abc import Iterable, Sequence
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.world import World, world
from shared.domain.audit import SYSTEM, audited
from shared.domain.content.content import Mailbox
from shared.domain.digests.events import DigestEvent, event_id, raw_size
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import MAX_PARTS, DigestWindow, Join, WindowState
from shared.domain.jobs.job import DIGEST
from shared.engine.digests.add import AddedEvents, DigestAdder, NoPolicy, OtherContent, PostedEvent
from tests.fakes.clock import FakePool

KEY: Final = "acme/production"
PEOPLE: Final = 1_000
RECIPIENTS: Final = 10
EVENT_BYTES: Final = 500
POSTS: Final = {100: 10, 1: MAX_PARTS}
"""Events of a post → posts that fill a window."""
WINDOWS: Final = 2
"""Windows of each measurement; those before it warm the function up."""
CALL_SECONDS: Final = 0.006
FUNCTIONS: Final = 20
"""Functions of the API that post events of one key at once."""
ITEM_UNITS: Final = 1_000
"""Write units that one item takes in a second."""


def measure() -> list[Row]:
    """Return the write units of an event, by the hundred and singly, and how many posts one key takes in a second."""
    return [
        counted(named(rows.DIGEST_WRITES, "by the hundred"), _units(100), 0.3, "WRU"),
        counted(named(rows.DIGEST_WRITES, "singly"), _units(1), 3.5, "WRU"),
        counted(rows.DIGEST_SPEED, _speed(), 100, "posts/s", more=True),
    ]


class Flood:
    """Events of one key, each different, from a seed."""

    def __init__(self, now: int, seed: int = 1) -> None:
        self._rng = random.Random(seed)
        self._now = now
        self._made = 0

    def events(self, count: int) -> list[DigestEvent]:
        """Return so many more events."""
        return [self._event() for _ in range(count)]

    def _event(self) -> DigestEvent:
        n, self._made = self._made, self._made + 1
        people = self._rng.sample(range(PEOPLE), RECIPIENTS)
        data = {
            "task": f"nightly-import-{n % 40}",
            "run": f"{self._rng.randrange(10**6)}",
            "error": "The connection to the warehouse was refused: no process listens.",
            "url": f"https://jobs.example.com/acme/production/tasks/{n % 40}",
        }
        names = tuple(f"person{i}@example.com" for i in people)
        return DigestEvent("task_failed", names, self._now + 37 * n, data, event_id(f"event-{n}", "", 0), dated=True)


def _adder(w: World) -> DigestAdder:
    d = w.deployment.digesting
    return DigestAdder(
        windows=d.windows,
        keeping=d.keeping,
        policies=d.policies,
        hints=_NoHints(),
        clock=w.deployment.clock,
        pool=FakePool,
    )


class _NoHints:
    """Wakes no function: a hint is a message, and no write unit."""

    def at(self, window_id: str, at: int) -> None:
        """Forget a hint."""

    opened = at

    def all(self, found: Iterable[tuple[str, int]]) -> int:
        """Forget hints."""
        return sum(1 for _ in found)


def _posted(events: Sequence[DigestEvent]) -> list[PostedEvent]:
    return [PostedEvent(KEY, x, named=True) for x in events]


def _units(per_post: int) -> float:
    """Return the write units of an event: its part, its window, and its share of the job that the window becomes."""
    with world(rate=1000) as w:
        _save(w)
        adder, flood = _adder(w), Flood(w.clock.ms)
        size = raw_size(flood.events(1)[0])
        if not 0.9 * EVENT_BYTES < size < 1.1 * EVENT_BYTES:
            raise RuntimeError(f"an event of {size} bytes")
        _window(w, adder, flood, per_post)
        w.take()
        for _ in range(WINDOWS):
            _window(w, adder, flood, per_post)
        return w.take().wru / (WINDOWS * POSTS[per_post] * per_post)


def _save(w: World) -> None:
    now = w.clock.ms
    policy = DigestPolicy(w.account, "acme/", 1, now, now, Mailbox("news@example.com"), subject="{{ count }} events")
    event = audited(w.account, now, "policy", "digest_policy.created", SYSTEM)
    w.deployment.digesting.policies.save(None, policy, None, event=event)


def _window(w: World, adder: DigestAdder, flood: Flood, per_post: int) -> None:
    """Fill a window, and make its job."""
    added: Sequence[AddedEvents] | NoPolicy | OtherContent = ()
    for _ in range(POSTS[per_post]):
        added = adder.add(w.account, _posted(flood.events(per_post)), test=False)
    if isinstance(added, NoPolicy | OtherContent) or len(added) != 1:
        raise RuntimeError("the events are not in one window")
    d = w.deployment.digesting
    window = d.windows.get(added[0].window_id)
    if window is None or window.state is not WindowState.CLOSED:
        raise RuntimeError("the window is not full")
    d.maker.make(window)
    made = d.windows.get(window.id)
    job = w.deployment.records.job(made.job) if made is not None else None
    if job is None or job.kind != DIGEST or job.total < PEOPLE / 2:
        raise RuntimeError("the window is no job")


def _speed() -> float:
    """Return how many single posts of one key are taken in a second of fake time, as fast as its item allows."""
    from tests.engine.digests.adding import AddingWorld  # noqa: PLC0415 - no other row needs the fakes

    w = AddingWorld()
    w.tap.delay = lambda: w.clock.sleep(CALL_SECONDS)
    flood, join, began = Flood(w.clock.ms), w.windows.join, w.clock.now()
    units = 0

    def paced(window_id: str, write: Join) -> tuple[bool, DigestWindow | None]:
        nonlocal units
        parts = len(w.windows.items[window_id].parts)
        units += math.ceil((400 + 13 * parts) / 1024)
        w.clock.sleep(began + units / ITEM_UNITS - w.clock.now())
        return join(window_id, write)

    w.windows.join = paced  # type: ignore[assignment, method-assign]
    posts = 50

    def function() -> None:
        adder = w.process()
        for event in flood.events(posts):
            adder.add(w.policy.namespace, _posted([event]), test=False)

    w.clock.run(*[function] * FUNCTIONS)
    held = sum(x.events for x in w.windows.items.values())
    if held != posts * FUNCTIONS:
        raise RuntimeError("not every event was taken")
    return held / (w.clock.now() - began)
