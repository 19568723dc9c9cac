"""`posthaste job list | stop`: jobs of all accounts, for operators, straight from the deployment's tables."""

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused, NotFound
from cli.operating.accounts import reason_of
from cli.operating.opened import AccountService, opened, resolve
from cli.output import Json, counted, emit_all, moment, say, surroundings, table, tell
from cli.sending.words import left_of, state_words
from shared.contracts import TEST_CREDENTIAL
from shared.domain.ids import is_id
from shared.domain.jobs.job import DIGEST, MAIL, Job, StopReason
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import accounts_of
from shared.domain.namespaces import owner as owner_of
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dynamo.listing import Listing
    from shared.engine.jobs.stop import OpenWork, Stopper
    from shared.engine.mails.dropping import WaitingMails
    from shared.ports import Records

job_app = typer.Typer(help="Jobs of all accounts: find and stop them, without an API key.", no_args_is_help=True)

COLUMNS: Final = ("job_id", "account_id", "kind", "state", "created_at", "scheduled_at", "total", "key", "from")
KINDS: Final = ("batch", "campaign", DIGEST, MAIL)
PAGE: Final = 100
SETTLED_S: Final = 40.0
"""Seconds after a revocation from which no process takes the key any more (30), and the index shows what it made."""


@dataclass(frozen=True, slots=True)
class Work:
    """The jobs of a deployment."""

    service: AccountService
    records: "Records"
    listing: "Listing"
    jobs: "OpenWork"
    stopper: "Stopper"
    mails: "WaitingMails"


@contextmanager
def working(service: AccountService, clock: Clock) -> Iterator[Work]:
    """Yield the jobs of a deployment."""
    from shared.adapters.dynamo.credentials.known import KnownCredentials, OpenSlots  # noqa: PLC0415
    from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers  # noqa: PLC0415
    from shared.adapters.dynamo.jobs.records import DynamoRecords  # noqa: PLC0415
    from shared.adapters.dynamo.listing import Listing  # noqa: PLC0415
    from shared.adapters.s3.blobs import S3Blobs  # noqa: PLC0415 - loads botocore
    from shared.engine.jobs.stop import OpenWork, Stopper  # noqa: PLC0415
    from shared.engine.mails.dropping import WaitingMails  # noqa: PLC0415
    from shared.engine.pool import ThreadPool  # noqa: PLC0415

    found = service.found
    settings, dynamo = found.settings(), found.dynamo(clock)
    records = DynamoRecords(
        dynamo,
        records=found.table(),
        ops=found.ops(),
        blobs=S3Blobs(lambda: found.client("s3"), ""),  # no stop reads a content
        archive=settings.feedback_timeout * 1000 if settings.archive_days else None,
    )
    slots = OpenSlots(KnownCredentials(dynamo, found.ops()), [*(c.id for c in settings.credentials), TEST_CREDENTIAL])
    stopper = Stopper(records=records, clock=clock)
    jobs = OpenWork(records=records, slots=slots, stopper=stopper, pool=ThreadPool())
    yield Work(
        service,
        records,
        Listing(found.client("dynamodb"), found.table(), clock),
        jobs,
        stopper,
        WaitingMails(
            ledgers=DynamoLedgers(dynamo, found.ops()), journal=found.journal(clock), pool=ThreadPool(), clock=clock
        ),
    )


@job_app.command("list")
def list_jobs(
    ctx: typer.Context,
    *,
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Jobs of one account, by id or name.")] = "",
    key: Annotated[str, typer.Option(metavar="KEY_ID", help="Jobs that this API key made, or last resumed.")] = "",
    sender: Annotated[str, typer.Option(metavar="ADDRESS", help="Jobs from this address or domain.")] = "",
    status: Annotated[list[JobState] | None, typer.Option(help="Jobs in this state. Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Show at most this many jobs.")] = 100,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List jobs: the open ones of all accounts, or with --account all of one account, newest first."""
    if not account and JobState.LOGGED in (status or ()):
        raise Misused("jobs that have ended are listed by account: add --account ACCOUNT")
    clock = surroundings(ctx).clock
    with opened(ctx, stage, aws=aws) as service, working(service, clock) as work:
        owner = resolve(service.accounts, account) if account else ""

        def wanted(job: Job) -> bool:
            return (
                owner in ("", owner_of(job.account))
                and key in ("", job.asked_by, job.created_by)
                and _sent_from(job, sender.lower())
                and (not status or job.state in status)
            )

        found, more = _first(_all_of(work, owner, wanted) if owner else work.jobs.pages(wanted), limit)
    rows = [_row(job) for job in found]
    if json:
        emit_all(rows)
    else:
        shown = [{**row, "state": _words(job)} for row, job in zip(rows, found, strict=True)]
        table(COLUMNS, shown, empty=f"no such jobs ({service.where})")
    if more:
        tell(f"there are more than {limit:,}: --limit N shows N")


def _first(pages: Iterator[list[Job]], limit: int) -> tuple[list[Job], bool]:
    found: list[Job] = []
    for page in pages:
        found += page
        if len(found) > limit:
            return found[:limit], True
    return found, False


def _all_of(work: Work, owner: str, wanted: Callable[[Job], bool]) -> Iterator[list[Job]]:
    def jobs(account: str) -> Iterator[Job]:
        after = ""
        while True:
            page, after = work.listing.page(account, KINDS, after=after, limit=PAGE)
            yield from page
            if not after:
                return

    every = heapq.merge(*map(jobs, accounts_of(owner)), key=lambda job: job.created_at, reverse=True)
    yield from ([job] for job in every if wanted(job))


def _sent_from(job: Job, sender: str) -> bool:
    address = job.sender.lower()
    return sender in ("", address, address.rpartition("@")[2])


def _words(job: Job) -> str:
    scheduled = job.state is JobState.READY and bool(job.not_before)
    return state_words(job.state.value, left_of(job.counts), scheduled=scheduled)


def _row(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "account_id": job.account,
        "kind": job.kind,
        "state": job.state.value,
        "created_at": moment(job.created_at),
        "scheduled_at": moment(job.not_before),
        "total": job.total,
        "key": job.asked_by or None,
        "from": job.sender or None,
    }


@job_app.command("stop")
def stop_jobs(
    ctx: typer.Context,
    job_id: Annotated[list[str], typer.Argument(metavar="ID…", help="As `posthaste job list` shows them.")],
    reason: Annotated[str, typer.Option(help="The reason, for the audit log; without addresses.")] = "operator",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Stop jobs. Messages already claimed still go out; the rest stays queued. Their owners can resume them."""
    why = reason_of(reason)
    if not all(map(is_id, job_id)):
        raise Misused("a job's id has 26 letters and digits, as `posthaste job list` shows it; nothing was stopped")
    clock = surroundings(ctx).clock
    with opened(ctx, stage, aws=aws) as service, working(service, clock) as work:
        by = service.by
        rows = []
        for name in dict.fromkeys(job_id):
            told = {"reason": why}
            job, changed = work.stopper.stop(work.records.job(name), StopReason.OPERATOR, by=by, data=told)
            rows.append({"job_id": name, "state": job.state.value if job else None, "changed": changed})
            if not json:
                say(f"job {name}: {_what(job, changed=changed)}")
    if json:
        emit_all(rows)
    missing = [row["job_id"] for row in rows if row["state"] is None]
    if missing:
        raise NotFound(f"no such job: {', '.join(map(str, missing))}")


def _what(job: Job | None, *, changed: bool) -> str:
    if job is None:
        return "there is none"
    if job.owned:
        return "not changed, it ends by itself: pause the account or the credential instead"
    return "stopped" if changed else f"not changed, it is {_words(job)}"


def of_key(job: Job, owner: str, key_id: str) -> bool:
    """Tell whether a key of an account made a job, or was the last to resume it."""
    return owner_of(job.account) == owner and job.asked_by == key_id


def stop_of_key(work: Work, owner: str, key_id: str, clock: Clock, tell_of: Callable[[Job], None]) -> int:
    """Stop every open job that a newly revoked key made or was the last to resume; returns how many that were.

    Of a mail, the destinations that wait are dropped: its job cannot be stopped.

    Looks twice, the second time when no process takes the key any more. Repeat it after an interruption.

    Args:
        work: the stores of the deployment.
        key_id: the id of the revoked key.
        clock: measures the time until no process uses a cached key any more.
        tell_of: called with each job that was stopped.
    """

    def wanted(job: Job) -> bool:
        return of_key(job, owner, key_id)

    stopped = 0
    until = clock.now() + SETTLED_S
    by = work.service.by
    for turn in range(2):
        if turn:
            tell(f"{counted(stopped, 'job')} stopped; checking again when no process accepts the key any more")
            clock.sleep(max(0.0, until - clock.now()))
        for page in work.jobs.stop_all(wanted, by=by, data={"reason": "key revoked", "key": key_id}):
            stopped += len(page)
            for job in page:
                tell_of(job)
        for page in work.jobs.pages(lambda job: job.kind == MAIL and wanted(job)):
            dropped = work.mails.drop(page, by=by, data={"reason": "key revoked", "key": key_id})
            stopped += len(dropped)
            for job in dropped:
                tell_of(job)
    return stopped
