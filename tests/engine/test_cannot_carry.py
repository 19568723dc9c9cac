"""Messages that a credential's own adapter refuses, before any call: it would refuse them each time."""

import pytest

from shared.domain.jobs.outcomes import CANNOT_CARRY, Rejected
from shared.domain.jobs.states import Cell, JobState
from tests.engine.mails.mail_world import MailWorld
from tests.fakes.lists import send_list
from tests.fakes.world import World, credential

BEYOND = "r1@example.com"
CODE = "smtputf8_not_supported"
NEVER = [Rejected(CODE, permanent=False, about_message=True)] * 50


@pytest.mark.promise(3)
@pytest.mark.parametrize("code", sorted(CANNOT_CARRY))
def test_what_the_only_credential_cannot_carry_ends_at_once_and_the_rest_is_sent(code: str) -> None:
    world = World(credential("one"))
    world.providers["one"].script(BEYOND, [Rejected(code, permanent=False, about_message=True)] * 50)
    job = world.accept(3)
    world.settle()
    assert world.states(job.id) == [Cell.SENT, Cell.DROPPED, Cell.SENT]
    assert world.job(job.id).state is JobState.LOGGED
    assert world.clock.now() - job.created_at / 1000 < 60
    world.check()


@pytest.mark.promise(3)
def test_a_campaign_with_such_an_address_lets_the_next_one_be_sent_at_once() -> None:
    world = World(credential("one"))
    world.providers["one"].script(BEYOND, list(NEVER))
    first, second = send_list(world, "spring", 3), send_list(world, "autumn", 1, account="acc_000000000002")
    began = world.clock.now()
    world.settle()
    assert [world.counts(job.id) for job in (first, second)] == [{"sent": 2, "failed": 1}, {"sent": 1}]
    assert all(world.job(job.id).state is JobState.LOGGED for job in (first, second))
    assert world.clock.now() - began < 60
    world.check()


def test_it_goes_through_the_credential_that_can_and_is_asked_of_each_other_one_once() -> None:
    world = World(credential("one"), credential("two"), credential("three"))
    for name in ("one", "two"):
        world.providers[name].script(BEYOND, list(NEVER))
    world.providers["three"].script(BEYOND, [Rejected("503", permanent=False)])
    job = world.accept(3)
    world.settle()
    assert Cell.DROPPED not in world.states(job.id)
    tries = [name for _, name, _ in world.oracle.calls]
    assert (tries.count("one") <= 2, tries.count("two") <= 2) == (True, True)
    world.check()


def test_a_mail_that_cannot_be_carried_is_told_its_sender_at_once() -> None:
    world = MailWorld()
    world.providers["one"].script("zoë@example.com", list(NEVER))
    mail = world.mail("zoë@example.com")
    world.run(seconds=60)
    assert world.ends_of(mail) == [Cell.DROPPED]
    assert len(world.providers["one"].messages) == 2  # type: ignore[attr-defined] # the refused one, the notification
