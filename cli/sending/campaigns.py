"""`posthaste campaign …`: one message with placeholders to a list of any size, through one credential."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask
from cli.client import connect, path_of
from cli.errors import ExitCode, Failed, Misused
from cli.files import text_of
from cli.lists import listing
from cli.lists.checking import Expected, check_list
from cli.lists.listing import Duplicates
from cli.lists.sources import UTF8, as_csv, names_utf8
from cli.output import Json, counted, emit, say, surroundings, tables
from cli.sending import jobs, managing
from cli.sending.hours import Within, hours_of
from cli.sending.managing import CampaignId, Rate
from cli.sending.messages import From, ReplyTo, Subject, TextFile, channel_option, saying
from cli.sending.moments import At, check_time
from cli.sending.running import Plan, Runner
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import channel_of
from shared.domain.lists.heading import MAX_HEADER_ROW

app = typer.Typer(help="Campaigns: one message with placeholders, a list of any size.", no_args_is_help=True)

MAX_NAME: Final = 100


def _path(campaign: str, rest: str = "") -> str:
    return path_of("campaigns", campaign, rest)


@app.command()
def run(
    ctx: typer.Context,
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="LIST", help="CSV, .xlsx or .ods with a header row; a column `recipient`, `email` or `phone`."
        ),
    ] = None,
    list_of: Annotated[
        str, typer.Option(metavar="CAMPAIGN", help="Instead of LIST: read this campaign's list again.")
    ] = "",
    template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The body with {{ placeholders }}: HTML; of SMS plain text.")
    ] = None,
    text: TextFile = None,
    stored: Annotated[str, typer.Option("--stored-template", metavar="ID", help="A stored template instead.")] = "",
    subject: Subject = "",
    sender: From = "",
    reply_to: ReplyTo = "",
    credential: Annotated[str, typer.Option(metavar="ID", help="The credential; default: the channel's first.")] = "",
    rate: Rate = 0,
    channel: Annotated[str, channel_option("The channel to send through.")] = EMAIL.name,
    name: Annotated[str, typer.Option(help="Its name, for people; default: the list's.")] = "",
    region: Annotated[str, typer.Option(metavar="CC", help="Country of numbers without a country code, e.g. DE.")] = "",
    column: Annotated[
        str, typer.Option("--recipient-column", metavar="NAME", help="The list's column of recipients.")
    ] = "",
    header_row: Annotated[
        int, typer.Option(metavar="N", min=0, max=MAX_HEADER_ROW, help="The list's row with the names of columns.")
    ] = 0,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="The list's; default: UTF-8, or it is asked.")] = "",
    sheet: Annotated[str, typer.Option(metavar="NAME", help="The workbook's sheet; default: its first.")] = "",
    keep_hidden: Annotated[
        bool, typer.Option("--keep-hidden-rows", help="Also send to the workbook's rows that a filter hides.")
    ] = False,
    strict: Annotated[bool, typer.Option(help="Refuse the list if a row of it is invalid.")] = False,
    duplicates: Annotated[
        Duplicates | None, typer.Option(help="A recipient listed twice gets one message (drop) or two; default: ask.")
    ] = None,
    drop_duplicates: Annotated[bool, typer.Option(hidden=True)] = False,
    at: At = "",
    hours: Within = "",
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Upload a list, review it, send it, and watch until the last message.

    The exit code is 0 if everything was sent or delivered, and 1 if messages failed, are unknown or were not sent.
    """
    around = surroundings(ctx)
    called = _name_of(file, list_of)
    check_can_ask(around, yes=yes, json=json)
    check_time(at, around.clock.now())
    body: dict[str, Any] = {"name": name or called, "channel": channel}
    body |= _given(credential_id=credential) | hours_of(hours)
    body |= _message(channel, template, text, stored, subject=subject, sender=sender, reply_to=reply_to)
    chosen = Duplicates.DROP if drop_duplicates else duplicates
    options = {
        "duplicates": (chosen or Duplicates.DROP).value,
        **_given(region=region.upper(), recipient_column=column, header_row=header_row, strict=strict),
        **_given(encoding=UTF8 if names_utf8(encoding) else ""),
    }
    asks = not yes
    asked = _agreed if asks else None
    if file is None:
        options |= _given(sheet=sheet, hidden_rows="keep" if keep_hidden else "", encoding=encoding)
        plan = Plan(list_of, body, options, rate, at, ask_duplicates=asks and chosen is None)
        _end(Runner(connect(ctx), around, json=json).run(plan, ask=asks))
        return
    with as_csv(file, encoding=encoding, sheet=sheet, ask=asked, keep_hidden=keep_hidden) as path:
        check_list(path, Expected(channel, options, body.get("template", {})))
        plan = Plan(path, body, options, rate, at, ask_duplicates=asks and chosen is None)
        _end(Runner(connect(ctx), around, json=json).run(plan, ask=asks))


def _given(**options: Any) -> dict[str, Any]:
    return {name: x for name, x in options.items() if x}


def _name_of(file: Path | None, list_of: str) -> str:
    """Return the name of a campaign by its list; Misused if it has two lists or none."""
    if (file is None) == (not list_of):
        raise Misused("name one list: a file LIST, or --list-of CAMPAIGN")
    return (file.name if file else f"list of {list_of}")[:MAX_NAME]


def _agreed(question: str) -> bool:
    return typer.confirm(question, default=True, err=True)


def _message(
    channel: str, template: Path | None, text: Path | None, stored: str, *, subject: str, sender: str, reply_to: str
) -> dict[str, Any]:
    """Return what the campaign says, as POST /campaigns takes it."""
    given = {"--template": template, "--text": text, "--subject": subject, "--from": sender, "--reply-to": reply_to}
    if stored:
        if any(given.values()):
            raise Misused("use either --stored-template or " + ", ".join(given))
        return {"template_id": stored}
    rich = channel_of(channel).rich
    if rich:
        _check_rich(subject, sender)
    else:
        _check_plain(subject, reply_to, parts=(template, text))
    file = template if rich else template or text
    if file is None:
        raise Misused("add the message: --template FILE")
    part = text if rich else None
    return {"template": saying(text_of(file), subject=subject, sender=sender, reply_to=reply_to, text=part)}


def _check_rich(subject: str, sender: str) -> None:
    """Refuse an e-mail that lacks an option."""
    if not (subject and sender):
        raise Misused("an e-mail needs --from and --subject")


def _check_plain(subject: str, reply_to: str, *, parts: Sequence[Path | None]) -> None:
    """Refuse what only an e-mail has."""
    if subject or reply_to or all(parts):
        raise Misused("an SMS has only a body: leave out --text, --subject and --reply-to")


def _end(code: ExitCode) -> None:
    if code:
        raise typer.Exit(code)


managing.add_to(app)


@app.command()
def watch(ctx: typer.Context, campaign: CampaignId, json: Json = False) -> None:
    """Watch a sending campaign until its last message. The exit code is that of `run`."""
    api = connect(ctx)
    sent = api.get(_path(campaign)).get("jobs")
    if not isinstance(sent, list) or not sent:
        raise Failed("the campaign has sent nothing yet")
    _end(Runner(api, surroundings(ctx), json=json).follow(campaign, str(sent[-1])))


@app.command()
def problems(
    ctx: typer.Context,
    campaign: CampaignId,
    upload: Annotated[str, typer.Argument(metavar="UPLOAD", help="The list's id.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write them into a new CSV file.")] = None,
    json: Json = False,
) -> None:
    """Show which rows of a list are invalid or duplicates, and why; the first 1,000 of each are kept.

    A row has the number that a spreadsheet shows.
    """
    found = connect(ctx).pages(_path(campaign, path_of("uploads", upload)), items="errors")
    if out is None:
        tables(listing.COLUMNS, found, json=json, empty="no problems", row=listing.as_shown)
        return
    written = listing.write_problems(out, found)
    if json:
        emit({"file": str(out), "rows": written})
    else:
        say(f"{out}: {counted(written, 'row')}")


jobs.add_to(app, "campaign", "campaigns", log="/messages", stats="/stats")
