"""Campaigns as people read them: what is done, what is next, and what is in the way."""

from collections.abc import Mapping, Sequence
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.jobs.view import is_stopped
from functions.console.screen import Denial, absent
from shared.domain.campaigns.campaign import Campaign, StoredTemplate, Upload, UploadState
from shared.domain.ids import is_id
from shared.domain.jobs.job import Job, public_counts
from shared.domain.jobs.states import JobState
from shared.domain.lists.header import why_absent
from shared.domain.lists.uploads import DUPLICATE, BadRow
from shared.engine.campaigns.campaigns import state_of
from shared.engine.campaigns.preview import MAX_ROW
from shared.engine.intake.declined import Declined
from shared.engine.lists.uploading import WITHDRAWN
from shared.frozen import dataclass
from shared.web.problems import CODES

WORDS: Final = {
    "draft": "draft",
    "uploading": "list is read",
    "ready": "ready",
    "READY": "waiting",
    "ENQUEUED": "sending",
    "STOPPED": "stopped",
    "SENT": "sent",
    "LOGGED": "sent",
}
"""A campaign's state → its badge."""
BEFORE: Final = frozenset({"draft", "uploading", "ready"})
"""States in which the next list, not a job, is what its owner works at."""
GOING: Final = frozenset({WORDS["READY"], WORDS["ENQUEUED"]})
LOOKED_AT: Final = 4
"""Newest jobs of each campaign of a list that are read."""


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign in the list. `state`: its badge; `newest`: the job of the list that was sent last, if it is kept."""

    campaign: Campaign
    state: str
    newest: Job | None

    @property
    def figures(self) -> Mapping[str, int]:
        """Messages of its newest list by state, some seconds late; empty if none is known."""
        return public_counts(self.newest.counts) if self.newest is not None else {}


def rows(call: ConsoleCall, after: str, limit: int) -> tuple[list[CampaignRow], str]:
    """Return some of the account's campaigns, newest first, and the place to continue from.

    Args:
        after: the place that the page before returned; empty: the beginning.
        limit: the most campaigns.
    """
    found, place = call.services.campaigns().campaigns.campaigns.page(
        call.account, test=False, after=after, limit=limit
    )
    newest = [name for x in found for name in x.campaign.jobs[-LOOKED_AT:]]
    jobs = call.services.listing.jobs(newest)
    return [_row(x.campaign, jobs, fits=x.fits) for x in found], place


def _row(campaign: Campaign, jobs: Mapping[str, Job], *, fits: bool) -> CampaignRow:
    newest = next(reversed(campaign.jobs), "")
    return CampaignRow(campaign, word(campaign, jobs, fits=fits), jobs.get(newest))


def word(campaign: Campaign, jobs: Mapping[str, Job], *, fits: bool) -> str:
    """Return a campaign's state in a word. One of which an earlier list still waits or is sent is not `sent`.

    Args:
        jobs: at least its newest one, if it is still there.
        fits: its unsent list has every column that its message names.
    """
    said = [job_word(jobs[name]) for name in reversed(campaign.jobs) if name in jobs]
    going = next((x for x in said if x in GOING), "")
    state = state_of(campaign, jobs, fits=fits)
    return WORDS[state] if state in BEFORE else going or next(iter(said), WORDS["LOGGED"])


def can_repeat(job: Job) -> bool:
    """Return whether some messages of a job may be sent again, as far as its figures tell: its question counts them."""
    return job.state is JobState.LOGGED and job.retry is None and job.counts["failed"] > 0


def job_word(job: Job) -> str:
    """Return what one of a campaign's jobs is doing, in a word."""
    return "stopped" if is_stopped(job) else WORDS.get(job.state, "sending")


def owned(call: ConsoleCall) -> Campaign:
    """Return the campaign that the path names. Raises Denial if it is not the account's, or one of test keys."""
    name = call.path["campaign"]
    found = call.services.campaigns().campaigns.campaigns.get(name) if is_id(name) else None
    if found is None or (found.account, found.test) != (call.account, False):
        raise absent("campaign")
    return found


def stored_template(call: ConsoleCall, name: str) -> StoredTemplate:
    """Return the latest version of a template of the account. Raises Denial if there is none of that id."""
    found = call.services.campaigns().campaigns.templates.get(name) if is_id(name) else None
    if found is None or found.namespace != call.account:
        raise absent("template")
    return found


@dataclass(frozen=True, slots=True)
class ListView:
    """A campaign's list.

    Attributes:
        percent: of the file that is read.
        waits: another list of the account is read first.
        sends: recipients that are sent to.
        skipped: recipients that are not, by code.
    """

    upload: Upload
    percent: int
    waits: bool
    rows: int
    accepted: int
    invalid: int
    duplicates: int
    sends: int
    skipped: Mapping[str, int]

    @property
    def ready(self) -> bool:
        """Whether it is read."""
        return self.upload.state is UploadState.READY

    @property
    def failed(self) -> bool:
        """Whether it cannot be used."""
        return self.upload.state is UploadState.FAILED

    @property
    def keeps_duplicates(self) -> bool:
        """Whether a recipient who is listed twice is sent to again."""
        return not self.upload.drop_duplicates

    @property
    def last(self) -> int:
        """The last recipient whose message can be previewed."""
        return min(self.accepted, MAX_ROW)

    def sent_again(self, bad: BadRow) -> bool:
        """Return whether a row that is to be checked is sent all the same: a duplicate that was asked for."""
        return bad.code == DUPLICATE and self.keeps_duplicates and not self.failed


def current(call: ConsoleCall, campaign: Campaign) -> ListView | None:
    """Return the list that is read or waits to be sent, else the newest one if it could not be used."""
    uploads = call.services.campaigns().campaigns.uploads
    name = campaign.uploading or campaign.ready
    if name:
        found = uploads.get(campaign.id, name)
        return list_view(found) if found else None
    known = [x for x in uploads.of(campaign.id) if x.state is not UploadState.WAITING]
    return list_view(known[-1]) if known and _unusable(known[-1]) else None


def _unusable(x: Upload) -> bool:
    return x.state is UploadState.FAILED and x.code != WITHDRAWN


def shown_list(call: ConsoleCall, campaign: Campaign) -> ListView | None:
    """Return the list whose messages are shown: the one that waits to be sent, else the one that was sent last."""
    name = campaign.ready or next(reversed(campaign.jobs), "")
    found = call.services.campaigns().campaigns.uploads.get(campaign.id, name) if name else None
    return list_view(found) if found else None


def list_view(x: Upload) -> ListView:
    """Return a list as people read it."""
    counts = x.checkpoint.counts if x.checkpoint else None
    skipped = x.skipped or {}
    accepted = counts.accepted if counts else 0
    return ListView(
        upload=x,
        percent=int(x.progress * 100),
        waits=x.waits and x.state is UploadState.QUEUED,
        rows=counts.rows if counts else 0,
        accepted=accepted,
        invalid=counts.invalid if counts else 0,
        duplicates=counts.duplicates if counts else 0,
        sends=accepted - sum(skipped.values()),
        skipped=skipped,
    )


def in_the_way(call: ConsoleCall, campaign: Campaign, found: ListView | None) -> Sequence[str]:
    """Return what keeps a campaign with a list from being sent, in sentences; empty: nothing does.

    Args:
        found: its list; None: it has none.
    """
    said: list[str] = []
    declined = call.services.campaigns().intake.sendable(campaign)
    if isinstance(declined, Declined):
        said += [fault.text for fault in declined.faults] or [CODES[declined.code][1]]
    said += [f"{why_absent(name, campaign.columns)} The message uses it." for name in campaign.missing]
    if found is not None and found.ready and found.sends <= 0:
        said.append("The list has no recipient left to send to.")
    return said


def without_credential(campaign: Campaign) -> str:
    """Return that a campaign's credential is no longer declared, and what to do: a list belongs to its credential."""
    to_do = "Choose another one."
    if campaign.jobs:
        to_do = "Make a new campaign."
    elif campaign.ready:
        to_do = "Take the list back, then choose another one."
    return f"The campaign's credential is no longer there. {to_do}"


def conflict(code: str, text: str = "") -> Denial:
    """Return the refusal of something that a campaign does not allow now.

    Args:
        code: of the problem, as in the API.
        text: a sentence that says more; empty: the code's own.
    """
    return Denial(409, "This campaign cannot do that now", text or CODES[code][1])
