"""Domains that refuse for now: their destinations wait together."""

from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell
from tests.engine.mails.mail_world import MailWorld
from tests.fakes.world import credential

GREY = Rejected("smtp_451", permanent=False, about_message=True)
MANY = 20


def grey(*codes: str, rate: float = 1) -> MailWorld:
    """Return a slow world whose first answers refuse for now."""
    world = MailWorld(credential("one", rate))
    for i, code in enumerate(codes):
        world.providers["one"].script(f"a{i}@example.org", [Rejected(code, permanent=False, about_message=True)])
    return world


def minutes(world: MailWorld) -> list[int]:
    first = world.oracle.calls[0][0]
    return [int((at - first) // 60) for at, _, _ in world.oracle.calls]


def held(world: MailWorld, job: str) -> int:
    """Return how many destinations wait that were never tried."""
    return sum(1 for x in world.ledgers.read_all(job) if x.having(Cell.QUEUED) and not x.cells[0] >> 4)


def test_three_refusals_hold_the_whole_domain() -> None:
    world = MailWorld(credential("one", 1))
    world.providers["one"].answer = GREY
    mail = world.mail(*(f"a{i}@example.org" for i in range(MANY)), "ann@example.net")
    world.run(seconds=120)
    assert len(world.oracle.calls) < MANY / 2, "a call for every destination"
    assert held(world, mail.job) > MANY / 2
    assert world.ends_of(mail).count(Cell.QUEUED) == MANY + 1
    world.providers["one"].answer = None
    world.settle()
    assert world.ends_of(mail) == [Cell.RELAYED] * (MANY + 1)
    later = [m for m in minutes(world) if m > 1]
    assert min(later) >= 5


def test_a_domain_that_takes_one_is_not_held() -> None:
    world = grey("smtp_451", "smtp_451")
    mail = world.mail(*(f"a{i}@example.org" for i in range(MANY)))
    world.run(seconds=120)
    assert held(world, mail.job) == 0
    assert world.ends_of(mail).count(Cell.RELAYED) == MANY - 2


def test_other_failures_hold_no_domain() -> None:
    world = grey("unreachable", "unreachable", "unreachable")
    mail = world.mail(*(f"a{i}@example.org" for i in range(6)))
    world.run(seconds=30)
    assert held(world, mail.job) == 0
    assert world.ends_of(mail)[3:] == [Cell.RELAYED] * 3


def test_other_domains_are_not_held() -> None:
    world = grey(*["smtp_451"] * 9)
    mail = world.mail(*(f"a{i}@example.org" for i in range(9)), *(f"b{i}@example.net" for i in range(9)))
    world.run(seconds=60)
    assert world.ends_of(mail)[9:] == [Cell.RELAYED] * 9
