"""What a team key's job sends: to guests of its account, as of the moment of sending."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.audit import SYSTEM
from shared.domain.content.content import Mailbox
from shared.domain.content.personal import Personal
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell, MessageState
from shared.domain.lanes.switches import Switch
from shared.domain.namespaces import team_space
from shared.engine.reports.message_log import Filter
from shared.engine.suppression.unwanted import Unwanted
from tests.fakes.world import ACCOUNT, CONTENT, World, credential

TEAM = team_space(ACCOUNT)


@pytest.fixture
def world() -> World:
    world = World(credential("one", 10), credential("two", 10))
    invite(world, 0, 2)
    return world


def invite(world: World, *indices: int) -> None:
    world.records.guests.setdefault(ACCOUNT, set()).update(f"r{i}@example.com" for i in indices)  # type: ignore[attr-defined]


def uninvite(world: World, index: int) -> None:
    world.records.uninvite(ACCOUNT, f"r{index}@example.com", world.clock.ms)  # type: ignore[attr-defined]


def accept(world: World, n: int = 4, **changes: Any) -> Job:
    """Accept a batch as an acceptance would that forgets the guest list: nobody is left out of it."""
    return world.accept(n, account=TEAM, **changes)


def sent_to(world: World) -> set[str]:
    return {t.address for t in world.oracle.taken}


@pytest.mark.promise(13)
def test_only_guests_are_sent_to_whatever_was_accepted(world: World) -> None:
    job = accept(world)
    world.settle()
    assert sent_to(world) == {"r0@example.com", "r2@example.com"}
    assert world.counts(job.id) == {"sent": 2, "skipped": 2}
    lines = world.logs.lines(world.job(job.id), Filter())[0]
    assert [(x.state, x.error) for x in lines if x.state is MessageState.SKIPPED] == [
        (MessageState.SKIPPED, "not_a_guest")
    ] * 2
    world.check()


@pytest.mark.promise(13)
def test_a_guest_who_is_removed_while_the_message_waits_gets_none(world: World) -> None:
    job = accept(world, 1, not_before=world.clock.ms + 60_000)
    uninvite(world, 0)
    world.clock.advance(60)
    world.settle()
    assert world.oracle.calls == []
    assert world.counts(job.id) == {"skipped": 1}


@pytest.mark.promise(13)
def test_a_guest_who_is_removed_between_two_attempts_gets_none(world: World) -> None:
    for p in world.providers.values():
        p.answer = Rejected("down", permanent=False)
    job = accept(world, 1)
    world.send(world.ledgers.read_all(job.id)[0].lane)
    uninvite(world, 0)
    world.clock.advance(200)
    world.settle()
    assert world.states(job.id) == [Cell.SKIPPED]
    assert sent_to(world) == set()


@pytest.mark.promise(13)
def test_a_retry_of_a_team_job_reaches_no_one_else(world: World) -> None:
    job = accept(world)
    world.settle()
    uninvite(world, 0)
    before = len(world.oracle.taken)
    world.control.retry(job.id, TEAM, frozenset({"unsent", "failed", "unknown"}), by=SYSTEM)
    world.settle()
    assert len(world.oracle.taken) == before


@pytest.mark.promise(13)
@pytest.mark.parametrize("field", ["beside", "cc", "bcc"])
@pytest.mark.parametrize("copy", ["r1@example.com", "R1@EXAMPLE.com"])
def test_a_message_with_a_copy_to_a_stranger_is_not_sent(world: World, field: str, copy: str) -> None:
    changes: dict[str, Any] = {field: (Mailbox(copy),)}
    copied = replace(CONTENT, **changes)
    job = accept(world, 1, content=copied)
    world.settle()
    assert world.oracle.calls == []
    assert world.counts(job.id) == {"skipped": 1}


@pytest.mark.promise(13)
@pytest.mark.parametrize("field", ["beside", "cc", "bcc"])
def test_a_message_of_its_own_with_a_copy_to_a_stranger_is_not_sent(world: World, field: str) -> None:
    strange: dict[str, Any] = {field: (Mailbox("r1@example.com"),)}
    people = [
        Recipient("r0@example.com", "r0@example.com", values=Personal(**strange).values()),
        Recipient("r2@example.com", "r2@example.com", values=Personal(subject="Yours").values()),
    ]
    job = world.accept(people, account=TEAM, content=replace(CONTENT, personal=True))
    world.settle()
    assert sent_to(world) == {"r2@example.com"}
    assert world.counts(job.id) == {"sent": 1, "skipped": 1}


def test_a_copy_to_a_guest_is_sent(world: World) -> None:
    job = accept(world, 1, content=replace(CONTENT, cc=(Mailbox("R2@Example.com"),)))
    world.settle()
    assert world.counts(job.id) == {"sent": 1}


@pytest.mark.promise(13)
def test_the_same_job_of_a_live_key_is_not_affected(world: World) -> None:
    job = world.accept(4)
    world.settle()
    assert world.counts(job.id) == {"sent": 4}


@pytest.mark.promise(13)
def test_every_recipient_of_a_team_list_is_looked_up(world: World) -> None:
    unwanted = Unwanted(world.records, TEAM, ())
    assert list(unwanted.suspects(["a@example.com", "b@example.com", "c@example.com"])) == [0, 1, 2]
    assert unwanted.codes(["r0@example.com", "r1@example.com"]) == {1: "not_a_guest"}


def test_a_resume_of_the_account_wakes_what_its_team_keys_made(world: World) -> None:
    job = accept(world, 1)
    world.stores.pause(ACCOUNT)
    world.run(60)
    assert world.oracle.calls == []
    world.stores.unpause(ACCOUNT)
    assert world.wake(Switch(account=ACCOUNT)) == 1
    world.settle()
    assert world.counts(job.id) == {"sent": 1}
