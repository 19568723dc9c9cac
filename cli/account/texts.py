"""`posthaste text list`: what recipients wrote to the account's own numbers."""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Final

import typer

from cli.client import LARGEST_PAGE, connect
from cli.output import Json, table, tables, tell

app = typer.Typer(help="Texts that recipients wrote.", no_args_is_help=True)

COLUMNS: Final = ("received_at", "from", "to", "wish", "credential", "text")
WISHES: Final = {"stop": "stop: suppressed", "start": "start: sent to again"}
SOME: Final = 50


@app.callback()
def _group() -> None:
    """Texts that recipients wrote."""


@app.command("list")
def list_texts(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many texts. --json shows all.")] = SOME,
    json: Json = False,
) -> None:
    """List what recipients wrote to the account's own numbers in the last 30 days, newest first.

    A text such as STOP suppresses its number at once; START takes it off the list again.
    """
    api = connect(ctx)
    if json:
        tables((), api.pages("/texts"), json=True, empty="no texts")
        return
    pages = api.pages("/texts", {"limit": str(min(limit + 1, int(LARGEST_PAGE)))})
    found = list(islice((item for page in pages for item in page), limit + 1))
    table(COLUMNS, [_row(x) for x in found[:limit]], empty="no texts")
    if len(found) > limit:
        tell(f"there are more than {limit:,}: --limit N shows N")


def _row(text: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: text.get(name) for name in ("received_at", "from", "to", "text")}
    wish = WISHES.get(str(text.get("wish")), "")
    return {**shown, "wish": wish, "credential": text.get("credential_id")}
