"""The built-in provider of test keys: it uses the whole engine and reaches no person.

The recipient chooses the fate of a message. Mail: the local part of an address at `test.posthaste`, up to a
plus sign, so that `bounce+17@test.posthaste` is one more bouncing mailbox. SMS and voice: the number.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from shared.contracts import TEST_CREDENTIAL, ProviderEvent, dump_feedback
from shared.domain.content.content import Content
from shared.domain.content.streams import Stream
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Unknown
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import Clock, Queue, Retriable, Target
from shared.providers.registry import Needs
from shared.providers.test.needs import NEEDS

DOMAIN: Final = "test.posthaste"
PER_CALL: Final = 50
SLOW_SECONDS: Final = 2.0
FEEDBACK_DELAY: Final = 1.0
"""Seconds, so that words come after the attempt is recorded, as a real provider's do."""


@dataclass(frozen=True, slots=True)
class Fate:
    """The fate of a message: the words about it, in order, with a code for the last; `slow`: answered late."""

    words: tuple[ProviderEventKind, ...]
    code: str = ""
    slow: bool = False


DELIVERED: Final = Fate((ProviderEventKind.ACCEPTED, ProviderEventKind.DELIVERED), "2.0.0")
FATES: Final[Mapping[str, Fate]] = {
    "delivered": DELIVERED,
    "bounce": Fate((ProviderEventKind.ACCEPTED, ProviderEventKind.BOUNCED), "5.1.1"),
    "defer": Fate((ProviderEventKind.ACCEPTED, ProviderEventKind.DEFERRED, ProviderEventKind.DELIVERED), "2.0.0"),
    "drop": Fate((ProviderEventKind.DROPPED,), "test_drop"),
    "slow": Fate((ProviderEventKind.ACCEPTED, ProviderEventKind.DELIVERED), "2.0.0", slow=True),
}
NUMBERS: Final[Mapping[str, str]] = {
    "+15005550001": "delivered",
    "+15005550002": "bounce",
    "+15005550003": "defer",
    "+15005550004": "drop",
    "+15005550005": "slow",
}
"""Number → fate, in a range no carrier serves. Every other address or number is delivered."""


def fate(address: str) -> Fate:
    """Return the fate of a message to an address or number."""
    name = NUMBERS.get(address, "")
    if not name:
        local, _, domain = address.lower().rpartition("@")
        name = local.partition("+")[0] if domain == DOMAIN else ""
    return FATES.get(name, DELIVERED)


class TestProvider:
    """Answers, and queues words as its feedback. Implements `ports.Provider` and `FinishedSender`.

    Safe for threads.
    """

    __test__: ClassVar = False
    """Not a test case in spite of its name: test runners ask."""
    name = "test"
    per_call = PER_CALL
    has_feedback = True
    finished_bytes = NEEDS.finished_bytes

    def __init__(self, feedback: Queue, clock: Clock) -> None:
        self._feedback = feedback
        self._clock = clock

    def send(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> list[Outcome]:  # noqa: ARG002 - of the port
        """Accept every target, late if one is slow; see `ports.Provider`. Unknown if the words could not be queued."""
        now = self._clock.now()
        if now >= deadline:
            return [NotStarted()] * len(targets)
        fates = [fate(t.recipient.address) for t in targets]
        if any(f.slow for f in fates):
            self._clock.sleep(min(SLOW_SECONDS, deadline - now))
        at = int(self._clock.now())
        words = [
            ProviderEvent(t.ref, word.value, at, f"test-{t.ref}", f.code if word is f.words[-1] else "")
            for t, f in zip(targets, fates, strict=True)
            for word in f.words
        ]
        try:
            self._feedback.send([dump_feedback(TEST_CREDENTIAL, words)], delay=FEEDBACK_DELAY)
        except Retriable:
            return [Unknown("feedback_queue")] * len(targets)
        return [Accepted(f"test-{t.ref}") for t in targets]

    def send_finished(self, content: Content, message: Stream, target: Target, *, deadline: Seconds) -> Outcome:  # noqa: ARG002 - of the port
        """Accept a finished message as any other; see `ports.FinishedSender`."""
        (outcome,) = self.send(content, [target], deadline=deadline)
        return outcome


def _build(needs: Needs) -> TestProvider:
    if needs.feedback is None:
        raise ValueError("the test provider needs the feedback queue")
    return TestProvider(needs.feedback, needs.clock)


PROVIDER: Final = _build
WEBHOOKS: Final = None
SECRET: Final = ()
