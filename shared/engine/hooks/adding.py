"""Stores new deliveries of an endpoint, and has them posted."""

from collections.abc import Sequence
from typing import Final

from shared.domain.hooks.delivery import HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.work import LOOK_MS, HookWork
from shared.ports import Clock, HookHints, HookQueue

TOGETHER: Final = 200
"""Deliveries that are stored before they are counted: a worker posts them while the next ones are stored."""


KNOWN: Final = 1_000
"""Endpoints that a process remembers as such that fail or are slow."""


class HookAdder:
    """Adds deliveries.

    Attributes:
        apart: endpoints that failed or were slow when deliveries were last added; it may be out of date.
    """

    def __init__(self, *, queue: HookQueue, hints: HookHints, clock: Clock) -> None:
        self._queue = queue
        self._hints = hints
        self._clock = clock
        self.apart: set[str] = set()

    def add(self, endpoint: Endpoint, deliveries: Sequence[HookDelivery]) -> None:
        """Store deliveries of an endpoint; a repeat with the same `due` stores them once.

        If the hint is lost, a worker checks the endpoint within about two minutes.
        """
        for start in range(0, len(deliveries), TOGETHER):
            now = int(self._clock.now() * 1000)
            work = self._queue.add(endpoint.id, deliveries[start : start + TOGETHER], wake=now + LOOK_MS)
            self._remember(work)
            if not endpoint.listening and work.needs_hint(now):
                self._hints.call(endpoint.id, endpoint.namespace, apart=work.apart)

    def _remember(self, work: HookWork) -> None:
        if len(self.apart) >= KNOWN:
            self.apart.clear()
        (self.apart.add if work.apart else self.apart.discard)(work.endpoint)
