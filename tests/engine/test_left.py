"""Who unsubscribes at a provider: no campaign reaches them by any provider, and all other mail still does."""

from dataclasses import replace

import pytest

from shared.contracts import ProviderEvent
from shared.domain.campaigns.bounce_guard import ALLOWED, trips
from shared.domain.ids import Ref
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import COUNT_KEYS
from shared.domain.recipients.suppressions import Barrier, Reach
from tests.engine.test_unsubscribed import OFFERING
from tests.fakes.world import ACCOUNT, World, credential

LEFT: dict[str, Barrier] = {"r0@example.com": Reach.CAMPAIGNS}


@pytest.fixture
def world() -> World:
    return World(credential("one", 10), credential("two", 10))


def word(
    job: Job, kind: str, at: int = 100, index: int = 0, code: str = "", *, secondary: bool = False
) -> ProviderEvent:
    return ProviderEvent(str(Ref(job.id, 0, index, 1)), kind, at, code=code, secondary=secondary)


def unwanted(world: World) -> dict[str, Barrier]:
    return world.records.suppressed(ACCOUNT, [f"r{i}@example.com" for i in range(3)], tuple(Reach))


@pytest.mark.promise(11)
def test_a_provider_unsubscription_blocks_campaigns_of_all_providers_only(world: World) -> None:
    first = world.accept(2, route=("one",))
    world.run()
    assert world.track("one", word(first, "unsubscribed")).joined == 1
    assert unwanted(world) == LEFT
    assert world.counts(first.id) == {"sent": 2}
    campaign = world.accept(2, content=OFFERING, route=("two",))
    invoice = world.accept(2, route=("two",))
    world.settle()
    assert world.counts(campaign.id) == {"sent": 1, "skipped": 1}
    assert world.counts(invoice.id) == {"sent": 2}
    world.check()


@pytest.mark.promise(11)
def test_a_drop_for_it_is_no_bounce_and_what_offers_no_unsubscription_goes_by_another(world: World) -> None:
    campaign, invoice = (
        world.accept(1, content=c, route=("one", "two")) for c in (OFFERING, replace(OFFERING, unsubscribe=""))
    )
    world.run()
    lanes = {str(t.ref): t.provider for t in world.oracle.taken}
    for job in (campaign, invoice):
        dropped = word(job, "dropped", code="unsubscribed")
        world.track(lanes[dropped.ref], dropped)
    assert unwanted(world) == LEFT
    world.settle()
    assert world.counts(campaign.id) == {"skipped": 1}
    assert world.counts(invoice.id) == {"sent": 1}
    assert len(world.oracle.taken) == 3
    world.check()


@pytest.mark.parametrize("batch", [1, 2])
def test_a_resubscribed_recipient_gets_mail_again(world: World, batch: int) -> None:
    job = world.accept(1, route=("one",))
    world.run()
    said = [word(job, "unsubscribed", 100), word(job, "resubscribed", 200)]
    for part in (said,) if batch == 2 else ([w] for w in said):
        world.track("one", *part)
    assert unwanted(world) == {}
    world.track("one", *reversed(said))
    assert unwanted(world) == {}


def test_a_provider_cannot_undo_an_unsubscription_by_our_link(world: World) -> None:
    job = world.accept(1, route=("one",))
    world.run()
    world.records.suppress(ACCOUNT, "r0@example.com", "one_click", world.clock.ms, reach=Reach.CAMPAIGNS)
    world.track("one", word(job, "resubscribed"))
    assert unwanted(world) == LEFT


def test_a_copy_or_a_test_says_nothing_of_a_recipient(world: World) -> None:
    job = world.accept(1, route=("one",))
    world.run()
    world.track("one", word(job, "unsubscribed", secondary=True))
    world.stores.records.jobs[job.id] = replace(job, test=True)  # type: ignore[attr-defined]
    world.track("one", word(job, "unsubscribed"), word(job, "unsubscribed", index=400))
    assert unwanted(world) == {}


def test_the_guard_ignores_unsubscribed_recipients(world: World) -> None:
    n = ALLOWED + 5
    job = world.accept(n, route=("one",))
    world.run()
    world.track("one", *(word(job, "dropped", index=i, code="unsubscribed") for i in range(n)))
    world.settle()
    counts = {**dict.fromkeys(COUNT_KEYS, 0), **world.counts(job.id)}
    assert counts["bounced"] == 0
    assert not trips(counts)
