"""Programs as clients and notifiers see them."""

from pydantic import Field

from shared.web.views import Stamp, TextOrNull, View


class StepView(View):
    """One notice of a program."""

    template_id: str
    offset_days: int
    preferred_time: TextOrNull
    delivery_method: TextOrNull


class ProgramView(View):
    """A program."""

    name: str
    version: int
    metadata: dict[str, str]
    steps: list[StepView]
    created_at: Stamp
    saved_at: Stamp = Field(description="When this version was made.")


class ProgramPage(View):
    """All programs, sorted by their names."""

    items: list[ProgramView]
    next_cursor: str | None = Field(description="Always null: all programs are one page.")
