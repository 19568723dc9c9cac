"""Daily stats."""

from datetime import UTC, datetime, timedelta
from typing import Final

from functions.api.call import Call
from functions.api.requests import StatsQuery
from functions.api.views import DayPage, day_view
from shared.domain.accounts import Scope
from shared.web.http import Answer
from shared.web.problems import invalid
from shared.web.routing import Nothing, Route, section

DEFAULT_DAYS: Final = 30
MAX_DAYS: Final = 366


def days(call: Call[StatsQuery, Nothing]) -> Answer:
    """Return the days of a range on which messages were accepted."""
    query = call.query
    last = query.to or datetime.fromtimestamp(call.services.clock.now(), UTC).date()
    try:
        first = query.from_ or last - timedelta(days=DEFAULT_DAYS - 1)
    except OverflowError:
        raise invalid("to", "The day is too early.") from None
    if first > last:
        raise invalid("from", "The first day must not be after the last.")
    if (last - first).days >= MAX_DAYS:
        raise invalid("from", f"Ask for at most {MAX_DAYS} days.")
    found = call.services.stats.days(call.key.namespace, first, last)
    by = frozenset(query.by or ())
    return DayPage(items=[day_view(d, by) for d in found], next_cursor=None).answer()


ROUTES: Final = section(
    "Stats",
    Route(
        method="GET",
        path="/stats",
        name="getStats",
        summary="The outcome of the messages accepted on each day",
        scope=Scope.READ,
        handler=days,
        answers={200: DayPage},
    ),
)
