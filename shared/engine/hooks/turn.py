"""A worker's turn with an endpoint: what it knows of the lease, and what the results of posts change."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final

from shared.domain.hooks.delivery import (
    CONTENT_GONE,
    EXPIRED,
    FAULT,
    DeliveryState,
    HookAttempt,
    HookDelivery,
    attempted,
    ended,
    next_due,
)
from shared.domain.hooks.work import HookWork, failed, succeeded
from shared.domain.times import Millis, Seconds
from shared.engine.completion_pool import CompletionPool
from shared.engine.hooks.posting import FIRST_POST_S, POST_S, HookResult, Post
from shared.ports import Retriable

Moves = list[tuple[HookDelivery, HookDelivery]]
MARGIN_MS: Final[Millis] = 25_000
"""A lease is renewed when it lasts no longer than this: a look, posts and their results take less."""


@dataclass(slots=True)
class HookRun:
    """Counts of a worker's results with one lease.

    Attributes:
        delivered: deliveries that were taken.
        refused: attempts that failed.
        dropped: deliveries that ended without an attempt.
    """

    delivered: int = 0
    refused: int = 0
    dropped: int = 0


@dataclass(slots=True)
class Backlog:
    """The deliveries that wait for an endpoint, read page by page, by when they are due.

    Attributes:
        left: what was read and not begun.
        after: where to read on; empty: all was read.
        post: posts a delivery; None until the first is due.
        stopped: no further post begins, although something may be due.
        waiting: what was put off.
    """

    left: deque[HookDelivery]
    after: str
    post: Post | None = None
    stopped: bool = False
    waiting: list[HookDelivery] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Whether what waits the shortest may not have been read."""
        return bool(self.after) and not self.left

    def moved(self, moves: Moves) -> Moves:
        """Note what is put off; return those moves that change something."""
        self.waiting += [new for _, new in moves if new.state is DeliveryState.PENDING]
        return [(old, new) for old, new in moves if new != old]

    def is_due(self, now: Millis) -> bool:
        """Tell whether something that was read is due."""
        return bool(self.left) and self.left[0].due <= now


@dataclass(slots=True)
class Turn:
    """A lease at work.

    Attributes:
        work: as the worker knows it.
        kept: as it is stored.
        stop_at: Unix seconds after which no post begins.
        apart: whether the worker is one of those for endpoints that fail or hang.
        pool: posts side by side.
        under_way: posts whose results are not known.
        moves: deliveries, and their new states, that are still to be stored.
        settling: others are being stored.
        taken: deliveries that the endpoint took since the last one that it refused.
        soon: something was made to wait for a short while.
        faults: why posts were not made.
        run: what was done.
    """

    work: HookWork
    kept: HookWork
    stop_at: Seconds
    apart: bool
    pool: CompletionPool
    under_way: int = 0
    moves: Moves = field(default_factory=list)
    settling: bool = False
    taken: int = 0
    soon: bool = False
    faults: list[Exception] = field(default_factory=list)
    run: HookRun = field(default_factory=HookRun)

    @property
    def is_starved(self) -> bool:
        """Whether something could not be read that a store has."""
        return any(isinstance(x, Retriable) for x in self.faults)

    def is_over(self, now: Seconds) -> bool:
        """Tell whether the worker leaves the endpoint to another, although something may be due."""
        return now >= self.stop_at or (self.work.apart and not self.apart)

    def is_short(self, now: Millis) -> bool:
        """Tell whether the lease must be renewed before another post begins."""
        return self.work.until - now < MARGIN_MS

    def room(self, now: Millis) -> int:
        """Return how many posts more may be under way; negative if there are too many."""
        return self.work.at_once(now, self.taken) - self.under_way

    @property
    def patience(self) -> Seconds:
        """For how long a post may last that begins now.

        A worker for quick endpoints does not wait long for an endpoint that has taken nothing yet: many that hang would
        hold all such workers. A worker for slow endpoints makes the posts again that were given up so.
        """
        return POST_S if self.apart or self.taken else FIRST_POST_S

    def expired(self, delivery: HookDelivery, now: Millis) -> HookDelivery:
        """Return a delivery that waited for too long."""
        self.run.dropped += 1
        return ended(attempted(delivery, HookAttempt(now, error=EXPIRED)), DeliveryState.FAILED, now)

    def judged(self, result: HookResult, now: Millis, draw: float) -> HookDelivery:
        """Return a delivery after a post, and note what that says about the endpoint.

        Args:
            draw: a random number, 0 to 1, for the spread of the next try.
        """
        old, attempt = result.delivery, result.attempt
        if result.fault is not None:
            return self._faulty(old, result.fault, now, draw)
        if result.cut:
            self.work = replace(self.work, slow=True)
            return old
        if attempt is None:
            self.run.dropped += 1
            return ended(attempted(old, HookAttempt(now, error=CONTENT_GONE)), DeliveryState.FAILED, now)
        new = attempted(old, attempt)
        if result.delivered:
            self.run.delivered += 1
            self.taken += 1
            self.work = succeeded(self.work, attempt.ms)
            return ended(new, DeliveryState.DELIVERED, now)
        self.run.refused += 1
        self.taken = 0
        if self.work.open_until <= now:  # those that were under way when the breaker opened say nothing new
            self.work = failed(self.work, now, attempt.ms, result.retry_after)
        return self._later(new, now, draw, result.retry_after)

    def _faulty(self, delivery: HookDelivery, fault: Exception, now: Millis, draw: float) -> HookDelivery:
        """Note a fault of ours. After any but a store's fault, the delivery is put off, so that it delays no other."""
        self.faults.append(fault)
        if isinstance(fault, Retriable):
            return delivery
        return self._later(attempted(delivery, HookAttempt(now, error=FAULT)), now, draw)

    def _later(self, delivery: HookDelivery, now: Millis, draw: float, retry_after: Millis = 0) -> HookDelivery:
        self.soon = True
        due = next_due(delivery, now, draw, retry_after)
        return ended(delivery, DeliveryState.FAILED, now) if due is None else replace(delivery, due=due)
