"""`posthaste key`: API keys of an account, by the operators' door."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused, NotFound
from cli.keys.traces import all_of
from cli.operating.accounts import Account, kind_wanted
from cli.operating.door import OperatorClient, door, timed
from cli.operating.stopping import jobs_of_key, stop_of_key
from cli.output import Json, counted, emit, emit_all, moment, say, surroundings, table, tell
from shared.domain.access.proofs import Proof
from shared.domain.accounts import Scope, is_key_id
from shared.domain.jobs.job import MAIL
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
        str,
        typer.Option(
            metavar="WHEN",
            help="30d, 12h, 8w, or a date such as 2027-01-31 (UTC). Default: after max_key_days of the settings.",
        ),
    ] = "",
    scope: Annotated[
        list[Scope] | None,
        typer.Option(
            help="A scope of the key. Repeatable. Default: send, read, admin; for a test or team key, send, read."
        ),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CIDR", help="A network that the key may be used from: 192.0.2.0/24. Repeatable. Default: all."
        ),
    ] = None,
    proof: Annotated[
        Proof,
        typer.Option(help="What each request needs: the key, an access token of POST /oauth/token, or a signature."),
    ] = Proof.KEY,
    public_key: Annotated[
        str, typer.Option(metavar="BASE64", help="With --proof signature: the 32 bytes of an Ed25519 public key.")
    ] = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create an API key. Its text is shown once, here: only its hash is stored."""
    until = _expiry(expires, surroundings(ctx).clock.now())
    kind = kind_wanted(test=test, team=team)
    body: dict[str, Any] = {"account": account, "kind": kind.value, "name": name, "scopes": scope or None}
    body |= {"expires": until} if until else {}
    body |= {"networks": network} if network else {}
    body |= {"proof": proof.value} if proof is not Proof.KEY else {}
    body |= {"public_key": public_key} if public_key else {}
    with door(ctx, stage, aws=aws) as (client, _):
        made = client.post("/keys/create", body)
    secret, key = made["key"], _row(made["made"])
    if json:
        emit({"key": secret, **key})
        return
    say(secret)
    shown = "this is its keyid, and no secret" if public_key else "shown once, keep it now"
    until_text = f", valid until {key['expires_at']}" if key["expires_at"] else ""
    tell(f"key {key['key_id']} of {key['account_id']}{until_text}: {shown}")


@key_app.command("list")
def list_keys(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List an account's API keys, without their texts; when each was last used is known to the hour."""
    with door(ctx, stage, aws=aws) as (client, _):
        rows = [_row(key) for key in client.get("/keys", {"account": account})["items"]]
    if json:
        emit_all(rows)
        return
    shown = [{**row, **{name: ",".join(row.get(name, ())) for name in ("scopes", "networks")}} for row in rows]
    dates = ("created_at", "last_used_at", "last_used_from", "expires_at")
    columns = ("key_id", "kind", "scopes", *dates, "networks", "proof", "name")
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
    with door(ctx, stage, aws=aws) as (client, _):
        key = _row(client.send("POST", f"/keys/{key_id}/expire", {"account": account, "until": until}))
    if json:
        emit(key)
    else:
        ends = f"until {key['expires_at']}" if until else "until it is revoked"
        say(f"key {key_id} of {key['account_id']} is valid {ends}")


@key_app.command("networks")
def restrict_key(
    ctx: typer.Context,
    account: Account,
    key_id: KeyId,
    networks: Annotated[
        list[str] | None, typer.Argument(metavar="[CIDR]...", help="192.0.2.0/24, 2001:db8::/48, 192.0.2.7")
    ] = None,
    *,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="The key may be used from all networks.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set the networks that an API key may be used from. All others get 403, within 30 seconds."""
    _check(key_id)
    if bool(networks) is everywhere:
        raise Misused("name the networks of the key, or --everywhere")
    with door(ctx, stage, aws=aws) as (client, _):
        body = {"account": account, "networks": networks or []}
        key = _row(client.send("POST", f"/keys/{key_id}/networks", body))
    if json:
        emit(key)
    else:
        whence = ", ".join(key["networks"]) or "every network"
        say(f"key {key_id} of {key['account_id']} may be used from {whence}")


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
    with door(ctx, stage, aws=aws) as (client, _):
        made = client.post(f"/keys/{key_id}/rotate", {"account": account, "until": until})
    secret, new, old = made["key"], _row(made["made"]), _row(made["replaces"])
    if json:
        emit({"key": secret, **new, "replaces": old})
        return
    say(secret)
    ends = f"which ends {old['expires_at']}: shown once, keep it now"
    tell(f"key {new['key_id']} of {new['account_id']} replaces {old['key_id']}, {ends}")


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
    with door(ctx, stage, aws=aws) as (client, _):
        if dry_run:
            _show_traces(client, account, key_id, json=json)
            return
        owner, revoked = _revoked(client, account, key_id, repeatable=stop_jobs or leaked, json=json)
        more: dict[str, Any] = {}
        if stop_jobs or leaked:
            more["stopped"] = _stopped(client, owner, key_id, clock, json=json)
        if leaked:  # after the jobs: by then no process takes the key any more
            more["disabled"] = _disabled(client, owner, key_id, json=json)
    if json:
        emit({"account_id": owner, "key_id": key_id, "revoked": revoked, **more})


def _revoked(client: OperatorClient, account: str, key_id: str, *, repeatable: bool, json: bool) -> tuple[str, bool]:
    """Revoke a key; return the account's id, and whether the key was there.

    Args:
        repeatable: a key that is not there is no error: there may be more to stop.
        json: for programs: nothing is said.
    """
    done = client.send("POST", f"/keys/{key_id}/revoke", {"account": account})
    owner, revoked = str(done["account_id"]), bool(done["revoked"])
    if not revoked and not repeatable:
        raise NotFound(f"{owner} has no key {key_id}: see `posthaste key list {owner}`")
    if not json:
        how = "revoked; it may work for up to 30 seconds more" if revoked else "is not there: revoked already?"
        say(f"key {key_id} of {owner} {how}")
    return owner, revoked


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


def _show_traces(client: OperatorClient, account: str, key_id: str, *, json: bool) -> None:
    """Show what a key has done, and its jobs that are still open.

    Args:
        json: for programs.
    """
    owner, found = all_of(lambda place: client.get(f"/keys/{key_id}/traces", {"account": account, "place": place}))
    jobs = jobs_of_key(client, owner, key_id)
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


def _disabled(client: OperatorClient, owner: str, key_id: str, *, json: bool) -> dict[str, list[str]]:
    """Disable the endpoints and notifiers that a key has made or changed; return their names.

    Args:
        json: for programs: nothing is said.
    """
    _, found = all_of(lambda place: client.send("POST", f"/keys/{key_id}/disable", {"account": owner, "place": place}))
    if not json:
        for name, url in found.endpoints.items():
            say(f"disabled endpoint {name} {url}".rstrip())
        for name in found.notifiers:
            say(f"disabled notifier {name}; what it has stored is still delivered")
    return {"endpoints": list(found.endpoints), "notifiers": found.notifiers}


def _note_stopped(names: list[str], job: Mapping[str, Any], *, json: bool) -> None:
    if job["job_id"] in names:  # a mail of which more was waiting at the second look
        return
    names.append(job["job_id"])
    if not json:
        when = f", scheduled for {moment(job['not_before'])}" if job["not_before"] else ""
        did = "dropped what waits of" if job["kind"] == MAIL else "stopped"
        say(f"{did} {job['kind']} {job['job_id']}: {counted(job['total'], 'message')}, was {job['state']}{when}")


def _row(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return a key as the commands write it. A function of an older version names no networks."""
    return timed(
        {"networks": [], "last_used_from": "", "proof": Proof.KEY.value, **key},
        "created_at",
        "expires_at",
        "last_used_at",
    )


def _check(key_id: str) -> None:
    if not is_key_id(key_id):  # not repeated in the message: it may be the key's text
        raise Misused("a key id is 16 hexadecimal digits, as `posthaste key list` shows it")


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
