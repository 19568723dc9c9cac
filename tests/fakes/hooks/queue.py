"""Deliveries and the work of endpoints in memory."""

import heapq
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from shared.domain.hooks.delivery import DeliveryState, HookDelivery, parse_name
from shared.domain.hooks.work import HookWork, ReplayOrder
from shared.domain.times import Millis
from tests.fakes.faults import Atomic, Tap


class FakeHookQueue:
    """`ports.HookQueue` in memory.

    Attributes:
        waiting: deliveries by endpoint, due time and id.
        over: those that have ended, by endpoint, time of creation and id.
        works: the work of endpoints, which `FakeWorks` leases.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.waiting: dict[tuple[str, Millis, str], HookDelivery] = {}
        self.over: dict[tuple[str, Millis, str], HookDelivery] = {}
        self.works: dict[str, HookWork] = {}
        self.lock = threading.RLock()
        self.tap = tap or Tap()
        self._atomic = Atomic("hook_queue", self.lock, self.tap)

    def add(self, endpoint: str, deliveries: Sequence[HookDelivery], *, wake: Millis) -> HookWork:
        def put() -> None:
            self.waiting |= {_waits(x): x for x in deliveries}

        def note() -> HookWork:
            work = self.works.get(endpoint) or HookWork(endpoint)
            work = replace(work, added=work.added + 1, wake=min(work.wake or wake, wake))
            self.works[endpoint] = work
            return work

        if deliveries:
            self._atomic("put", put)
        return self._atomic("note", note)

    def pending(self, endpoint: str, *, after: str = "", limit: int) -> tuple[Sequence[HookDelivery], str]:
        def found() -> tuple[Sequence[HookDelivery], str]:
            found = (k for k in self.waiting if k[0] == endpoint and (not after or _text(k) > after))
            places = heapq.nsmallest(limit + 1, found)
            return [self.waiting[k] for k in places[:limit]], _text(places[limit - 1]) if len(places) > limit else ""

        return self._atomic("pending", found)

    def ended(
        self,
        endpoint: str,
        *,
        state: DeliveryState | None = None,
        since: Millis = 0,
        until: Millis | None = None,
        after: str = "",
        limit: int,
    ) -> tuple[Sequence[HookDelivery], str]:
        def found() -> tuple[Sequence[HookDelivery], str]:
            places = sorted((k for k in self.over if k[0] == endpoint and k[1] >= since), reverse=True)
            places = [k for k in places if (until is None or k[1] <= until) and (not after or _text(k) < after)]
            page = [self.over[k] for k in places[:limit]]
            there = [x for x in page if state in (None, x.state)]
            return there, _text(places[limit - 1]) if len(places) > limit else ""

        return self._atomic("ended", found)

    def get(self, endpoint: str, name: str) -> HookDelivery | None:
        def found() -> HookDelivery | None:
            parsed = parse_name(name)
            there = [x for k, x in sorted(self.waiting.items()) if k[0] == endpoint and x.name == name]
            return there[0] if there else self.over.get((endpoint, *parsed)) if parsed else None

        return self._atomic("get", found)

    def settle(self, moves: Sequence[tuple[HookDelivery, HookDelivery]]) -> None:
        def put() -> None:
            for _, new in moves:
                if new.state is DeliveryState.PENDING:
                    self.waiting[_waits(new)] = new
                else:
                    self.over[new.endpoint, new.created_at, new.id] = new

        def remove() -> None:
            for old, new in moves:
                if new.state is not DeliveryState.PENDING or _waits(old) != _waits(new):
                    self.waiting.pop(_waits(old), None)

        self._atomic("settle_put", put)
        self._atomic("settle_remove", remove)


class FakeWorks:
    """`ports.Works` over the same memory."""

    def __init__(self, queue: FakeHookQueue) -> None:
        self._works = queue.works
        self._atomic = Atomic("works", queue.lock, queue.tap)

    def get(self, endpoint: str) -> HookWork | None:
        return self._atomic("get", lambda: self._works.get(endpoint))

    def some(self, endpoints: Sequence[str]) -> Mapping[str, HookWork]:
        return self._atomic("some", lambda: {x: self._works[x] for x in endpoints if x in self._works})

    def acquire(self, endpoint: str, owner: str, *, now: Millis, until: Millis) -> HookWork | None:
        def step() -> HookWork | None:
            there = self._works.get(endpoint)
            if there is None or (there.until > now and there.owner != owner):
                return None
            self._works[endpoint] = replace(there, owner=owner, until=until, wake=there.wake or until)
            return self._works[endpoint]

        return self._atomic("acquire", step)

    def keep(self, old: HookWork, new: HookWork) -> HookWork | None:
        def step() -> HookWork | None:
            there = self._works.get(new.endpoint)
            if there is None or there.owner != new.owner:
                return None
            replay = there.replay if old.replay is None else new.replay
            self._works[new.endpoint] = replace(new, added=there.added, wake=there.wake, replay=replay)
            return self._works[new.endpoint]

        return self._atomic("keep", step)

    def release(self, work: HookWork) -> HookWork | None:
        def step() -> HookWork | None:
            there = self._works.get(work.endpoint)
            if there is None or there.owner != work.owner:
                return None
            if there.added != work.added:
                return there
            self._works[work.endpoint] = replace(work, owner="", until=0)
            return None

        return self._atomic("release", step)

    def drop(self, work: HookWork) -> None:
        def step() -> None:
            if work.endpoint in self._works and self._works[work.endpoint].owner == work.owner:
                del self._works[work.endpoint]

        self._atomic("drop", step)

    def order(self, endpoint: str, replay: ReplayOrder, *, wake: Millis) -> bool:
        def step() -> bool:
            there = self._works.get(endpoint) or HookWork(endpoint)
            if there.replay not in (None, replay):
                return False
            self._works[endpoint] = replace(
                there, replay=replay, added=there.added + 1, wake=min(there.wake or wake, wake)
            )
            return True

        return self._atomic("order", step)

    def waking(self, shard: int, now: Millis) -> Iterable[str]:
        def found() -> list[str]:
            there = [x for x in self._works.values() if x.shard == shard and 0 < x.wake <= now]
            return [x.endpoint for x in sorted(there, key=lambda x: (x.wake, x.endpoint))]

        return iter(self._atomic("waking", found))


def _waits(delivery: HookDelivery) -> tuple[str, Millis, str]:
    return delivery.endpoint, delivery.due, delivery.id


def _text(place: tuple[str, Millis, str]) -> str:
    return f"{place[1]:015d}#{place[2]}"
