"""`python -m benchmarks.sender`: one worker of a lane at full speed, in a process of its own.

The real sender, provider and transport run against the simulator in another process, which answers after 50 ms. There
are two leases, windows of 200, and a rate that does not bind. Ledgers and records are in memory, by default at no
distance. The processor time of DynamoDB's client is measured apart (`adapter`). Prints one JSON line.
"""

import argparse
import gc
import json
import os
import random
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import mean
from typing import Any, Final, TypeVar

from botocore.awsrequest import AWSResponse

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.answers import ENVIRONMENT, Answer, NoBlobs
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.rig.mail import prose, recipients
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo import codec
from shared.adapters.dynamo.client import CONFIG, Dynamo
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.http.transport import HttpClient
from shared.adapters.http.wire import HttpWire
from shared.contracts import Credential, Settings
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.details import Detail
from shared.domain.jobs.job import Policy
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import pace
from shared.engine.intake.accept import AcceptedJob, Acceptor, BatchRequest
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.recovery import Recovery
from shared.engine.lane.send import Sender
from shared.providers.registry import Needs, provider
from simulator.run import SimulatorProcess
from tests.fakes.breakers import FakeBreakers
from tests.fakes.faults import Tap
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.links import FakeLinks
from tests.fakes.queues import FakeLanes, FakePacer
from tests.fakes.records import FakeRecords
from tests.fakes.standings import FakeStandings

T = TypeVar("T")
KEY: Final = "SG.bench"
NAME: Final = "sendgrid-bench"
RATE: Final = 100_000.0
LEASES: Final = 2
LATENCY_MS: Final = 50
WINDOW: Final = 200


class Distance(Tap):
    """A store that answers after a while."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def __call__(self, name: str, operation: Callable[[], T]) -> T:
        """Wait, and do it."""
        del name
        if self._seconds:
            time.sleep(self._seconds)
        return operation()


def run(messages: int, per_call: int, distance: float, *, campaign: bool = False) -> dict[str, float]:
    """Send a batch, or a campaign's list; returns messages a second, µs of processor time a message and MB of memory.

    `slowness`: the time of the calibration loop just before and after, divided by the reference's time. Divide
    processor time by it, since a neighbour on the same core or cache makes the same work cost more.
    """
    clock: Any = SystemClock()
    with SimulatorProcess("--api-key", f"sendgrid={KEY}") as simulator:
        simulator.control.faults("sendgrid", NAME, latency_ms=LATENCY_MS)
        credential = Credential(
            NAME, "sendgrid", "email", RATE, simulator.base_url("sendgrid", NAME), workers=1, per_call=per_call
        )
        tap = Distance(distance)
        ledgers = FakeLedgers(tap)
        records = FakeRecords(ledgers, tap)
        lanes = FakeLanes(clock)
        settings = Settings("bench", (credential,), {"email": (NAME,)})
        breaker_cache = BreakerCache(breakers=FakeBreakers(tap), clock=clock, rng=random.Random(1))
        recovery = Recovery(
            records=records,
            ledgers=ledgers,
            lanes=lanes,
            breaker_cache=breaker_cache,
            clock=clock,
            rng=random.Random(1),
        )
        http = HttpClient(clock)
        sender = Sender(
            stores=LaneStores(records, ledgers, FakePacer(clock, tap), lanes, FakeStandings),
            access=ProviderAccess(
                provider("sendgrid")(Needs(http, clock, {"api_key": KEY}, credential.base_url)),
                wire=partial(HttpWire, http),
            ),
            credential=credential,
            recovery=recovery,
            breaker_cache=breaker_cache,
            clock=clock,
            lease_margin=30,
            links=FakeLinks(),
        )
        acceptor = Acceptor(records=records, lanes=lanes, breaker_cache=breaker_cache, settings=settings, clock=clock)

        def send(count: int) -> None:
            accepted = acceptor.accept(_campaign(count) if campaign else request(count))
            if not isinstance(accepted, AcceptedJob):
                raise TypeError("not accepted")
            _work(sender, accepted.job.id, accepted.job.chunks, clock.now() + 120)
            sent = sum(len(x.having(Cell.SENT)) for x in ledgers.read_all(accepted.job.id))
            if sent != count:
                raise RuntimeError(f"{count} messages, {sent} sent")

        send(LEASES * WINDOW)  # connections
        loops = [calibrate(1)]
        before = resource.getrusage(resource.RUSAGE_SELF)
        began = time.perf_counter()
        send(messages)
        took = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_SELF)
        loops.append(calibrate(1))
        http.close()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "per_second": messages / took,
        "cpu_us": cpu / messages * 1e6,
        "slowness": mean(loops) / REFERENCE_S,
        "rss_mb": after.ru_maxrss / 1024,
    }


def request(count: int) -> BatchRequest:
    return BatchRequest(
        account="acc_bench",
        test=False,
        channel="email",
        route=(NAME,),
        content=Content(Mailbox("news@example.com", "Example News"), "What is new", prose(2000)),
        recipients=recipients(count),
        duplicates=0,
        policy=Policy(),
    )


def _campaign(count: int) -> BatchRequest:
    """Return a mail with three placeholders and an unsubscription, of which each recipient gets one of their own."""
    html = (
        f"<html><body><h1>Dear {{{{ first_name }}}}</h1><p>{prose(1700)}</p><p>Your shop in {{{{ city }}}}</p>"
        '<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p></body></html>'
    )
    content = Content(
        Mailbox("news@example.com", "Example News"),
        "{{ first_name }}, your code is {{ code }}",
        html,
        merge=True,
        unsubscribe="https://mail.example.com/unsubscribe/",
    )
    people = tuple(
        replace(r, values={"first_name": f"Name{i}", "city": "São Paulo & Co", "code": f"C-{i:07}", "unused": "x" * 20})
        for i, r in enumerate(recipients(count))
    )
    return replace(request(count), content=content, recipients=people)


def _work(sender: Sender, job: str, chunks: int, deadline: float) -> None:
    """Serve all chunks, each lease in a thread."""

    def lease(first: int) -> None:
        for number in range(first, chunks, LEASES):
            sender.work(job, number, owner=f"{first}-{number}", deadline=deadline)

    threads = [threading.Thread(target=lease, args=(n,)) for n in range(LEASES)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def adapter(rounds: int = 200) -> float:
    """Return the ms of processor time that a window's four DynamoDB calls cost the client, the network apart."""
    aws = Aws()
    client = aws.client("dynamodb", CONFIG)
    clock = SystemClock()
    ledgers = FakeLedgers()
    records = FakeRecords(ledgers)
    lanes: Any = FakeLanes(clock)  # type: ignore[arg-type]
    settings = Settings("bench", (Credential(NAME, "sendgrid", "email", RATE, per_call=1),), {"email": (NAME,)})
    breaker_cache = BreakerCache(breakers=FakeBreakers(), clock=clock, rng=random.Random(1))
    acceptor = Acceptor(records=records, lanes=lanes, breaker_cache=breaker_cache, settings=settings, clock=clock)
    accepted = acceptor.accept(request(500))
    if not isinstance(accepted, AcceptedJob):
        raise TypeError("not accepted")
    job = accepted.job
    answers = {
        "UpdateItem": {"Attributes": {"tat": {"N": str(int((time.time() + 3) * 1e6))}}},
        "BatchGetItem": {"Responses": {"records": [codec.job_item(job)]}, "UnprocessedKeys": {}},
        "PutItem": {},
    }
    bodies = {name: json.dumps(answer).encode() for name, answer in answers.items()}

    def answer(request: Any, **_: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().partition(".")[2]
        return Answer(request.url, bodies[operation])

    client.meta.events.register("before-send.dynamodb", answer)
    dynamo = Dynamo(client)
    store, details = DynamoLedgers(dynamo, "ops"), DynamoRecords(dynamo, records="records", ops="ops", blobs=NoBlobs())
    pacer = DynamoPacer(dynamo, "ops", clock)
    ids = random.Random(2)
    entries = tuple(Entry(i, 1, Kind.ACCEPTED, f"{ids.getrandbits(360):090x}"[:60]) for i in range(WINDOW))
    held = ledgers.read(job.id, 0)
    if held is None:
        raise RuntimeError("no ledger")
    rate = pace(RATE, 1, 1)
    began = time.process_time()
    for _ in range(rounds):
        pacer.reserve(NAME, WINDOW, rate, lead=0.0)
        details.control(job.id, job.account)
        store._swap(held, held)  # noqa: SLF001 - the write by itself, without the rules before it
        details.put_detail(Detail(job.id, 0, 1, 1, 0, NAME, entries, 0))
    return (time.process_time() - began) / rounds * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--per-call", type=int, default=1, help="0: as many as the provider takes")
    parser.add_argument("--distance-ms", type=float, default=0.0, help="of the store")
    parser.add_argument("--campaign", action="store_true", help="a message of its own for each recipient")
    parser.add_argument("--adapter", action="store_true", help="only what DynamoDB's client costs per window")
    options = parser.parse_args()
    os.environ |= ENVIRONMENT
    if options.adapter:
        print(json.dumps({"adapter_ms": adapter()}))
        return
    gc.freeze()
    print(json.dumps(run(options.messages, options.per_call, options.distance_ms / 1000, campaign=options.campaign)))


if __name__ == "__main__":
    main()
