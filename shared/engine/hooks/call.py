"""Works off the deliveries of endpoints: one worker at a time has an endpoint's lease.

A worker walks through what is due. Several posts are under way at a time. When one ends, another begins, and the result
of the former is stored meanwhile. The worker ends its lease only if nothing was added since the walk began. A worker
that dies leaves its lease to the walk of every minute. Posts that it had made are made again, under the same ids.
"""

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from shared.domain.audit import EVERYONE, SYSTEM, Act, Event, audited
from shared.domain.hooks.delivery import HookDelivery, again, is_expired
from shared.domain.hooks.endpoint import (
    DEPLOYMENT,
    LISTENER_MS,
    PROOF,
    DisabledReason,
    Endpoint,
    EndpointState,
    disabled,
    enabled_from,
)
from shared.domain.hooks.work import LEASE_MS, MOST_AT_ONCE, SHARDS, HookWork, ReplayOrder, in_trial
from shared.domain.times import Millis, Seconds
from shared.engine.completion_pool import CompletionPool, ThreadCompletionPool
from shared.engine.hooks.posting import HookPoster, HookResult
from shared.engine.hooks.turn import Backlog, HookRun, Moves, Turn
from shared.ports import Clock, Endpoints, HookHints, HookQueue, Retriable, Works

PAGE: Final = 48
"""Deliveries that are read at a time."""
SEARCHED: Final = 1_000
"""Deliveries that are read at a time for the `test` events among them: about 300 KB."""
REPLAYED: Final = 100
"""Deliveries that one look replays."""
TURN_S: Final[Seconds] = 5
"""Seconds after which a worker hands a busy endpoint back, so that others have their turn."""
NEAR_MS: Final[Millis] = 6_500
"""The first retry is due within this, so a hint is always sent."""
SOON_MS: Final[Millis] = 60_000
"""The walk of every minute makes up for hints that are later than this."""
MINUTE_MS: Final[Millis] = 60_000
WOKEN: Final = 100
"""Endpoints whose work is read at a time, to be woken: as many as one read takes."""
TRIES: Final = 5


class CallHooks:
    """Delivers to endpoints.

    Args:
        hints: has an endpoint looked at again.
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
        pool: Callable[[int], CompletionPool] = ThreadCompletionPool,
    ) -> None:
        self._endpoints = endpoints
        self._queue = queue
        self._works = works
        self._hints = hints
        self._poster = poster
        self._clock = clock
        self._draw = draw
        self._pool = pool

    def wake(self, *, stop_at: Seconds) -> int:
        """Send hints for the endpoints whose next check is due; return how many.

        Each minute another shard is the first, so that the end of the time does not always leave out the same ones.

        Args:
            stop_at: Unix seconds after which no further hints are sent: the next minute's run finds the rest.
        """
        now, count = self._now(), 0
        first = now // MINUTE_MS % SHARDS
        for shard in (*range(first, SHARDS), *range(first)):
            waking = iter(self._works.waking(shard, now))
            while some := list(islice(waking, WOKEN)):
                if self._clock.now() > stop_at:
                    return count
                works = self._works.some(some)
                self._hints.wake([works.get(x) or HookWork(x) for x in some])
                count += len(some)
        return count

    def work(self, endpoint: str, *, apart: bool, stop_at: Seconds) -> HookRun:
        """Deliver what is due to an endpoint, unless another worker does.

        Args:
            apart: whether this worker is one of those for endpoints that fail or hang.
            stop_at: Unix seconds after which nothing is posted any more.

        Raises:
            Retriable: a store did not answer. The lease is ended if that can be done.
            ExceptionGroup: posts that were not made, by faults of ours. All else was done.
        """
        now = self._now()
        work = self._works.acquire(endpoint, secrets.token_hex(8), now=now, until=now + LEASE_MS)
        if work is None:
            return HookRun()
        pool = self._pool(MOST_AT_ONCE + 1)  # one stores results
        turn = Turn(work, work, min(stop_at, now / 1000 + TURN_S), apart, pool)
        try:
            with pool:  # leaving it waits for the posts under way
                while self._look(turn):
                    pass
        except Exception:  # whatever it was: another worker may go on
            self._hand_back(turn)
            raise
        if turn.faults:
            raise ExceptionGroup(f"{endpoint}: deliveries not posted", turn.faults)
        return turn.run

    def _look(self, turn: Turn) -> bool:
        """Backlog through what is due, and post it; return whether to look again with this lease."""
        endpoint = self._endpoints.get(turn.work.endpoint)
        if endpoint is None:
            self._works.drop(turn.work)
            return False
        if endpoint.listening:
            return self._leave_listener(turn, endpoint)
        if endpoint.disabled_at:
            return self._release(turn, wake=0)
        turn.work = replace(in_trial(turn.work, endpoint.trial), namespace=endpoint.namespace)
        if turn.is_over(self._clock.now()):
            if self._hand_back(turn):
                self._hints.call(endpoint.id, endpoint.namespace, apart=turn.work.apart)
            return False
        if not self._keep(turn):
            return False
        if turn.work.replay is not None:
            self._replay(turn, turn.work.replay)
            return True
        waiting = self._work_off(turn, endpoint, Backlog(*self._due(endpoint)))
        return waiting is None or self._release(turn, wake=min((x.due for x in waiting), default=0))

    def _due(self, endpoint: Endpoint, after: str = "") -> tuple[deque[HookDelivery], str]:
        """Return deliveries in the order in which they are due, and where to read on, empty at the end.

        An endpoint that has not proven itself gets `test` events only.
        """
        limit = PAGE if endpoint.state is EndpointState.ENABLED else SEARCHED
        while True:
            found, after = self._queue.pending(endpoint.id, after=after, limit=limit)
            if endpoint.state is EndpointState.ENABLED:
                return deque(found), after
            proofs = [x for x in found if x.kind == PROOF]
            if proofs or not after:
                return deque(proofs), after

    def _work_off(self, turn: Turn, endpoint: Endpoint, backlog: Backlog) -> Sequence[HookDelivery] | None:
        """Post due deliveries; return those that wait, at least up to the soonest. None: look again first.

        Args:
            backlog: with the first page.
        """
        turn.moves += self._begin(turn, endpoint, backlog)
        while turn.moves or turn.under_way or turn.settling:
            self._settle(turn)
            turn.moves += self._ended(turn, endpoint, backlog)
            turn.moves += self._begin(turn, endpoint, backlog)
        if turn.is_starved:
            raise Retriable("webhooks: what is to be posted cannot be read")
        return None if backlog.stopped or backlog.is_cut else [*backlog.waiting, *backlog.left]

    def _settle(self, turn: Turn) -> None:
        """Begin to store the results of deliveries, while others are under way; one call after the other."""
        if turn.moves and not turn.settling:
            moves, turn.moves = turn.moves, []
            turn.settling = True
            turn.pool.submit(self._queue.settle, moves)

    def _begin(self, turn: Turn, endpoint: Endpoint, backlog: Backlog) -> Moves:
        """Begin as many posts as may be under way, and read on; return the new states of expired deliveries."""
        now = self._now()
        room = turn.room(now)
        if room > 0 and backlog.is_due(now) and (turn.is_over(self._clock.now()) or turn.is_short(now)):
            backlog.stopped = True
        moves: Moves = []
        for _ in range(room):
            if backlog.stopped or not backlog.is_due(now):
                break
            x = backlog.left.popleft()
            if is_expired(x, now):
                moves.append((x, turn.expired(x, now)))
                continue
            backlog.post = backlog.post or self._poster.to(endpoint)
            turn.under_way += 1
            turn.pool.submit(backlog.post, x, turn.patience)
        self._read_on(turn, endpoint, backlog)
        return moves

    def _read_on(self, turn: Turn, endpoint: Endpoint, backlog: Backlog) -> None:
        """Read another page in time, unless the endpoint has changed."""
        now = self._now()
        enough = len(backlog.left) >= turn.work.at_once(now, turn.taken) or (
            backlog.left and backlog.left[-1].due > now
        )
        if enough or backlog.stopped or not backlog.after:
            return
        if self._endpoints.get(endpoint.id) != endpoint:
            backlog.stopped = True
            return
        found, backlog.after = self._due(endpoint, backlog.after)
        backlog.left += found

    def _ended(self, turn: Turn, endpoint: Endpoint, backlog: Backlog) -> Moves:
        """Wait for something to end, and return what is to be stored of posts.

        Args:
            backlog: is stopped if the endpoint has changed, or a store fails.
        """
        ended = [x.result() for x in turn.pool.ended()]
        results: list[HookResult] = [x for x in ended if x is not None]
        turn.settling = turn.settling and len(results) == len(ended)
        turn.under_way -= len(results)
        moves = [(x.delivery, turn.judged(x, self._now(), self._draw())) for x in results]
        if turn.is_starved or self._noted(turn, endpoint, results):
            backlog.stopped = True
        return backlog.moved(moves)

    def _noted(self, turn: Turn, endpoint: Endpoint, results: Sequence[HookResult]) -> bool:
        """Prove or disable an endpoint by what it answered; return whether it has changed."""
        now = self._now()
        if not results:
            return False
        if reason := _reason(turn, endpoint, results, now):
            self._change(endpoint, lambda x: disabled(x, reason, now))
        elif not endpoint.proven and any(x.delivered for x in results):
            asked, since = endpoint.url, enabled_from(now, self._endpoints.of(endpoint.namespace))
            self._change(endpoint, lambda x: _proven(x, since) if not x.proven and x.url == asked else x)
        else:
            return False
        return True

    def _change(self, called: Endpoint, changed: Callable[[Endpoint], Endpoint]) -> None:
        """Change an endpoint after its answer, unless that was in an earlier trial.

        Args:
            called: as it was called.
            changed: returns the changed endpoint, given the one that is stored now.
        """
        for _ in range(TRIES):
            old = self._endpoints.get(called.id)
            if old is None or old.disabled_at or old.trial != called.trial:
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

    def _replay(self, turn: Turn, order: ReplayOrder) -> None:
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

    def _leave_listener(self, turn: Turn, endpoint: Endpoint) -> bool:
        """Remove a listener that no command polls any longer; look at others again when they may be abandoned."""
        if endpoint.abandoned(self._now()):
            deleted = audited(_owner(endpoint), self._now(), endpoint.id, Act.HOOK_DELETED, SYSTEM)
            self._endpoints.delete(endpoint, event=deleted)
            return False
        return self._release(turn, wake=max(endpoint.polled_at, endpoint.created_at) + LISTENER_MS)

    def _keep(self, turn: Turn) -> bool:
        """Store what was learned, and renew the lease; return False if it was lost."""
        now = self._now()
        if turn.work == turn.kept and not turn.is_short(now):
            return True
        kept = self._works.keep(turn.kept, replace(turn.work, until=now + LEASE_MS))
        if kept is None:
            return False
        turn.work = turn.kept = kept
        return True

    def _hand_back(self, turn: Turn) -> bool:
        """End the lease at once, even if something was added; another takes the endpoint. False if it was lost."""
        return self._works.keep(turn.kept, replace(turn.work, until=self._now())) is not None

    def _release(self, turn: Turn, *, wake: Millis) -> bool:
        """End the lease; return whether to look again first, since something was added.

        Args:
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
            delay = max(0, wait) / 1000
            self._hints.call(turn.work.endpoint, turn.work.namespace, delay=delay, apart=turn.work.apart)
        return False

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _reason(turn: Turn, endpoint: Endpoint, results: Sequence[HookResult], now: Millis) -> DisabledReason | None:
    """Return why an endpoint is to be disabled; None: it is not.

    Args:
        endpoint: as it was called.
    """
    if any(x.gone for x in results):
        return DisabledReason.GONE
    return DisabledReason.FAILING if endpoint.proven and turn.work.is_failing(now) else None


def _proven(endpoint: Endpoint, since: Millis) -> Endpoint:
    """Return an endpoint that has answered; `since`: from when on it misses no event."""
    return replace(endpoint, proven=True, enabled_at=since, version=endpoint.version + 1)


def _owner(endpoint: Endpoint) -> str:
    """Return in whose audit log an endpoint's entries are."""
    return EVERYONE if endpoint.namespace == DEPLOYMENT else endpoint.namespace
