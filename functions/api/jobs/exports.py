"""Exports: every message of a job as a CSV file, made in the background and fetched from the bucket."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal

from pydantic import Field

from functions.api.call import Call
from functions.api.jobs.routes import Handler, owned
from shared.domain.accounts import Scope
from shared.domain.exports import LINK_SECONDS, ExportState
from shared.domain.jobs.job import Job
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, section
from shared.web.views import Time, View

RETRY_AFTER: Final = 3
"""Seconds a client is asked to wait while an export is made: a part takes as long."""


class ExportPreparing(View):
    """The export is being made."""

    state: Literal["preparing"]
    progress: float = Field(description="Share that is written, 0 to 1.")
    waiting_for: Literal["another_export"] | None = Field(
        description="Why it has not begun: another one of the account is made first."
    )
    as_of: Time = Field(description="Every row is at least as new.")


class ExportReady(View):
    """The export is there."""

    state: Literal["ready"]
    url: str = Field(description="The CSV file's URL (UTF-8). It needs no key, so keep it private.")
    expires_at: Time = Field(description="Until when fetching can begin; the same call gives another URL.")
    rows: int = Field(description="Messages; the header row is not counted.")
    as_of: Time = Field(description="Every row is at least as new.")


def answer(call: Call[Nothing, Nothing], kind: str, name: str, jobs: Sequence[Job]) -> Answer:
    """Return the export of jobs: a link to it, or how far it is.

    Args:
        kind: what the file is named after: batch, job or campaign.
        name: id of the campaign or job.
        jobs: in the order of the rows; those whose recipients are no longer kept are left out.
    """
    services = call.services
    now = services.clock.now()
    kept = [job for job in jobs if job.ttl > now]
    if not kept:
        raise Problem("expired", "The recipients are no longer kept.")
    export = services.exports.ask(name, call.key.account, kept)
    as_of = datetime.fromtimestamp(export.begun_at / 1000, UTC)
    if export.state is ExportState.FAILED:
        raise Problem("export_given_up") if export.code else Problem("expired", "The recipients are no longer kept.")
    if export.state is ExportState.PREPARING:
        view = ExportPreparing(
            state="preparing",
            progress=round(export.progress, 4),
            waiting_for="another_export" if export.waits else None,
            as_of=as_of,
        )
        return view.answer(202, {"Retry-After": str(RETRY_AFTER)})
    ready = ExportReady(
        state="ready",
        url=services.files.link(export.blob, filename=export.filename(kind), seconds=LINK_SECONDS),
        expires_at=datetime.fromtimestamp(now + LINK_SECONDS, UTC),
        rows=export.rows,
        as_of=as_of,
    )
    return ready.answer()


def exporter(kind: str | None) -> Handler:
    """Return the handler of the export of one job, of that kind or any."""

    def handle(call: Call[Nothing, Nothing]) -> Answer:
        job, _ = owned(call, kind)
        return answer(call, kind or "job", job.id, [job])

    return handle


def route(path: str, name: str, handler: Handler, *problems: str) -> Route:
    """Return the export operation of a path.

    Args:
        path: the resource's path, as in `/batches/{id}`.
        name: the end of the operation's id, as in `Batch`.
        *problems: codes of problems that only this operation has.
    """
    return Route(
        method="GET",
        path=f"{path}/export",
        name=f"export{name}",
        summary="Every message as a row of a CSV file",
        description="202 while it is made: ask again. The file is given again as long as nothing has changed, and "
        "for two minutes in any case; `as_of` says how new it is.",
        scope=Scope.READ,
        handler=handler,
        answers={200: ExportReady, 202: ExportPreparing},
        problems=("not_found", "expired", "export_given_up", *problems),
    )


ROUTES: Final = (
    *section("Batches", route("/batches/{id}", "Batch", exporter("batch"))),
    *section("Jobs", route("/jobs/{id}", "Job", exporter(None))),
)
