"""The adversary among operators who pause, slow and resume in the middle of whatever goes on."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from shared.domain.lanes.switches import AS_DECLARED, Switches
from tests.fakes.world import ACCOUNT
from tests.statemachine.draws import some
from tests.statemachine.machine import Machine

SLOW: Final = 0.5
"""Messages per second that a lane is slowed to."""


class OperatorMachine(Machine):
    """One run. Nobody is woken by a resume but by the sweeper."""

    def __init__(self) -> None:
        super().__init__()
        self.switched: set[str] = set()
        """Lanes that are paused or slowed."""
        self.paused: set[str] = set()
        """Accounts that are paused, an empty name for everything."""

    @rule(lane=some, what=st.sampled_from(["lane", "lane", "rate", "account", "all"]))
    def hold_back(self, lane: int, what: str) -> None:
        """A lane, the account or everything is paused, or a lane slowed."""
        name = self.names[lane % len(self.names)]
        if what in ("lane", "rate"):
            self.switched.add(name)
            self.world.stores.switch(name, Switches(paused=what == "lane", rate=SLOW))
        else:
            account = ACCOUNT if what == "account" else ""
            self.paused.add(account)
            self.world.stores.pause(account)

    @precondition(lambda self: self.switched or self.paused)
    @rule()
    def let_go(self) -> None:
        """All that is held back goes on."""
        for name in sorted(self.switched):
            self.world.stores.switch(name, AS_DECLARED)
        for account in sorted(self.paused):
            self.world.stores.unpause(account)
        self.switched.clear()
        self.paused.clear()

    def teardown(self) -> None:
        """Let all go, and end the run."""
        if hasattr(self, "world"):
            self.let_go()
        super().teardown()
