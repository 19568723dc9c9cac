"""Answers about campaigns that are sent as clients read them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field

from functions.api.jobs.log_views import LogLineView
from functions.api.views import Counts, JobView, Restarted, Tally
from shared.domain.campaigns.campaign import Campaign
from shared.domain.times import Millis
from shared.web.views import Time, View, moment

LATER: Final = ("scheduled", "hours")
"""Waits of jobs that begin at a time that is known."""


class SentList(View):
    """A list that has become a job, or waits for approval."""

    campaign_id: str
    job_id: str = Field(description="Of a list that waits: the id of its job, once it is approved.")
    state: str = Field(description="The job's; `WAITING`: there is none until the list is approved.")
    recipients: int
    skipped: int
    waiting_for: Literal["approval"] | None = Field(None, description="Only of a list that waits.")
    approval_id: str | None = Field(None, description="Only of a list that waits: names exactly what waits.")


class CampaignJobs(View):
    """The outcome of a campaign's jobs."""

    campaign_id: str
    state: str
    jobs: list[JobView]


class LeftOut(View):
    """A job that was not restarted."""

    job_id: str
    code: str = Field(
        description="`job_in_progress`: it runs. `expired`: it is too old. `sender_removed`: it has no sender."
    )


class RestartedCampaign(View):
    """The effect of a retry or resume, by job."""

    campaign_id: str
    state: str
    messages: int = Field(description="Messages that are sent again; 0: there was nothing to do.")
    jobs: list[Restarted]
    left_out: list[LeftOut]


class CampaignStats(View):
    """The outcome of the messages of all jobs of a campaign."""

    campaign_id: str
    state: str
    total: int
    duplicates: int
    counts: Counts
    exact: bool = Field(description="False: the counts are some seconds old.")
    unacknowledged: int | None
    as_of: Time
    route: list[Tally]
    eta: Time | None = Field(description="When the last message goes out, not before; null if none is waiting.")
    jobs: list[JobView]


class MessageView(LogLineView):
    """A message of a campaign; its name is unique within its job."""

    job_id: str


class MessagePage(View):
    """A page of messages: list after list, in list order."""

    items: list[MessageView]
    next_cursor: str | None


def stats_view(campaign: Campaign, state: str, jobs: Sequence[JobView], now_ms: Millis) -> CampaignStats:
    """Return the sums over a campaign's jobs; every amount adds up to the total, as those of each job do.

    Args:
        state: the campaign's state as clients see it.
        jobs: its jobs as clients see them.
    """
    late = [job.unacknowledged for job in jobs]
    return CampaignStats(
        campaign_id=campaign.id,
        state=state,
        total=sum(job.total for job in jobs),
        duplicates=sum(job.duplicates for job in jobs),
        counts=_summed([job.counts for job in jobs]),
        exact=all(job.exact for job in jobs),
        unacknowledged=None if None in late else sum(x or 0 for x in late),
        as_of=min((job.as_of for job in jobs), default=moment(now_ms)),
        route=_tallies(jobs),
        eta=_eta(jobs),
        jobs=list(jobs),
    )


def _summed(counts: Sequence[Counts]) -> Counts:
    return Counts(**{name: sum(getattr(x, name) for x in counts) for name in Counts.model_fields})


def _tallies(jobs: Sequence[JobView]) -> list[Tally]:
    """Return the sums of the jobs' figures by credential, in the order of the jobs' routes."""
    tallies: dict[str, Tally] = {}
    for tally in (t for job in jobs for t in job.route):
        known = tallies.get(tally.credential_id)
        tallies[tally.credential_id] = _plus(known, tally) if known else tally
    return list(tallies.values())


def _end(running: Sequence[tuple[datetime, timedelta]]) -> datetime:
    """Return when jobs that take turns are through. `running`: the end of each without the others, and its time."""
    return min(eta - needs for eta, needs in running) + sum((needs for _, needs in running), timedelta())


def _eta(jobs: Sequence[JobView]) -> datetime | None:
    """Return when the last message goes out, not before: the jobs share the slots of one credential.

    Those that run take turns, so all of them together need the sum of what each would need. A job that waits for a
    time begins then, or after them.
    """
    going = [(x.eta, timedelta(seconds=_left(x) / x.rate), x) for x in jobs if x.eta is not None and x.rate]
    running = [(eta, needs) for eta, needs, x in going if x.waiting_for not in LATER]
    end = _end(running) if running else None
    for eta, needs, x in sorted(going, key=lambda found: found[0] - found[1]):
        if x.waiting_for in LATER:
            end = max(end, eta - needs) + needs if end is not None else eta
    return end


def _left(job: JobView) -> int:
    return job.counts.queued + job.counts.sending


def _plus(a: Tally, b: Tally) -> Tally:
    amounts: Mapping[str, int] = {
        name: getattr(a, name) + getattr(b, name) for name in ("tried", "accepted", "delivered", "failed")
    }
    return Tally(credential_id=a.credential_id, provider=a.provider, **amounts)
