"""`posthaste audit`: who did what, by the operators' door, or by the API with a key of the account."""

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Final

import typer

from cli.client import connect
from cli.deployment import Aws, Stage
from cli.errors import ExitCode, Misused
from cli.operating.accounts import kind_wanted
from cli.operating.door import OperatorClient, door
from cli.output import Json, emit_all, moment, table
from shared.domain.audit import EVERYONE, Act
from shared.domain.namespaces import KeyKind

COLUMNS: Final = ("at", "action", "subject", "actor", "more")
VERIFY: Final = "verify"
VERIFIED: Final = ("log", "entries", "seals", "sealed_until", "digest", "result")
PAGE: Final = 1000
Row = dict[str, Any]


def show(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[verify] [ACCOUNT]",
            help="An account's id or name; default: the whole deployment's log. `verify` compares the log with its "
            "seals, and names the first entry that was removed, changed or inserted.",
        ),
    ] = None,
    action: Annotated[str, typer.Option(help="Only entries of this kind, for example job.stopped.")] = "",
    *,
    actor: Annotated[
        str, typer.Option(metavar="ID", help="Only entries of this actor, for example an API key's ID.")
    ] = "",
    test: Annotated[bool, typer.Option("--test", help="Show the log of the account's test keys.")] = False,
    team: Annotated[bool, typer.Option("--team", help="Show the log of the account's team keys.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show the logs of the deployment and of all accounts together.")
    ] = False,
    mine: Annotated[
        bool, typer.Option("--mine", help="Show your own account's log, by the API with a key of scope admin.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Entries, newest first.")] = 100,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show an audit log: of an account, or what operators did to the deployment as a whole (rates, pauses, queues).

    The log shows the name of a key, if it has one and still exists.
    """
    verify, account = _meant(words)
    _check_action(action)
    kind = kind_wanted(test=test, team=team)
    _check_whose(account, kind, everything=everything, mine=mine)
    if verify:
        _check_verified(kind, action + actor, mine=mine)
        with door(ctx, stage, aws=aws) as (client, _):
            _verify(client, account, everything=everything, json=json)
        return
    if mine:
        rows = list(islice((row for row in _by_the_api(ctx, action, kind) if actor in ("", row["actor"])), limit))
    else:
        asked = {"account": account, "kind": kind.value, "everything": str(everything).lower()}
        asked |= {"action": action, "actor": actor}
        with door(ctx, stage, aws=aws) as (client, _):
            rows = list(islice(_entries(client, asked, limit), limit))
    if json:
        emit_all(rows)
        return
    _print(rows, action, actor, everything=everything)


def _print(rows: list[Row], action: str, actor: str, *, everything: bool) -> None:
    """Print entries as a table. `action` and `actor`: of the filters; empty: none."""
    columns = COLUMNS if not everything else (COLUMNS[0], "account", *COLUMNS[1:])
    shown = [{**row, "account": _whose(row), "actor": _actor(row), "more": _more(row)} for row in rows]
    narrowed = "".join((f" of kind {action}" if action else "", f" by {actor}" if actor else ""))
    table(columns, shown, empty=f"no entries{narrowed}")


def _meant(words: list[str] | None) -> tuple[bool, str]:
    """Return whether logs are verified, and the account's id or name; Misused for more words."""
    given = words or []
    verify = given[:1] == [VERIFY]
    named = given[1:] if verify else given
    if len(named) > 1:
        raise Misused("name one account")
    return verify, next(iter(named), "")


def _check_verified(kind: KeyKind, filters: str, *, mine: bool) -> None:
    """Refuse options that do not go with `verify`. `filters`: of entries; empty: there are none."""
    if mine or filters or kind is not KeyKind.LIVE:
        raise Misused("`posthaste audit verify` compares whole logs, of all keys: it takes --all, and no filter")


def _verify(client: OperatorClient, account: str, *, everything: bool, json: bool) -> None:
    """Compare logs with their seals, and print what was found; the exit code is 1 if one is not as it was sealed."""
    names = [account]
    if everything:
        names = ["", *(x["account_id"] for x in client.get("/accounts")["items"])]
    rows = [row for name in names for row in client.get("/audit/verify", {"account": name})["items"]]
    if json:
        emit_all(rows)
    else:
        table(VERIFIED, [_verified(row) for row in rows], empty="no logs")
    if not all(row["whole"] and row["finding"] is None for row in rows):
        raise typer.Exit(ExitCode.FAILED)


def _verified(row: Row) -> Row:
    fault = row["finding"]
    result = "as it was sealed" if row["whole"] else "not looked at to its end: try again"
    if fault:
        result = f"{fault['fault']}: {fault['place'] or 'an entry'} at {moment(fault['at'])}"
    until = moment(row["sealed_until"]) if row["sealed_until"] else "not sealed yet"
    return {**row, "sealed_until": until, "result": result, "digest": (row["digest"] or "")[:16]}


def _check_action(action: str) -> None:
    """Refuse a kind of entry that there is not."""
    known = sorted(act.value for act in Act)
    if action and action not in known:
        near = difflib.get_close_matches(action, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise Misused(f"no entry is of kind {action}\n{hint}kinds: {', '.join(known)}")


def _check_whose(account: str, kind: KeyKind, *, everything: bool, mine: bool) -> None:
    """Refuse options that contradict each other."""
    if bool(account) + everything + mine > 1:
        raise Misused("name an account, or add --all, or --mine")
    if account == EVERYONE:
        raise Misused("the deployment's own log is shown without an account")
    if kind is not KeyKind.LIVE and not (account or mine):
        raise Misused(f"--{kind.value} needs an account")


def _by_the_api(ctx: typer.Context, action: str, kind: KeyKind) -> Iterator[Row]:
    """Yield the entries of the account whose key the environment has.

    Args:
        action: only entries of this kind; empty for all.
    """
    query = {"limit": str(PAGE), "action": action, **({kind.value: "true"} if kind is not KeyKind.LIVE else {})}
    for page in connect(ctx).pages("/audit", {name: value for name, value in query.items() if value}):
        yield from page


def _entries(client: OperatorClient, asked: Mapping[str, str], limit: int) -> Iterator[Row]:
    """Yield entries as operators read them, newest first. `limit`: how many are wanted."""
    before = 0
    while True:
        page = client.get("/audit", {**asked, "limit": str(min(PAGE, limit)), "before": str(before)})
        yield from ({**row, "at": moment(row["at"])} for row in page["items"])
        before = page["before"]
        if not before:
            return


def _whose(row: Row) -> str:
    """Return whose log an entry is in, for people."""
    kind = next((f" ({kind})" for kind in ("test", "team") if row.get(kind)), "")
    return f"{row.get('account_id') or 'deployment'}{kind}"


def _actor(row: Row) -> str:
    """Return who did it, for people: a key by its name and its id."""
    return f"{row['actor_name']} ({row['actor']})" if row.get("actor_name") else str(row["actor"])


def _more(row: Row) -> str:
    return " ".join(f"{name}={value}" for name, value in (row.get("data") or {}).items())
