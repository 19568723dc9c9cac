"""`posthaste guest …`: the addresses that team keys may send to."""

from typing import Annotated, Final

import typer

from cli.client import connect, path_of
from cli.output import Json, emit_or_say, tables

app = typer.Typer(help="Addresses that the account's team keys may send to.", no_args_is_help=True)

COLUMNS: Final = ("address", "created_at")
Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="An e-mail address, or a number as +14155550100.")]


@app.command("list")
def list_guests(ctx: typer.Context, json: Json = False) -> None:
    """List the guests of the account."""
    empty = "no guests: add one with `posthaste guest add ADDRESS`"
    tables(COLUMNS, [connect(ctx).get("/guests")["items"]], json=json, empty=empty)


@app.command()
def add(ctx: typer.Context, address: Address, json: Json = False) -> None:
    """Let team keys send to an address. Needs a live key."""
    found = connect(ctx).put(path_of("guests", address), {})
    emit_or_say(found, json=json, text=f"{found.get('address')} is a guest: team keys may send to it")


@app.command()
def remove(ctx: typer.Context, address: Address, json: Json = False) -> None:
    """Stop team keys from sending to an address. Needs a live key."""
    found = connect(ctx).delete(path_of("guests", address))
    words = "is no longer a guest" if found.get("removed") else "was not a guest"
    emit_or_say(found, json=json, text=f"{found.get('address')} {words}")
