"""Lines that the functions logged, as operators look for them."""

from typing import Final

from pydantic import Field

from functions.operate.call import Call, OperateQuery, OperateView, route
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing

READ_SECONDS: Final = 5
"""For so long one request begins to read further pages; the client asks again where there are more."""


class LinesQuery(OperateQuery):
    """Which lines."""

    begin: int = Field(ge=0, description="Unix milliseconds.")
    pattern: str = Field("", max_length=1024, description="Of CloudWatch.")
    group: str = Field("", max_length=512, description="Empty: all groups.")
    after: str = Field("", max_length=6000, description="Of an unfinished group.")


class LineRow(OperateView):
    """A line as it was written, in Unix milliseconds. `id`: distinguishes it from the others."""

    id: str
    group: str
    at: int
    text: str


class UnfinishedGroup(OperateView):
    """A group that has more lines, or was not read at all."""

    group: str
    after: str


class LineRows(OperateView):
    """Lines in no order, and the groups in which there may be more."""

    items: list[LineRow]
    unfinished: list[UnfinishedGroup]


def lines(call: Call[LinesQuery, Nothing]) -> Answer:
    """Return lines of all groups, or further ones of one group."""
    query, services = call.query, call.services
    groups = services.function_logs.groups
    if not groups:
        raise Problem("not_found", f"The stack of stage {services.settings.stage} has no log groups.")
    if query.group and query.group not in groups:
        raise Problem("not_found", f"The stack has no log group {query.group}.")
    places = {query.group: query.after} if query.group else dict.fromkeys(groups, "")
    until = services.clock.now() + READ_SECONDS
    found, unfinished = services.function_logs.read(
        places, query.begin, query.pattern, lambda: services.clock.now() >= until
    )
    return LineRows(
        items=[LineRow.model_validate(line) for line in found],
        unfinished=[UnfinishedGroup(group=group, after=after) for group, after in unfinished.items()],
    ).answer()


ROUTES: Final = (route("GET", "/logs", "Lines that the functions logged", lines, LineRows, "not_found"),)
