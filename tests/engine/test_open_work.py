"""Open jobs of a whole deployment: also those of the last minutes that the index does not have yet."""

from shared.engine.jobs.stop import YOUNG, OpenWork, Stopper
from tests.engine.test_unlisted_walk import Unlisting
from tests.fakes.clock import FakePool
from tests.fakes.world import credential


def found(world: Unlisting, after: str = "") -> list[tuple[list[str], str]]:
    stopper = Stopper(records=world.records, clock=world.clock)
    slots = [f"shared#RUN#{i}" for i in range(16)]
    work = OpenWork(records=world.records, slots=slots, stopper=stopper, pool=FakePool, clock=world.clock)
    return [([job.id for job in page.jobs], page.place) for page in work.pages(lambda _: True, after=after)]


def test_a_small_job_is_among_them_from_the_first_and_once() -> None:
    world = Unlisting(credential("one", 10))
    world.sweep()
    young = world.accept(1).id
    assert [names for names, _ in found(world)] == [[young]]
    world.clock.advance((YOUNG - 2) * 60)
    assert [names for names, _ in found(world)] == [[young]]
    world.sweep()
    pages = found(world)
    assert [names for names, _ in pages] == [[young]]
    assert pages[0][1].startswith("shared#RUN#")


def test_a_walk_goes_on_behind_a_young_one() -> None:
    world = Unlisting(credential("one", 10))
    world.sweep()
    jobs = {world.accept(1).id for _ in range(250)}
    pages = found(world)
    assert [len(names) for names, _ in pages] == [100, 100, 50]
    assert {name for names, _ in pages for name in names} == jobs
    assert found(world, pages[0][1]) == pages[1:]
    assert found(world, pages[1][1]) == pages[2:]
