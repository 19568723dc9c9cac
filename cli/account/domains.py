"""`posthaste domain …`: domains that the account proves to be its own, and what their DNS says of mail."""

from typing import Annotated, Any, Final

import typer

from cli.client import connect, new_key, path_of
from cli.output import Json, emit, emit_or_say, say, tables

app = typer.Typer(help="Domains that the account sends from, proven by DNS.", no_args_is_help=True)

COLUMNS: Final = ("sender", "state", "created_at", "proven_at")
Domain = Annotated[str, typer.Argument(metavar="DOMAIN", help="A domain, such as news.example.com.")]


@app.command("list")
def list_domains(ctx: typer.Context, json: Json = False) -> None:
    """List what the account may send from, and its claims."""
    empty = "no senders: claim a domain with `posthaste domain add DOMAIN`"
    tables(COLUMNS, [connect(ctx).get("/senders")["items"]], json=json, empty=empty)


@app.command()
def add(ctx: typer.Context, domain: Domain, json: Json = False) -> None:
    """Claim a domain. Shows the DNS record to publish."""
    found = connect(ctx).post("/senders", {"domain": domain}, key=new_key())
    if json:
        emit(found)
        return
    say(f"publish this record, then run `posthaste domain verify {found.get('sender')}`:")
    say(_record(found))


@app.command()
def show(ctx: typer.Context, domain: Domain, json: Json = False) -> None:
    """Show a domain, what DNS says of SPF, DKIM and DMARC, and what providers say."""
    _shown(connect(ctx).get(path_of("senders", domain)), json=json)


@app.command()
def verify(ctx: typer.Context, domain: Domain, json: Json = False) -> None:
    """Look for the record that proves a domain."""
    path = path_of("senders", domain, "/verify")
    _shown(connect(ctx).post(path, b"", key=new_key()), json=json)


@app.command()
def remove(ctx: typer.Context, domain: Domain, json: Json = False) -> None:
    """Give up a domain. The account no longer sends from it."""
    found = connect(ctx).delete(path_of("senders", domain))
    emit_or_say(found, json=json, text=f"{found.get('domain')} is given up: the account no longer sends from it")


def _record(found: dict[str, Any]) -> str:
    record = found.get("record") or {}
    return f'{record.get("name")} TXT "{record.get("value")}"'


def _shown(found: dict[str, Any], *, json: bool) -> None:
    if json:
        emit(found)
        return
    say(f"{found.get('sender')}: {found.get('state')}")
    if found.get("state") == "pending":
        say(_record(found))
    for check in found.get("checks", []):
        words = check.get("advice") or check.get("found") or ""
        say(f"{check.get('name')}: {check.get('state')}{' - ' if words else ''}{words}")
    for identity in found.get("identities", []):
        _signed(identity)


def _signed(identity: dict[str, Any]) -> None:
    """Print what a provider says of the domain, and the records that it wants."""
    place, words = f"{identity.get('provider')} {identity.get('region')}", identity.get("advice") or ""
    say(f"{place}: {identity.get('state')}{' - ' if words else ''}{words}")
    for record in identity.get("records", []):
        say(f"{record.get('name')} {record.get('type')} {record.get('value')}")
