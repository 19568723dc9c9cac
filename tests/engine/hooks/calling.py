"""A worker that delivers to endpoints, over memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.work import LOOK_MS, HookWork
from shared.engine.hooks.adding import HookAdder
from shared.engine.hooks.call import CallHooks
from shared.engine.hooks.posting import HookPoster
from shared.engine.hooks.turn import HookRun
from shared.ports import HookAnswer, HookQueue, HookUnreachable
from tests.contracts.hook_stores import HookStores
from tests.domain.hooks.examples import HOOK, delivery, endpoint
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.faults import Tap
from tests.fakes.hooks.endpoints import FakeEndpoints
from tests.fakes.hooks.outside import FakeHookClient, FakeHookHints, FakeHookSecrets, HookPost
from tests.fakes.hooks.queue import FakeHookQueue, FakeWorks
from tests.fakes.journal import FakeJournal

TURN_S = 100.0
PROOF: dict[str, Any] = {"kind": "test", "data": "{}", "cells": ()}
"""What makes a delivery a `test` event."""


class Caller:
    """An endpoint, its deliveries, and a worker.

    Attributes:
        faults: delivery's id → what its body's making raises.
    """

    def __init__(self, tap: Tap | None = None, **changes: Any) -> None:
        self.clock = FakeClock()
        self.tap = tap or Tap()
        self.journal = FakeJournal(self.tap)
        self.queue = FakeHookQueue(self.tap)
        self.endpoints = FakeEndpoints(self.journal, self.tap, self.queue)
        self.works = FakeWorks(self.queue)
        self.hints = FakeHookHints(self.tap)
        self.client = FakeHookClient(self.tap)
        self.endpoints.put(endpoint(**{"created_at": self.clock.ms, **changes}))
        self.bodies = {"content": b"{}"}
        self.faults: dict[str, Exception] = {}
        self.call = self.worker()

    def worker(self, stores: HookStores | None = None) -> CallHooks:
        """Return a worker of a new process. `stores`: its own; None: those in memory."""
        poster = HookPoster(
            client=self.client,
            secrets=FakeHookSecrets(),
            body=lambda x, _: self._body(x),
            clock=self.clock,
        )
        return CallHooks(
            endpoints=stores.endpoints if stores else self.endpoints,
            queue=stores.queue if stores else self.queue,
            works=stores.works if stores else self.works,
            hints=self.hints,
            poster=poster,
            clock=self.clock,
            draw=lambda: 0.5,
            pool=FakePool,
        )

    def _body(self, x: HookDelivery) -> bytes:
        if x.id in self.faults:
            raise self.faults[x.id]
        return self.bodies["content"] and x.id.encode()

    def answers(self, status: int, *, ms: int = 20, retry_after: int = 0) -> None:
        """Have the receiver answer so, which takes its time."""

        def answer(_post: HookPost) -> HookAnswer:
            self.clock.advance(ms / 1000)
            return HookAnswer(status, ms, "text", retry_after)

        self.client.answer = answer

    def hangs(self) -> None:
        """Have the receiver never answer."""

        def answer(_post: HookPost) -> HookAnswer:
            self.clock.advance(10)
            raise HookUnreachable("read_timeout", 10_000)

        self.client.answer = answer

    def new(self, n: int, first: int = 0, **changes: Any) -> list[HookDelivery]:
        """Return deliveries that are due now."""
        now = self.clock.ms
        return [delivery(id=f"evt_{first + i:05d}", created_at=now, due=now, **changes) for i in range(n)]

    def add(self, n: int, first: int = 0, **changes: Any) -> None:
        """Add deliveries that are due now."""
        self.store(self.queue, self.new(n, first, **changes))

    def store(self, queue: HookQueue, some: Sequence[HookDelivery]) -> None:
        """Add deliveries to a queue."""
        HookAdder(queue=queue, hints=self.hints, clock=self.clock).add(self.endpoint, some)

    def work(self, *, apart: bool = False) -> HookRun:
        """Do one run."""
        return self.call.work(HOOK, apart=apart, stop_at=self.clock.now() + TURN_S)

    def live(self, seconds: float) -> None:
        """Let hints, delayed ones too, and the walk of every minute do their work for so long."""
        end, walk = self.clock.now() + seconds, self.clock.now() + LOOK_MS / 1000
        waiting = [(self.clock.now(), x) for x in self.hints.calls]
        self.hints.calls.clear()
        while self.clock.now() <= end:
            due = [x for x in waiting if x[0] <= self.clock.now()]
            waiting = [x for x in waiting if x[0] > self.clock.now()]
            for _, hint in due:
                self.call.work(hint.endpoint, apart=hint.apart, stop_at=self.clock.now() + TURN_S)
            if self.clock.now() >= walk:
                self.call.wake(stop_at=self.clock.now() + 45)
                walk = self.clock.now() + LOOK_MS / 1000
            waiting += [(self.clock.now() + x.delay, x) for x in self.hints.calls]
            self.hints.calls.clear()
            soonest = min([walk, *(at for at, _ in waiting)])
            self.clock.advance(max(0.001, soonest - self.clock.now()))
        self.hints.calls += [x for _, x in waiting]

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint as it is."""
        return self.endpoints.items[HOOK]

    @property
    def state(self) -> HookWork:
        """Its work as it is."""
        return self.queue.works[HOOK]

    def change(self, **changes: Any) -> None:
        """Change the endpoint behind the worker's back."""
        self.endpoints.put(replace(self.endpoint, version=self.endpoint.version + 1, **changes))

    def posted(self) -> list[str]:
        """Return the ids of what was posted, in order."""
        return [x.headers["webhook-id"] for x in self.client.posts]

    def waiting(self) -> Sequence[HookDelivery]:
        """Return what waits."""
        return [self.queue.waiting[k] for k in sorted(self.queue.waiting)]

    def over(self, state: DeliveryState) -> list[str]:
        """Return the ids of what has ended so."""
        return sorted(x.id for x in self.queue.over.values() if x.state is state)
