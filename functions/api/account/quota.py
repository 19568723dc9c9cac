"""Limits of a day, and their use today."""

from typing import Final

from pydantic import Field

from functions.api.call import Call, now_of
from shared.domain.accounts import Scope
from shared.domain.spending import limits
from shared.domain.spending.limits import Measure
from shared.web.http import Answer
from shared.web.routing import Nothing, Route, section
from shared.web.views import Stamp, View


class QuotaLine(View):
    """A limit of the day."""

    quota: Measure = Field(description="A channel, `messages` of all channels, or `price`. `sms` counts segments.")
    of: str = Field(description="`account`, or `key`: a limit of only this API key.")
    limit: float | int = Field(description="The most of a day.")
    used: float | int = Field(description="How much is used today.")
    left: float | int = Field(description="How much can be used yet.")


class DayQuota(View):
    """The limits of a UTC day, and their use today. An account without limits has no items."""

    date: str = Field(description="Today, in UTC.")
    resets_at: Stamp = Field(description="When the next day begins.")
    items: list[QuotaLine]


def show(call: Call[Nothing, Nothing]) -> Answer:
    """Return the limits of the caller's account and key. Test keys spend nothing."""
    now, key = now_of(call), call.key
    found = [] if key.test else call.services.spender.lines(key.account, key.id)
    items = [
        QuotaLine(
            quota=x.measure,
            of="key" if x.key else "account",
            limit=limits.shown(x.measure, x.limit),
            used=limits.shown(x.measure, x.used),
            left=limits.shown(x.measure, x.left),
        )
        for x in found
    ]
    return DayQuota.model_validate(
        {"date": limits.day_of(now), "resets_at": limits.resets_at(now), "items": items}
    ).answer()


ROUTES: Final = section(
    "Stats",
    Route(
        method="GET",
        path="/quota",
        name="getQuota",
        summary="Limits of the day, and how much is used",
        description="Operators set them. A request beyond one of them returns 429 `quota_exceeded`. A key can have "
        "limits of its own within those of its account.",
        scope=Scope.READ,
        handler=show,
        answers={200: DayQuota},
    ),
)
