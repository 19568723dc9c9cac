"""Jobs of all accounts: operators find and stop them without an API key, also all that a key has begun."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field

from functions.operate.accounts import resolve
from functions.operate.call import Call, OperateBody, OperateQuery, OperateView, Why, route
from functions.operate.services import OperateServices
from shared.domain.jobs.job import DIGEST, MAIL, Job, StopReason
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import namespaces_of, owner
from shared.engine.jobs.stop import OpenPage
from shared.web.http import Answer
from shared.web.routing import Nothing

KINDS: Final = ("batch", "campaign", DIGEST, MAIL)
PAGE: Final = 100
READ_SECONDS: Final = 10
"""For so long one request looks for jobs."""
WORK_SECONDS: Final = 5
"""For so long one request begins to stop further jobs; the client asks again while there are more."""


def _commas(value: Any) -> Any:
    return value.split(",") if value else []


class JobsQuery(OperateQuery):
    """Which jobs. `account`: its id or name; empty: the open jobs of all. `after`: of the answer before."""

    account: str = Field("", max_length=200)
    key: str = Field("", max_length=64, description="Of this API key: it made the job, or was the last to resume it.")
    sender: str = Field("", max_length=998, description="From this address or domain.")
    status: Annotated[list[JobState], BeforeValidator(_commas)] = Field(default_factory=list)
    limit: int = Field(100, ge=1, le=1000)
    after: str = Field("", max_length=300)


class SeenJob(OperateView):
    """A job, as operators see it. `key`: that made it, or was the last to resume it."""

    job_id: str
    account_id: str
    kind: str
    state: str
    created_at: int
    not_before: int
    total: int
    counts: dict[str, int]
    key: str
    sender: str
    owned: bool

    @classmethod
    def of(cls, job: Job) -> Self:
        """Describe a job."""
        return cls(
            job_id=job.id,
            account_id=job.account,
            kind=job.kind,
            state=job.state.value,
            created_at=job.created_at,
            not_before=job.not_before,
            total=job.total,
            counts=dict(job.counts),
            key=job.asked_by,
            sender=job.sender,
            owned=job.owned,
        )


class SeenJobs(OperateView):
    """Jobs, about as many as asked for; fewer, even none, if the time was over. `after`: there may be more."""

    items: list[SeenJob]
    after: str


class StopResult(OperateView):
    """A job as it is now; None: there is none. `changed`: this request has stopped it."""

    job: SeenJob | None
    changed: bool


class KeyStop(OperateBody):
    """Whose jobs are stopped. `account`: its id or name; `after`: of the answer before."""

    account: str = Field(min_length=1, max_length=200)
    key: str = Field(min_length=1, max_length=64)
    after: str = Field("", max_length=300)


class KeyStopped(OperateView):
    """The jobs that a request has stopped, as they were. `after`: its time was over; ask again from there."""

    items: list[SeenJob]
    after: str


def jobs(call: Call[JobsQuery, Nothing]) -> Answer:
    """Return open jobs of all accounts, or all of one account, newest first."""
    services, query = call.services, call.query
    until = services.clock.now() + READ_SECONDS
    found: list[Job] = []
    after = ""
    for page in _pages(services, query):
        found += [job for job in page.jobs if _wanted(job, query)]
        if len(found) >= query.limit or services.clock.now() >= until:
            after = page.place
            break
    return SeenJobs(items=list(map(SeenJob.of, found)), after=after).answer()


def _pages(services: OperateServices, query: JobsQuery) -> Iterator[OpenPage]:
    if not query.account:
        yield from services.open_work.pages(lambda _job: True, after=query.after)
        return
    spaces, after = namespaces_of(resolve(services, query.account)), query.after
    while True:
        found, after = services.listing.among(spaces, KINDS, after=after, limit=PAGE)
        yield OpenPage(found, after)
        if not after:
            return


def _wanted(job: Job, query: JobsQuery) -> bool:
    address = job.sender.lower()
    return (
        query.key in ("", job.asked_by, job.created_by)
        and query.sender.lower() in ("", address, address.rpartition("@")[2])
        and (not query.status or job.state in query.status)
    )


def stop(call: Call[Nothing, Why]) -> Answer:
    """Stop a job. A repeat after a lost answer says that nothing was changed."""
    services = call.services
    found = services.records.job(call.path["job"])
    job, changed = services.stopper.stop(found, StopReason.OPERATOR, by=call.key.id, data={"reason": call.body.reason})
    return StopResult(job=SeenJob.of(job) if job else None, changed=changed).answer()


def stop_of_key(call: Call[Nothing, KeyStop]) -> Answer:
    """Stop open jobs that a key made or was the last to resume.

    Of a mail, the destinations that wait are dropped: its job cannot be stopped.
    """
    services, key = call.services, call.body.key
    whose = resolve(services, call.body.account)
    until = services.clock.now() + WORK_SECONDS
    data = {"reason": "key revoked", "key": key}
    stopped: list[Job] = []
    after = ""
    for page in services.open_work.pages(
        lambda job: owner(job.account) == whose and job.asked_by == key, after=call.body.after
    ):
        stopped += services.open_work.stop(page.jobs, by=call.key.id, data=data)
        stopped += services.waiting_mails.drop(_mails(page.jobs), by=call.key.id, data=data)
        if services.clock.now() >= until:
            after = page.place
            break
    return KeyStopped(items=list(map(SeenJob.of, stopped)), after=after).answer()


def _mails(found: Sequence[Job]) -> list[Job]:
    return [job for job in found if job.kind == MAIL]


ROUTES: Final = (
    route("GET", "/jobs", "Open jobs of all accounts, or all jobs of one", jobs, SeenJobs, "not_found"),
    route("POST", "/jobs/stop", "Stop what a key has begun", stop_of_key, KeyStopped, "not_found"),
    route("POST", "/jobs/{job}/stop", "Stop a job", stop, StopResult),
)
