"""Events from the post to the mail, in storms: functions die at any call, answers are lost, clients repeat (D1 to D9).

Judged by what the providers really took: an event that was accepted is in exactly one mail of each of its recipients.
"""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from shared.domain.digests.events import event_id
from shared.domain.digests.window import WindowState
from shared.engine.digests.add import DigestAdder, NoPolicy, PostedEvent
from shared.ports import Retriable
from tests.engine.digests.hub import ACCOUNT, DigestHub, event
from tests.fakes.faults import Crash, When, is_store

PEOPLE = ("ann", "bob", "cyd", "dan")
KEYS = ("acme/one", "acme/two")
STEPS = 60
TRIES = 4
"""How often a client posts what is not answered."""


class Flow:
    """One storm.

    Attributes:
        sent_to: event → its recipients.
        answered: events that their clients know to be accepted.
        waiting: requests that are not answered, with how often they were posted.
    """

    def __init__(self, seed: int, faults: float = 0.35) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        limit = self.rng.choice((2, 5, 1000))
        self.hub = DigestHub(window=60, near=10, extend=15, max_age=120, max_events=limit)
        self.faults = faults
        self.sent_to: dict[str, tuple[str, ...]] = {}
        self.answered: set[str] = set()
        self.waiting: list[tuple[list[PostedEvent], int]] = []
        self.adders = [self.process(), self.process()]

    def process(self) -> DigestAdder:
        return self.hub.process(self.hub.clock).adder

    def run(self) -> None:
        for _ in range(STEPS):
            self.guarded(self.rng.choice((self.post, self.post, self.repeat, self.later, self.work, self.work)))
        while self.waiting:
            self.repeat()
        for _ in range(12):
            self.hub.clock.advance(120)
            self.work()

    def guarded(self, act: Callable[[], None]) -> None:
        """Do something, and let one of its calls go wrong now and then."""
        if self.rng.random() < self.faults:
            self.hub.tap.arm(self.rng.randrange(8), self.rng.choice(list(When)), self.fault(), where=is_store)
        try:
            act()
        except (Crash, Retriable):
            self.hub.reboot()
            self.adders[self.rng.randrange(2)] = self.process()
        self.hub.tap.disarm()

    def fault(self) -> Callable[[], BaseException]:
        return self.rng.choice((Crash, lambda: Retriable("lost")))

    def post(self) -> None:
        """Post a request of a few events, some of them urgent."""
        posted = []
        for _ in range(self.rng.randrange(1, 5)):
            name = f"e{len(self.sent_to)}"
            people = tuple(self.rng.sample(PEOPLE, self.rng.randrange(1, 4)))
            self.sent_to[name] = people
            one = event(name, *people, at=self.hub.clock.ms, id=event_id(name, "", 0))
            posted.append(PostedEvent(self.rng.choice(KEYS), one, urgent=self.rng.random() < 0.1))
        self.waiting.append((posted, 0))
        self.try_(len(self.waiting) - 1)

    def repeat(self) -> None:
        if self.waiting:
            self.try_(self.rng.randrange(len(self.waiting)))

    def try_(self, n: int) -> None:
        """Post a waiting request once more; the client gives up after some times."""
        posted, times = self.waiting.pop(n)
        if times < TRIES:
            self.waiting.append((posted, times + 1))
            found = self.rng.choice(self.adders).add(ACCOUNT, posted, test=False)
            assert not isinstance(found, NoPolicy)
            self.waiting.pop()
            self.answered |= {x.event.data["name"] for x in posted}

    def later(self) -> None:
        self.hub.clock.advance(self.rng.choice((1, 5, 20, 70)))

    def work(self) -> None:
        """Let hints, the function of every minute and the senders do what there is to do."""
        self.hub.serve()
        if self.rng.random() < 0.5:
            self.hub.minute()
        self.hub.send()
        if self.rng.random() < 0.3:
            self.hub.world.sweep()

    def check(self) -> None:
        states = Counter(x.state for x in self.hub.windows.items.values())
        assert set(states) == {WindowState.PROCESSED}, states
        got = {who: Counter(name for mail in mails for name in mail) for who, mails in self.hub.mails().items()}
        for name, people in self.sent_to.items():
            times = [got.get(who, Counter())[name] for who in people]
            assert max(times) <= 1, f"{name} is in two mails of a recipient"
            if name in self.answered:
                assert times == [1] * len(people), f"{name} was accepted and is not in the mail of each recipient"
        strangers = [(who, name) for who, names in got.items() for name in names if who not in self.sent_to[name]]
        assert strangers == []


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("seed", range(30))
def test_an_event_is_in_one_mail_of_each_recipient_whatever_dies(seed: int) -> None:
    flow = Flow(seed)
    flow.run()
    flow.check()


@pytest.mark.slow
def test_the_storms_meet_repeats_and_mails_of_many_events() -> None:
    duplicates = lost = mails = events = 0
    for seed in range(8):
        flow = Flow(200 + seed)
        flow.run()
        flow.check()
        duplicates += sum(x.duplicates for x in flow.hub.windows.items.values())
        lost += len(flow.sent_to.keys() - flow.answered)
        found = flow.hub.mails()
        mails += sum(map(len, found.values()))
        events += sum(len(mail) for some in found.values() for mail in some)
    assert duplicates > 10
    assert lost == 0 or lost < 20
    assert events > 1.5 * mails
