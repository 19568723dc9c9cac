"""`posthaste quota`: limits of the day, and how much is used."""

import typer

from cli.client import connect
from cli.output import Json, emit, say, table

COLUMNS = ("quota", "of", "limit", "used", "left")


def quota(ctx: typer.Context, json: Json = False) -> None:
    """Show the limits of a UTC day that operators have set for the account and the API key, and how much is used."""
    found = connect(ctx).get("/quota")
    if json:
        emit(found)
        return
    rows = [{name: row.get(name) for name in COLUMNS} for row in found.get("items") or []]
    table(COLUMNS, rows, empty="this account has no limits of a day")
    if rows:
        say(f"the next day begins at {found.get('resets_at')}")
