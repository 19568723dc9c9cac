"""`posthaste account delete`: plans that an account leaves, lets it stay after all, or deletes it at its time."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.operating.accounts import Account
from cli.operating.door import OperatorClient, door
from cli.output import Json, counted, emit, moment, say, surroundings
from cli.progress.meters import meter
from shared.domain.times import DAY_MS

_DAYS: Final = re.compile(r"([1-9][0-9]{0,2})d")
FIRST: Final = "close"


def add_to(app: typer.Typer) -> None:
    """Add the command to those of accounts."""
    app.command("delete")(delete_account)


def delete_account(
    ctx: typer.Context,
    account: Account,
    *,
    after: Annotated[
        str,
        typer.Option(metavar="DAYS", help="Plan it, for so many days from now: 7d. You can cancel it."),
    ] = "",
    cancel: Annotated[bool, typer.Option("--cancel", help="Let the account stay: forget the plan.")] = False,
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Delete an account in two steps: --after plans it, and the same command without options deletes it then.

    Let the owner export results meanwhile. You can repeat and interrupt the deletion at any time. The audit log stays.
    """
    around, days = surroundings(ctx), _days(after, cancel=cancel)
    if not (cancel or days):
        check_can_ask(around, yes=yes, json=json)
    with door(ctx, stage, aws=aws) as (client, found):
        if cancel:
            _say_cancelled(client.send("POST", "/erase/accounts/cancel", {"account": account}), json=json)
        elif days:
            at = int(around.clock.now() * 1000) + days * DAY_MS
            _say_planned(client.send("POST", "/erase/accounts/plan", {"account": account, "at": at}), json=json)
        else:
            asked = (
                f"Delete {account} of stage {found.stage}, {found.where}, for good: its keys, members, senders, lists"
            )
            confirm(around, f"{asked}, campaigns, templates and suppressions?", yes=yes, json=json)
            with meter("deleting", terminal=around.terminal, quiet=json) as shown:
                done = _deleted(client, account, lambda read: shown(0.0, f"{counted(read, 'row')} read"))
            _say_deleted(done, json=json)


def _days(after: str, *, cancel: bool) -> int:
    """Return for how many days a plan is made; 0: none is."""
    if after and cancel:
        raise Misused("choose one of --after and --cancel")
    days = _DAYS.fullmatch(after) if after else None
    if after and days is None:
        raise Misused("--after is a number of days, such as 7d")
    return int(days[1]) if days else 0


def _deleted(client: OperatorClient, account: str, reached: Callable[[int], None]) -> dict[str, Any]:
    """Have an account deleted, request by request; return what all of them report.

    Args:
        reached: gets how many rows were read so far.
    """
    request: dict[str, Any] = {"account": account, "step": FIRST, "after": ""}
    total = {"stopped": 0, "read": 0, "deleted": 0}
    while request["step"]:
        done = client.send("POST", "/erase/accounts/run", request)
        request |= {"account": done["account_id"], "step": done["step"], "after": done["after"]}
        total = {name: count + done[name] for name, count in total.items()}
        reached(total["read"])
    return {"account_id": request["account"], **total}


def _say_deleted(done: dict[str, Any], *, json: bool) -> None:
    if json:
        emit(done)
        return
    say(f"{done['account_id']} is deleted: {done['deleted']:,} of its rows and files are gone")
    say(f"{counted(done['stopped'], 'job')} stopped; results and messages go by the table of retention")
    say(f"its audit log stays:  posthaste audit {done['account_id']}")


def _say_cancelled(done: dict[str, Any], *, json: bool) -> None:
    if json:
        emit(done)
    else:
        say(f"{done['account_id']} stays" if done["changed"] else f"{done['account_id']}: nothing was planned")


def _say_planned(plan: dict[str, Any], *, json: bool) -> None:
    if json:
        emit({**plan, "leaves_at": moment(plan["leaves_at"])})
        return
    name, at = plan["account_id"], moment(plan["leaves_at"])
    say(f"{name} ({plan['name']}) may be deleted from {at} on; until then it works as before")
    say(f"to let it stay:       posthaste account delete {name} --cancel")
    say(f"to delete it then:    posthaste account delete {name}")
