"""The warm-up of a credential: how many messages each of its days has, and where it is now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.charts import HEIGHT, WIDTH
from functions.console.pages.credentials.view import named_lane
from functions.console.screen import PageRoute, absent
from shared.domain.lanes.state import QuotaLeft
from shared.web.http import Answer

GAP: Final = 0.2
"""Of a day's width, between bars."""
PAST, TODAY, COMING = "past", "today", "coming"


@dataclass(frozen=True, slots=True)
class WarmDay:
    """A day of a warm-up, and its bar in a chart of WIDTH and HEIGHT.

    Attributes:
        number: the first is 1.
        most: the messages that it has.
        when: PAST, TODAY or COMING.
    """

    number: int
    day: date
    most: int
    when: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class WarmCurve:
    """A warm-up as it is drawn.

    Attributes:
        top: messages of the largest day, which is as high as the chart.
        left: of today.
    """

    days: Sequence[WarmDay]
    top: int
    full: int
    full_from: date
    left: int

    @property
    def now(self) -> WarmDay | None:
        """The present day; None: the warm-up has not begun."""
        return next((x for x in self.days if x.when == TODAY), None)

    @property
    def label(self) -> str:
        """The chart in words."""
        first, last = self.days[0], self.days[-1]
        now = f"today is day {self.now.number} with {self.now.most:,}" if self.now else "not begun"
        return f"{first.most:,} on {first.day} to {last.most:,} on {last.day}, {now}"


def warmup(call: ConsoleCall) -> Answer:
    """Show the warm-ups of a credential."""
    row = named_lane(call)
    curves = [_curve(x) for x in row.shown.quotas if x.warmup is not None]
    if not curves:
        raise absent("warm-up")
    return call.services.pages.page(call, "credentials/warmup.html", {"row": row, "curves": curves})


def _curve(quota: QuotaLeft) -> WarmCurve:
    found = quota.warmup
    if found is None:
        raise LookupError("the quota has no warm-up")
    top, step = max(1, *found.days), WIDTH / len(found.days)
    days = []
    for at, most in enumerate(found.days):
        day, height = found.start + timedelta(days=at), HEIGHT * most / top
        when = TODAY if day == quota.today else PAST if day < quota.today else COMING
        bar = (round(step * (at + GAP / 2), 1), round(HEIGHT - height, 1), round(step * (1 - GAP), 1), round(height, 1))
        days.append(WarmDay(at + 1, day, most, when, *bar))
    return WarmCurve(days, top, quota.quota.messages, found.full_from, quota.left)


ROUTES: Final = (PageRoute("GET", "/console/credentials/{credential}/warmup", "warm-up", warmup, operators=True),)
