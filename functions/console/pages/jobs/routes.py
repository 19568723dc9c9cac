"""Jobs: a list of them, and one with its figures, which renew themselves while it runs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, answer
from functions.console.pages.jobs.rows import pause_of, rows
from functions.console.pages.jobs.spans import FATES, SPANS, since
from functions.console.pages.jobs.view import JobRow, row
from functions.console.screen import PageRoute, absent
from shared.domain.ids import is_id
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import accounts_of
from shared.domain.times import Millis, day_begins
from shared.frozen import dataclass
from shared.web.http import Answer

STATES: Final = {
    "open": frozenset(JobState) - {JobState.LOGGED},
    "waiting": frozenset(JobState) - {JobState.STOPPED},
    "ended": frozenset({JobState.LOGGED}),
    "stopped": frozenset({JobState.STOPPED, JobState.LOGGED}),
}
"""Filters of the list, and the states that they let pass."""
WAITING: Final = "waiting"
"""The filter for jobs that make no progress at present. Those that wait only for their turn within the rate do."""
TURNS: Final = 5
"""Pages of the index that one page with a filter may take; it may be short and still have a next one."""


# change: a filter of the console's list of jobs
@dataclass(frozen=True, slots=True)
class JobFilter:
    """The filters of a list of jobs; an empty one is not applied.

    Attributes:
        since: when a job was taken at the earliest, Unix milliseconds; 0: at any time.
        until: when it was taken before, the same.
    """

    at: Asked
    since: Millis
    until: Millis

    @property
    def narrow(self) -> bool:
        """Tell whether some jobs may not be in the list."""
        return bool(self.at["state"] or self.since or self.counts)

    @property
    def counts(self) -> bool:
        """Tell whether messages are counted that others than the failed ones are."""
        return bool(self.at["with"] or self.at["provider"])

    def passes(self, job: Job) -> bool:
        """Tell whether a job is in the list."""
        taken = self.since <= job.created_at and (not self.until or job.created_at < self.until)
        return taken and self._is_in_state(job) and (not self.counts or self.count(job) > 0)

    def _is_in_state(self, job: Job) -> bool:
        state = self.at["state"]
        if state and (job.state not in STATES[state] or (state == "stopped" and not job.stopped)):
            return False
        return not (state == WAITING and job.state is JobState.LOGGED and job.retry is None)

    def count(self, job: Job) -> int:
        """Return how many messages of a job have the fate, or had that from the provider, as the stats count them."""
        wanted = self.at["provider"]
        if not wanted:
            return sum(job.counts.get(name, 0) for name in FATES[self.at["with"]])
        theirs = [c for c, provider in zip(job.route, job.providers, strict=True) if provider == wanted]
        return sum(job.by[c][BY_KEYS.index(self.at["did"])] for c in theirs)

    @property
    def begin(self) -> str:
        """Where the list begins: jobs that were taken later are not in it."""
        return f"{self.until:015d}" if self.until else ""

    def ends_in(self, page: Sequence[Job]) -> bool:
        """Tell whether jobs that are older than a page's are not in the list."""
        return bool(page) and page[-1].created_at < self.since

    def keeps(self, row: JobRow) -> bool:
        """Tell whether a job that passes is in the list, now that it is known what it waits for."""
        return self.at["state"] != WAITING or row.how_far.waiting_for not in {None, "rate"}


def jobs(call: ConsoleCall) -> Answer:
    """Show a page of the account's jobs, newest first."""
    return answer(call, "jobs/jobs.html", _filters(call), _jobs)


def _filters(call: ConsoleCall) -> Filters[JobRow]:
    """Return the filters; a provider goes before a fate."""
    provider = lists.typed(call, "provider")
    known = {c.provider for c in call.services.settings.credentials if c.open_to(call.account)} | {provider}
    return (
        ListFilter("kind", "Kind", lists.KINDS, "every kind"),
        ListFilter("state", "State", tuple(STATES), "every state"),
        ListFilter("with", "Messages", tuple(FATES), "of any fate", value="" if provider else None),
        ListFilter("span", "Taken", tuple(SPANS), "at any time"),
        ListFilter("keys", "Keys", lists.KEYS, "every kind"),
        ListFilter("day", "Taken on (UTC)", kind="date", folded=True),
        ListFilter("provider", "Provider", sorted(known - {""}), "every provider", value=provider, folded=True),
        ListFilter("did", "Result", BY_KEYS, default=BY_KEYS[0], value=None if provider else "", folded=True),
    )


def _jobs(at: Asked) -> ListRows[JobRow]:
    wanted = JobFilter(at, *_times(at))
    found, after = _some(at, (at["kind"],) if at["kind"] else lists.KINDS, wanted)
    return ListRows(
        found, after, more={"counts": {x.job.id: wanted.count(x.job) for x in found} if wanted.counts else {}}
    )


def _times(at: Asked) -> tuple[Millis, Millis]:
    """Return from when on and before when a job was taken, Unix milliseconds; 0: not narrowed by it.

    A day goes before a span.
    """
    day = lists.day(at.call, "day")
    if day is not None:
        return day_begins(day), day_begins(day + timedelta(days=1))
    return since(at["span"], at.call.services.now) if at["span"] else 0, 0


def _some(at: Asked, kinds: Sequence[str], wanted: JobFilter) -> tuple[list[JobRow], str]:
    """Return jobs that a filter lets pass, and the place to continue from."""
    call, spaces = at.call, lists.spaces(at.call)
    pause = pause_of(call)
    found, after = list[JobRow](), at.place or wanted.begin
    for _ in range(TURNS if wanted.narrow else 1):
        page, after = call.services.listing.among(spaces, kinds, after=after, limit=lists.PAGE)
        shown = rows(call, [*filter(wanted.passes, page)], paused=pause.result().paused)
        found += filter(wanted.keeps, shown)
        after = "" if wanted.ends_in(page) else after
        if not after or len(found) >= lists.PAGE:
            break
    return found, after


def owned(call: ConsoleCall) -> JobRow:
    """Return the job that the path names, of any kind of keys, with live figures.

    Raises:
        Denial: there is none, or it is another account's.
    """
    name = call.path["job"]
    control = call.services.records.control(name, call.account) if is_id(name) else None
    job = control.job if control else None
    if control is None or job is None or job.account not in accounts_of(call.account):
        raise absent("job")
    return row(job, call.services.progress.read(job, paused=control.paused))


def job(call: ConsoleCall) -> Answer:
    """Show a job; with `part=live` only the figures that renew themselves."""
    template = "jobs/live.html" if call.request.query.get("part") == "live" else "jobs/job.html"
    return call.services.pages.page(call, template, {"row": owned(call)})


ROUTES: Final = (
    PageRoute("GET", "/console/{account}/jobs", "jobs", jobs),
    PageRoute("GET", "/console/{account}/jobs/{job}", "job", job),
)
