"""The quotas of a credential, as `cdk.json` declares them."""

from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from shared.frozen import dataclass


class Per(StrEnum):
    """The period of a quota."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    SLIDING = "24h"


class WhenFull(StrEnum):
    """The way of messages while a quota is used up."""

    NEXT = "next"
    """They move to the next credential of their route that has room."""
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Warmup:
    """The first days of a quota per day. `days`: the units of each day from `start` on, which is the first."""

    start: date
    days: tuple[int, ...]

    @property
    def full_from(self) -> date:
        """The first day of the full quota."""
        return self.start + timedelta(days=len(self.days))

    def day(self, today: date) -> int:
        """Return the number of a day: the first is 1, and days before it have 0 or less."""
        return (today - self.start).days + 1

    def most(self, today: date) -> int | None:
        """Return the units of a day: none before the first. None: the warm-up is over."""
        day = self.day(today)
        if day < 1:
            return 0
        return self.days[day - 1] if day <= len(self.days) else None

    def dumps(self) -> dict[str, Any]:
        """Return its form in the settings."""
        return {"start": self.start.isoformat(), "days": list(self.days)}

    @classmethod
    def loads(cls, raw: dict[str, Any]) -> "Warmup":
        """Read what `dumps` wrote."""
        return cls(date.fromisoformat(raw["start"]), tuple(raw["days"]))


@dataclass(frozen=True, slots=True)
class CredentialQuota:
    """So many units in each period: messages, or segments of SMS. `zone`: has its clock; 24 hours have none.

    `warmup`: of a quota per day, the days on which it is smaller.
    """

    messages: int
    per: Per
    zone: str = "UTC"
    warmup: Warmup | None = None

    def most(self, today: date) -> int:
        """Return the units of the period that a day of `zone` is in."""
        grown = self.warmup.most(today) if self.warmup is not None else None
        return self.messages if grown is None else grown

    def dumps(self) -> dict[str, Any]:
        """Return its form in the settings."""
        warmup = {} if self.warmup is None else {"warmup": self.warmup.dumps()}
        return {"messages": self.messages, "per": self.per.value, "zone": self.zone, **warmup}

    @classmethod
    def loads(cls, raw: dict[str, Any]) -> "CredentialQuota":
        """Read what `dumps` wrote."""
        warmup = Warmup.loads(raw["warmup"]) if "warmup" in raw else None
        return cls(raw["messages"], Per(raw["per"]), raw.get("zone", "UTC"), warmup)
