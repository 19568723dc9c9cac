"""The adversary on one credential that two campaigns share, one of them perhaps with two jobs."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize

from shared.domain.jobs.job import Job, Policy
from tests.fakes.lists import send_list
from tests.statemachine.draws import BAD, Batch, batches
from tests.statemachine.machine import Machine
from tests.statemachine.provider import Answer
from tests.statemachine.world import Asking

CAMPAIGNS: Final = ("spring", "autumn")


class CampaignMachine(Machine):
    """One run; all that is accepted is a campaign's."""

    @initialize(
        window=st.integers(1, 3),
        asking=st.sampled_from([Asking.NEVER, Asking.LOOK_UP]),
        recorded=st.booleans(),
        threshold=st.sampled_from([5, 2]),
        weather=st.sampled_from([None, None, None, *BAD]),
        batch=batches,
        other=batches,
    )
    def begin(
        self,
        *,
        window: int,
        asking: Asking,
        recorded: bool,
        threshold: int,
        weather: Answer | None,
        batch: Batch,
        other: Batch,
    ) -> None:
        self.open(
            window=window,
            lanes=1,
            per_call=1,
            relays=False,
            asking=asking,
            recorded=recorded,
            threshold=threshold,
            weather=weather,
            exclusive=True,
        )
        self.accepted(batch)
        self.accepted(other)

    def stored(self, batch: Batch, policy: Policy, due: int) -> Job:
        """Store a list of one of the campaigns, a second younger than all before."""
        self.world.clock.advance(1)
        campaign = CAMPAIGNS[(batch.messages + len(self.world.jobs)) % len(CAMPAIGNS)]
        return send_list(self.world, campaign, batch.messages, policy=policy, not_before=due)
