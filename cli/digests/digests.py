"""`posthaste digest …`: windows of events, and the policies by which they are collected."""

from typing import Annotated, Any, Final

import typer

from cli.asking import NOTHING, Yes, check_can_ask, confirm
from cli.client import LARGEST_PAGE, connect, path_of
from cli.digests import policies
from cli.output import Json, counted, emit, say, surroundings, tables
from shared.domain.digests.window import WindowState

app = typer.Typer(help="Digests: windows of events, and their policies.", no_args_is_help=True)
app.add_typer(policies.app, name="policy")

COLUMNS: Final = ("window_id", "state", "events", "closes_at", "job_id", "batch_key")
WindowId = Annotated[str, typer.Argument(metavar="WINDOW", help="The window's id.")]


@app.command("list")
def list_windows(
    ctx: typer.Context,
    state: Annotated[WindowState | None, typer.Option(help="Only windows in this state.")] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="Only windows of this batch key.")] = "",
    json: Json = False,
) -> None:
    """List windows, newest first."""
    query = {"limit": LARGEST_PAGE, "state": state.value if state else "", "batch_key": key}
    found = connect(ctx).pages("/digests", {name: value for name, value in query.items() if value})
    tables(COLUMNS, found, json=json, empty="no windows")


@app.command()
def show(ctx: typer.Context, window: WindowId, json: Json = False) -> None:
    """Show a window, and the job that it became."""
    _tell(connect(ctx).get(path_of("digests", window)), json=json)


@app.command()
def close(ctx: typer.Context, window: WindowId, yes: Yes = False, json: Json = False) -> None:
    """Close a window now, so that its digest is sent. It asks first. One that has closed stays as it is."""
    around = surroundings(ctx)
    check_can_ask(around, yes=yes, json=json)
    api = connect(ctx)
    found = {} if yes else api.get(path_of("digests", window))
    if found.get("state") == WindowState.OPEN:
        events = counted(int(found.get("events") or 0), "event")
        asked = f"Send the digest of {events} of {found.get('batch_key')} now, through {api.place}?"
        rest = f"{NOTHING}; the window is {found.get('state')}"
        confirm(around, asked, yes=yes, json=json, otherwise=(rest,))
    _tell(api.post(path_of("digests", window, "/close"), again=True), json=json)


@app.command()
def cancel(ctx: typer.Context, window: WindowId, json: Json = False) -> None:
    """Cancel an open window. None of its events is sent."""
    _tell(connect(ctx).delete(path_of("digests", window)), json=json)


def _tell(window: dict[str, Any], *, json: bool) -> None:
    if json:
        emit(window)
        return
    say(f"window {window.get('window_id')} of {window.get('batch_key')} is {window.get('state')}")
    events, groups = (counted(int(window.get(name) or 0), name.removesuffix("s")) for name in ("events", "groups"))
    say(f"  {events}, {window.get('duplicates')} left out as repeats, {groups}")
    say(f"  opened {window.get('opened_at')}, closes {window.get('closed_at') or window.get('closes_at')}")
    say(f"  policy {window.get('policy')}, version {window.get('policy_version')}")
    if window.get("fault"):
        say(f"  not made at the last try: {window['fault']}; it is tried again")
    if window.get("job_id"):
        say(f"  job {window['job_id']}")
