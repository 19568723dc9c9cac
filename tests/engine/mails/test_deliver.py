"""Mails on their way: each destination once, by its own schedule, and tried again by the policy of mails."""

import pytest

from shared.domain.jobs.outcomes import Accepted, Rejected
from shared.domain.jobs.states import MAX_ATTEMPTS, Cell, JobState
from shared.domain.mails.destination import DestinationState, metadata_of, state_of
from shared.domain.mails.mail import LIFE_MS, MailState
from shared.domain.mails.queue import MailSchedule, NewDestination
from tests.engine.mails.mail_world import BYTES, MailWorld
from tests.fakes.world import credential

HOUR = 3600.0
LATER = Rejected("4.2.2", permanent=False, about_message=True)
NEVER = Rejected("invalid_recipient", permanent=True)
PEOPLE = ("ann@example.org", "bob@example.org", "cem@example.net")


def attempts(world: MailWorld) -> list[float]:
    """Return the minutes of all calls, from the first one."""
    return [round((at - world.oracle.calls[0][0]) / 60) for at, _, _ in world.oracle.calls]


@pytest.mark.promise(1)
def test_each_destination_gets_the_bytes_once_and_the_content_goes_with_the_last() -> None:
    world = MailWorld()
    mail = world.mail(*PEOPLE)
    assert mail.content in world.files.items
    world.run()
    assert world.providers["one"].messages == [BYTES] * 3  # type: ignore[attr-defined]
    assert world.ends_of(mail) == [Cell.RELAYED] * 3
    assert [state_of(x) for x in world.ledgers.read_all(mail.job)] == [DestinationState.GONE] * 3
    assert world.job(mail.job).state is JobState.LOGGED
    assert world.stored(mail).state is MailState.CLEANED
    assert world.files.items == {}
    assert len(world.mails.items) == 1, "nobody is notified"  # type: ignore[attr-defined]
    world.check()


def test_destinations_have_metadata_and_schedules_of_their_own() -> None:
    world = MailWorld()
    late = NewDestination("bob@example.org", MailSchedule(world.clock.ms + 7_200_000), {"ticket": 7})
    mail = world.mail("ann@example.org", late)
    chunk = world.records.chunk(mail.job, 1)
    assert chunk is not None
    assert metadata_of(chunk.recipients[0]) == {"ticket": 7}
    world.run(seconds=HOUR)
    assert world.ends_of(mail) == [Cell.RELAYED, Cell.QUEUED]
    assert mail.content in world.files.items
    world.settle()
    assert attempts(world) == [0, 120]
    assert world.stored(mail).state is MailState.CLEANED


def test_a_mail_is_tried_for_two_days() -> None:
    world = MailWorld()
    world.providers["one"].answer = LATER
    mail = world.mail("ann@example.org")
    world.run(seconds=60 * HOUR)
    minutes = attempts(world)[:MAX_ATTEMPTS]
    assert minutes == [0, 5, 20, *range(80, 2721, 240)]
    assert minutes[-1] < LIFE_MS / 60_000
    assert world.ends_of(mail) == [Cell.DROPPED]


def test_nothing_is_tried_after_its_mail_has_expired() -> None:
    world = MailWorld()
    world.providers["one"].script("ann@example.org", [LATER] * 9)
    mail = world.mail("ann@example.org", until=world.clock.ms + 10 * 60_000)
    world.settle()
    assert attempts(world)[:2] == [0, 5]
    assert world.ends_of(mail) == [Cell.EXPIRED]


def test_a_mail_that_is_taken_later_is_not_sent_again() -> None:
    world = MailWorld()
    world.providers["one"].script("ann@example.org", [LATER, LATER, Accepted("x")])
    mail = world.mail("ann@example.org")
    world.settle()
    assert attempts(world) == [0, 5, 20]
    assert world.ends_of(mail) == [Cell.RELAYED]
    world.check()


def test_the_next_credential_of_the_route_tries_at_once() -> None:
    world = MailWorld(credential("one"), credential("two"))
    world.providers["one"].answer = LATER
    mail = world.mail("ann@example.org")
    world.run(seconds=60)
    assert [name for _, name, _ in world.oracle.calls] == ["one", "two"]
    assert world.ends_of(mail) == [Cell.RELAYED]


def test_one_refused_destination_does_not_keep_the_others() -> None:
    world = MailWorld()
    world.providers["one"].script("bob@example.org", [NEVER])
    mail = world.mail(*PEOPLE)
    world.run()
    assert world.ends_of(mail) == [Cell.RELAYED, Cell.FAILED, Cell.RELAYED]
    world.check()


def test_an_owner_cannot_stop_the_job_of_a_mail() -> None:
    world = MailWorld()
    mail = world.mail("ann@example.org")
    job = world.job(mail.job)
    assert job.owned
    assert world.control.stop(mail.job, job.account) is not None
    assert world.job(mail.job).state is JobState.ENQUEUED
