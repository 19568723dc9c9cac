"""An adder of events over stores in memory."""

from collections.abc import Sequence
from typing import Any

from shared.domain.digests.events import DigestEvent, unpack
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import DigestWindow
from shared.engine.digests.add import AddedEvents, DigestAdder, NoPolicy, OtherContent, PostedEvent
from tests.domain.digests.examples import ACCOUNT, KEY, NOW, event, policy
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.digests.policies import FakeDigestPolicies
from tests.fakes.digests.windows import FakeDigestHints, FakeWindows
from tests.fakes.faults import Tap


class AddingWorld:
    """Everything in it is public: tests look at and touch what they like."""

    def __init__(self, **changes: Any) -> None:
        self.clock = FakeClock(NOW / 1000)
        self.tap = Tap()
        self.windows = FakeWindows(self.tap)
        self.policies = FakeDigestPolicies(tap=self.tap)
        self.hints = FakeDigestHints(self.tap)
        self.policy = self.put(**changes)
        self.adder = self.process()

    def put(self, **changes: Any) -> DigestPolicy:
        """Store a policy."""
        return self.policies.put(policy(**changes))

    def process(self) -> DigestAdder:
        """Return an adder that remembers nothing."""
        return DigestAdder(
            windows=self.windows,
            keeping=self.windows,
            policies=self.policies,
            hints=self.hints,
            clock=self.clock,
            pool=FakePool,
        )

    def add(self, *events: DigestEvent, key: str = KEY, urgent: bool = False, test: bool = False) -> list[AddedEvents]:
        """Add events of one key."""
        return self.post([PostedEvent(key, x, urgent=urgent) for x in events], test=test)

    def post(self, posted: Sequence[PostedEvent], *, test: bool = False) -> list[AddedEvents]:
        """Add the events of a request."""
        found = self.adder.add(ACCOUNT, posted, test=test)
        assert not isinstance(found, NoPolicy | OtherContent)
        return list(found)

    def calls(self) -> list[str]:
        """Return the calls since the last time."""
        made, self.tap.calls = self.tap.calls, []
        return made

    def all(self, key: str = KEY) -> list[DigestWindow]:
        """Return the windows of a key, in order."""
        return sorted((x for x in self.windows.items.values() if x.key == key), key=lambda x: (x.opened_at, x.number))

    def events(self, window: DigestWindow) -> list[DigestEvent]:
        """Return the events of a window, in the order in which they joined."""
        return [x for part in window.parts for x in unpack(self.windows.stored[part].data)]

    def collected(self, key: str = KEY) -> list[list[str]]:
        """Return the tasks that the events in each window of a key are about."""
        return [[x.data["task"] for x in self.events(w)] for w in self.all(key)]


def some(count: int, first: int = 0) -> list[DigestEvent]:
    return [event(n) for n in range(first, first + count)]
