"""Adders, closers, makers and cleaners side by side, over days (rules D1 to D9).

Functions die at any call or lose its answer, their clocks differ, hints are lost or served by two functions at once,
and clients repeat, also what was answered. From some moment of the first day on, the digests of one key cannot be made.

Judged by what the providers really took: an event that was accepted is in exactly one mail of each of its recipients.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.contracts import load_digest_hint
from shared.domain.content.content import Mailbox
from shared.domain.digests.events import event_id
from shared.domain.digests.policy import DAY_S
from shared.domain.digests.window import DigestWindow, WindowState
from shared.engine.digests.add import NoPolicy, PostedEvent
from shared.engine.digests.make import DigestFault
from shared.ports import Retriable
from tests.engine.digests.hub import ACCOUNT, DigestHub, DigestProcess, event
from tests.fakes.clock import SkewedClock
from tests.fakes.crashes import dying
from tests.fakes.faults import Crash, Tap, When
from tests.tiers import some_slow

CLIENTS, SERVERS, WALKERS = 3, 2, 2
REQUESTS = 14
TRIES = 30
KEYS = ("acme/one", "acme/two", "acme/late")
PEOPLE = ("ann", "bob", "cyd", "dan", "eve")
LATE = "late@example.com"
"""The sender of the last key's digests, which is not allowed until the second day."""
SKEW = 2.0
"""Seconds by which a function's clock may be wrong."""
CALM_S = 300
"""Seconds from the end of a window, or of the faults, to its digest, without any hint."""
EXTEND_S = 6


class Storm:
    """One storm.

    Attributes:
        sent_to: event → its recipients.
        answered: events that their clients know to be accepted.
        opened: window → when it was opened, also of those that are removed.
        repeats: events that were posted again though their clients had an answer.
        fired: calls that went wrong.
        removed: windows that were removed.
        duplicates: events that makers left out.
        faulty: windows that could not be made on the first day.
    """

    def __init__(self, seed: int, faults: float = 0.03, lost: float = 0.3) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        limit = self.rng.choice((2, 5, 1000))
        self.hub = DigestHub(window=20, near=5, extend=EXTEND_S, max_age=40, max_events=limit, retention=2 * DAY_S)
        self.hub.policies.put(replace(self.hub.policy, prefix="acme/late", sender=Mailbox(LATE)))
        self.faults, self.lost = faults, lost
        self.delays: tuple[float, ...] = (0.003, 0.02, 0.4)
        self.sent_to: dict[str, tuple[str, ...]] = {}
        self.answered: set[str] = set()
        self.opened: dict[str, int] = {}
        self.repeats = self.fired = self.removed = self.duplicates = self.faulty = 0
        self._left = 0

    # Functions

    def process(self) -> DigestProcess:
        """Return a function with a clock of its own."""
        return self.hub.process(SkewedClock(self.hub.clock, self.rng.uniform(-SKEW, SKEW)))

    def weather(self) -> None:
        """Let a call take its time, so that others go first, and let it go wrong now and then."""
        self.hub.clock.sleep(self.rng.choice(self.delays))
        if self.rng.random() < self.faults:
            error: Callable[[], BaseException] = self.rng.choice((Crash, lambda: Retriable("lost")))
            self.hub.tap.arm(0, self.rng.choice(list(When)), error)

    # Actors

    def client(self) -> None:
        """Post all requests; the others end with the last client, also with one that has found a fault."""
        try:
            self.post_all()
        finally:
            self._left -= 1

    def post_all(self) -> None:
        """Post requests, each until it is answered, and some of them once more."""
        adder = self.process().adder
        for _ in range(REQUESTS):
            posted = self.request()
            names = {x.event.data["name"] for x in posted}
            often = 1 + (self.rng.random() < 0.2)
            for _ in range(TRIES):
                self.repeats += len(names & self.answered)
                try:
                    found = adder.add(ACCOUNT, posted, test=False)
                except (Crash, Retriable) as fault:
                    adder = self.process().adder if isinstance(fault, Crash) else adder
                    continue
                assert not isinstance(found, NoPolicy)
                self.answered |= names
                often -= 1
                self.hub.clock.sleep(self.rng.choice((0, 0.1, 4, 25)))
                if not often:
                    break
            self.look()

    def request(self) -> list[PostedEvent]:
        posted = []
        for _ in range(self.rng.randrange(1, 5)):
            name = f"e{len(self.sent_to)}"
            self.sent_to[name] = people = tuple(self.rng.sample(PEOPLE, self.rng.randrange(1, 4)))
            one = event(name, *people, at=self.hub.clock.ms, id=event_id(name, "", 0))
            posted.append(PostedEvent(self.rng.choice(KEYS), one, urgent=self.rng.random() < 0.07))
        return posted

    def server(self) -> None:
        """Serve hints; some are lost."""
        closer, queue = self.process().closer, self.hub.queue
        while self._left:
            message = queue.receive()
            if message is None:
                self.hub.clock.sleep(1)
            elif self.rng.random() < self.lost:
                queue.delete(message)
            else:
                try:
                    closer.arrived(load_digest_hint(message.body))
                except DigestFault:
                    queue.delete(message)
                except (Crash, Retriable):
                    queue.restore(message, self.hub.clock.now() + 10)
                    closer = self.process().closer
                else:
                    queue.delete(message)

    def walker(self) -> None:
        """Run every minute; two of them meet."""
        while self._left:
            own = self.process()
            try:
                for _, act in [*own.closer.walk(), *own.cleaner.walk()]:
                    act()
            except (Crash, Retriable):
                continue  # the function is called again
            self.hub.clock.sleep(self.rng.choice((20, 60)))

    def forbid(self) -> None:
        """Forbid a sender when some of its digests are made, and others that look back at them are not."""
        self.hub.clock.sleep(self.rng.uniform(0, 90))
        self.hub.world.standings.removed.add(LATE)

    # Days

    def run(self) -> None:
        self.day(self.forbid)
        self.calm()
        self.faulty = len(self.waiting("acme/late"))
        self.nights(3)
        self.hub.world.standings.removed.clear()
        self.day()
        self.calm()
        assert self.waiting() == []
        self.duplicates = sum(x.duplicates for x in self.hub.windows.items.values())
        self.nights(20)
        self.hub.send()

    def day(self, *more: Callable[[], None]) -> None:
        """Let everybody work until all clients have their answers. `more`: what others do."""
        self._left = CLIENTS
        self.hub.tap.delay = self.weather
        self.hub.clock.run(*[self.client] * CLIENTS, *[self.server] * SERVERS, *[self.walker] * WALKERS, *more)
        self.hub.tap.delay = Tap().delay
        self.hub.tap.disarm()

    def calm(self) -> None:
        """Let five minutes pass without faults and without any hint: the walk of every minute makes everything."""
        self.fired = self.hub.tap.fired
        for _ in range(1 + CALM_S // 60):
            self.hub.queue.lose()
            self.hub.clock.advance(60)
            self.hub.minute()
        assert {x.key for x in self.waiting()} <= {"acme/late"}
        self.look()
        self.count()
        self.hub.send()

    def nights(self, count: int) -> None:
        """Let days pass; what may expire does so at once."""
        windows, before = self.hub.windows, len(self.hub.windows.items)
        for _ in range(count * 4):
            self.hub.clock.advance(DAY_S / 4)
            self.hub.minute()
            now = self.hub.clock.now()
            windows.stored = {k: x for k, x in windows.stored.items() if x.ttl > now}
            windows.ids_kept = {k: x for k, x in windows.ids_kept.items() if x[1] > now}
        self.removed += before - len(windows.items)

    # Judgement

    def waiting(self, key: str = "") -> list[DigestWindow]:
        windows = self.hub.windows.items.values()
        return [x for x in windows if x.state in (WindowState.OPEN, WindowState.CLOSED) and key in x.key]

    def look(self) -> None:
        """Check what has to hold at any moment."""
        windows = list(self.hub.windows.items.values())
        for key in KEYS:
            there = [x for x in windows if x.key == key and x.state is WindowState.OPEN]
            assert len(there) <= 1, "two windows are open at once"
        for x in windows:
            assert self.opened.setdefault(x.id, x.opened_at) == x.opened_at, "a number is used twice"
            assert x.closes_at <= x.opened_at + 40_000

    def count(self) -> None:
        """Check numbers and parts: a window follows the one before it, and a part is in one window."""
        windows = list(self.hub.windows.items.values())
        for key in KEYS:
            numbers = sorted(x.number for x in windows if x.key == key and x.number)
            assert numbers == list(range(numbers[0], numbers[-1] + 1)), "a number is left out, or used twice"
        parts = [part for x in windows for part in x.parts]
        assert len(parts) == len(set(parts)), "a part is in two windows"
        for x in windows:
            stored = [self.hub.windows.stored[part].events for part in x.parts if part in self.hub.windows.stored]
            assert x.events <= self.hub.policy.max_events
            assert len(stored) < len(x.parts) or sum(stored) == x.events

    def check(self) -> None:
        got = {who: Counter(name for mail in mails for name in mail) for who, mails in self.hub.mails().items()}
        for name, people in self.sent_to.items():
            times = [got.get(who, Counter())[name] for who in people]
            assert max(times) <= 1, f"{name} is in two mails of a recipient"
            if name in self.answered:
                assert times == [1] * len(people), f"{name} was accepted and is not in the mail of each recipient"
        assert not [(who, name) for who, names in got.items() for name in names if who not in self.sent_to[name]]
        kept = Counter(x.key for x in self.hub.windows.items.values())
        assert kept == dict.fromkeys(kept, 1), "only the last window of a key is kept for ever"


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("seed", some_slow(range(12), set(range(1, 12))))
def test_a_storm_of_makers(seed: int) -> None:
    storm = Storm(seed)
    storm.run()
    storm.check()


@pytest.mark.slow
def test_the_storms_meet_every_case() -> None:
    calls: Counter[str] = Counter()
    fired = repeats = removed = duplicates = faulty = windows = 0
    for seed in range(3):
        storm = Storm(700 + seed)
        storm.run()
        storm.check()
        calls.update(storm.hub.tap.calls)
        fired, repeats, removed = fired + storm.fired, repeats + storm.repeats, removed + storm.removed
        duplicates, faulty = duplicates + storm.duplicates, faulty + storm.faulty
        windows += len(storm.opened)
    assert min(fired, repeats, removed, duplicates) > 50
    assert faulty > 10, "windows that could not be made for days"
    assert calls["digest_jobs.accept"] > windows, "some windows are made twice"


@pytest.mark.slow
def test_without_faults_a_window_is_made_once_at_its_time() -> None:
    """What windows cost when all goes well, in calls to the stores."""
    calls: Counter[str] = Counter()
    windows = 0
    for seed in range(4):
        storm = Storm(800 + seed, faults=0, lost=0)
        storm.delays = (0.003, 0.02)
        storm.day()
        before = Counter(storm.hub.tap.calls)
        storm.hub.clock.advance(60)
        storm.hub.serve()
        calls.update(storm.hub.tap.calls)
        windows += len(storm.hub.windows.items)
        late = [x.processed_at - x.closed_at for x in storm.hub.windows.items.values()]
        assert storm.waiting() == []
        assert sorted(late)[len(late) * 9 // 10] < 6_000
        assert before["windows.change"] == 0, "the walk leaves windows to their hints"
    assert calls["windows.parts"] <= 1.1 * windows, "two makers of a window are rare"
    assert calls["digest_jobs.accept"] <= 1.1 * windows
    assert calls["queue.send"] <= 3 * windows, "hints at the opening, at the end, and pointers"
    assert calls["windows.ids"] <= 1.1 * windows


@pytest.mark.slow
@pytest.mark.parametrize("when", list(When))
def test_a_walk_that_dies_anywhere_leaves_one_mail_for_each(when: When) -> None:
    def make() -> DigestHub:
        hub = DigestHub(retention=2 * DAY_S)
        hub.add(event("a", "ann", "bob", id="A" * 22))
        hub.close()
        hub.add(event("a", "ann", id="A" * 22), event("b", "ann", id="B" * 22))
        hub.queue.lose()
        hub.clock.advance(2 * DAY_S + 300)
        hub.add(event("c", "cyd"), key="acme/other")
        hub.queue.lose()
        hub.clock.advance(360)
        return hub

    for hub in dying(make, DigestHub.minute, when, least=51):
        for _ in range(5):
            hub.clock.advance(60)
            hub.minute()
        hub.clock.advance(DAY_S)
        hub.minute()
        assert sorted(x.number for x in hub.windows.items.values()) == [1, 2], "the first window is removed"
        hub.world.sweep()
        hub.send()
        assert hub.mails() == {"ann": [("a",), ("b",)], "bob": [("a",)], "cyd": [("c",)]}, when
