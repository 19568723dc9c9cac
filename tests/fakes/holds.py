"""Operators' switches in memory."""

from dataclasses import replace

from shared.domain.lanes.switches import AS_DECLARED, NOT_LOWERED, Hold, Switches
from shared.domain.namespaces import owner
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.queues import FakePacer
from tests.fakes.records import FakeRecords


class FakeHolds:
    """`ports.Holds`, and what operators do.

    Attributes:
        resumed: account, an empty name for everything, or (credential,) → Unix milliseconds of its last resume.
    """

    def __init__(self, records: FakeRecords, pacer: FakePacer, clock: FakeClock, tap: Tap | None = None) -> None:
        self.resumed: dict[str | tuple[str], int] = {}
        self._records = records
        self._pacer = pacer
        self._clock = clock
        self._tap = tap or Tap()

    def read(self, account: str, lane: str) -> Hold:
        def found() -> Hold:
            paused = bool(self._records.paused & {"", owner(account)}) or self._of(lane).paused
            full = self._pacer.full.get(lane)
            resumed = max(self.resumed.get(place, 0) for place in ("", owner(account), (lane,)))
            return Hold(paused, resumed, full.until if full is not None else 0)

        return self._tap("holds.read", found)

    def pause(self, account: str) -> None:
        """Pause an account, or everything if the name is empty."""
        self._records.paused.add(account)

    def resume(self, account: str) -> None:
        """End a pause."""
        self._records.paused.discard(account)
        self.resumed[account] = self._clock.ms

    def switch(self, credential: str, switches: Switches) -> None:
        """Set a credential's switches."""
        if self._of(credential).paused and not switches.paused:
            self.resumed[credential,] = self._clock.ms
        before = self._of(credential)
        kept = before.lowered if before.rate == switches.rate else NOT_LOWERED
        self._pacer.switches[credential] = replace(switches, lowered=kept)

    def _of(self, credential: str) -> Switches:
        return self._pacer.switches.get(credential, AS_DECLARED)
