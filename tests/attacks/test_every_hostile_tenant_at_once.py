"""Every hostile account at once on a shared credential, and a victim who sends a single mail now and then.

One account has a campaign of days, one a thousand campaigns behind it, one batch after batch, one a flood of single
mails, and one a thousand mails that begin in the same second. One adds events without end, one opens uploads without
end, one asks for a hundred exports, one has lists of junk read, and the forty endpoints of one hang.
"""

import statistics
from collections.abc import Callable
from typing import Final

import pytest

from shared.contracts import HOOK_WORKERS, SLOW_HOOK_WORKERS
from shared.domain.hooks.work import MOST_AT_ONCE
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import DIGEST
from shared.domain.jobs.outcomes import Rejected
from shared.engine.lists import ingest
from shared.ports import MAX_PLACES, PlaceKind
from tests.attacks.hostile import Deployment
from tests.engine.fairness import Lane
from tests.fakes.lists import send_list
from tests.fakes.places import FakeOpenPlaces
from tests.fakes.queues import fairest

P95_S: Final = 5.0
RATE: Final = 100
SECONDS: Final = 40.0
MOST_JUNK: Final = 150_000
"""Rows of a list of junk that are read: nine blocks of five seconds, so that ten lists outlast the run."""
MOST_IN_WORK: Final = 1000
"""Deliveries of an account that are posted at the same moment."""
FULL: Final = Rejected("mailbox_full", permanent=False, about_message=True)


def campaigns(lane: Lane) -> None:
    """Have a campaign hold the credential, and others wait behind it."""
    world = lane.world
    world.planner.react(send_list(world, "endless", 20_000, account="acc_endless").id)
    for i in range(50):
        send_list(world, f"waits{i}", 5, account="acc_queue")


def flood(lane: Lane, end: float) -> Callable[[], None]:
    """Post single mails faster than the credential sends."""

    def run() -> None:
        clock = lane.world.clock
        while clock.now() < end:
            lane.accept("acc_flood", 1, jobs=6)
            clock.sleep(0.05)

    return run


def failing(lane: Lane, end: float) -> Callable[[], None]:
    """Post small batches whose messages the provider puts off."""
    people = [Recipient(f"full{i}@example.com", f"full{i}@example.com") for i in range(10)]

    def run() -> None:
        world = lane.world
        while world.clock.now() < end:
            for x in people:
                world.providers["one"].script(x.address, [FULL] * 3)
            world.accept(people, account="acc_failing")
            world.clock.sleep(1)

    return run


def at_once(lane: Lane) -> Callable[[], None]:
    """Have many mails begin in one second."""

    def run() -> None:
        lane.world.clock.sleep(15)
        lane.accept("acc_schedules", 1, jobs=1000)

    return run


def events(lane: Lane, end: float) -> Callable[[], None]:
    """Have window after window of events closed: a digest for five hundred people, and one for each of some."""

    def run() -> None:
        world = lane.world
        while world.clock.now() < end:
            world.accept(500, account="acc_events", kind=DIGEST)
            for _ in range(5):
                world.accept(1, account="acc_events", kind=DIGEST)
            world.clock.sleep(1)

    return run


def uploads(lane: Lane, end: float, given: list[bool]) -> Callable[[], None]:
    """Ask for one place for a file after the other."""
    places = FakeOpenPlaces(lane.world.clock)

    def run() -> None:
        clock = lane.world.clock
        while clock.now() < end:
            until = clock.ms + 3_600_000
            given.append(places.take("acc_uploads", PlaceKind.LISTS, f"{len(given)}", until, lambda _: ()))
            clock.sleep(0.004)

    return run


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_victims_single_mail_is_called_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane(RATE, order=fairest)
    end = lane.world.clock.now() + SECONDS
    campaigns(lane)
    lane.accept("acc_bulk", 5000, 3)
    monkeypatch.setattr(ingest, "MOST_JUNK", MOST_JUNK)
    beside, given = Deployment(lane.world, end), list[bool]()
    beside.exporting.flood("acc_exports")
    beside.reading.flood()
    hostile = [flood(lane, end), failing(lane, end), at_once(lane), events(lane, end), uploads(lane, end, given)]
    seen = lane.run(SECONDS, every=0.5, beside=[*hostile, beside.posting.flood, *beside.actors()])
    assert len(seen.waits) > 40
    assert seen.p95 <= P95_S, seen.waits
    for kind, waits in beside.waits.items():
        assert len(waits) >= 5
        assert statistics.quantiles(waits, n=20)[-1] <= P95_S, (kind, waits)
    assert (len(given) > 5000, sum(given)) == (True, MAX_PLACES)
    assert 20 < beside.posting.most <= MOST_IN_WORK


def test_all_workers_together_post_fewer_deliveries_than_an_account_may() -> None:
    assert (HOOK_WORKERS + SLOW_HOOK_WORKERS) * MOST_AT_ONCE <= MOST_IN_WORK
