"""`posthaste account images`: an account's pictures, as operators see and delete them."""

from typing import Annotated, Final

import typer

from cli.deployment import Aws, Stage
from cli.operating.accounts import Account
from cli.operating.door import door, timed
from cli.output import Json, emit, emit_all, say, table

COLUMNS: Final = ("file", "size", "created_at", "alt", "url")


def add_to(app: typer.Typer) -> None:
    """Add the command to those of accounts."""
    app.command("images")(images)


def images(
    ctx: typer.Context,
    account: Account,
    *,
    delete: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="The address of a picture, or its last part: it is read no more. Repeatable."),
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show an account's pictures, or delete some: those of a fraud.

    Messages that were sent show a deleted picture no more. Copies that mail programs keep stay with them.
    """
    with door(ctx, stage, aws=aws) as (client, _):
        if delete:
            names = [text.partition("?")[0].rpartition("/")[2] for text in delete]
            done = client.send("POST", "/accounts/images/delete", {"account": account, "files": names})
        else:
            found = client.get("/accounts/images", {"account": account})["items"]
            rows = [timed(x, "created_at") for x in found]
    if delete:
        if json:
            emit(done)
            return
        for name in done["deleted"]:
            say(f"{name} is deleted")
        for name in done["missing"]:
            say(f"{name} is no picture of {done['account_id']}")
    elif json:
        emit_all(rows)
    else:
        table(COLUMNS, rows, empty="no pictures")
