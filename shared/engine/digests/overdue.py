"""Windows that no hint has closed, and old ones: the sweeper asks whether there are any, and wakes their function."""

from collections.abc import Iterable
from typing import Final

from shared.domain.digests.window import SHARDS
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports import Clock, WindowRetention

HINTED_MS: Final = 20_000
"""A window is left so long to its hint."""
MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class OverdueWindows:
    """Looks into the index of windows."""

    keeping: WindowRetention
    clock: Clock

    def found(self) -> bool:
        """Return whether the digest function has work that no hint has brought.

        Each minute looks for old windows in another shard: they have time.
        """
        now: Millis = int(self.clock.now() * 1000)
        if any(_some(self.keeping.due(shard, now - HINTED_MS)) for shard in range(SHARDS)):
            return True
        return _some(self.keeping.over(now // MINUTE_MS % SHARDS, now))


def _some(found: Iterable[str]) -> bool:
    return next(iter(found), None) is not None
