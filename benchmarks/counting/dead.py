"""The cost of a dead provider until calls to it stop: the real sender and transport against the simulator.

Two workers with two leases each serve the dead credential's lane, as AWS would start them; another credential of the
route works. Stores are in memory. How many calls fail depends on how they meet, but never exceeds what the gates allow,
so a miss is a defect on any machine.
"""

import json
import logging
import random
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import uuid4

from benchmarks.rig import rows
from benchmarks.rig.mail import prose, recipients
from benchmarks.rig.rows import Row, named
from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential, Settings
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import Policy
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell
from shared.engine.intake.accept import AcceptedJob, Acceptor, BatchRequest
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.recovery import Recovery
from shared.engine.lane.send import Sender
from shared.providers.registry import Needs, provider
from simulator.run import SimulatorProcess
from tests.fakes.breakers import FakeBreakers
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.queues import FakeLanes, FakePacer, FakeQueue
from tests.fakes.records import FakeRecords
from tests.fakes.standings import FakeStandings

KEY: Final = "SG.bench"
DEAD: Final = "sendgrid-dead"
ALIVE: Final = "sendgrid-alive"
GOAL: Final = 20
RATE: Final = 1000.0
WORKERS: Final = 2
LEASES: Final = 2
JOBS: Final = 4
PEOPLE: Final = 1000
"""Recipients of a job: half of them start at the dead credential."""
CALL_SECONDS: Final = 1.0
PATIENCE: Final = 60.0
WAYS: Final[dict[str, dict[str, Any]]] = {
    "its own 503": {"mode": "503"},
    "a gateway's 502": {"mode": "500", "status": 502},
    "no answer in time": {"mode": "slow", "after_s": 1.2},
    "connection refused": {"mode": "refuse"},
}


def measure() -> list[Row]:
    """Return a row per way of being dead, and one for messages that were taken twice."""
    logging.getLogger("shared.engine").setLevel(logging.ERROR)  # that a breaker opens is what is measured
    out = []
    twice = 0
    for way, faults in WAYS.items():
        failed, duplicates = left_alone(faults)
        twice += duplicates
        out.append(Row(named(rows.DEAD, way), failed, GOAL, "calls", counted=True))
    out.append(Row(named(rows.DEAD, "messages taken twice"), twice, 0, "messages", counted=True))
    return out


def left_alone(faults: dict[str, Any]) -> tuple[int, int]:
    """Send through a dead and a living credential; returns the dead one's failed calls, and duplicates of both."""
    clock: Any = SystemClock()
    with SimulatorProcess("--api-key", f"sendgrid={KEY}") as simulator:
        urls = {c: simulator.control.listen("sendgrid", c) for c in (DEAD, ALIVE)}
        simulator.control.faults("sendgrid", DEAD, latency_ms=50, **faults)
        credentials = (
            Credential(DEAD, "sendgrid", "email", RATE, urls[DEAD], workers=WORKERS, per_call=1),
            Credential(ALIVE, "sendgrid", "email", 20 * RATE, urls[ALIVE], workers=WORKERS, per_call=50),
        )
        breakers, ledgers = FakeBreakers(), FakeLedgers()
        records = FakeRecords(ledgers, breakers=breakers)
        lanes, pacer = FakeLanes(clock), FakePacer(clock)

        def breaker_cache() -> BreakerCache:
            return BreakerCache(breakers=breakers, clock=clock, rng=random.Random(1))

        settings = Settings("bench", credentials, {"email": (DEAD, ALIVE)})
        acceptor = Acceptor(records=records, lanes=lanes, breaker_cache=breaker_cache(), settings=settings, clock=clock)
        jobs = [_accept(acceptor) for _ in range(JOBS)]
        http = HttpClient(clock)
        threads = []
        done = threading.Event()
        for credential in credentials:
            for _ in range(WORKERS):
                known = breaker_cache()
                recovery = Recovery(
                    records=records,
                    ledgers=ledgers,
                    lanes=lanes,
                    breaker_cache=known,
                    clock=clock,
                    rng=random.Random(1),
                )
                sender = Sender(
                    stores=LaneStores(records, ledgers, pacer, lanes, FakeStandings),
                    access=ProviderAccess(
                        provider("sendgrid")(Needs(http, clock, {"api_key": KEY}, credential.base_url)), CALL_SECONDS
                    ),
                    credential=credential,
                    recovery=recovery,
                    breaker_cache=known,
                    clock=clock,
                    lease_margin=30,
                )
                serve = (sender, lanes[credential.id], done)
                threads += [threading.Thread(target=_serve, args=serve) for _ in range(LEASES)]
        _run(threads, ledgers, jobs, done)
        http.close()
        if breakers.of(DEAD).closed:
            raise RuntimeError("the dead provider was not left alone")
        failed = sum(len(w.entries) for w in records.windows.values() if w.credential == DEAD)  # one entry a call
        taken = simulator.control.log("sendgrid")
    _check_all_settled(ledgers, jobs)
    return failed, len(taken) - len({line["ref"].rpartition("-")[0] for line in taken})


def _check_all_settled(ledgers: FakeLedgers, jobs: Iterable[str]) -> None:
    cells = b"".join(x.cells for job in jobs for x in ledgers.read_all(job))
    settled = sum(cells.translate(_STATES).count(s) for s in (Cell.SENT, Cell.UNKNOWN))
    if settled < JOBS * PEOPLE:
        raise RuntimeError(f"{JOBS * PEOPLE - settled} messages were lost")


def _run(threads: Sequence[threading.Thread], ledgers: FakeLedgers, jobs: list[str], done: threading.Event) -> None:
    """Run senders until all messages of some jobs have their end."""
    for t in threads:
        t.start()
    _wait(ledgers, jobs)
    done.set()
    for t in threads:
        t.join()


_STATES: Final = bytes(b & 15 for b in range(256))


def _accept(acceptor: Acceptor) -> str:
    """Accept a batch and return its job."""
    accepted = acceptor.accept(
        BatchRequest(
            account="acc_bench",
            test=False,
            channel="email",
            route=(DEAD, ALIVE),
            content=Content(Mailbox("news@example.com", "Example News"), "What is new", prose(2000)),
            recipients=recipients(PEOPLE),
            duplicates=0,
            policy=Policy(),
        )
    )
    if not isinstance(accepted, AcceptedJob):
        raise TypeError("not accepted")
    return accepted.job.id


def _serve(sender: Sender, queue: FakeQueue, done: threading.Event) -> None:
    """Serve a lane's pointers, one after the other, until all is done."""
    while not done.is_set():
        message = queue.receive()
        if message is None:
            done.wait(0.01)
            continue
        pointer = json.loads(message.body)
        sender.work(pointer["job"], pointer["chunk"], owner=uuid4().hex, deadline=time.time() + PATIENCE)
        queue.delete(message)


def _wait(ledgers: FakeLedgers, jobs: list[str]) -> None:
    """Wait until every chunk is done."""
    end = time.monotonic() + PATIENCE
    while any(x.status is not LedgerStatus.DONE for job in jobs for x in ledgers.read_all(job)):
        if time.monotonic() > end:
            raise RuntimeError("the chunks never end")
        time.sleep(0.05)
