"""Adders and closers in a storm (rules D1 to D5): lost calls and answers, clocks that differ, clients that repeat.

Judged by what is stored: each event whose client has an answer is in a window, and each once, but for what its client
has repeated, which has the same id.
"""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import pytest

from shared.domain.digests.window import WindowState
from shared.engine.digests.add import DigestAdder, NoPolicy, OtherContent, PostedEvent
from shared.ports import Retriable
from tests.domain.digests.examples import ACCOUNT, event
from tests.engine.digests.adding import AddingWorld
from tests.fakes.clock import FakePool, SkewedClock
from tests.fakes.faults import Crash, Tap, When

T = TypeVar("T")
CLIENTS = 4
REQUESTS = 25
KEYS = ("acme/one", "acme/two")
WRITES = ("windows.join", "windows.open", "windows.close", "windows.put_parts")


class Weather(Tap):
    """Calls that take time, so that others go first, and that go wrong at random."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng
        self.broken = 0.15

    def __call__(self, name: str, operation: Callable[[], T]) -> T:
        if name in WRITES and self.rng.random() < self.broken:
            error = self.rng.choice((Crash, lambda: Retriable("lost")))
            self.arm_at(name, self.rng.choice(list(When)), error)
        return super().__call__(name, operation)


class Storm:
    """One storm over two keys. Clients post until they have an answer, or give up.

    Attributes:
        answered: events that were accepted, by task.
        posted: how often each event was posted.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self.weather = Weather(self.rng)
        self.world = AddingWorld(window=20, near=5, extend=6, max_age=40, max_events=self.rng.choice((3, 20, 1000)))
        self.answered: Counter[str] = Counter()
        self.posted: Counter[str] = Counter()
        self.ended = 0
        self.world.windows._atomic._tap = self.weather
        self.weather.delay = lambda: self.world.clock.sleep(self.rng.choice((0.003, 0.01, 0.3)))

    def process(self, skew: float) -> DigestAdder:
        w = self.world
        clock = SkewedClock(w.clock, skew)
        return DigestAdder(
            windows=w.windows, keeping=w.windows, policies=w.policies, hints=w.hints, clock=clock, pool=FakePool
        )

    def run(self) -> None:
        clients = [lambda n=n: self.client(n) for n in range(CLIENTS)]
        self.world.clock.run(*clients, self.closer)

    def client(self, n: int) -> None:
        """Post requests one after the other, each until it is answered, by processes that come and go."""
        skew = self.rng.uniform(-0.5, 0.5)
        adder = self.process(skew)
        for request in range(REQUESTS):
            tasks = [f"{n}.{request}.{i}" for i in range(self.rng.choice((1, 1, 4)))]
            posted = [PostedEvent(KEYS[request % 2], event(0, data={"task": x}, id=x)) for x in tasks]
            for _ in range(20):
                self.posted.update(tasks)
                try:
                    found = adder.add(ACCOUNT, posted, test=False)
                except (Retriable, Crash) as fault:
                    if isinstance(fault, Crash):
                        adder = self.process(skew)
                    continue
                assert not isinstance(found, NoPolicy | OtherContent)
                assert sum(x.accepted for x in found) == len(tasks)
                self.answered.update(tasks)
                break
            self.world.clock.sleep(self.rng.choice((0, 0.1, 2, 9)))
            self.look()
        self.ended += 1

    def closer(self) -> None:
        """Close windows past their end, now and then one early, until all clients have ended."""
        w = self.world
        while self.ended < CLIENTS:
            w.clock.sleep(self.rng.uniform(0.5, 3))
            for window in list(w.windows.items.values()):
                if self.rng.random() < 0.5 and window.state is WindowState.OPEN:
                    with suppress(Retriable, Crash):
                        w.windows.close(window.id, w.clock.ms, early=self.rng.random() < 0.1)
            self.look()

    def look(self) -> None:
        """Check what has to hold at any moment."""
        for key in KEYS:
            windows = self.world.all(key)
            assert sum(x.state is WindowState.OPEN for x in windows) <= 1, "two windows are open at once"
            assert all(x.closes_at <= x.opened_at + 40_000 for x in windows)

    def check(self) -> None:
        held: Counter[str] = Counter()
        for key in KEYS:
            windows = sorted(self.world.all(key), key=lambda x: x.number)
            assert [x.number for x in windows] == list(range(1, len(windows) + 1))
            for window in windows:
                events = self.world.events(window)
                assert (len(events), len(window.parts)) == (window.events, len(set(window.parts)))
                assert window.events <= self.world.policy.max_events
                held.update(x.data["task"] for x in events)
        parts = [p for x in self.world.windows.items.values() for p in x.parts]
        assert len(parts) == len(set(parts)), "a part is in two windows"
        assert set(self.answered) <= set(held), "an event was accepted and is in no window"
        assert all(n <= self.posted[task] for task, n in held.items()), "an event is in windows more often than posted"
        assert max(self.answered.values()) == 1


@pytest.mark.parametrize("seed", range(30))
def test_a_storm_of_adders(seed: int) -> None:
    storm = Storm(seed)
    storm.run()
    storm.check()


@pytest.mark.slow
def test_without_faults_each_event_is_in_one_window() -> None:
    for seed in range(5):
        storm = Storm(500 + seed)
        storm.weather.broken = 0
        storm.run()
        storm.check()
        held = Counter(x.data["task"] for w in storm.world.windows.items.values() for x in storm.world.events(w))
        assert held == storm.answered == storm.posted


@pytest.mark.slow
def test_the_storms_meet_every_case() -> None:
    calls: Counter[str] = Counter()
    repeated = fired = 0
    for seed in range(8):
        storm = Storm(900 + seed)
        storm.run()
        calls.update(storm.weather.calls)
        repeated += sum(n > 1 for n in storm.posted.values())
        fired += storm.weather.fired
        assert len(storm.world.windows.items) > 4
    assert calls["windows.close"] > 20
    assert repeated > 50
    assert fired > 100
