"""How many deliveries workers post: real connections to a receiver in a process of its own, stores in memory.

`make hook-rate` prints figures, by plain HTTP and by TLS. It needs no cloud. On AWS each worker is
a process of its own. Here each has a client of its own, and all share one processor.
"""

import argparse
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from infra.local.console import say
from shared.adapters.clock import SystemClock
from shared.adapters.http.connect import dial
from shared.adapters.http.guarded import GuardedClient
from shared.contracts import HOOK_WORKERS
from shared.engine.hooks.call import CallHooks
from shared.engine.hooks.posting import HookPoster
from tests.certificates import self_signed, trusting
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

    how: str
    endpoints: int
    delivered: int
    received: int
    seconds: float
    cpu: float

    def text(self) -> str:
        """Return the figures."""
        return (
            f"{self.delivered} deliveries to {self.endpoints} endpoints of {ANSWER_SECONDS * 1000:.0f} ms by "
            f"{HOOK_WORKERS} workers over {self.how}: {self.delivered / self.seconds:.0f} a second, "
            f"{1000 * self.cpu / self.delivered:.2f} ms of a processor each; {self.received} received"
        )


def run(receiver: ReceiverProcess, endpoints: int, each: int, trusted: Path | None = None) -> HookRate:
    """Post deliveries to endpoints, all workers as threads of this process.

    Args:
        receiver: answers.
        endpoints: how many; each has a host name of its own.
        each: deliveries of each endpoint.
        trusted: the certificate of the receiver, if it has one.
    """
    clock = SystemClock()
    queue = FakeHookQueue()
    known = FakeEndpoints(FakeJournal(queue.tap), queue.tap, queue)
    names = [f"hook_{n:026d}" for n in range(endpoints)]
    now = int(clock.now() * 1000)
    for n, name in enumerate(names):
        receiver.switch(f"/{n}", Mode.OK, ANSWER_SECONDS)
        url = f"https://h{n}.example.com/{n}" if trusted else receiver.url(f"/{n}")
        known.put(replace(endpoint(), id=name, url=url))
        some = [replace(delivery(), id=f"evt_{n}_{i}", endpoint=name, created_at=now, due=now) for i in range(each)]
        queue.add(name, some, wake=now + 60_000)
    workers = threading.local()

    def worker() -> CallHooks:
        if not hasattr(workers, "calls"):
            poster = HookPoster(
                client=_client(clock, receiver, trusted),
                secrets=FakeHookSecrets(),
                body=lambda _, __: BODY,
                clock=clock,
            )
            workers.calls = CallHooks(
                endpoints=known,
                queue=queue,
                works=FakeWorks(queue),
                hints=FakeHookHints(),
                poster=poster,
                clock=clock,
                draw=lambda: 0.5,
            )
        made: CallHooks = workers.calls
        return made

    def serve(name: str) -> int:
        count = 0
        while done := worker().work(name, apart=False, stop_at=clock.now() + TURN).delivered:
            count += done
        return count

    began, cpu = time.monotonic(), time.process_time()
    with ThreadPoolExecutor(HOOK_WORKERS) as pool:
        delivered = sum(pool.map(serve, names))
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    return HookRate("TLS" if trusted else "plain HTTP", endpoints, delivered, len(receiver.received()), seconds, cpu)


def _client(clock: SystemClock, receiver: ReceiverProcess, trusted: Path | None) -> GuardedClient:
    """Return a client; with TLS, one for which all names are public, and which reaches the receiver instead."""
    if trusted is None:
        return GuardedClient(clock, local=True)

    def public(_host: str, _port: int) -> Sequence[str]:
        return ["93.184.216.34"]

    def connect(
        _host: str,
        _port: int,
        until: float,
        now: Callable[[], float],
        secure: Callable[[socket.socket], socket.socket],
    ) -> socket.socket:
        return dial("127.0.0.1", receiver.port, until, now, secure)

    return GuardedClient(clock, resolve=public, connect=connect, context=trusting(trusted))


def main() -> None:
    """Print the figures of a run by plain HTTP and one by TLS."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoints", type=int, default=100)
    parser.add_argument("--each", type=int, default=100)
    options = parser.parse_args()
    with ReceiverProcess() as receiver:
        say(run(receiver, options.endpoints, options.each).text())
    with tempfile.TemporaryDirectory() as folder:
        file = self_signed(Path(folder), *(f"h{n}.example.com" for n in range(options.endpoints)))
        with ReceiverProcess(file) as receiver:
            say(run(receiver, options.endpoints, options.each, file).text())


if __name__ == "__main__":
    main()
