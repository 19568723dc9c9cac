"""The part of its account's limits that a campaign's job holds until it ends, as its item has it."""

import json
from collections.abc import Mapping
from dataclasses import replace

from shared.domain.spending.limits import Charge
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Reserved:
    """A charge for all messages that a job was to send.

    Attributes:
        charge: what was counted.
        messages: for how many messages.
        skipped: how many of the job's messages were skipped before.
    """

    charge: Charge
    messages: int
    skipped: int

    def unsent(self, counts: Mapping[str, int]) -> Charge | None:
        """Return the part of the charge for messages that were not sent; None if all were.

        Args:
            counts: those of the job at its end, as of COUNT_KEYS.
        """
        left = min(self.messages, max(0, counts["queued"] + counts["skipped"] - self.skipped))
        if not left:
            return None
        part = {measure: amount * left // self.messages for measure, amount in self.charge.amounts.items()}
        return replace(self.charge, amounts=part)

    def pack(self) -> str:
        """Serialise: JSON. The limits themselves are not needed to give back."""
        c = self.charge
        own = {"k": c.key, "kl": sorted(c.key_limits)} if c.key else {}
        body = {"a": c.account, "d": c.day, "t": dict(c.amounts), "l": sorted(c.limits), **own}
        return json.dumps({**body, "n": self.messages, "s": self.skipped}, separators=(",", ":"))


def unpack(text: str) -> Reserved:
    """Read what `Reserved.pack` wrote."""
    found = json.loads(text)
    keyed = dict.fromkeys(found.get("kl", ()), 0)
    charge = Charge(found["a"], found["d"], found["t"], dict.fromkeys(found["l"], 0), found.get("k", ""), keyed)
    return Reserved(charge, found["n"], found["s"])
