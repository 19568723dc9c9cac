"""Every hostile account at once on a shared credential, and a victim who sends a single mail now and then.

One account has a campaign of days, one a thousand campaigns behind it, one batch after batch, one a flood of single
mails, and one a thousand mails that begin in the same second.
"""

from collections.abc import Callable
from typing import Final

import pytest

from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Rejected
from tests.engine.fairness import Lane
from tests.fakes.lists import send_list
from tests.fakes.queues import fairest

P95_S: Final = 5.0
RATE: Final = 100
SECONDS: Final = 40.0
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


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_victims_single_mail_is_called_within_seconds() -> None:
    lane = Lane(RATE, order=fairest)
    end = lane.world.clock.now() + SECONDS
    campaigns(lane)
    lane.accept("acc_bulk", 5000, 3)
    seen = lane.run(SECONDS, every=0.5, beside=[flood(lane, end), failing(lane, end), at_once(lane)])
    assert len(seen.waits) > 40
    assert seen.p95 <= P95_S, seen.waits
