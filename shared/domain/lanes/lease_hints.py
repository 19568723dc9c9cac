"""Where each lease of a credential was last seen: the first places to check when a worker has died.

The write that reserves slots also writes the hint, so it costs nothing. It decides nothing: the ledger does.
Source: docs/protocol.md, "Sweep", rule E; docs/adr/0055.
"""

from dataclasses import dataclass
from typing import Final

PREFIX: Final = "at_"
"""Begins the names of hints among what is stored of a credential's slots."""
MOST: Final = 12
"""Hints kept beside a credential's slots, so that the item stays within one write unit: six workers' leases. Others are
written apart."""


@dataclass(frozen=True, slots=True)
class LeaseHint:
    """A lease as it was when it last reserved slots. `worker`: a process and its lease, as no other is called."""

    worker: str
    job: str
    chunk: int
    epoch: int

    @property
    def name(self) -> str:
        """Return what it is stored under."""
        return PREFIX + self.worker

    def __str__(self) -> str:
        return f"{self.job}-{self.chunk}-{self.epoch}"


def read(name: str, text: str) -> LeaseHint | None:
    """Read a hint; None if it is none that this version can read."""
    job, _, rest = text.partition("-")
    chunk, _, epoch = rest.partition("-")
    if not name.startswith(PREFIX) or not (job and chunk.isdecimal() and epoch.isdecimal()):
        return None
    return LeaseHint(name.removeprefix(PREFIX), job, int(chunk), int(epoch))
