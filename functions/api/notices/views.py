"""Notices and their updates as notifiers see them."""

from typing import Literal

from pydantic import ConfigDict, Field, RootModel

from functions.api.jobs.log_views import AttemptView
from shared.domain.notices.notice import Notice, NoticeRun, Phase
from shared.engine.reports.message_log import LogLine
from shared.web.views import Time, View, at, moment


class UpdateView(View):
    """A notice whose status has changed, or a record that was rejected."""

    id: str = Field(description="The notifier's own id of the notice.")
    action: str | None = Field(
        None, description="Only of a rejected record: its action, as it was sent; empty if it had none."
    )
    status: Literal["NEW", "TEMP_FAIL", "SUCCESS", "PERM_FAIL", "CANCELED"] = Field(
        description="The notice's status. A rejection never changes it; PERM_FAIL if no notice is stored."
    )
    error: str | None = Field(description="Code of a failure or a rejection.")
    message: str | None = Field(description="A sentence for people.")
    reference: str | None = Field(None, description="The notice's, if it has one.")
    tags: list[str] | None = Field(None, description="The notice's, if it has some.")
    updated_at: str = Field(
        description="RFC 3339 with the offset of the notifier's time zone. Ask again from the last one + 1 s.",
        json_schema_extra={"format": "date-time"},
    )


class NoticeRunView(View):
    """One run of a notice: a message through the engine."""

    delivery_method: str
    state: str | None = Field(description="Of the message; null once its job has expired.")
    attempts: list[AttemptView]


class NoticeView(View):
    """A notice with its status and attempts."""

    id: str
    status: Literal["NEW", "TEMP_FAIL", "SUCCESS", "PERM_FAIL", "CANCELED"]
    waiting: bool = Field(description="It waits for its next run.")
    error: str | None
    message: str | None
    template_id: str
    delivery_method: str
    reference: str | None = Field(description="The notifier's own name for it.")
    tags: list[str] = Field(description="The notifier's words for it.")
    created_at: Time
    next_attempt_at: Time | None = Field(description="Earliest time of its next run; null if none is planned.")
    expires_at: Time = Field(description="Nothing is sent from this time on.")
    updated_at: Time | None = Field(description="Of its last update; null if it has none.")
    runs: list[NoticeRunView] = Field(description="Its latest runs, oldest first.")


class UpdateList(RootModel[list[UpdateView]]):
    """Updates in the order of `updated_at`."""

    model_config = ConfigDict(defer_build=True)


class ReceivedPayload(View):
    """A payload that is stored. Payloads are processed in the order of their answers."""

    received: int = Field(description="Records of the payload.")


def notice_view(x: Notice, runs: list[tuple[NoticeRun, LogLine | None]]) -> NoticeView:
    """Return a notice as its notifier sees it."""
    waits = x.phase is Phase.WAITING
    return NoticeView(
        id=x.id,
        status=x.status.value,
        waiting=waits,
        error=x.error or None,
        message=x.message or None,
        template_id=x.data.template,
        delivery_method=x.data.method.value,
        reference=x.labels.reference or None,
        tags=list(x.labels.tags),
        created_at=moment(x.created_at),
        next_attempt_at=at(x.next_at) if waits else None,
        expires_at=moment(x.expires_at),
        updated_at=at(x.stamp),
        runs=[
            NoticeRunView(
                delivery_method=run.method.value,
                state=line.state if line else None,
                attempts=[AttemptView.model_validate(x) for x in line.attempts] if line else [],
            )
            for run, line in runs
        ],
    )
