"""`posthaste audit`: who did what, straight from the deployment's table, or by the API with a key of the account."""

import difflib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.client import connect
from cli.deployment import Aws, Stage, aws_errors, deployment
from cli.errors import Misused
from cli.operating.accounts import kind_wanted, resolve
from cli.output import Json, emit_all, moment, surroundings, table
from shared.domain.audit import EVERYONE, Act, Event
from shared.domain.namespaces import TEST, KeyKind, is_team, namespace, namespaces_of, team_space
from shared.domain.namespaces import owner as owner_of
from shared.ports import Journal

if TYPE_CHECKING:
    from shared.adapters.dynamo.accounts.accounts import Accounts

COLUMNS: Final = ("at", "action", "subject", "actor", "more")
PAGE: Final = 1000
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which entries are shown. `action`, `actor`: only of this one, empty for all; `limit`: the most, newest first."""

    action: str
    actor: str
    limit: int


def show(
    ctx: typer.Context,
    account: Annotated[
        str, typer.Argument(metavar="[ACCOUNT]", help="An account's id or name; default: the whole deployment's log.")
    ] = "",
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
    _check_action(action)
    kind = kind_wanted(test=test, team=team)
    _check_whose(account, kind, everything=everything, mine=mine)
    if mine:
        rows = list(islice((row for row in _by_the_api(ctx, action, kind) if actor in ("", row["actor"])), limit))
    else:
        wanted = _Wanted(action, actor, limit)
        rows = _operated(ctx, account, wanted, stage, aws=aws, kind=kind, everything=everything)
    if json:
        emit_all(rows)
        return
    columns = COLUMNS if not everything else (COLUMNS[0], "account", *COLUMNS[1:])
    shown = [{**row, "account": _whose(row), "actor": _actor(row), "more": _more(row)} for row in rows]
    narrowed = "".join((f" of kind {action}" if action else "", f" by {actor}" if actor else ""))
    table(columns, shown, empty=f"no entries{narrowed}")


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


def _operated(
    ctx: typer.Context,
    account: str,
    wanted: _Wanted,
    stage: str,
    *,
    aws: bool,
    kind: KeyKind,
    everything: bool,
) -> list[Row]:
    """Return entries as operators read them, newest first.

    Args:
        account: the account's id; empty for the deployment's log.
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
        everything: whether the logs of all accounts and of the deployment are meant.
    """
    found = deployment(stage, aws=aws)
    clock = surroundings(ctx).clock
    with aws_errors(found.where):
        accounts = found.accounts(clock)
        owners = _owners(accounts, account, kind, everything=everything)
        journal = found.journal(clock)
        size = min(PAGE, wanted.limit)
        logs = [entries(journal, owner, size, action=wanted.action, actor=wanted.actor) for owner in owners]
        newest = list(islice(heapq.merge(*logs, key=lambda event: event.at, reverse=True), wanted.limit))
        names = _names(accounts, newest)
    return [_row(event, names) for event in newest]


def _owners(accounts: "Accounts", account: str, kind: KeyKind, *, everything: bool) -> list[str]:
    """Return whose logs are meant.

    Args:
        account: an account's id or name; empty for the deployment's own log.
        everything: whether all logs are meant.
    """
    if everything:
        return [EVERYONE, *(name for x in accounts.list_accounts() for name in namespaces_of(x.id))]
    if not account:
        return [EVERYONE]
    whose = resolve(accounts, account)
    return [namespace(team_space(whose) if kind is KeyKind.TEAM else whose, test=kind is KeyKind.TEST)]


def entries(journal: Journal, owner: str, size: int, *, action: str = "", actor: str = "") -> Iterator[Event]:
    """Yield the entries of one log, newest first.

    Args:
        size: entries that are read at a time.
        action: only entries of this kind; empty for all.
        actor: only entries of this actor; empty for all.
    """
    after = ""
    while True:
        page, after = journal.page(owner, kind=action, actor=actor, after=after, limit=size)
        yield from page
        if not after:
            return


def _names(accounts: "Accounts", events: list[Event]) -> Mapping[str, str]:
    """Return the names of the keys that did something, by their ids."""
    owners = {_account(event) for event in events} - {EVERYONE}
    return {key.id: key.name for owner in sorted(owners) for key in accounts.list_keys(owner) if key.name}


def _account(event: Event) -> str:
    return owner_of(event.account.removesuffix(TEST))


def _row(event: Event, names: Mapping[str, str]) -> Row:
    return {
        "at": moment(event.at),
        "account_id": None if event.account == EVERYONE else _account(event),
        "test": event.account.endswith(TEST),
        "team": is_team(event.account),
        "action": event.kind,
        "subject": event.id,
        "actor": event.actor,
        "actor_name": names.get(event.actor),
        "data": dict(event.data),
    }


def _whose(row: Row) -> str:
    """Return whose log an entry is in, for people."""
    kind = next((f" ({kind})" for kind in ("test", "team") if row.get(kind)), "")
    return f"{row.get('account_id') or 'deployment'}{kind}"


def _actor(row: Row) -> str:
    """Return who did it, for people: a key by its name and its id."""
    return f"{row['actor_name']} ({row['actor']})" if row.get("actor_name") else str(row["actor"])


def _more(row: Row) -> str:
    return " ".join(f"{name}={value}" for name, value in (row.get("data") or {}).items())
