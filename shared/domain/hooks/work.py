"""The work of an endpoint: its lease, its breaker, and when to look at it next.

One worker at a time has the lease, and posts several deliveries at once. `added` counts what others stored: the lease
is released only if it is as it was before the last look, so nothing is left behind. Everything is a pure function.
"""

import zlib
from dataclasses import replace
from typing import Final

from shared.domain.hooks.delivery import MAX_RETRY_AFTER, DeliveryState
from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

SHARDS: Final = 16
"""Partitions of the list of endpoints to look at."""
LEASE_MS: Final[Millis] = 60_000
LOOK_MS: Final[Millis] = 60_000
"""After so long a worker checks an endpoint with new deliveries, even if the hint is lost."""
AT_ONCE: Final = 8
"""Posts of one worker at a time to an endpoint, to begin with."""
MOST_AT_ONCE: Final = 32
TAKEN_FOR_ONE_MORE: Final = 5
"""After so many deliveries taken in a row, a worker makes one post more at a time."""
OPENS_AFTER: Final = 5
"""Failures in a row that open the breaker."""
FIRST_PAUSE_MS: Final[Millis] = 5_000
MAX_PAUSE_MS: Final[Millis] = 300_000
FAILING_MS: Final[Millis] = 5 * DAY_MS
"""An endpoint that only fails for so long is disabled."""
SLOW_MS: Final[Millis] = 1_000
"""Separate workers call an endpoint whose latest answer took longer."""


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """Ended deliveries that are to be delivered again.

    Attributes:
        since: of when the oldest was created, Unix milliseconds.
        until: of when the newest was.
        at: when it was ordered.
        state: DELIVERED or FAILED; None: both.
        after: name of the delivery that it has come to.
    """

    since: Millis
    until: Millis
    at: Millis
    state: DeliveryState | None = DeliveryState.FAILED
    after: str = ""


@dataclass(frozen=True, slots=True)
class HookWork:
    """Work of an endpoint. Times are Unix milliseconds; 0: none.

    Attributes:
        endpoint: the endpoint's id.
        owner: the last holder of the lease, which is free from `until` on.
        added: counts what others than the owner stored.
        fails: failures in a row.
        open_until: until when the breaker lets nothing through.
        failing_since: when the first failure since the last success was.
        wake: when to look at it next; 0: nothing waits.
        slow: the latest answer was slow.
        trial: of the endpoint, which `fails`, `open_until`, `failing_since` and `slow` are about.
        replay: what is to be delivered again.
        namespace: of the endpoint; empty until a worker has looked at it.
    """

    endpoint: str
    owner: str = ""
    until: Millis = 0
    added: int = 0
    fails: int = 0
    open_until: Millis = 0
    failing_since: Millis = 0
    wake: Millis = 0
    slow: bool = False
    trial: int = 0
    replay: ReplayOrder | None = None
    namespace: str = ""

    @property
    def shard(self) -> int:
        """Return the partition of its endpoint in the list of those to look at."""
        return shard_of_endpoint(self.endpoint)

    @property
    def apart(self) -> bool:
        """Tell whether the workers for endpoints that fail or hang call it."""
        return self.slow or self.fails > 0

    def needs_hint(self, now: Millis) -> bool:
        """Tell whether new deliveries need a hint: no worker has the lease, and the breaker lets some through."""
        return self.until <= now and self.open_until <= now

    def at_once(self, now: Millis, taken: int = 0) -> int:
        """Return how many deliveries may be posted at once: none, one that probes, or several.

        Args:
            taken: how many the endpoint has taken from this worker, one after another.
        """
        if self.open_until > now:
            return 0
        return 1 if self.fails >= OPENS_AFTER else min(MOST_AT_ONCE, AT_ONCE + taken // TAKEN_FOR_ONE_MORE)

    def is_failing(self, now: Millis) -> bool:
        """Tell whether the endpoint only failed for so long that it is to be disabled."""
        return self.fails >= OPENS_AFTER and bool(self.failing_since) and self.failing_since + FAILING_MS <= now


def shard_of_endpoint(endpoint: str) -> int:
    """Return the partition of an endpoint in the list of those to look at."""
    return zlib.crc32(endpoint.encode()) % SHARDS


def in_trial(work: HookWork, trial: int) -> HookWork:
    """Return the work of an endpoint in a trial: nothing is held against it that was learned in an earlier one."""
    if work.trial == trial:
        return work
    return replace(work, trial=trial, fails=0, open_until=0, failing_since=0, slow=False)


def succeeded(work: HookWork, ms: Millis) -> HookWork:
    """Return the work after a delivery that was answered with 2xx within so many milliseconds."""
    return replace(work, fails=0, open_until=0, failing_since=0, slow=ms > SLOW_MS)


def failed(work: HookWork, now: Millis, ms: Millis, retry_after: Millis = 0) -> HookWork:
    """Return the work after an attempt that failed.

    Args:
        ms: how long the attempt took.
        retry_after: milliseconds that the endpoint asked for; 0 for none.
    """
    fails = work.fails + 1
    pause = min(retry_after, MAX_RETRY_AFTER)
    if fails >= OPENS_AFTER:
        pause = max(pause, min(MAX_PAUSE_MS, FIRST_PAUSE_MS << min(fails - OPENS_AFTER, 16)))
    return replace(
        work,
        fails=fails,
        open_until=max(work.open_until, now + pause) if pause else work.open_until,
        failing_since=work.failing_since or now,
        slow=ms > SLOW_MS,
    )
