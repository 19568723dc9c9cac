"""A large job ends while its feedback comes, and its counts become exact soon after."""

from collections.abc import Sequence
from functools import partial

import pytest

from shared.domain.jobs.states import JobState
from shared.engine.sweeper.dropped import Dropped
from shared.engine.walks import simple
from shared.ports import Report
from tests.engine.flood import BATCH, Flood, ending


@pytest.mark.slow
@pytest.mark.promise(7)
def test_a_job_of_two_thousand_chunks_ends_while_its_feedback_comes() -> None:
    ended = ending()
    flood = ended.flood
    assert flood.world.job(flood.name).state is JobState.LOGGED
    assert 0 < ended.seconds < 10
    assert flood.longest < 6
    assert flood.exact()


@pytest.mark.slow
@pytest.mark.promise(7)
def test_a_flood_of_feedback_about_an_ended_job_is_counted_exactly_within_five_minutes() -> None:
    """210 words a second, three times what one transaction a ledger can fold, for half a minute."""
    flood = Flood(400, messages=60)
    flood.send(0, 400, 30)
    flood.log(30)
    assert flood.world.job(flood.name).state is JobState.LOGGED
    ended = flood.clock.now() + 30
    flood.clock.run(*[partial(flood.say, 30, 30, 400)] * 7, partial(flood.log, 30 + 300))
    assert not flood.records
    assert flood.exact()
    assert flood.world.job(flood.name).counts["delivered"] > 5_000
    assert flood.folded_at - ended < 5


class Reports:
    """What the event source says of the records that it dropped. `places`: report → chunks; None: not to be read."""

    def __init__(self, flood: Flood) -> None:
        dropped = flood.dropped
        batches = [dropped[n : n + BATCH] for n in range(0, len(dropped), BATCH)]
        self.places: dict[str, set[tuple[str, int]] | None] = {
            str(n): {(x.ledger.job, x.ledger.chunk) for x in some} for n, some in enumerate(batches)
        }
        self.held: set[str] = set()

    def receive(self) -> Sequence[Report]:
        found = sorted(self.places.keys() - self.held)[:10]
        self.held |= set(found)
        return [Report(name, "", name) for name in found]

    def ledgers(self, report: Report) -> set[tuple[str, int]] | None:
        return self.places[report.id]

    def settle(self, report: Report) -> None:
        del self.places[report.id]


@pytest.mark.slow
@pytest.mark.promise(7)
def test_folds_that_the_stream_dropped_are_made_up_for_within_five_minutes() -> None:
    """The log function was not invoked for eleven minutes, and the job is LOGGED, so that no sweep looks at it."""
    flood = Flood(400, messages=20)
    flood.send(0, 400, 30)
    flood.log(30)
    back = flood.clock.now() + 670
    flood.clock.run(*[partial(flood.say, 30, 60, 400)] * 2, partial(flood.log, 700, closed=lambda now: now < back))
    assert flood.world.job(flood.name).state is JobState.LOGGED
    assert len(flood.dropped) > 2000
    assert not flood.exact()
    reports = Reports(flood)
    reports.places["unreadable"] = None
    sweeper = flood.world.sweeping([], simple("dropped", 10, Dropped(reports, flood.world.logger).walk))
    began = flood.clock.now()
    sweeper.sweep(began + 55)
    assert flood.clock.now() - began < 20
    assert reports.places == {"unreadable": None}
    assert flood.exact()
