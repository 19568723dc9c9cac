"""Each event of each recipient, traced while providers fail and functions die (rules D1 to D9).

Providers answer 502, drop calls before or after they took them, throttle and refuse. Adders, closers, makers and
senders die at any call. Some people are suppressed meanwhile. In the end each pair of an accepted event and a recipient
is in the message of exactly one digest, as its job is stored. Either a provider took that message once, or the log that
clients read says why not.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import pytest

from shared.domain.digests.events import event_id
from shared.domain.digests.window import WindowState
from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled, Unknown
from shared.domain.jobs.states import MessageState
from shared.engine.digests.add import DigestAdder, NoPolicy, PostedEvent
from shared.engine.reports.message_log import Filter
from shared.ports import Retriable, Target
from tests.engine.digests.hub import ACCOUNT, DigestHub, event
from tests.fakes.faults import Crash, When, is_store
from tests.fakes.provider import FakeProvider, Swallowed
from tests.fakes.world import credential

PEOPLE = ("ann", "bob", "cyd", "dan")
KEYS = ("acme/one", "acme/two")
STEPS = 60
TRIES = 4
"""How often a client posts what is not answered."""
FAULTS = 0.35
"""Share of the steps in which a call goes wrong."""
ANSWERS: tuple[Outcome | Swallowed, ...] = (
    Unknown("bad_gateway"),
    Swallowed(Unknown("bad_gateway")),
    Unknown("connection_closed"),
    Swallowed(Unknown("connection_closed")),
    Rejected("unavailable", permanent=False),
    Rejected("bad_mailbox", permanent=True),
    Throttled(2),
)
UNSENT = frozenset({MessageState.UNKNOWN, MessageState.FAILED, MessageState.SKIPPED})
"""States in which the log says that a recipient may not have the message."""


class Trouble:
    """One storm.

    Attributes:
        sent_to: event → its recipients.
        answered: events that their clients know to be accepted.
        waiting: requests that are not answered, with how often they were posted.
        seen: how many pairs had which end.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        lanes = credential("one", 2_500), credential("two", 2_500)
        limit = self.rng.choice((2, 5, 1000))
        self.hub = DigestHub(*lanes, window=60, near=10, extend=15, max_age=120, max_events=limit)
        self.sent_to: dict[str, tuple[str, ...]] = {}
        self.answered: set[str] = set()
        self.waiting: list[tuple[list[PostedEvent], int]] = []
        self.adders = [self.process(), self.process()]
        self.seen: Counter[str] = Counter()
        for provider in self.hub.world.providers.values():
            provider.before = self.weather(provider)

    def weather(self, provider: FakeProvider) -> Callable[[Sequence[Target]], None]:
        """Return what has a call go wrong now and then."""

        def draw(_targets: Sequence[Target]) -> None:
            provider.answer = self.rng.choice(ANSWERS) if self.rng.random() < 0.3 else None

        return draw

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
        for provider in self.hub.world.providers.values():
            provider.before = lambda _targets: None
            provider.answer = None
        self.hub.world.jobs[:] = [x.job for x in self.hub.windows.items.values() if x.job]
        self.hub.world.settle()

    def guarded(self, act: Callable[[], None]) -> None:
        """Do something, and let one of its calls go wrong now and then: of a store, a queue or a provider."""
        if self.rng.random() < FAULTS:
            fault: Callable[[], BaseException] = self.rng.choice((Crash, lambda: Retriable("lost")))
            if self.rng.random() < 0.5:
                self.hub.tap.arm(self.rng.randrange(8), self.rng.choice(list(When)), fault, where=is_store)
            else:
                self.hub.tap.arm(self.rng.randrange(40), self.rng.choice(list(When)[:2]), fault)
        try:
            act()
        except (Crash, Retriable):
            self.hub.reboot()
            self.adders[self.rng.randrange(2)] = self.process()
        self.hub.tap.disarm()

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
        if self.rng.random() < 0.05:
            who = self.rng.choice(PEOPLE)
            self.hub.records.suppress(self.hub.account, f"{who}@example.com", "bounced", self.hub.clock.ms)

    def check(self) -> None:
        states = Counter(x.state for x in self.hub.windows.items.values())
        assert set(states) == {WindowState.PROCESSED}, states
        digests = self.digests()
        taken = {who: Counter(name for mail in mails for name in mail) for who, mails in self.hub.mails().items()}
        for name, people in self.sent_to.items():
            for who in people:
                times = taken.get(who, Counter())[name]
                assert times <= 1, f"{name} is in two mails of {who}"
                said = digests[name, who]
                assert len(said) <= 1, f"{name} is in two digests of {who}"
                if name in self.answered:
                    assert said, f"{name} of {who} is in no digest"
                    assert times or said[0] in UNSENT, f"{name} did not reach {who}, whose message is {said[0]}"
                    self.seen["reached" if times else said[0].value] += 1
        assert digests.keys() <= {(name, who) for name, people in self.sent_to.items() for who in people}

    def digests(self) -> dict[tuple[str, str], list[MessageState]]:
        """Return for each event and recipient the states of the messages whose job lists it."""
        out: dict[tuple[str, str], list[MessageState]] = defaultdict(list)
        for window in self.hub.windows.items.values():
            if not window.job:
                assert window.duplicates == window.events, "only a window of repeats has no job"
                continue
            job, content = self.hub.world.job(window.job), self.hub.records.content(window.job)
            assert content is not None
            assert content.digest is not None
            lines, after = self.hub.world.logs.lines(job, Filter(), limit=10_000)
            assert after is None
            for line in lines:
                number, index = map(int, line.message.split("."))
                chunk = self.hub.records.chunk(job.id, number)
                assert chunk is not None
                group = int(chunk.recipients[index].values["group"])
                for n in content.digest.groups[group]:
                    name = content.digest.html[n].removeprefix("<i>").removesuffix("</i>")
                    out[name, line.recipient.partition("@")[0]].append(line.state)
        return out


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("seed", range(12))
def test_each_event_of_each_recipient_is_in_one_mail_or_in_a_message_that_says_why_not(seed: int) -> None:
    trouble = Trouble(seed)
    trouble.run()
    trouble.check()


@pytest.mark.slow
def test_the_storms_meet_every_end_of_a_pair() -> None:
    seen: Counter[str] = Counter()
    fired = repeats = 0
    for seed in range(100, 110):
        trouble = Trouble(seed)
        trouble.run()
        trouble.check()
        seen += trouble.seen
        fired += trouble.hub.tap.fired
        repeats += sum(x.duplicates for x in trouble.hub.windows.items.values())
    assert min(seen[x] for x in ("reached", "unknown", "failed", "skipped")) > 20, seen
    assert min(fired, repeats) > 5, (fired, repeats)
