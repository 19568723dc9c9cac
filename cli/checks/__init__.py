"""What `posthaste doctor` looks at: each check is a pure function from what AWS answered to findings."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    """Nobody looked, and why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `says`: what it means; `do`: what to do about it, empty if there is nothing to do."""

    check: str
    level: Level
    says: str
    do: str = ""


def confirmed(subscription: Mapping[str, Any]) -> bool:
    """Tell whether SNS delivers to an item of `sns.list_subscriptions_by_topic`.

    One that its owner has not confirmed yet (`PendingConfirmation`) or has ended (`Deleted`, as by the link at the end
    of each mail) has that word in place of its ARN.
    """
    return str(subscription.get("SubscriptionArn", "")).startswith("arn:")
