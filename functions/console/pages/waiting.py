"""How many messages of open jobs wait, in the whole deployment: what a pause would be about."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from functions.console.call import ConsoleCall
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.frozen import dataclass

MOST: Final = 2_000
"""Open jobs that are counted: more would take seconds to read."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits. `messages`: of the jobs that were counted, as folded; `all`: no open job was left out."""

    messages: int
    all: bool

    @property
    def jobs(self) -> str:
        """The jobs that were counted, in words."""
        return "all open jobs" if self.all else f"the oldest {MOST:,} open jobs of the deployment"


def waiting(call: ConsoleCall, slots: Iterable[str], wanted: Callable[[Job], bool]) -> Waiting:
    """Count the messages of open jobs that are not sent yet. The index of open jobs is a moment old.

    Args:
        slots: partitions of the index of open jobs.
    """
    services = call.services
    asked = list(slots)
    found = services.records.open_at_once(asked)
    if found is None:
        walked = services.reads.map(lambda slot: list(islice(services.records.open_jobs([slot]), MOST + 1)), asked)
        found = [entry for some in walked for entry in some]
    entries = sorted(found, key=lambda entry: entry.key)
    jobs = services.records.read_jobs([entry.job for entry in entries[:MOST]])
    going_on = [job for job in jobs.values() if job.state is not JobState.STOPPED and wanted(job)]
    return Waiting(sum(job.counts["queued"] for job in going_on), len(entries) <= MOST)
