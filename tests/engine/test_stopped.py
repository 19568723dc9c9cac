"""Recipients who stop one channel: nothing more reaches them by it, and all else still does."""

import pytest

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.job import Job
from shared.domain.recipients.suppressions import CODES, Reach, reaches
from tests.fakes.world import ACCOUNT, World, credential


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def word(job: Job, kind: str, at: int = 100, index: int = 0) -> ProviderEvent:
    return ProviderEvent(str(Ref(job.id, 0, index, 1)), kind, at, code="9")


def stopped(world: World, channel: str) -> set[str]:
    reach = Reach(channel)
    return set(world.records.suppressed(ACCOUNT, [f"r{i}@example.com" for i in range(3)], (reach,)))


@pytest.mark.promise(11)
@pytest.mark.parametrize(("channel", "other"), [("voice", "sms"), ("sms", "voice"), ("whatsapp", "sms")])
def test_a_stop_ends_one_channel_alone(world: World, channel: str, other: str) -> None:
    first = world.accept(2, channel=channel)
    world.run()
    assert world.track("one", word(first, "delivered"), word(first, "stopped")).joined == 2
    assert (stopped(world, channel), stopped(world, other)) == ({"r0@example.com"}, set())
    again, by_another, mail = (world.accept(2, channel=c) for c in (channel, other, "email"))
    world.settle()
    assert world.counts(again.id) == {"sent": 1, "skipped": 1}
    assert world.counts(by_another.id) == {"sent": 2}
    assert world.counts(mail.id) == {"sent": 2}
    world.check()


def test_the_latest_wish_counts(world: World) -> None:
    job = world.accept(1, channel="sms")
    world.run()
    world.track("one", word(job, "started", at=200), word(job, "stopped", at=100))
    assert stopped(world, "sms") == set()
    world.track("one", word(job, "stopped", at=300))
    assert stopped(world, "sms") == {"r0@example.com"}
    world.track("one", word(job, "started", at=400))
    assert stopped(world, "sms") == set()


def test_a_stop_of_a_mail_changes_nothing(world: World) -> None:
    job = world.accept(1)
    world.run()
    world.track("one", word(job, "stopped"))
    assert world.records.suppressed(ACCOUNT, ["r0@example.com"], tuple(Reach)) == {}


def test_a_pressed_key_is_recorded_and_changes_no_state(world: World) -> None:
    job = world.accept(1, channel="voice")
    world.run()
    before = world.counts(job.id)
    assert world.track("one", word(job, "pressed")).joined == 1
    assert world.counts(job.id) == before
    _, feedback = world.records.details(job.id, 0)
    assert [(e.word, e.code) for detail in feedback for e in detail.entries] == [("pressed", "9")]


@pytest.mark.parametrize(
    ("channel", "unsubscribable", "expected"),
    [
        ("email", False, (Reach.ALL,)),
        ("email", True, (Reach.ALL, Reach.CAMPAIGNS)),
        ("voice", False, (Reach.ALL, Reach.VOICE)),
        ("sms", True, (Reach.ALL, Reach.CAMPAIGNS, Reach.SMS)),
    ],
)
def test_which_lists_a_message_heeds(channel: str, unsubscribable: bool, expected: tuple[Reach, ...]) -> None:  # noqa: FBT001
    assert reaches(channel, unsubscribable=unsubscribable) == expected
    assert set(CODES) == set(Reach)
