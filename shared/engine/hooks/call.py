"""Works off the deliveries of endpoints: one worker at a time has an endpoint's lease.

A worker reads what is due, posts several deliveries side by side, stores what became of them, and looks again. It ends
its lease only if nothing was added since the look before. A worker that dies leaves its lease to the walk of every
minute; what it had posted is posted again, under the same ids.
"""

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from shared.domain.audit import EVERYONE, SYSTEM, Act, Event, audited
from shared.domain.hooks.delivery import (
    CONTENT_GONE,
    EXPIRED,
    DeliveryState,
    HookAttempt,
    HookDelivery,
    again,
    attempted,
    ended,
    is_expired,
    next_due,
)
from shared.domain.hooks.endpoint import (
    DEPLOYMENT,
    LISTENER_MS,
    PROOF,
    DisabledReason,
    Endpoint,
    EndpointState,
    disabled,
)
from shared.domain.hooks.work import AT_ONCE, LEASE_MS, SHARDS, HookWork, ReplayOrder, failed, succeeded
from shared.domain.times import Millis, Seconds
from shared.engine.hooks.posting import HookPoster, HookResult
from shared.engine.pool import Pool
from shared.ports import Clock, Endpoints, HookHints, HookQueue, Retriable, Works

PAGE: Final = 48
"""Deliveries that one look reads."""
REPLAYED: Final = 100
"""Deliveries that one look replays."""
TURN_S: Final[Seconds] = 5
"""Seconds after which a worker hands a busy endpoint back, so that others have their turn."""
MARGIN_MS: Final[Millis] = 25_000
"""A lease is renewed when it lasts no longer than this: a look, posts and their results take less."""
NEAR_MS: Final[Millis] = 6_500
"""The first retry is due within this, so a hint is sent whoever made it wait."""
SOON_MS: Final[Millis] = 60_000
"""The walk of every minute makes up for hints that are later than this."""
TRIES: Final = 5


@dataclass(slots=True)
class HookRun:
    """What a worker has done with one lease.

    Attributes:
        delivered: deliveries that were taken.
        refused: attempts that failed.
        dropped: deliveries that ended without an attempt.
    """

    delivered: int = 0
    refused: int = 0
    dropped: int = 0


@dataclass(slots=True)
class _Turn:
    """A lease at work. `kept`: the work as stored; `soon`: the run made something wait for a short while."""

    work: HookWork
    kept: HookWork
    stop_at: Seconds
    apart: bool
    pool: Pool
    soon: bool = False
    run: HookRun = field(default_factory=HookRun)


class CallHooks:
    """Delivers to endpoints.

    Args:
        endpoints: where they are.
        queue: their deliveries.
        works: their leases.
        hints: has an endpoint looked at again.
        poster: posts.
        clock: the time.
        draw: returns a random number, 0 to 1.
        pool: makes the threads of a worker, which begin with its first posts side by side.
    """

    def __init__(
        self,
        *,
        endpoints: Endpoints,
        queue: HookQueue,
        works: Works,
        hints: HookHints,
        poster: HookPoster,
        clock: Clock,
        draw: Callable[[], float],
        pool: Callable[[int], Pool] = ThreadPoolExecutor,
    ) -> None:
        self._endpoints = endpoints
        self._queue = queue
        self._works = works
        self._hints = hints
        self._poster = poster
        self._clock = clock
        self._draw = draw
        self._pool = pool

    def wake(self) -> int:
        """Send hints for all endpoints that are to be looked at by now; return how many."""
        now, count = self._now(), 0
        for shard in range(SHARDS):
            for endpoint in self._works.waking(shard, now):
                self._hints.call(endpoint)
                count += 1
        return count

    def work(self, endpoint: str, *, apart: bool, stop_at: Seconds) -> HookRun:
        """Deliver what is due to an endpoint, unless another worker does.

        Args:
            endpoint: the endpoint's id.
            apart: whether this worker is one of those for endpoints that fail or hang.
            stop_at: Unix seconds after which nothing is posted any more.

        Raises:
            Retriable: a store did not answer. The lease is ended if that can be done.
        """
        now = self._now()
        work = self._works.acquire(endpoint, secrets.token_hex(8), now=now, until=now + LEASE_MS)
        if work is None:
            return HookRun()
        with self._pool(AT_ONCE) as pool:
            turn = _Turn(work, work, min(stop_at, now / 1000 + TURN_S), apart, pool)
            try:
                while self._look(turn):
                    pass
            except Retriable:
                self._hand_back(turn)
                raise
        return turn.run

    def _look(self, turn: _Turn) -> bool:
        """Read what is due, and post it; return whether to look again with this lease."""
        endpoint = self._endpoints.get(turn.work.endpoint)
        if endpoint is None:
            self._works.drop(turn.work)
            return False
        if endpoint.listening:
            return self._leave_listener(turn, endpoint)
        if endpoint.disabled_at:
            return self._release(turn, wake=0)
        if self._over(turn):
            if self._hand_back(turn):
                self._hints.call(endpoint.id, apart=turn.work.apart)
            return False
        if not self._keep(turn):
            return False
        if turn.work.replay is not None:
            self._replay(turn, turn.work.replay)
            return True
        page, whole = self._due(endpoint)
        waiting = self._work_off(turn, endpoint, page, whole=whole)
        return waiting is None or self._release(turn, wake=min((x.due for x in waiting), default=0))

    def _over(self, turn: _Turn) -> bool:
        """Tell whether the worker leaves the endpoint to another, although something may be due."""
        return self._clock.now() >= turn.stop_at or (turn.work.apart and not turn.apart)

    def _due(self, endpoint: Endpoint) -> tuple[Sequence[HookDelivery], bool]:
        """Return deliveries in the order in which they are due, and whether these are all.

        An endpoint that has not proven itself gets `test` events only.
        """
        after = ""
        while True:
            found, after = self._queue.pending(endpoint.id, after=after, limit=PAGE)
            if endpoint.state is EndpointState.ENABLED:
                return found, not after
            proofs = [x for x in found if x.kind == PROOF]
            if proofs or not after:
                return proofs, not after

    def _work_off(
        self, turn: _Turn, endpoint: Endpoint, page: Sequence[HookDelivery], *, whole: bool
    ) -> Sequence[HookDelivery] | None:
        """Post what is due of a page; return what waits, up to the soonest of it at least. None: look again first.

        Args:
            turn: the lease.
            endpoint: as read.
            page: in the order in which it is due.
            whole: whether nothing else waits.
        """
        left = list(page)
        waiting: list[HookDelivery] = []
        while some := self._next(turn, left):
            if self._over(turn) or turn.work.until - self._now() < MARGIN_MS:
                return None
            del left[: len(some)]
            moves, changed = self._posted(turn, endpoint, some)
            self._queue.settle(moves)
            waiting += [new for _, new in moves if new.state is DeliveryState.PENDING]
            if changed:
                return None
        return [*waiting, *left] if left or whole else None

    def _next(self, turn: _Turn, left: Sequence[HookDelivery]) -> list[HookDelivery]:
        """Return the deliveries that are due and may be posted now."""
        now = self._now()
        return [x for x in left[: turn.work.at_once(now)] if x.due <= now]

    def _posted(
        self, turn: _Turn, endpoint: Endpoint, some: Sequence[HookDelivery]
    ) -> tuple[list[tuple[HookDelivery, HookDelivery]], bool]:
        """Post deliveries; return what is to be stored of each, and whether the endpoint has changed.

        Args:
            turn: the lease.
            endpoint: as read.
            some: what is due.
        """
        now = self._now()
        old = [x for x in some if is_expired(x, now)]
        moves = [(x, ended(attempted(x, HookAttempt(now, error=EXPIRED)), DeliveryState.FAILED, now)) for x in old]
        turn.run.dropped += len(old)
        fresh = [x for x in some if not is_expired(x, now)]
        results = self._poster.post(endpoint, fresh, turn.pool) if fresh else []
        moves += [(x.delivery, self._judged(turn, x)) for x in results]
        return moves, self._noted(turn, endpoint, results)

    def _judged(self, turn: _Turn, result: HookResult) -> HookDelivery:
        """Return a delivery after a post, and note in the work what that says about the endpoint."""
        now, attempt = self._now(), result.attempt
        if attempt is None:
            turn.run.dropped += 1
            gone = attempted(result.delivery, HookAttempt(now, error=CONTENT_GONE))
            return ended(gone, DeliveryState.FAILED, now)
        new = attempted(result.delivery, attempt)
        if result.delivered:
            turn.run.delivered += 1
            turn.work = succeeded(turn.work, attempt.ms)
            return ended(new, DeliveryState.DELIVERED, now)
        turn.run.refused += 1
        turn.soon = True
        turn.work = failed(turn.work, now, attempt.ms, result.retry_after)
        due = next_due(new, now, self._draw(), result.retry_after)
        return ended(new, DeliveryState.FAILED, now) if due is None else replace(new, due=due)

    def _noted(self, turn: _Turn, endpoint: Endpoint, results: Sequence[HookResult]) -> bool:
        """Prove or disable an endpoint by what it answered; return whether it has changed."""
        now = self._now()
        if any(x.gone for x in results):
            self._change(endpoint.id, lambda x: disabled(x, DisabledReason.GONE, now))
        elif turn.work.is_failing(now):
            self._change(endpoint.id, lambda x: disabled(x, DisabledReason.FAILING, now))
        elif not endpoint.proven and any(x.delivered for x in results):
            asked = endpoint.url
            self._change(
                endpoint.id,
                lambda x: replace(x, proven=True, version=x.version + 1) if x.url == asked else x,
            )
        else:
            return False
        return True

    def _change(self, name: str, changed: Callable[[Endpoint], Endpoint]) -> None:
        """Change an endpoint, however often others do at the same time."""
        for _ in range(TRIES):
            old = self._endpoints.get(name)
            if old is None or old.disabled_at:
                return
            new = changed(old)
            if new == old or self._endpoints.change(old, new, event=self._event(new)):
                return
        raise Retriable("endpoint: others change it")

    def _event(self, endpoint: Endpoint) -> Event:
        """Return the entry of the audit log about an endpoint that was proven or disabled."""
        act = Act.HOOK_DISABLED if endpoint.disabled_at else Act.HOOK_ENABLED
        data = {"reason": endpoint.reason} if endpoint.reason else {}
        return audited(_owner(endpoint), self._now(), endpoint.id, act, SYSTEM, data)

    def _replay(self, turn: _Turn, order: ReplayOrder) -> None:
        """Put some of the deliveries that are to be replayed back into the queue."""
        found, after = self._queue.ended(
            turn.work.endpoint,
            state=order.state,
            since=order.since,
            until=order.until,
            after=order.after,
            limit=REPLAYED,
        )
        if found:
            self._queue.add(turn.work.endpoint, [again(x, order.at) for x in found], wake=turn.work.until)
        turn.work = replace(turn.work, replay=replace(order, after=after) if after else None)

    def _leave_listener(self, turn: _Turn, endpoint: Endpoint) -> bool:
        """Remove a listener that no command polls any longer; look at others again when they may be abandoned."""
        if endpoint.abandoned(self._now()):
            deleted = audited(_owner(endpoint), self._now(), endpoint.id, Act.HOOK_DELETED, SYSTEM)
            self._endpoints.delete(endpoint, event=deleted)
            return False
        return self._release(turn, wake=max(endpoint.polled_at, endpoint.created_at) + LISTENER_MS)

    def _keep(self, turn: _Turn) -> bool:
        """Store what was learned, and renew the lease; return False if it was lost."""
        now = self._now()
        if turn.work == turn.kept and turn.work.until - now >= MARGIN_MS:
            return True
        kept = self._works.keep(turn.kept, replace(turn.work, until=now + LEASE_MS))
        if kept is None:
            return False
        turn.work = turn.kept = kept
        return True

    def _hand_back(self, turn: _Turn) -> bool:
        """End the lease at once, whatever was added, and leave the endpoint to another; return False if it was lost."""
        return self._works.keep(turn.kept, replace(turn.work, until=self._now())) is not None

    def _release(self, turn: _Turn, *, wake: Millis) -> bool:
        """End the lease; return whether to look again first, since something was added.

        Args:
            turn: the lease.
            wake: when the next delivery is due; 0: nothing waits.
        """
        if wake:
            wake = max(wake, turn.work.open_until)
        stored = self._works.release(replace(turn.work, wake=wake))
        if stored is not None:
            turn.kept = stored
            turn.work = replace(turn.work, added=stored.added, replay=stored.replay)
            return True
        wait = wake - self._now()
        if wake and (wait <= NEAR_MS or (turn.soon and wait <= SOON_MS)):
            self._hints.call(turn.work.endpoint, delay=max(0, wait) / 1000, apart=turn.work.apart)
        return False

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _owner(endpoint: Endpoint) -> str:
    """Return in whose audit log an endpoint's entries are."""
    return EVERYONE if endpoint.namespace == DEPLOYMENT else endpoint.namespace
