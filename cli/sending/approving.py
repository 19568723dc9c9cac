"""`posthaste campaign waiting | approve | refuse` and `posthaste approval-limit …`: lists that two look at."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.client import connect, new_key, path_of
from cli.errors import Failed, Misused
from cli.output import Json, counted, emit, emit_or_say, say, surroundings, tables
from cli.sending.managing import CampaignId

app = typer.Typer(help="From how many rows on the account's lists wait for approval.", no_args_is_help=True)
LISTED: Final = ("campaign_id", "state", "recipients", "asked_by", "asked_at", "scheduled_at", "name")
OFF: Final = "off"


def waiting(ctx: typer.Context, json: Json = False) -> None:
    """List the campaigns that wait for approval, the oldest request first."""
    tables(LISTED, [connect(ctx).get("/approvals")["items"]], json=json, empty="nothing waits for approval")


def approve(ctx: typer.Context, campaign: CampaignId, yes: Yes = False, json: Json = False) -> None:
    """Approve a list that another key or person asks to send. It is sent exactly as it is shown."""
    around = surroundings(ctx)
    check_can_ask(around, yes=yes, json=json)
    api = connect(ctx)
    found = api.get(path_of("campaigns", campaign))
    asked = _asked(found)
    if not json:
        _show(found, asked)
    amount = counted(int(asked["recipients"]), "row")
    question = f"send {found.get('name')}, {amount}, by {api.place}?"
    confirm(around, question, yes=yes, json=json, otherwise=("nothing was approved",))
    body = {"approval_id": asked["approval_id"]}
    done = api.post(path_of("campaigns", campaign, "/approve"), body, key=new_key())
    emit_or_say(done, json=json, text=f"approved; watch it:  posthaste campaign watch {campaign}")


def refuse(
    ctx: typer.Context,
    campaign: CampaignId,
    reason: Annotated[str, typer.Option(help="The reason, for the audit log; without addresses.")] = "",
    json: Json = False,
) -> None:
    """Refuse a list that waits, or withdraw your own request. The list stays."""
    api = connect(ctx)
    asked = _asked(api.get(path_of("campaigns", campaign)))
    body = {"approval_id": asked["approval_id"], **({"reason": reason} if reason else {})}
    done = api.post(path_of("campaigns", campaign, "/refuse"), body)
    decided = (done.get("decision") or {}).get("decision")
    emit_or_say(done, json=json, text=f"{decided}; nothing was sent, and the list of campaign {campaign} stays")


def _asked(found: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = found.get("approval")
    if not asked:
        raise Failed("nothing of the campaign waits for approval\ncode: not_waiting", problem="not_waiting")
    return dict(asked)


def _show(found: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Print what is approved."""
    said = found.get("template") or {}
    facts = {
        "asked by": f"{asked['asked_by']} at {asked['asked_at']}",
        "from": said.get("from"),
        "subject": said.get("subject"),
        "rows": f"{asked['recipients']:,}, of which {asked['skipped']:,} get nothing",
        "credential": found.get("credential_id"),
        "begins": asked.get("scheduled_at") or "with the approval",
        "message": f"posthaste campaign preview {found.get('campaign_id')}",
    }
    say(f"campaign {found.get('campaign_id')}, {found.get('name')}")
    for name, value in facts.items():
        if value:
            say(f"  {name:<11}  {value}")
    if asked.get("reason"):
        say(str(asked["reason"]))


@app.command("show")
def show_limit(ctx: typer.Context, json: Json = False) -> None:
    """Show from how many rows a day on lists wait, and what is proposed."""
    _limit(connect(ctx).get("/approval-limit"), json=json)


@app.command("set")
def set_limit(
    ctx: typer.Context,
    rows: Annotated[str, typer.Argument(metavar="ROWS", help="Rows a day without approval; 0: none; or off.")],
    json: Json = False,
) -> None:
    """Set from how many rows a day on lists wait. A looser limit is proposed: another key approves it."""
    _limit(connect(ctx).put("/approval-limit", {"above": rows_of(rows)}), json=json)


def rows_of(text: str) -> int | None:
    """Return a limit as it is typed; None: no list waits. Raises Misused."""
    if text == OFF:
        return None
    if not text.isascii() or not text.isdigit():
        raise Misused(f"{text!r} is no limit: use a number of rows, 0 for every list, or off")
    return int(text)


@app.command("approve")
def approve_limit(ctx: typer.Context, json: Json = False) -> None:
    """Approve the looser limit that another key or person has proposed."""
    _decide(ctx, "approve", json=json)


@app.command("refuse")
def refuse_limit(ctx: typer.Context, json: Json = False) -> None:
    """Drop the looser limit that is proposed."""
    _decide(ctx, "refuse", json=json)


def _decide(ctx: typer.Context, what: str, *, json: bool) -> None:
    api = connect(ctx)
    proposal = api.get("/approval-limit").get("proposal")
    if not proposal:
        raise Failed("no limit is proposed\ncode: not_waiting", problem="not_waiting")
    body = {"approval_id": proposal["approval_id"]}
    _limit(api.post(f"/approval-limit/{what}", body), json=json)


def _limit(found: Mapping[str, Any], *, json: bool) -> None:
    if json:
        emit(found)
        return
    say(limit_words(found["above"]))
    if found["above"]:
        say(f"sent without approval in the day that runs: {counted(int(found['sent_today']), 'row')}")
    if proposal := found.get("proposal"):
        say(f"proposed by {proposal['asked_by']}: {limit_words(proposal['above'])}")
        say("another key or person approves it:  posthaste approval-limit approve")


def limit_words(above: int | None) -> str:
    """Return what a limit means."""
    if above is None:
        return "no list waits for approval"
    return f"lists wait for approval above {counted(above, 'row')} a day" if above else "every list waits for approval"


def add_to(campaigns: typer.Typer) -> None:
    """Add the commands about requests to those of campaigns."""
    for command in (waiting, approve, refuse):
        campaigns.command()(command)
