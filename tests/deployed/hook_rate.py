"""How many deliveries workers post: real connections to a receiver in a process of its own, stores in memory.

`python -m tests.deployed.hook_rate` prints figures. It needs no cloud.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from infra.local.console import say
from shared.adapters.clock import SystemClock
from shared.adapters.http.guarded import GuardedClient
from shared.contracts import HOOK_WORKERS
from shared.engine.hooks.call import CallHooks
from shared.engine.hooks.posting import HookPoster
from tests.deployed.receiver import Mode, ReceiverProcess
from tests.domain.hooks.examples import delivery, endpoint
from tests.fakes.hooks.endpoints import FakeEndpoints
from tests.fakes.hooks.outside import FakeHookHints, FakeHookSecrets
from tests.fakes.hooks.queue import FakeHookQueue, FakeWorks
from tests.fakes.journal import FakeJournal

ANSWER_SECONDS: Final = 0.05
TURN: Final = 60.0
BODY: Final = b'{"type":"message.sent","timestamp":"2026-11-23T16:48:43.077Z","data":{"job_id":"j","message":"0.1"}}'


@dataclass(frozen=True, slots=True)
class HookRate:
    """What workers posted. `cpu`: seconds of a processor."""

    endpoints: int
    delivered: int
    received: int
    seconds: float
    cpu: float

    def text(self) -> str:
        """Return the figures."""
        return (
            f"{self.delivered} deliveries to {self.endpoints} endpoints of {ANSWER_SECONDS * 1000:.0f} ms by "
            f"{HOOK_WORKERS} workers: {self.delivered / self.seconds:.0f} a second, "
            f"{1000 * self.cpu / self.delivered:.2f} ms of a processor each; {self.received} received"
        )


def run(receiver: ReceiverProcess, endpoints: int, each: int) -> HookRate:
    """Post deliveries to endpoints, all workers as threads of this process.

    Args:
        receiver: answers.
        endpoints: how many.
        each: deliveries of each endpoint.
    """
    clock = SystemClock()
    queue = FakeHookQueue()
    known = FakeEndpoints(FakeJournal(queue.tap), queue.tap, queue)
    client = GuardedClient(clock, local=True)
    poster = HookPoster(client=client, secrets=FakeHookSecrets(), body=lambda _, __: BODY, clock=clock)
    names = [f"hook_{n:026d}" for n in range(endpoints)]
    now = int(clock.now() * 1000)
    for n, name in enumerate(names):
        receiver.switch(f"/{n}", Mode.OK, ANSWER_SECONDS)
        known.put(replace(endpoint(), id=name, url=receiver.url(f"/{n}")))
        some = [replace(delivery(), id=f"evt_{n}_{i}", endpoint=name, created_at=now, due=now) for i in range(each)]
        queue.add(name, some, wake=now + 60_000)
    calls = CallHooks(
        endpoints=known,
        queue=queue,
        works=FakeWorks(queue),
        hints=FakeHookHints(),
        poster=poster,
        clock=clock,
        draw=lambda: 0.5,
    )

    def serve(name: str) -> int:
        count = 0
        while done := calls.work(name, apart=False, stop_at=clock.now() + TURN).delivered:
            count += done
        return count

    began, cpu = time.monotonic(), time.process_time()
    with ThreadPoolExecutor(HOOK_WORKERS) as pool:
        delivered = sum(pool.map(serve, names))
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    client.close()
    return HookRate(endpoints, delivered, len(receiver.received()), seconds, cpu)


def main() -> None:
    """Print the figures of a run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoints", type=int, default=100)
    parser.add_argument("--each", type=int, default=100)
    options = parser.parse_args()
    with ReceiverProcess() as receiver:
        say(run(receiver, options.endpoints, options.each).text())


if __name__ == "__main__":
    main()
