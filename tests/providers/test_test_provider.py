from collections.abc import Sequence

import pytest

from shared.contracts import load_feedback
from shared.domain.jobs.outcomes import Accepted, NotStarted, Unknown
from shared.ports import FinishedSender, Retriable
from shared.providers.test import send as under_test
from tests.fakes.finished import Bytes
from tests.providers.contract import CONTENT, target
from tests.providers.corpus import HEADER, content


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class Queue:
    def __init__(self, *, broken: bool = False) -> None:
        self.sent: list[tuple[str, float]] = []
        self.broken = broken

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "") -> None:
        if self.broken:
            raise Retriable("queue")
        self.sent += [(body, delay) for body in bodies]

    def is_empty(self) -> bool:
        return not self.sent


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("delivered@test.posthaste", ["accepted", "delivered"]),
        ("bounce@test.posthaste", ["accepted", "bounced"]),
        ("Bounce+17@Test.Posthaste", ["accepted", "bounced"]),
        ("defer@test.posthaste", ["accepted", "deferred", "delivered"]),
        ("drop@test.posthaste", ["dropped"]),
        ("slow@test.posthaste", ["accepted", "delivered"]),
        ("bounce@example.com", ["accepted", "delivered"]),
        ("anybody@test.posthaste", ["accepted", "delivered"]),
        ("+15005550001", ["accepted", "delivered"]),
        ("+15005550002", ["accepted", "bounced"]),
        ("+15005550003", ["accepted", "deferred", "delivered"]),
        ("+15005550004", ["dropped"]),
        ("+4915112345678", ["accepted", "delivered"]),
    ],
)
def test_the_recipient_chooses_what_becomes_of_the_message(address: str, expected: list[str]) -> None:
    queue = Queue()
    one = target(4, address)
    outcomes = under_test.TestProvider(queue, Clock()).send(CONTENT, [one], deadline=2000)
    assert outcomes == [Accepted(f"test-{one.ref}")]
    ((body, delay),) = queue.sent
    credential, words = load_feedback(body)
    assert (credential, delay) == ("test", under_test.FEEDBACK_DELAY)
    assert [w.word for w in words] == expected
    assert {w.ref for w in words} == {one.ref}
    assert address not in body


@pytest.mark.parametrize(("deadline", "end"), [(2000.0, 1002.0), (1000.5, 1000.5)])
@pytest.mark.parametrize("address", ["slow@test.posthaste", "+15005550005"])
def test_slow_takes_two_seconds_but_not_longer_than_the_deadline(address: str, deadline: float, end: float) -> None:
    clock, queue = Clock(), Queue()
    targets = [target(0), target(1, address)]
    outcomes = under_test.TestProvider(queue, clock).send(CONTENT, targets, deadline=deadline)
    assert [type(o) for o in outcomes] == [Accepted, Accepted]
    assert clock.time == end


def test_nothing_begins_after_the_deadline() -> None:
    queue = Queue()
    outcomes = under_test.TestProvider(queue, Clock()).send(CONTENT, [target(0), target(1)], deadline=1000)
    assert outcomes == [NotStarted(), NotStarted()]
    assert queue.sent == []


def test_words_that_may_be_lost_make_the_attempt_unknown() -> None:
    outcomes = under_test.TestProvider(Queue(broken=True), Clock()).send(CONTENT, [target(0)], deadline=2000)
    assert outcomes == [Unknown("feedback_queue")]


def test_a_finished_message_has_the_fate_of_its_recipient() -> None:
    queue = Queue()
    by = under_test.TestProvider(queue, Clock())
    assert isinstance(by, FinishedSender)
    one = target(0, "bounce@test.posthaste")
    assert by.send_finished(content(HEADER), Bytes(HEADER), one, deadline=2000) == Accepted(f"test-{one.ref}")
    words = [word.word for body, _ in queue.sent for word in load_feedback(body)[1]]
    assert words == ["accepted", "bounced"]
