"""`posthaste job list | stop`: jobs of all accounts, for operators."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused, NotFound
from cli.operating.accounts import reason_of
from cli.operating.door import OperatorClient, door, segment
from cli.output import Json, counted, emit_all, moment, say, table, tell
from cli.progress.words import left_of, state_words
from shared.domain.ids import is_id
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import owner as owner_of
from shared.ports import Clock

job_app = typer.Typer(help="Jobs of all accounts: find and stop them, without an API key.", no_args_is_help=True)

COLUMNS: Final = ("job_id", "account_id", "kind", "state", "created_at", "scheduled_at", "total", "key", "from")
PAGE: Final = 1000
"""Jobs asked for at once."""
MOST: Final = 1_000_000
SETTLED_S: Final = 40.0
"""Seconds after a revocation from which no process takes the key any more (30), and the index shows what it made."""
Row = dict[str, Any]


@job_app.command("list")
def list_jobs(
    ctx: typer.Context,
    *,
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Jobs of one account, by id or name.")] = "",
    key: Annotated[str, typer.Option(metavar="KEY_ID", help="Jobs that this API key made, or last resumed.")] = "",
    sender: Annotated[str, typer.Option(metavar="ADDRESS", help="Jobs from this address or domain.")] = "",
    status: Annotated[list[JobState] | None, typer.Option(help="Jobs in this state. Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Show at most this many jobs.")] = 100,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List jobs: the open ones of all accounts, or with --account all of one account, newest first."""
    if not account and JobState.LOGGED in (status or ()):
        raise Misused("jobs that have ended are listed by account: add --account ACCOUNT")
    asked = {"account": account, "key": key, "sender": sender, "status": ",".join(status or ())}
    with door(ctx, stage, aws=aws) as (client, found):
        jobs = _jobs(client, asked, limit + 1)
    more = len(jobs) > limit
    rows = [_row(job) for job in jobs[:limit]]
    if json:
        emit_all(rows)
    else:
        shown = [{**row, "state": _words(job)} for row, job in zip(rows, jobs, strict=False)]
        table(COLUMNS, shown, empty=f"no such jobs ({found.full_name})")
    if more:
        tell(f"there are more than {limit:,}: --limit N shows N")


def _jobs(client: OperatorClient, asked: dict[str, str], limit: int) -> list[Row]:
    """Return jobs as operators read them, or so many of them."""
    found: list[Row] = []
    after = ""
    while True:
        query = {**asked, "limit": str(min(PAGE, limit - len(found))), "after": after}
        page = client.get("/jobs", {name: value for name, value in query.items() if value})
        found += page["items"]
        after = page["after"]
        if not after or len(found) >= limit:
            return found[:limit]


def jobs_of_key(client: OperatorClient, owner: str, key_id: str) -> list[Row]:
    """Return the open jobs that a key of an account made, or was the last to resume."""
    found = _jobs(client, {"key": key_id}, MOST)
    return [job for job in found if (owner_of(job["account_id"]), job["key"]) == (owner, key_id)]


def _words(job: Row) -> str:
    scheduled = job["state"] == JobState.READY and bool(job["not_before"])
    return state_words(job["state"], left_of(job["counts"]), scheduled=scheduled)


def _row(job: Row) -> Row:
    return {
        **{name: job[name] for name in ("job_id", "account_id", "kind", "state")},
        "created_at": moment(job["created_at"]),
        "scheduled_at": moment(job["not_before"]),
        "total": job["total"],
        "key": job["key"] or None,
        "from": job["sender"] or None,
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
    rows = []
    with door(ctx, stage, aws=aws) as (client, _):
        for name in dict.fromkeys(job_id):
            done = client.send("POST", f"/jobs/{segment(name)}/stop", {"reason": why})
            job, changed = done["job"], done["changed"]
            rows.append({"job_id": name, "state": job["state"] if job else None, "changed": changed})
            if not json:
                say(f"job {name}: {_what(job, changed=changed)}")
    if json:
        emit_all(rows)
    missing = [row["job_id"] for row in rows if row["state"] is None]
    if missing:
        raise NotFound(f"no such job: {', '.join(map(str, missing))}")


def _what(job: Row | None, *, changed: bool) -> str:
    if job is None:
        return "there is none"
    if job["owned"]:
        return "not changed, it ends by itself: pause the account or the credential instead"
    return "stopped" if changed else f"not changed, it is {_words(job)}"


def stop_of_key(client: OperatorClient, owner: str, key_id: str, clock: Clock, tell_of: Callable[[Row], None]) -> int:
    """Stop every open job that a newly revoked key made or was the last to resume; returns how many that were.

    Of a mail, the destinations that wait are dropped: its job cannot be stopped.

    Looks twice, the second time when no process takes the key any more. Repeat it after an interruption.

    Args:
        key_id: the id of the revoked key.
        clock: measures the time until no process uses a cached key any more.
        tell_of: called with each job that was stopped.
    """
    until = clock.now() + SETTLED_S
    stopped = _stop_of_key(client, owner, key_id, tell_of)
    tell(f"{counted(stopped, 'job')} stopped; checking again when no process accepts the key any more")
    clock.sleep(max(0.0, until - clock.now()))
    return stopped + _stop_of_key(client, owner, key_id, tell_of)


def _stop_of_key(client: OperatorClient, owner: str, key_id: str, tell_of: Callable[[Row], None]) -> int:
    """Stop the jobs of a key, request by request; return how many."""
    stopped, after, more = 0, "", True
    while more:
        done = client.send("POST", "/jobs/stop", {"account": owner, "key": key_id, "after": after})
        for job in done["items"]:
            tell_of(job)
        stopped, after = stopped + len(done["items"]), done["after"]
        more = bool(after)
    return stopped
