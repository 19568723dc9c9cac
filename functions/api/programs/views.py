"""Programs as clients and notifiers see them."""

from pydantic import Field

from functions.api.views import Time, View, moment
from shared.domain.notices.programs import Program


class StepView(View):
    """One notice of a program."""

    template_id: str
    offset_days: int
    preferred_time: str | None
    delivery_method: str | None


class ProgramView(View):
    """A program."""

    name: str
    version: int
    metadata: dict[str, str]
    steps: list[StepView]
    created_at: Time
    saved_at: Time = Field(description="When this version was made.")


class ProgramPage(View):
    """All programs, sorted by their names."""

    items: list[ProgramView]
    next_cursor: str | None = Field(description="Always null: all programs are one page.")


def program_view(x: Program) -> ProgramView:
    """Return a program as clients see it."""
    return ProgramView(
        name=x.name,
        version=x.version,
        metadata=dict(x.metadata),
        steps=[
            StepView(
                template_id=step.template_id,
                offset_days=step.offset_days,
                preferred_time=step.preferred_time or None,
                delivery_method=step.delivery_method or None,
            )
            for step in x.steps
        ],
        created_at=moment(x.created_at),
        saved_at=moment(x.saved_at),
    )
