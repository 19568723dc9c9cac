"""Campaigns that are sent: send, stop, retry, resume, stats, messages."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.campaigns.requests import Send
from functions.api.campaigns.rules import jobs_of, owned, refused, state
from functions.api.campaigns.sending_views import (
    CampaignJobs,
    CampaignStats,
    LeftOut,
    MessagePage,
    MessageView,
    RestartedCampaign,
    SentList,
    stats_view,
)
from functions.api.campaigns.views import CampaignView, campaign_view
from functions.api.declined import accepted
from functions.api.jobs.log_views import LogLineView, log_line_views
from functions.api.jobs.logs import wanted_by
from functions.api.jobs.routes import NOT_MOVED, not_moved, not_now, seen
from functions.api.requests import LogQuery, Reschedule, Retry
from functions.api.views import JobView, Restarted
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.jobs.job import Job
from shared.domain.recipients import reader
from shared.engine.campaigns.campaigns import Refused, Sent, WaitsForApproval
from shared.engine.jobs.control import NotNow, Resumed
from shared.engine.lists.list_jobs import Order
from shared.engine.reports.message_log import Filter
from shared.ports import Mismatch, Replay
from shared.web import cursors
from shared.web.http import Answer
from shared.web.idempotency import fingerprint_of, idempotency_key, repeat_or_raise, repeated
from shared.web.problems import Problem, missing
from shared.web.routing import Nothing, Route, section


def send(call: Call[Nothing, Send]) -> Answer:
    """Turn the list that is read into a job."""
    campaign = owned(call)
    key, fingerprint = idempotency_key(call), fingerprint_of(call)
    try:
        return _sent(call, campaign, key, fingerprint)
    except Problem as problem:
        return repeat_or_raise(call, 202, problem)


def _sent(call: Call[Nothing, Send], campaign: Campaign, key: str, fingerprint: str) -> Answer:
    intake = call.services.intake
    accepted(intake.sendable(campaign))
    begin = accepted(intake.begin_at(call.body.scheduled_at))
    order = Order(call.body.rate, begin, key, fingerprint, call.key.id)
    found = call.services.campaigns().control.send(campaign, order)
    return sent_answer(campaign, found)


def sent_answer(campaign: Campaign, found: Sent | WaitsForApproval | Replay | Mismatch | Refused | None) -> Answer:
    """Return the answer to a call that sends a list, or has it wait; Problem if it does neither."""
    if found is None:
        raise missing("campaign", campaign.id)
    if isinstance(found, Refused):
        raise refused(found)
    if isinstance(found, Replay | Mismatch):
        return repeated(found, 202)
    place = f"/jobs/{found.job.id}" if isinstance(found, Sent) else f"/campaigns/{found.campaign.id}"
    return Answer(202, found.answer, {"Location": place})


def stop(call: Call[Nothing, Nothing]) -> Answer:
    """Stop every job that is open."""
    campaign = owned(call)
    jobs = _seen(call, campaign, call.services.campaigns().control.stop(campaign, by=call.key.id))
    return CampaignJobs(campaign_id=campaign.id, state=state(call, campaign), jobs=jobs).answer()


def reschedule(call: Call[Nothing, Reschedule]) -> Answer:
    """Give every job that waits for its time another one."""
    campaign = owned(call)
    wanted = accepted(call.services.intake.begin_at(call.body.scheduled_at))
    jobs = list(jobs_of(call, campaign).values())
    found = call.services.rescheduler.move_all(jobs, wanted, by=call.key.id, seen=call.body.seen)
    if isinstance(found, NotNow):
        raise not_moved(found)
    views = _seen(call, campaign, found)
    return CampaignJobs(campaign_id=campaign.id, state=state(call, campaign), jobs=views).answer()


def retry(call: Call[Nothing, Retry]) -> Answer:
    """Send again what may be sent again, of every job that is LOGGED."""
    return _again(call, frozenset(call.body.include))


def resume(call: Call[Nothing, Nothing]) -> Answer:
    """Send what was never sent, of every job that is LOGGED."""
    return _again(call, frozenset({"unsent"}))


def _again(call: Call[Any, Any], include: frozenset[str]) -> Answer:
    campaign = owned(call)
    found = call.services.campaigns().control.retry(campaign, include, by=call.key.id)
    if isinstance(found, NotNow):
        raise not_now(found)
    return _restarted(call, campaign, found)


def _restarted(call: Call[Any, Any], campaign: Campaign, found: Sequence[tuple[str, Resumed | NotNow]]) -> Answer:
    """Answer with the jobs that are sent again, and those that are left out; refuse if none is sent again."""
    done = [(job, x) for job, x in found if isinstance(x, Resumed)]
    left = [(job, x) for job, x in found if isinstance(x, NotNow)]
    if left and not done:
        raise not_now(left[0][1])
    view = RestartedCampaign(
        campaign_id=campaign.id,
        state=state(call, campaign),
        messages=sum(x.messages for _, x in done),
        jobs=[Restarted(job_id=job, state=x.job.state, messages=x.messages) for job, x in done],
        left_out=[LeftOut(job_id=job, code=x.code) for job, x in left],
    )
    return view.answer(202 if _recorded(done) else 200)


def _recorded(done: Iterable[tuple[str, Resumed]]) -> bool:
    """Check whether a job is sent again only when all of its chunks have been made ready."""
    return any(x.recorded for _, x in done)


def override(call: Call[Nothing, Nothing]) -> Answer:
    """Let the campaign be sent from now on, however many messages bounce."""
    campaign = owned(call)
    found = call.services.campaigns().control.override_guard(campaign, by=call.key.id)
    if found is None:
        raise missing("campaign", campaign.id)
    return campaign_view(found, state(call, found), now_of(call)).answer()


def stats(call: Call[Nothing, Nothing]) -> Answer:
    """Return the sums over all jobs."""
    campaign = owned(call)
    there = jobs_of(call, campaign)
    jobs = _seen(call, campaign, [there[job] for job in campaign.jobs if job in there])
    now = now_of(call)
    return stats_view(campaign, state(call, campaign), jobs, now).answer()


def _seen(call: Call[Any, Any], campaign: Campaign, jobs: Sequence[Job]) -> list[JobView]:
    """Return jobs as they are now."""
    paused = bool(jobs) and call.services.records.control(jobs[-1].id, campaign.account).paused
    return [seen(call, job, paused=paused) for job in jobs]


def messages(call: Call[LogQuery, Nothing]) -> Answer:
    """Return a page of messages, list after list."""
    campaign = owned(call)
    query = call.query
    wanted = _wanted(campaign, query)
    at, *start = cursors.messages(query.cursor)
    place = (start[0], start[1])
    items: list[MessageView] = []
    there = jobs_of(call, campaign)
    while at < len(campaign.jobs):
        job = there.get(campaign.jobs[at])
        if job is not None:
            found, after = call.services.logs.lines(job, wanted, start=place, limit=query.limit - len(items))
            views = log_line_views(job, found, call.services.suppressions, call.services.records)
            items += [_message(job.id, x) for x in views]
            if after is not None:
                return _page(items, (at, *after))
        at, place = at + 1, (0, 0)
        more = at < len(campaign.jobs)
        if len(items) == query.limit or (wanted.narrow and more):
            return _page(items, (at, 0, 0) if more else None)
    return _page(items, None)


def _wanted(campaign: Campaign, query: LogQuery) -> Filter:
    """Return which messages a query asks for."""
    return wanted_by(query, _key(campaign, query.recipient))


def _page(items: list[MessageView], after: tuple[int, int, int] | None) -> Answer:
    cursor = cursors.write(".".join(map(str, after))) if after else None
    return MessagePage(items=items, next_cursor=cursor).answer()


def _message(job: str, line: LogLineView) -> MessageView:
    return MessageView.model_construct(job_id=job, **dict(line))


def _key(campaign: Campaign, recipient: str | None) -> str:
    """Return what a recipient is compared by: the normalised address or number, or the text as it is."""
    if recipient is None:
        return ""
    found = channel_of(campaign.channel).reader()(recipient)
    return recipient if isinstance(found, reader.RecipientFault) else found[1]


NOT_SENT: Final = (
    *("account_suspended", "channel_not_open", "credential_not_found", "upload_in_progress", "no_list"),
    *("missing_columns", "list_expired", "too_many_lists", "from_missing", "from_not_allowed"),
    *("no_valid_recipient", "rate_too_high", "takes_too_long", "bounce_guard", "country_not_allowed", "quota_exceeded"),
    "too_many_schedules",
)
"""Why a list is not sent."""
_NOT_NOW: Final = (
    *("not_found", "account_suspended", "job_in_progress", "stopping", "expired", "sender_removed"),
    *("quota_exceeded", "too_many_schedules"),
)

ROUTES: Final = section(
    "Campaigns",
    Route(
        method="POST",
        path="/campaigns/{id}/send",
        name="sendCampaign",
        summary="Send the list that is read",
        description="It becomes a job. Another list of the same campaign runs beside it; another campaign's jobs wait "
        "for the credential, the oldest first. If the account asks for approval of such a list, it only waits: "
        "`waiting_for` is then `approval`, and there is no job yet.",
        scope=Scope.SEND,
        handler=send,
        answers={202: SentList},
        problems=("not_found", *NOT_SENT),
        idempotent=True,
    ),
    Route(
        method="GET",
        path="/campaigns/{id}/stats",
        name="getCampaignStats",
        summary="The outcome of all its messages",
        scope=Scope.READ,
        handler=stats,
        answers={200: CampaignStats},
        problems=("not_found",),
    ),
    Route(
        method="GET",
        path="/campaigns/{id}/messages",
        name="listCampaignMessages",
        summary="The outcome for each recipient",
        description="List after list, in list order. With a filter a page may be short, even empty, and still carry a "
        "cursor.",
        scope=Scope.READ,
        handler=messages,
        answers={200: MessagePage},
        problems=("not_found", "bad_cursor"),
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/stop",
        name="stopCampaign",
        summary="Stop every job of a campaign",
        description="At most the windows already claimed still go out.",
        scope=Scope.SEND,
        handler=stop,
        answers={200: CampaignJobs},
        problems=("not_found",),
        while_suspended=True,
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/reschedule",
        name="rescheduleCampaign",
        summary="Send at another time, or now",
        description="For each of its jobs that still waits for its time. A list that was approved with its time keeps "
        "it, and then no job changes.",
        scope=Scope.SEND,
        handler=reschedule,
        answers={200: CampaignJobs},
        problems=("not_found", "account_suspended", *NOT_MOVED),
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/retry",
        name="retryCampaign",
        summary="Send again what failed or was never sent",
        description="Retries every LOGGED job of the campaign. Running jobs are not "
        "affected. Returns 409 `stopping` while a job is being stopped. 202: a large one is made ready meanwhile.",
        scope=Scope.SEND,
        handler=retry,
        answers={200: RestartedCampaign, 202: RestartedCampaign},
        problems=_NOT_NOW,
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/resume",
        name="resumeCampaign",
        summary="Send what was never sent",
        description="Retries every LOGGED job of the campaign. Running jobs are not "
        "affected. Returns 409 `stopping` while a job is being stopped.",
        scope=Scope.SEND,
        handler=resume,
        answers={200: RestartedCampaign},
        problems=_NOT_NOW,
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/override-bounce-guard",
        name="overrideBounceGuard",
        summary="Turn off the bounce guard",
        description="Permanent. Jobs that the guard stopped stay stopped until you resume them.",
        scope=Scope.SEND,
        handler=override,
        answers={200: CampaignView},
        problems=("not_found",),
    ),
)
