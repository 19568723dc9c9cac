"""`posthaste schedule …`: campaigns and batches that wait for their time."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.client import connect, path_of
from cli.output import Json, counted, emit_or_say, tables

app = typer.Typer(help="Campaigns and batches that wait for their time.", no_args_is_help=True)

COLUMNS: Final = ("job_id", "kind", "scheduled_at", "messages", "name")


@app.command("list")
def list_schedules(ctx: typer.Context, json: Json = False) -> None:
    """List what waits for its time, soonest first."""
    tables(COLUMNS, connect(ctx).pages("/schedules"), json=json, empty="nothing is scheduled", row=_row)


def _row(job: Mapping[str, Any]) -> dict[str, Any]:
    return {**job, "messages": f"{job.get('total') or 0:,}", "name": job.get("name") or job.get("subject")}


@app.command()
def cancel(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id, as `posthaste schedule list` shows it.")],
    json: Json = False,
) -> None:
    """Cancel a schedule. None of its messages are sent; resume the campaign or batch to send them after all."""
    found = connect(ctx).delete(path_of("schedules", job))
    kind = str(found.get("kind") or "job")
    emit_or_say(
        found, json=json, text=f"{kind} {job} is cancelled: {counted(found.get('total') or 0, 'message')} not sent"
    )
