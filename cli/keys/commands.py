"""`posthaste key`: API keys of an account, straight to the deployment's table."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused, NotFound
from cli.operating.accounts import Account, AccountService, kind_wanted, name_of, opened, opened_at, resolve
from cli.operating.door import OperatorClient, door
from cli.operating.stopping import jobs_of_key, stop_of_key
from cli.output import Json, counted, emit, emit_all, moment, say, surroundings, table, tell
from shared.domain.accounts import ApiKey, Scope, is_key_id
from shared.domain.jobs.job import MAIL
from shared.domain.namespaces import owner as owner_of
from shared.ports import Clock

key_app = typer.Typer(help="API keys of an account.", no_args_is_help=True)

KeyId = Annotated[str, typer.Argument(metavar="KEY_ID", help="As `posthaste key list` shows it.")]

NOW: Final = "now"
NEVER: Final = "never"
_SPAN: Final = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24}


@key_app.command("create")
def create_key(
    ctx: typer.Context,
    *,
    account: Account,
    test: Annotated[bool, typer.Option("--test", help="A test key: its messages never reach a provider.")] = False,
    team: Annotated[
        bool, typer.Option("--team", help="A team key: it sends only to the account's guests (posthaste guest).")
    ] = False,
    name: Annotated[str, typer.Option(help="For people.")] = "",
    expires: Annotated[
        str, typer.Option(metavar="WHEN", help="30d, 12h, 8w, or a date such as 2027-01-31 (UTC). Default: never.")
    ] = "",
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="A scope of the key. Repeatable. Default: all; for a test or team key, all but admin."),
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create an API key. Its text is shown once, here: only its hash is stored."""
    clock = surroundings(ctx).clock
    until = _expiry(expires, clock.now())
    title = name_of(name)
    kind_wanted(test=test, team=team)
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        secret, key = service.accounts.create_key(
            owner, test=test, team=team, scopes=scope or None, name=title, expires=until, by=service.by
        )
    if json:
        emit({"key": secret, **_row(key)})
        return
    say(secret)
    until_text = f", valid until {moment(until)}" if until else ""
    tell(f"key {key.id} of {owner}{until_text}: shown once, keep it now")


@key_app.command("list")
def list_keys(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List an account's API keys, without their texts; when each was last used is known to the hour."""
    with opened(ctx, stage, aws=aws) as service:
        rows = [_row(key) for key in service.accounts.list_keys(resolve(service.accounts, account))]
    if json:
        emit_all(rows)
        return
    shown = [{**row, "scopes": ",".join(row["scopes"])} for row in rows]
    columns = ("key_id", "kind", "scopes", "created_at", "last_used_at", "expires_at", "name")
    table(columns, shown, empty=f"no keys: make one with `posthaste key create {account}`")


@key_app.command("expire")
def expire_key(
    ctx: typer.Context,
    account: Account,
    key_id: KeyId,
    when: Annotated[
        str, typer.Argument(metavar="WHEN", help="30d, 12h, 8w, a date such as 2027-01-31 (UTC), now, or never.")
    ],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set when an API key ends."""
    _check(key_id)
    until = 0 if when == NEVER else _moment(when, surroundings(ctx).clock.now())
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        key = service.accounts.expire_key(owner, key_id, until, by=service.by)
        if key is None:
            raise _no_key(owner, key_id)
    if json:
        emit(_row(key))
    else:
        say(f"key {key_id} of {owner} is valid " + (f"until {moment(until)}" if until else "until it is revoked"))


@key_app.command("rotate")
def rotate_key(
    ctx: typer.Context,
    account: Account,
    key_id: KeyId,
    overlap: Annotated[
        str, typer.Option(metavar="WHEN", help="When the old key ends: 12h, 7d, a date (UTC), or now.")
    ] = "24h",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create a replacement key. The old key expires after the overlap. The new key is shown once, here."""
    _check(key_id)
    until = _moment(overlap, surroundings(ctx).clock.now())
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        made = service.accounts.rotate_key(owner, key_id, until, by=service.by)
        if made is None:
            raise NotFound(f"{owner} has no valid key {key_id}, or it was just changed: `posthaste key list {owner}`")
    secret, new, old = made
    if json:
        emit({"key": secret, **_row(new), "replaces": _row(old)})
        return
    say(secret)
    tell(f"key {new.id} of {owner} replaces {old.id}, which ends {moment(old.expires)}: shown once, keep it now")


@key_app.command("revoke")
def revoke_key(
    ctx: typer.Context,
    account: Account,
    key_id: KeyId,
    *,
    stop_jobs: Annotated[
        bool,
        typer.Option("--stop-jobs", help="Also stop its open and scheduled jobs, and drop what waits of its mails."),
    ] = False,
    leaked: Annotated[
        bool,
        typer.Option("--leaked", help="As --stop-jobs, and disable endpoints and notifiers that it made or changed."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what the key has done, and what --leaked would stop.")
    ] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Revoke an API key. It stops working within 30 seconds. After an interruption, repeat it."""
    _check(key_id)
    clock = surroundings(ctx).clock
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        if dry_run:
            with door(ctx, stage, aws=aws) as (client, _):
                jobs = jobs_of_key(client, owner, key_id)
            _show_traces(service, owner, key_id, jobs, clock, json=json)
            return
        revoked = _revoked(service, owner, key_id, repeatable=stop_jobs or leaked, json=json)
        more: dict[str, Any] = {}
        if stop_jobs or leaked:
            with door(ctx, stage, aws=aws) as (client, _):
                more["stopped"] = _stopped(client, owner, key_id, clock, json=json)
        if leaked:  # after the jobs: by then no process takes the key any more
            more["disabled"] = _disabled(service, owner, key_id, clock, json=json)
    if json:
        emit({"account_id": owner, "key_id": key_id, "revoked": revoked, **more})


def _revoked(service: AccountService, owner: str, key_id: str, *, repeatable: bool, json: bool) -> bool:
    """Revoke a key; return whether it was there.

    Args:
        repeatable: a key that is not there is no error: there may be more to stop.
        json: for programs: nothing is said.
    """
    revoked = service.accounts.revoke_key(owner, key_id, by=service.by)
    if not revoked and not repeatable:
        raise _no_key(owner, key_id)
    if not json:
        done = "revoked; it may work for up to 30 seconds more" if revoked else "is not there: revoked already?"
        say(f"key {key_id} of {owner} {done}")
    return revoked


def _stopped(client: OperatorClient, owner: str, key_id: str, clock: Clock, *, json: bool) -> list[str]:
    """Stop the jobs of a key; return their ids.

    Args:
        json: for programs: nothing is said.
    """
    names: list[str] = []
    stop_of_key(client, owner, key_id, clock, partial(_note_stopped, names, json=json))
    many = counted(len(names), "job")
    if not json:
        say(f"{many} stopped; messages of batches and campaigns stay queued, and a valid key may resume them")
    return names


def _show_traces(
    service: AccountService, owner: str, key_id: str, jobs: list[dict[str, Any]], clock: Clock, *, json: bool
) -> None:
    """Show what a key has done, and its jobs that are still open.

    Args:
        jobs: the open ones, as operators read them.
        json: for programs.
    """
    from cli.keys.traces import traces_of  # noqa: PLC0415 - loads botocore

    found = traces_of(service, owner, key_id, clock)
    if json:
        emit({"account_id": owner, "key_id": key_id, "jobs": [job["job_id"] for job in jobs], **found.document()})
        return
    say(f"key {key_id} of {owner}, nothing is changed:")
    for job in jobs:
        say(f"open {job['kind']} {job['job_id']}: {counted(job['total'], 'message')}, {job['state']}")
    for line in found.lines():
        say(line)
    if not jobs and not found.acts:
        say("it has no open job, and no entry of the audit log names it")


def _disabled(service: AccountService, owner: str, key_id: str, clock: Clock, *, json: bool) -> dict[str, list[str]]:
    """Disable the endpoints and notifiers that a key has made or changed; return their names.

    Args:
        json: for programs: nothing is said.
    """
    from cli.keys.traces import disable, traces_of  # noqa: PLC0415 - loads botocore

    found = traces_of(service, owner, key_id, clock)
    disable(service, found, clock)
    if not json:
        for x in found.endpoints:
            say(f"disabled endpoint {x.id} {x.url}".rstrip())
        for notifier in found.notifiers:
            say(f"disabled notifier {notifier.name}; what it has stored is still delivered")
    return {"endpoints": [x.id for x in found.endpoints], "notifiers": [x.name for x in found.notifiers]}


def _note_stopped(names: list[str], job: dict[str, Any], *, json: bool) -> None:
    if job["job_id"] in names:  # a mail of which more was waiting at the second look
        return
    names.append(job["job_id"])
    if not json:
        when = f", scheduled for {moment(job['not_before'])}" if job["not_before"] else ""
        did = "dropped what waits of" if job["kind"] == MAIL else "stopped"
        say(f"{did} {job['kind']} {job['job_id']}: {counted(job['total'], 'message')}, was {job['state']}{when}")


def _row(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "account_id": owner_of(key.account),
        "kind": key.kind.value,
        "test": key.test,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created_at": moment(key.created_at),
        "expires_at": moment(key.expires),
        "last_used_at": moment(key.used),
    }


def _check(key_id: str) -> None:
    if not is_key_id(key_id):  # not repeated in the message: it may be the key's text
        raise Misused("a key id is 16 hexadecimal digits, as `posthaste key list` shows it")


def _no_key(owner: str, key_id: str) -> NotFound:
    return NotFound(f"{owner} has no key {key_id}: see `posthaste key list {owner}`")


def _moment(text: str, now: float) -> int:
    """Return Unix milliseconds from what `_expiry` takes, or `now`; an empty text is nothing of this."""
    return int(now * 1000) if text == NOW else _expiry(text or "?", now)


def _expiry(text: str, now: float) -> int:
    """Return Unix milliseconds from `30d`, `12h`, `8w`, a date or an RFC 3339 time; 0 for an empty text."""
    if not text:
        return 0
    span = _SPAN.fullmatch(text)
    try:
        if span:
            until = datetime.fromtimestamp(now, UTC) + timedelta(hours=int(span[1]) * _HOURS[span[2]])
        else:
            until = datetime.fromisoformat(text)
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
        milliseconds = int(until.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise Misused("a time is 30d, 12h, 8w, or a date such as 2027-01-31") from None
    if milliseconds <= now * 1000:
        raise Misused("that time lies in the past")
    return milliseconds
