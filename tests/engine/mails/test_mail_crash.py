"""A process dies at any call of a mail's way, before the call has an effect or after: the others finish it."""

import pytest

from shared.contracts import MAIL_CONTENTS
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import OPEN, Cell
from shared.domain.mails.destination import DestinationState, state_of
from shared.domain.mails.mail import MailState, StoredMail
from tests.engine.mails.mail_world import SENDER, MailWorld
from tests.fakes.crashes import dying
from tests.fakes.faults import When

SIDES = [When.BEFORE, When.AFTER]
PEOPLE = ("ann@example.org", "bob@example.org", "cem@example.net")
FAILS = Rejected("invalid_recipient", permanent=True)
LATER = Rejected("smtp_451", permanent=False, about_message=True)


def mails(world: MailWorld) -> list[StoredMail]:
    return list(world.mails.items.values())  # type: ignore[attr-defined]


class CarefulWorld(MailWorld):
    """A world that notes which contents are removed while a destination is not gone. `early`: mails of such ones."""

    def __init__(self) -> None:
        super().__init__()
        self.early: list[str] = []
        self._remove = self.files.remove
        self.files.remove = self._watch  # type: ignore[method-assign]

    def _watch(self, name: str) -> None:
        for mail in mails(self):
            some = [x for (job, _), x in self.ledgers.items.items() if job == mail.job]  # type: ignore[attr-defined]
            if mail.content == name and {state_of(x) for x in some} != {DestinationState.GONE}:
                self.early.append(mail.id)
        self._remove(name)


def make() -> CarefulWorld:
    """Return a world that refuses one destination for good, and one for now."""
    world = CarefulWorld()
    world.providers["one"].script("bob@example.org", [FAILS])
    world.providers["one"].script("cem@example.net", [LATER])
    return world


def posted() -> CarefulWorld:
    """Return a world with a mail that is queued."""
    world = make()
    world.mail(*PEOPLE)
    return world


def looked() -> CarefulWorld:
    """Return a world with a finished mail that only the walk sees."""
    world = posted()
    world.deaf = True
    world.settle()
    world.clock.sleep(120)
    return world


def finish(world: MailWorld) -> None:
    """Let the others finish: leases run out, pointers come again, the walks look."""
    for _ in range(40):
        world.run(seconds=120)
        world.clock.sleep(120)
        world.sweep()
        world.look()
    world.clock.sleep(49 * 3600)
    world.look()
    world.run(seconds=600)
    world.clock.sleep(120)
    world.look()


def check(world: CarefulWorld) -> None:
    """Check that each destination has its end, was reached at most once, and left nothing behind.

    A content goes when every end is noted, not before, and no crash leaves it.
    """
    world.check()
    assert world.early == []
    assert not {f"{MAIL_CONTENTS}{x.id}" for x in mails(world)} & set(world.files.items)
    for mail in mails(world):
        states = world.ends_of(mail)
        assert not OPEN & set(states)
        assert {state_of(x) for x in world.ledgers.read_all(mail.job)} == {DestinationState.GONE}
        assert mail.state is MailState.CLEANED
        assert mail.reporting == ()
        taken = world.oracle.times(mail.job)
        assert max(taken.values(), default=0) <= 1
        assert {n for n, x in enumerate(states) if x is Cell.RELAYED} <= {chunk for chunk, _ in taken}
    sent = [x for x in mails(world) if x.mail_from]
    assert len([t for t in world.oracle.taken if t.address == SENDER]) <= sum(x.reports for x in sent)


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", SIDES)
def test_a_crash_anywhere_on_a_mails_way_loses_nothing_and_sends_nothing_twice(when: When) -> None:
    for world in dying(posted, lambda x: x.run(seconds=600), when, least=50):
        finish(world)
        check(world)
        (mail,) = [x for x in mails(world) if x.mail_from]
        assert world.ends_of(mail).count(Cell.RELAYED) >= 1
        assert mail.reports >= 1


@pytest.mark.parametrize("when", SIDES)
def test_a_crash_while_a_mail_is_queued_queues_all_of_it_or_nothing(when: When) -> None:
    for world in dying(make, lambda x: x.mail(*PEOPLE), when, least=4):
        stored = mails(world)
        world.jobs = [x.job for x in stored]
        finish(world)
        check(world)
        assert len([x for x in stored if x.mail_from]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("when", SIDES)
def test_a_crash_in_the_walk_of_finished_mails_is_made_good(when: When) -> None:
    for world in dying(looked, CarefulWorld.look, when, least=16):
        world.deaf = False
        finish(world)
        check(world)
        (mail,) = [x for x in mails(world) if x.mail_from]
        assert len([t for t in world.oracle.taken if t.address == SENDER]) == mail.reports == 1
