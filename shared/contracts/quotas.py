"""The quotas of a credential, as `cdk.json` declares them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
class CredentialQuota:
    """So many units in each period: messages, or segments of SMS. `zone`: has its clock; 24 hours have none."""

    messages: int
    per: Per
    zone: str = "UTC"

    def dumps(self) -> dict[str, Any]:
        """Return its form in the settings."""
        return {"messages": self.messages, "per": self.per.value, "zone": self.zone}

    @classmethod
    def loads(cls, raw: dict[str, Any]) -> "CredentialQuota":
        """Read what `dumps` wrote."""
        return cls(raw["messages"], Per(raw["per"]), raw.get("zone", "UTC"))
