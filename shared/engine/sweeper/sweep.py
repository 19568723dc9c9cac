"""The sweeper: the only guarantee of liveness; everything else is speed. Source: docs/protocol.md, "Sweep"."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Final

from shared.domain.times import Millis, Seconds
from shared.engine.pool import Pool
from shared.engine.walks import Inspection, Run, Walk, WalkCounts
from shared.engine.walks.progress import Progress
from shared.frozen import dataclass
from shared.ports import Bookmarks, Clock

WIDTH: Final = 8
"""Looks at once. They wait for the stores most of the time, but decode what they read: with a third of a processor
more of them gain nothing."""
NOTE_EVERY: Final = 15.0
"""Seconds after which a run records its progress, though it continues: one that is killed loses no more."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """The results of a run.

    Attributes:
        asked: chunks whose providers are asked about doubts.
        prolonged: jobs whose retention would have ended before they do.
        given_up: jobs that were ended, since they had waited for as long as a job may.
        enlisted: small jobs that had not ended soon, and were put into the index of open jobs.
        unfinished: walks that did not come to the end of their round; the next run continues them.
        stuck: jobs in which nothing has happened for too long; None: not known, as this process did not see all jobs.
        express_wait_ms: lane → for how long the oldest of its due messages of small jobs has waited for a worker.
    """

    planned: int
    taken_over: int
    folded: int
    pointed: int
    logged: int
    asked: int
    prolonged: int = 0
    given_up: int = 0
    enlisted: int = 0
    unfinished: tuple[str, ...] = ()
    stuck: tuple[str, ...] | None = ()
    express_wait_ms: Mapping[str, Millis] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Tell whether all walks came to their ends."""
        return not self.unfinished


class Sweeper:
    """Continues all walks. Two at once do the same work twice, without harm.

    Args:
        walks: what is walked, in this order.
        bookmarks: where their progress is kept.
        pool: makes looks side by side.
    """

    def __init__(
        self, *, walks: Sequence[Walk], bookmarks: Bookmarks, clock: Clock, pool: Callable[[int], Pool]
    ) -> None:
        self._walks = walks
        self._bookmarks = bookmarks
        self._clock = clock
        self._pool = pool
        self._noted_at = 0.0

    def sweep(self, deadline: Seconds) -> Swept:
        """Continue each walk for its share of the time until `deadline` (Unix seconds).

        The rest of the time is then for the walks whose share was too short, the first ones first.

        Raises:
            Exception: the first fault of a look, once all others have been made. So a job whose lane was removed, say,
                does not keep the sweeper from the others.
        """
        now = int(self._clock.now() * 1000)
        noted = self._bookmarks.load()
        self._noted_at = self._clock.now()
        tally, faults = WalkCounts(), list[Exception]()
        runs = [
            (walk, Run(now, deadline, Progress.loads(noted.get(walk.name, "")), tally, faults)) for walk in self._walks
        ]
        unfinished = self._take_turns(runs, deadline)
        if notes := {walk.name: run.progress.dumps() for walk, run in runs if walk.noted}:
            self._bookmarks.save(notes)
        if faults:
            raise faults[0]
        names = ("planned", "taken_over", "folded", "pointed", "logged", "asked", "prolonged", "given_up", "enlisted")
        return Swept(
            **{name: tally.of(name) for name in names},
            unfinished=unfinished,
            stuck=next((run.stuck for _, run in runs if run.stuck is not None), None),
            express_wait_ms=dict(sorted(tally.waits.items())),
        )

    def _take_turns(self, runs: Sequence[tuple[Walk, Run]], deadline: Seconds) -> tuple[str, ...]:
        """Continue each walk for its share of the time; return the names of those that did not come to their end."""
        late, unfinished = list[tuple[Walk, Run]](), list[tuple[Walk, Run]]()
        for i, (walk, run) in enumerate(runs):
            began = self._clock.now()
            run.deadline = began + (deadline - began) * walk.share / sum(x.share for x, _ in runs[i:])
            if not self._go(walk, run):
                (late if self._clock.now() > run.deadline else unfinished).append((walk, run))
        for walk, run in late:
            run.deadline = deadline
            if not self._go(walk, run):
                unfinished.append((walk, run))
        return tuple(_report(walk, run) for walk, run in unfinished)

    def _go(self, walk: Walk, run: Run) -> bool:
        """Continue a walk; tell whether it came to the end of its round."""
        run.progress.begin(run.now)
        try:
            looks = walk.looks(run, run.progress.after)
            with self._pool(WIDTH) as pool:
                while self._clock.now() <= run.deadline:
                    wave = list(islice(looks, WIDTH))
                    if not wave:
                        walk.ended(run)
                        run.progress.end(run.now)
                        return True
                    for call in [pool.submit(self._make, look, run) for look in wave]:
                        call.result()
                    run.progress.reach(wave[-1].place, run.now)
                    self._note(walk, run)
        except Exception as fault:  # noqa: BLE001 - raised when all walks have had their turn
            _LOG.exception("walk broken off", extra={"walk": walk.name})
            run.faults.append(fault)
        return False

    @staticmethod
    def _make(look: Inspection, run: Run) -> None:
        run.attempt(look.name, look.act)

    def _note(self, walk: Walk, run: Run) -> None:
        if walk.noted and self._clock.now() - self._noted_at >= NOTE_EVERY:
            self._noted_at = self._clock.now()
            self._bookmarks.save({walk.name: run.progress.dumps()})


def _report(walk: Walk, run: Run) -> str:
    """Log which part of a walk a run did not come to; return the walk's name."""
    took = (run.now - run.progress.began) / 1000
    _LOG.warning("walk not finished", extra={"walk": walk.name, "left_after": run.progress.after, "round_s": took})
    return walk.name
