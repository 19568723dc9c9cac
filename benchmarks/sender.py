"""`python -m benchmarks.sender`: one worker of a lane at full speed, in a process of its own.

The real sender, provider and transport run against the simulator in another process, which answers after 50 ms. There
are two leases, windows of 200, and a rate that does not bind. Ledgers and records are in memory, by default at no
distance. The processor time of DynamoDB's client is measured apart (`adapter`). Prints one JSON line.
"""

import gc
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.answers import NoBlobs, answering
from benchmarks.rig.lane import KEY, MemoryLanes, request
from benchmarks.rig.mail import prose, recipients
from benchmarks.rig.runner import Spent, script
from shared.adapters.aws import Aws
from shared.adapters.dynamo import codec
from shared.adapters.dynamo.client import CONFIG, Dynamo
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.http.transport import HttpClient
from shared.adapters.http.wire import HttpWire
from shared.contracts import Credential
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.details import Detail
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import pace
from shared.engine.intake.accept import BatchRequest
from shared.engine.lane.access import ProviderAccess
from shared.engine.lane.send import Sender
from shared.providers.registry import Needs, provider
from simulator.run import SimulatorProcess
from tests.fakes.faults import Tap

T = TypeVar("T")
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


def run(*, messages: int, per_call: int, distance_ms: float, campaign: bool, adapter: bool) -> dict[str, float]:
    """Send a batch; return messages a second, µs of processor time a message and MB of memory.

    Args:
        messages: recipients of the batch.
        per_call: recipients of one call of the provider; 0: as many as it takes.
        distance_ms: milliseconds to the store.
        campaign: whether each recipient gets a message of their own.
        adapter: measure only what DynamoDB's client costs per window.
    """
    if adapter:
        return {"adapter_ms": adapter_ms()}
    gc.freeze()
    with SimulatorProcess("--api-key", f"sendgrid={KEY}") as simulator:
        simulator.control.faults("sendgrid", NAME, latency_ms=LATENCY_MS)
        url = simulator.base_url("sendgrid", NAME)
        credential = Credential(NAME, "sendgrid", "email", RATE, url, workers=1, per_call=per_call)
        lanes = MemoryLanes(credential, tap=Distance(distance_ms / 1000))
        clock = lanes.clock
        http = HttpClient(clock)
        made = provider("sendgrid")(Needs(http, clock, {"api_key": KEY}, url))
        sender = lanes.sender(credential, ProviderAccess(made, wire=partial(HttpWire, http)))

        def send(count: int) -> None:
            job = lanes.accept(_campaign(count) if campaign else count)
            _work(sender, job.id, job.chunks, clock.now() + 120)
            sent = sum(len(x.having(Cell.SENT)) for x in lanes.ledgers.read_all(job.id))
            if sent != count:
                raise RuntimeError(f"{count} messages, {sent} sent")

        send(LEASES * WINDOW)  # connections
        with Spent() as spent:
            send(messages)
        http.close()
    return spent.of(messages)


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
    return replace(request(count, (NAME,)), content=content, recipients=people)


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


def adapter_ms(rounds: int = 200) -> float:
    """Return the ms of processor time that a window's four DynamoDB calls cost the client, the network apart."""
    client = Aws().client("dynamodb", CONFIG)
    lanes = MemoryLanes(Credential(NAME, "sendgrid", "email", RATE, per_call=1))
    job = lanes.accept(500)
    answers = {
        "UpdateItem": {"Attributes": {"tat": {"N": str(int((time.time() + 3) * 1e6))}}},
        "BatchGetItem": {"Responses": {"records": [codec.job_item(job)]}, "UnprocessedKeys": {}},
        "PutItem": {},
    }
    bodies = {name: json.dumps(answer).encode() for name, answer in answers.items()}

    answering(client, lambda operation, _request: bodies[operation])
    dynamo = Dynamo(client)
    store, details = (
        DynamoLedgers(dynamo, JobTables("records", "ops")),
        DynamoRecords(dynamo, records="records", ops="ops", blobs=NoBlobs()),
    )
    pacer = DynamoPacer(dynamo, "ops", lanes.clock)
    ids = random.Random(2)
    entries = tuple(Entry(i, 1, Kind.ACCEPTED, f"{ids.getrandbits(360):090x}"[:60]) for i in range(WINDOW))
    held = lanes.ledgers.read(job.id, 0)
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


if __name__ == "__main__":
    script("sender", __doc__, run, messages=20_000, per_call=1, distance_ms=0.0, campaign=False, adapter=False)
