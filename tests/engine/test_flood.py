"""A large job ends while its feedback comes, and its counts become exact soon after."""

from functools import partial

import pytest

from shared.domain.states import JobState
from tests.engine.flood import Flood, ending


@pytest.mark.promise(7)
def test_a_job_of_two_thousand_chunks_ends_while_its_feedback_comes() -> None:
    ended = ending()
    flood = ended.flood
    assert flood.world.job(flood.name).state is JobState.LOGGED
    assert 0 < ended.seconds < 10
    assert flood.longest < 6
    assert flood.exact()


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
