"""The walk of small jobs that the index of open jobs does not have from the first (S.10).

Most have ended LOGGED long before it comes to their minute, and cost nothing but their part of a page. Those that have
not are put into the index, where the walk of open jobs and the walk after a resume find them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from shared.domain.ids import ALPHABET
from shared.domain.times import MINUTE_MS, Millis
from shared.engine.walks import Inspection, Run
from shared.ports import Records

PARTS: Final = ALPHABET
"""Of each minute."""
LATE_MS: Final = 45_000
"""From the end of a minute until its jobs are walked. The API takes at most 29 s from a job's id to its write."""


class UnlistedJobs:
    """Puts the small jobs of each minute into the index of open jobs, once, if they have not ended.

    Args:
        begin: notes that this walk is made, before which no job is left out of the index.
    """

    def __init__(self, records: Records, begin: Callable[[], None]) -> None:
        self._records = records
        self._begin = begin

    def looks(self, run: Run, after: str) -> Iterator[Inspection]:
        """Yield what failed before, then each part of the minutes that are over, from a place on."""
        for place in sorted(run.progress.left):
            yield Inspection(place, "", partial(self._again, run, place))
        end = _end(run.now)
        for minute in range(int(run.progress.floor or end), end):
            for part in PARTS:
                place = f"{minute}/{part}"
                if place > after:
                    yield Inspection(place, place, partial(self._walk, run, place))

    def ended(self, run: Run) -> None:
        """Note up to which minute all was walked; with too many faults to note, the same minutes are walked again."""
        if run.progress.floor:  # it is stored by an earlier run
            self._begin()
        if not run.progress.is_full:
            run.progress.floor = str(_end(run.now))

    def _again(self, run: Run, place: str) -> None:
        run.progress.left.pop(place, None)
        self._walk(run, place)

    def _walk(self, run: Run, place: str) -> None:
        minute, _, part = place.partition("/")
        try:
            for job in self._records.unlisted(int(minute), part):
                self._records.enlist(job)
                run.tally.add("enlisted")
        except Exception:  # any fault, raised again
            run.progress.leave(place, 0, run.now)
            raise


def _end(now: Millis) -> int:
    """Return the first minute that is not to be walked yet."""
    return (now - LATE_MS) // MINUTE_MS
