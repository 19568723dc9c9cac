"""`posthaste message find RECIPIENT`: the messages of all jobs to one person, or about one thing."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Final

import typer

from cli.client import connect
from cli.errors import Misused
from cli.output import Json, table, tables, tell
from shared.domain.lanes.meanings import in_words

COLUMNS: Final = ("accepted_at", "state", "recipient", "subject", "message", "why")
SOME: Final = 50
PAGE: Final = 100
"""The largest page of the API's search."""


def find(
    ctx: typer.Context,
    recipient: Annotated[
        str, typer.Argument(metavar="RECIPIENT", help="An e-mail address, or a phone number with its country code.")
    ] = "",
    *,
    reference: Annotated[str, typer.Option(metavar="TEXT", help="The batch's name in your own system.")] = "",
    tag: Annotated[str, typer.Option(metavar="TEXT", help="One of the batch's tags.")] = "",
    start: Annotated[str, typer.Option("--from", metavar="DATE", help="First UTC day of acceptance.")] = "",
    end: Annotated[str, typer.Option("--to", metavar="DATE", help="Last UTC day of acceptance.")] = "",
    state: Annotated[str, typer.Option(metavar="STATES", help="Fine states: failed,unknown.")] = "",
    credential: Annotated[str, typer.Option(metavar="ID", help="The credential of an attempt.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many messages. --json shows all.")] = SOME,
    json: Json = False,
) -> None:
    """Find messages of all jobs by their recipient, reference, tag, day, state or credential, newest first.

    All that is given must hold. `posthaste message ID` then shows what happened to one of them.
    """
    asked = {"recipient": recipient, "reference": reference, "tag": tag, "from": start, "to": end}
    query = {name: x for name, x in (asked | {"state": state, "credential": credential}).items() if x}
    if not query:
        raise Misused("name a recipient, or an option to find messages by")
    api = connect(ctx)
    if json:
        tables((), api.pages("/messages", query | {"limit": str(PAGE)}), json=True, empty="no messages")
        return
    pages = api.pages("/messages", query | {"limit": str(min(limit + 1, PAGE))})
    found = list(islice(_rows(pages), limit + 1))
    table(COLUMNS, found[:limit], empty="no messages")
    if len(found) > limit:
        tell(f"there are more than {limit:,}: --limit N shows N")


def _rows(pages: Iterator[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for found in (item for page in pages for item in page):
        shown = {name: found.get(name) for name in ("accepted_at", "state", "recipient")}
        subject = found.get("reference") or found.get("subject")
        why = in_words(str(found["error"])) if found.get("error") else ""
        yield {**shown, "subject": subject, "message": f"{found.get('job_id')}/{found.get('message')}", "why": why}
