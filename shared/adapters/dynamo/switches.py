"""What operators have set of a credential, on the item of its slots: who reserves some is told by the same write."""

from collections.abc import Mapping
from typing import Any

from shared.domain.switches import Switches


def switches(item: Mapping[str, Any]) -> Switches:
    """Read a credential's switches. A rate that is none, or not above 0, is a pause: in doubt nothing is sent."""
    if "rate" not in item:
        return Switches(paused="paused" in item)
    rate = rate_of(item["rate"])
    return Switches(paused="paused" in item or rate <= 0, rate=max(0.0, rate))


def rate_of(attribute: Mapping[str, str]) -> float:
    """Return a rate as DynamoDB has it; 0 if it is not a number."""
    return float(attribute["N"]) if "N" in attribute else 0.0
