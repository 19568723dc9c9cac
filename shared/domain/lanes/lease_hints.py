"""Where each lease of a credential was last seen: the first places to check when a worker has died.

The write that reserves slots also writes the hint, so it costs nothing. It decides nothing: the ledger does.
Source: docs/protocol.md, "Sweep", rule E; docs/adr/0055.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

from shared.frozen import dataclass

PREFIX: Final = "at_"
"""Begins the names of hints among what is stored of a credential's slots."""
MOST: Final = 12
"""Hints kept beside a credential's slots, so that the item stays within one write unit: six workers' leases. Others are
written apart."""
MOST_BESIDE_QUOTAS: Final = 5
"""The same where the item also counts the units of quotas."""


@dataclass(frozen=True, slots=True)
class LeaseHint:
    """A lease as it was when it last reserved slots.

    Attributes:
        worker: a process and its lease, or leases that reserve together, as no other is called.
        group: what is stored, if it is about several leases; this is one of them.
        alone: whether it was read from an item of its own, where it takes no room from others.
    """

    worker: str
    job: str
    chunk: int
    epoch: int
    group: str = ""
    alone: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """Return what it is stored under."""
        return PREFIX + self.worker

    def __str__(self) -> str:
        return self.group or f"{self.job}-{self.chunk}-{self.epoch}"


def together(hints: Sequence[LeaseHint]) -> LeaseHint:
    """Return the hint about several leases of one worker, at least one."""
    first, *others = hints
    return replace(first, group=",".join(map(str, hints))) if others else first


def read(name: str, text: str) -> list[LeaseHint]:
    """Read a hint, one for each of its leases, without those that this version cannot read."""
    found = []
    for one in text.split(",") if name.startswith(PREFIX) else ():
        job, _, rest = one.partition("-")
        chunk, _, epoch = rest.partition("-")
        if job and chunk.isdecimal() and epoch.isdecimal():
            group = text if "," in text else ""
            found.append(LeaseHint(name.removeprefix(PREFIX), job, int(chunk), int(epoch), group))
    return found
