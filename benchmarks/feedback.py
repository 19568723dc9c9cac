"""`python -m benchmarks.feedback`: what an event costs the edge and the tracker, in a process of its own.

The webhook function gets a signed post of 1,000 events as SendGrid makes them, about two chunks of 500. The tracker's
handler gets what the function queues. Of a hundred events, 47 report that the message was accepted, 46 that it was
delivered, and 3 that it was deferred. Two are hard bounces, whose addresses are suppressed, and two are opens, which
are skipped. Everything is real except the network: SQS and DynamoDB answer at once, at botocore's boundary. Prints one
JSON line; `--profile` prints where the time is spent instead.
"""

import base64
import cProfile
import gc
import json
import logging
import os
import pstats
import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.answers import NoBlobs, answering
from benchmarks.rig.runner import Spent, script
from benchmarks.rig.world import Context
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo import codec
from shared.adapters.dynamo.client import CONFIG, Dynamo
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.sqs import SqsQueue
from shared.contracts import Credential, Settings
from shared.domain.ids import Ref
from shared.engine.outcome.track import Tracker
from shared.engine.pool import ThreadPool
from shared.providers import registry
from shared.providers._common import REF_ARG
from shared.providers.sendgrid.events import SIGNATURE_HEADER, TIMESTAMP_HEADER
from tests.fakes.clock import FakeClock
from tests.fakes.world import World

NAME: Final = "sendgrid-bench"
EVENTS: Final = 1_000
ROUNDS: Final = 20
CHUNK: Final = 500
MIX: Final = (("processed", 47), ("delivered", 46), ("deferred", 3), ("bounce", 2), ("open", 2))
SAID: Final = {
    "delivered": "250 2.0.0 OK  {at} {id} - gsmtp",
    "deferred": "451 4.7.1 <reader{n}@example.com>: try again later {id}",
    "bounce": "550 5.1.1 <reader{n}@example.com>: no such account, or it is disabled {id} - gsmtp",
}


class Far:
    """SQS and DynamoDB as far as feedback needs them: they answer at once, and always the same.

    Attributes:
        queued: bodies of the messages that were sent.
        calls: operation → how often it was called.
    """

    def __init__(self, aws: Aws, items: dict[str, dict[str, Any]]) -> None:
        self.queued: list[str] = []
        self.calls: dict[str, int] = {}
        self._items = {sort: _wire(item) for sort, item in items.items()}
        self.sqs, self.dynamo = aws.client("sqs", CONFIG), aws.client("dynamodb", CONFIG)
        answering(self.sqs, self._answer)
        answering(self.dynamo, self._answer)

    def _answer(self, operation: str, request: Any) -> bytes:
        self.calls[operation] = self.calls.get(operation, 0) + 1
        body = b"{}"
        if operation == "GetItem":
            body = json.dumps({"Item": self._item(json.loads(request.body)["Key"])}).encode()
        elif operation == "BatchGetItem":
            asked = json.loads(request.body)["RequestItems"]
            found = {table: [self._item(key) for key in wanted["Keys"]] for table, wanted in asked.items()}
            body = json.dumps({"Responses": found}).encode()
        elif operation == "SendMessage":
            self.queued.append(json.loads(request.body)["MessageBody"])
            body = b'{"MessageId":"m"}'
        elif operation == "SendMessageBatch":
            entries = json.loads(request.body)["Entries"]
            self.queued += [e["MessageBody"] for e in entries]
            body = json.dumps({"Successful": [{"Id": e["Id"], "MessageId": "m"} for e in entries]}).encode()
        return body

    def _item(self, key: dict[str, dict[str, str]]) -> dict[str, Any]:
        return self._items[key["pk"]["S"] + key["sk"]["S"]]


def _wire(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as an answer contains it: bytes in base64."""
    return {k: {"B": base64.b64encode(v["B"]).decode()} if "B" in v else v for k, v in item.items()}


def _events(job: str, seed: int) -> list[dict[str, Any]]:
    """Return an event about each message, with ids and texts as different as mail servers make them."""
    source = random.Random(seed)
    kinds = [kind for kind, share in MIX for _ in range(share * EVENTS // 100)]
    source.shuffle(kinds)
    out = []
    for n in range(EVENTS):
        message = base64.urlsafe_b64encode(source.randbytes(16)).decode().rstrip("=")
        out.append(
            {
                "email": f"reader{n}@example.com",
                "event": kinds[n],
                "ip": "192.0.2.1",
                **_said(kinds[n], n, source),
                "sg_event_id": base64.b64encode(source.randbytes(33)).decode(),
                "sg_message_id": f"{message}.recvd-5f54b5d587-pczjm-1-67BADEEA-6.0",
                "smtp-id": f"<{message}@geopod-ismtpd-1>",
                "timestamp": 1_790_000_000 + n // 20,
                "tls": 1,
                REF_ARG: str(Ref(job, n // CHUNK, n % CHUNK, 1)),
            }
        )
    source.shuffle(out)
    return out


def _said(kind: str, n: int, source: random.Random) -> dict[str, Any]:
    """Return what the mail server said, where the vendor puts it."""
    text = SAID.get(kind, "").format(at=1_790_000_000 + n, id=source.randbytes(11).hex(), n=n)
    if kind == "bounce":
        return {"reason": text, "status": "5.1.1", "type": "bounce"}
    return {"response": text} if text else {"useragent": "Mozilla/5.0"} if kind == "open" else {}


def prepare() -> tuple[Callable[[], None], Far]:
    """Return what takes one post of EVENTS all the way, and what stands for AWS."""
    from functions.dispatch import services, track  # noqa: PLC0415 - after the environment is set
    from functions.webhooks.receive import receive  # noqa: PLC0415
    from functions.webhooks.services import Services  # noqa: PLC0415

    credential = Credential(NAME, "sendgrid", "email", 100)
    world = World(credential, clock=FakeClock(float(int(time.time()))))
    job = world.accept(EVENTS).id
    world.settle()
    ledgers = world.ledgers.read_all(job)
    if [len(x.cells) for x in ledgers] != [CHUNK] * (EVENTS // CHUNK):
        raise RuntimeError("other chunks than expected")
    chunks = [chunk for x in ledgers if (chunk := world.records.chunk(job, x.chunk)) is not None]
    items = [codec.job_item(world.job(job)), *map(codec.ledger_item, ledgers), *map(codec.chunk_item, chunks)]
    far = Far(Aws(), {item["pk"]["S"] + item["sk"]["S"]: item for item in items})
    settings = Settings("bench", (credential,), {"email": (NAME,)})
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    secret = {"webhook_public_key": base64.b64encode(public).decode()}
    clock = SystemClock()
    queue = SqsQueue(far.sqs, "https://sqs.invalid/feedback", clock)
    reader = registry.webhooks("sendgrid")
    edge = Services(settings, lambda _credential: secret, queue, clock, lambda _provider: reader)
    db = Dynamo(far.dynamo)
    records = DynamoRecords(db, records="records", ops="ops", blobs=NoBlobs())
    store = DynamoLedgers(db, JobTables("records", "ops"))
    tracker = Tracker(records=records, ledgers=store, recovery=world.recovery, clock=clock, pool=ThreadPool())
    deployment = SimpleNamespace(settings=settings, tracker=tracker, feedback=queue, clock=clock)
    body = json.dumps(_events(job, seed=5))
    at = str(int(clock.now()))
    signature = base64.b64encode(key.sign(at.encode() + body.encode(), ec.ECDSA(hashes.SHA256()))).decode()
    event = {
        "pathParameters": {"provider": "sendgrid", "credential_id": NAME},
        "headers": {SIGNATURE_HEADER: signature, TIMESTAMP_HEADER: at, "content-type": "application/json"},
        "body": body,
        "isBase64Encoded": False,
    }

    def once() -> None:
        far.queued.clear()
        answer = receive(event, edge)
        if answer["statusCode"] != 200:  # noqa: PLR2004
            raise RuntimeError(answer["body"])
        messages = [{"messageId": str(n), "body": b} for n, b in enumerate(far.queued)]
        with patch.object(services, "deployment", lambda: deployment):
            if track.handler({"Records": messages}, Context())["batchItemFailures"]:
                raise RuntimeError("not tracked")

    return once, far


def run(*, profile: bool) -> dict[str, float] | None:
    """Return µs of processor time an event, and what the machine was worth meanwhile.

    Args:
        profile: print where the time goes instead.
    """
    os.environ["POWERTOOLS_LOG_LEVEL"] = "WARNING"
    logging.getLogger("botocore").setLevel(logging.WARNING)
    once, far = prepare()
    gc.freeze()
    once()
    if profile:
        with cProfile.Profile() as found:
            for _ in range(ROUNDS):
                once()
        pstats.Stats(found).sort_stats("tottime").print_stats(35)
        return None
    with Spent() as spent:
        for _ in range(ROUNDS):
            once()
    calls = sum(far.calls.values()) / (ROUNDS + 1)
    return {"cpu_us": spent.cpu_s / (ROUNDS * EVENTS) * 1e6, "slowness": spent.slowness, "calls": calls}


if __name__ == "__main__":
    script("feedback", __doc__, run, profile=False)
