"""`posthaste batch list | show`: batches that were sent, found again."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer

from cli.client import connect, path_of
from cli.output import Json, counted, emit, say, table, tables
from cli.progress.words import (
    ends_words,
    figures,
    job_words,
    left_of,
    stopped_words,
    text_of_field,
    trial_words,
    until_words,
    waiting_words,
)
from cli.sending.hours import hours_words

LISTED: Final = ("batch_id", "state", "messages", "delivered", "failed", "created_at", "name")
ROUTE: Final = ("credential_id", "provider", "tried", "accepted", "delivered", "failed")


def list_batches(ctx: typer.Context, json: Json = False) -> None:
    """List the account's batches with their figures, newest first."""
    tables(LISTED, connect(ctx).pages("/batches"), json=json, empty="no batches", row=_row)


def _row(batch: Mapping[str, Any]) -> dict[str, Any]:
    counts = batch.get("counts") or {}
    amounts = {name: f"{counts.get(name) or 0:,}" for name in ("delivered", "failed")}
    name = batch.get("name") or batch.get("subject")
    return {**batch, **amounts, "state": job_words(batch), "messages": f"{batch.get('total') or 0:,}", "name": name}


def show(
    ctx: typer.Context,
    batch: Annotated[str, typer.Argument(metavar="ID", help="The batch's id.")],
    json: Json = False,
) -> None:
    """Show what a batch is, how far it is, and what each provider did. --json: as `GET /batches/{id}` answers."""
    found = connect(ctx).get(path_of("batches", batch))
    if json:
        emit(found)
        return
    say(f"batch {batch} is {job_words(found)}")
    for name, value in _facts(found):
        if value:
            say(f"  {name:<11}  {value}")
    table(ROUTE, found.get("route") or [], empty="no provider has been called")
    if found.get("state") == "LOGGED" and left_of(found.get("counts")):
        say(f"to send the rest:  posthaste batch resume {batch}")


def _facts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what there is to say about a batch: a name, and the words, which may be empty."""
    duplicates = found.get("duplicates")
    for name in ("name", "reference", "channel", "from", "subject"):
        yield name, text_of_field(found, name)
    yield "template", text_of_field(found, "template_id")
    yield "tags", ", ".join(map(str, found.get("tags") or ()))
    yield "metadata", ", ".join(f"{key}={value}" for key, value in (found.get("metadata") or {}).items())
    yield "test", trial_words(found)
    yield "messages", f"{found.get('total') or 0:,}: {figures(found.get('counts')) or 'none'}"
    yield "duplicates", f"{counted(duplicates, 'recipient')} left out" if duplicates else ""
    yield "scheduled", text_of_field(found, "scheduled_at")
    yield "hours", hours_words(found)
    yield "waiting for", waiting_words(found.get("waiting_for"))
    yield "until", until_words(found)
    yield "ends", ends_words(found)
    yield "stopped", stopped_words(found)
    yield "created", text_of_field(found, "created_at")
    yield "finished", text_of_field(found, "finished_at")
