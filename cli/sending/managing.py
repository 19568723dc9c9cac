"""`posthaste campaign list | show | stats | send | test | delete`: campaigns that are there already."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.client import ApiClient, connect, new_key, path_of
from cli.errors import ExitCode, Failed
from cli.lists.listing import recipients_of
from cli.options import pairs
from cli.output import Json, counted, emit, emit_or_say, say, surroundings, table, tables, tell
from cli.progress.words import (
    ends_words,
    figures,
    left_of,
    state_words,
    stopped_words,
    text_of_field,
    trial_words,
    until_words,
    waiting_words,
)
from cli.sending.hours import ANY, Within, hours_of, hours_words
from cli.sending.moments import At, check_time
from cli.sending.running import Runner, how_to_send, question

LISTED: Final = ("campaign_id", "state", "messages", "delivered", "failed", "credential", "created_at", "name")
ROUTE: Final = ("credential_id", "provider", "tried", "accepted", "delivered", "failed")
SOME: Final = 50
CampaignId = Annotated[str, typer.Argument(metavar="ID", help="The campaign's id.")]
Rate = Annotated[float, typer.Option(min=0, help="Messages per second at most; default: the credential's.")]


def _path(campaign: str, rest: str = "") -> str:
    return path_of("campaigns", campaign, rest)


def list_campaigns(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many campaigns. --json shows all.")] = SOME,
    json: Json = False,
) -> None:
    """List the account's campaigns with their figures, newest first."""
    api = connect(ctx)
    if json:
        tables((), api.pages("/campaigns"), json=True, empty="no campaigns")
        return
    pages = api.pages("/campaigns", {"limit": str(min(limit + 1, 1000))})
    found = list(islice((item for page in pages for item in page), limit + 1))
    known = _jobs_of(api, found[:limit])
    table(LISTED, [_row(x, known) for x in found[:limit]], empty="no campaigns")
    if len(found) > limit:
        tell(f"there are more than {limit:,}: --limit N shows N")


def _jobs_of(api: ApiClient, campaigns: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the jobs of campaigns by id: from the newest page of all jobs, the others one by one."""
    wanted = [str(name) for x in campaigns for name in x.get("jobs") or ()]
    if not wanted:
        return {}
    newest = next(iter(api.pages("/jobs")), [])
    known = {str(x.get("job_id")): x for x in newest}
    return known | {name: api.get(path_of("jobs", name)) for name in wanted if name not in known}


def _row(campaign: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    mine = [known[str(name)] for name in campaign.get("jobs") or () if str(name) in known]
    counts = [x.get("counts") or {} for x in mine]
    left = sum(map(left_of, counts))
    return {
        **campaign,
        "state": state_words(campaign.get("state"), left),
        "credential": campaign.get("credential_id"),
        "messages": _sum(x.get("total") for x in mine),
        "delivered": _sum(x.get("delivered") for x in counts),
        "failed": _sum(x.get("failed") for x in counts),
    }


def _sum(numbers: Iterator[Any]) -> str:
    found = list(numbers)
    return f"{sum(found):,}" if found else ""


def show(ctx: typer.Context, campaign: CampaignId, json: Json = False) -> None:
    """Show what a campaign says, its list and how far it is. --json: as `GET /campaigns/{id}` answers."""
    api = connect(ctx)
    found = api.get(_path(campaign))
    if json:
        emit(found)
        return
    stats = api.get(_path(campaign, "/stats")) if found.get("jobs") else {}
    left = left_of(stats.get("counts"))
    say(f"campaign {campaign} is {state_words(found.get('state'), left)}")
    for name, value in _facts(api, found, stats):
        if value:
            say(f"  {name:<11}  {value}")
    if advice := _next(campaign, found, left):
        say(advice)


def _facts(api: ApiClient, found: Mapping[str, Any], stats: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what there is to say about a campaign: a name, and the words, which may be empty."""
    said = found.get("template") or {}
    copied = f"{found['template_id']}, version {found.get('template_version')}" if found.get("template_id") else ""
    body = counted(len(text_of_field(said, "body")), "character")
    yield "name", text_of_field(found, "name")
    yield "test", trial_words(found)
    yield "credential", f"{found.get('credential_id')} ({found.get('channel')})"
    yield "hours", hours_words(found)
    yield "template", copied
    for name in ("from", "reply_to", "subject"):
        yield name.replace("_", " "), text_of_field(said, name)
    yield "body", f"{body}; posthaste campaign preview {found.get('campaign_id')}"
    yield "variables", _listed(found.get("variables"))
    yield "list", _list_words(api, found)
    yield "missing", _listed(found.get("missing"))
    yield from _approval_facts(found)
    if stats:
        yield from _job_facts(stats)
    yield "created", text_of_field(found, "created_at")


def _approval_facts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    asked, decided = found.get("approval") or {}, found.get("decision") or {}
    if asked:
        how = text_of_field(asked, "reason") or f"asked by {asked.get('asked_by')} at {asked.get('asked_at')}"
        yield "approval", f"{asked.get('state')}: {how}; posthaste campaign approve {found.get('campaign_id')}"
    if decided:
        reason = f": {decided['reason']}" if decided.get("reason") else ""
        yield "approval", f"{decided.get('decision')} by {decided.get('by')} at {decided.get('at')}{reason}"


def _listed(names: object) -> str:
    """Return names, each once, separated by commas."""
    return ", ".join(dict.fromkeys(map(str, filter(None, names)))) if isinstance(names, Iterable) else ""


def _job_facts(stats: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the figures of a campaign, what holds its jobs up, when they end, and why they were stopped."""
    mine: Sequence[Mapping[str, Any]] = stats.get("jobs") or ()
    yield "messages", f"{stats.get('total') or 0:,}: {figures(stats.get('counts'))}"
    yield "ends", ends_words(stats)
    yield "waiting for", _listed(waiting_words(x.get("waiting_for")) for x in mine)
    yield "until", _listed(map(until_words, mine))
    yield "scheduled", _listed(x["scheduled_at"] for x in mine if x.get("waiting_for") == "scheduled")
    yield "stopped", _listed(map(stopped_words, mine))


def _list_words(api: ApiClient, found: Mapping[str, Any]) -> str:
    """Return what there is to say about a list that was not sent."""
    if not found.get("upload_id"):
        return ""
    upload = api.get(_path(str(found.get("campaign_id")), path_of("uploads", str(found["upload_id"]))), {"limit": "1"})
    return f"{counted(recipients_of(upload), 'recipient')}, not sent"


def _next(campaign: str, found: Mapping[str, Any], left: int) -> str:
    """Return what to do next, empty if nothing is."""
    if found.get("state") == "ready":
        return how_to_send(campaign)
    if found.get("state") == "LOGGED" and left:
        return f"to send the rest:  posthaste campaign resume {campaign}"
    return ""


def stats(ctx: typer.Context, campaign: CampaignId, json: Json = False) -> None:
    """Show the outcome of a campaign's messages, in all and by provider."""
    found = connect(ctx).get(_path(campaign, "/stats"))
    if json:
        emit(found)
        return
    counts = found.get("counts") or {}
    words = state_words(found.get("state"), left_of(counts))
    say(f"campaign {campaign} is {words}: {counted(found.get('total') or 0, 'message')}")
    for state, n in counts.items():
        if n:
            say(f"  {state:<10}  {n:>12,}  {n / max(1, found['total']):7.2%}")
    if found.get("duplicates"):
        say(f"  {counted(found['duplicates'], 'duplicate')} left out")
    if overdue := found.get("unacknowledged"):
        say(f"  {overdue:,} of the sent wait for an overdue answer of their provider")
    table(ROUTE, found.get("route") or [], empty="nothing was sent")
    if found.get("exact") is False:
        tell(f"figures of {found.get('as_of')}")


def send(
    ctx: typer.Context,
    campaign: CampaignId,
    rate: Rate = 0,
    at: At = "",
    hours: Within = "",
    watch: Annotated[bool, typer.Option("--watch", help="Then watch it until the last message.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Send the list that is ready. Without --rate, as fast as the credential allows.

    --hours is kept as the campaign's; "any" is for any time.
    """
    around = surroundings(ctx)
    check_can_ask(around, yes=yes, json=json)
    check_time(at, around.clock.now())
    change = {"hours": ANY} if hours == ANY else hours_of(hours)
    api = connect(ctx)
    found = api.get(_path(campaign))
    if not found.get("upload_id"):
        advice = "upload one with `posthaste campaign run`"
        raise Failed(f"the campaign has no list to send\n{advice}\ncode: no_list", problem="no_list")
    place = _path(campaign, path_of("uploads", str(found["upload_id"])))
    amount = recipients_of(api.get(place, {"limit": "1"}))
    asked = question(amount, found, api.place, at)
    confirm(around, asked, yes=yes, json=json, otherwise=("nothing was sent", how_to_send(campaign)))
    if change:
        api.patch(_path(campaign), change)
    runner = Runner(api, around, json=json)
    job = runner.send(campaign, rate, at)
    code = runner.follow(campaign, job) if job and watch and not at else ExitCode.OK
    if job and not (watch or at or json):
        say(f"watch it:  posthaste campaign watch {campaign}")
    if code:
        raise typer.Exit(code)


def try_out(
    ctx: typer.Context,
    campaign: CampaignId,
    recipient: Annotated[str, typer.Argument(metavar="RECIPIENT", help="Your own address or number.")],
    value: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="The value of a placeholder. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Send one real message of a campaign to yourself. A placeholder without a --value is empty."""
    body = {"recipient": recipient, "params": pairs("--value", value or [])}
    found = connect(ctx).post(_path(campaign, "/test"), body, key=new_key())
    batch = found.get("batch_id")
    if found.get("skipped"):
        text = f"not sent: {recipient} is invalid, suppressed or has unsubscribed; posthaste batch logs {batch}"
    else:
        text = f"one message to {recipient} is on its way; posthaste batch watch {batch}"
    emit_or_say(found, json=json, text=text)


def delete(
    ctx: typer.Context,
    campaign: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of campaigns.")],
    json: Json = False,
) -> None:
    """Delete campaigns that have sent nothing, with their lists."""
    api = connect(ctx)
    for name in campaign:
        found = api.get(_path(name))
        if found.get("upload_id") and not found.get("jobs"):
            api.delete(_path(name, path_of("uploads", str(found["upload_id"]))))
        api.delete(_path(name))
        emit_or_say({"campaign_id": name, "deleted": True}, json=json, text=f"campaign {name} is deleted")


def add_to(app: typer.Typer) -> None:
    """Add these commands to those of campaigns."""
    app.command("list")(list_campaigns)
    app.command("test")(try_out)
    for command in (show, stats, send, delete):
        app.command()(command)
