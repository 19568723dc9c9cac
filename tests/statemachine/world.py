"""A world on a stage: small windows and chunks, ids in order, and every call of its engine under the test's hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import Any, Final
from unittest.mock import patch

from shared.adapters.dynamo import indices
from shared.contracts import Credential
from shared.domain import ids
from shared.domain.jobs import chunks, job
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes import health, pacing
from shared.domain.lanes.health import FIRST
from shared.domain.times import MINUTE_MS
from shared.engine.intake import accept
from shared.engine.jobs import control, retry
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.group import GroupSender
from shared.engine.outcome.resolve import Resolution, Resolved
from shared.engine.pool import Pool
from shared.engine.walks import unlisted
from shared.engine.walks.progress import Progress
from shared.ports import Clock, Links, Pacer, Resolver, Wire
from tests.fakes import lists
from tests.fakes.clock import FakeClock
from tests.fakes.links import FakeLinks
from tests.fakes.stores import Stores
from tests.fakes.world import INVOCATION, LEASE_MARGIN, World, credential
from tests.statemachine.peek import peek
from tests.statemachine.provider import AskedProvider, StagedProvider
from tests.statemachine.stage import Stage, StageClock, StagePool

RATE: Final = 60
"""Messages per second: up to three in one provider call."""
CHUNK: Final = 3
REMEMBERED: Final = 30


class Asking(StrEnum):
    """Whether a lane's provider can be asked what became of an attempt."""

    NEVER = "never"
    LOOK_UP = "look-up"
    RESEND = "the same call again"


@dataclass(frozen=True, slots=True)
class Setting:
    """How a run's stores are made, and removed."""

    make: Callable[[FakeClock, Stage], Stores]
    clean: Callable[[Any], None]


@contextmanager
def small(window: int, *, recorded: bool = False, threshold: int = FIRST) -> Iterator[None]:
    """Make windows, chunks and the index of open jobs small, and job ids the same in every run.

    `recorded`: retries are recorded on their jobs and carried out chunk by chunk; `threshold`: failures that open a
    breaker.
    """
    order = count(1)
    with (
        patch.object(pacing, "WINDOW", window),
        patch.object(chunks, "MAX_RECIPIENTS", CHUNK),
        patch.object(job, "SHARDS", 1),
        patch.object(control, "AT_ONCE", 0 if recorded else control.AT_ONCE),
        patch.object(retry, "SLICE", 1 if recorded else retry.SLICE),
        patch.object(health, "FIRST", threshold),
        patch.object(health, "RUN", threshold),
        patch.object(accept, "new_id", lambda now: ids.new_id(now, next(order) << 10)),
        patch.object(lists, "new_id", lambda now: ids.new_id(now, next(order) << 10)),
        patch.object(unlisted, "PARTS", "0"),
    ):
        yield


class StagedWorld(World):
    """A world whose calls pass a stage. Its small jobs are in the index of open jobs once they have waited.

    Attributes:
        history: the stream's latest records, the newest last, whatever became of them.
    """

    def __init__(
        self,
        stores: Callable[[FakeClock, Stage], Stores],
        *,
        lanes: int,
        per_call: int,
        relays: bool,
        asking: Asking = Asking.NEVER,
        exclusive: bool = False,
    ) -> None:
        """`exclusive`: jobs may reserve their credential."""
        self.stage = Stage()
        self.unlists = True
        self.history: list[Ledger] = []
        names = ("one", "two", "three")[:lanes]
        self._reserving: list[str | None] = [None, *(names if exclusive else ())]

        def provider(name: str) -> StagedProvider:
            has_feedback = not (relays and name == names[-1])
            if asking is Asking.NEVER:
                return StagedProvider(self.stage, name, per_call=per_call, has_feedback=has_feedback)
            resends = asking is Asking.RESEND
            return AskedProvider(self.stage, name, per_call=per_call, has_feedback=has_feedback, resends=resends)

        self.staged = {name: provider(name) for name in names}
        super().__init__(*(credential(n, RATE) for n in names), stores=lambda clock: stores(clock, self.stage))
        self.peek = peek(self.stores)
        begun = Progress(floor=str(self.clock.ms // MINUTE_MS))
        self.stores.bookmarks.save({"unlisted": begun.dumps()})

    def reboot(self) -> None:
        """Start all functions anew; the sweeper looks where jobs are."""
        super().reboot()
        slots = [indices.open_slot(c, 0, running=running) for c in self._reserving for running in (False, True)]
        self.sweeper = self.sweeping(slots)

    def answers(self, credential: str) -> bool:
        """Tell whether a credential's provider can be asked about doubts."""
        return isinstance(self.staged[credential], Resolver)

    def sender(
        self,
        lane: str,
        *,
        clock: Clock | None = None,
        pacer: Pacer | None = None,
        breaker_cache: BreakerCache | None = None,
        pool: Callable[[int], Pool] | None = None,
        declared: Credential | None = None,
        wire: Callable[[], Wire] | None = None,
        links: Links | None = None,
    ) -> GroupSender:
        """Return a new sender of a lane: a process of its own."""
        return GroupSender(
            stores=LaneStores(self.records, self.ledgers, pacer or self.pacer, self.lanes, lambda: self.standings),
            access=ProviderAccess(self.staged[lane], wire=wire),
            credential=declared or self.settings.credential(lane),
            recovery=self.recovery,
            breaker_cache=breaker_cache or self.breaker_cache,
            clock=clock or StageClock(self.clock, self.stage),
            lease_margin=LEASE_MARGIN,
            pool=pool or (lambda _size: StagePool(self.stage)),
            links=links or FakeLinks(),
            glance=self.expired_of(lambda: [lane], self.recovery).glance,
        )

    def resolve(self, lane: str, job: str, chunk: int, after: int = -1) -> Resolved:
        """Ask a lane's provider about the doubts of a chunk."""
        resolution = Resolution(
            stores=LaneStores(self.records, self.ledgers, self.pacer, self.lanes, lambda: self.standings),
            tracker=self.tracker,
            provider=self.staged[lane],
            credential=self.settings.credential(lane),
            breaker_cache=self.breaker_cache,
            clock=self.clock,
            pool=lambda _size: StagePool(self.stage),
        )
        return resolution.resolve(job, chunk, deadline=self.clock.now() + INVOCATION, after=after)

    def job(self, job: str) -> Job:
        """Return a job as it is stored."""
        found = self.peek.job(job)
        if found is None:
            raise AssertionError("no such job")
        return found

    def plan(self) -> int:
        """Plan the jobs that are READY."""
        ready = [job for job in self.jobs if self.job(job).state is JobState.READY]
        return sum(len(self.planner.react(job)) for job in ready)

    def cells(self, job: str) -> list[tuple[Cell, int]]:
        """Return (state, attempt) of every recipient, in list order."""
        return [x.cell(i) for x in self.peek.ledgers(job) for i in range(len(x.cells))]

    def _streamed(self, ledger: Ledger) -> None:
        before = len(self.stream)
        super()._streamed(ledger)
        if len(self.stream) > before:
            self.history = [*self.history[1 - REMEMBERED :], ledger]
