"""Results: every message of a job, or of all lists of a campaign, as a CSV file that a spreadsheet opens."""

from collections.abc import Sequence
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.campaigns import view as campaigns
from functions.console.pages.jobs import routes as jobs
from functions.console.screen import Denial, PageRoute
from shared.domain.exports import LINK_SECONDS, ExportState
from shared.domain.jobs.job import Job
from shared.frozen import dataclass
from shared.web.http import Answer

EXPIRED: Final = Denial(409, "The results have gone", "The recipients are no longer kept, and so are their results.")


@dataclass(frozen=True, slots=True)
class Results:
    """A file of results, and how far it is.

    Attributes:
        title: of the campaign or the job.
        percent: that is written.
        url: of the file, which needs no session; empty: it is being made.
        rows: messages in it.
        as_of: every row is at least as new, Unix milliseconds.
        waits: another file of the account is made first.
    """

    title: str
    percent: int
    url: str
    rows: int
    as_of: int
    waits: bool = False


def of_campaign(call: ConsoleCall) -> Answer:
    """Show the file of all lists of a campaign, oldest first."""
    found = campaigns.owned(call)
    if not found.jobs:
        raise campaigns.conflict("nothing_sent")
    there = call.services.listing.jobs(found.jobs)
    return _shown(call, "campaign", found.id, found.name, [there[name] for name in found.jobs if name in there])


def of_job(call: ConsoleCall) -> Answer:
    """Show the file of a job."""
    row = jobs.owned(call)
    return _shown(call, "job", row.job.id, row.title, [row.job])


def _shown(call: ConsoleCall, kind: str, name: str, title: str, of: Sequence[Job]) -> Answer:
    """Ask for a file, and show a link to it, or how far it is; with `part=live` only what renews itself.

    Args:
        kind: campaign or job, after which the file is named.
        of: jobs, in the order of the file's rows.
    """
    kept = [job for job in of if job.ttl * 1000 > call.services.now]
    if not kept:
        raise EXPIRED
    use = call.services.use_cases.results()
    export = use.service.ask(name, call.account, kept)
    if export.state is ExportState.FAILED:
        raise campaigns.conflict("export_given_up") if export.code else EXPIRED
    ready = export.state is ExportState.READY
    url = use.files.link(export.blob, filename=export.filename(kind), seconds=LINK_SECONDS) if ready else ""
    found = Results(title, int(export.progress * 100), url, export.rows, export.begun_at, export.waits)
    context = {"results": found, "kind": kind, "of": name}
    if call.request.query.get("part") == "live":
        done = {"HX-Refresh": "true"} if ready else {}
        return call.services.pages.page(call, "results/making.html", context, headers=done)
    return call.services.pages.page(call, "results/results.html", context)


ROUTES: Final = (
    PageRoute("GET", "/console/{account}/campaigns/{campaign}/results", "results of a campaign", of_campaign),
    PageRoute("GET", "/console/{account}/jobs/{job}/results", "results of a job", of_job),
)
