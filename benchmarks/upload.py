"""An uploaded list of a million rows, read by the real engine and stores: its processor time and peak memory.

The file is made in blocks on the fly, which is not counted; its memory is. The answers of DynamoDB and S3 are prepared
in memory. So the serialising, signing and reading of every call count, and the network does not.
"""

import argparse
import json
import os
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.answers import ENVIRONMENT, Answer, NoBlobs
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.start import peak_kb
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.campaigns.campaign_codec import campaign_item, upload_item
from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.client import CONFIG, Dynamo
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.s3.files import BLOCK, S3Files
from shared.adapters.s3.files import CONFIG as S3_CONFIG
from shared.contracts import Credential, Settings
from shared.domain.campaigns.campaign import Campaign, Message, Upload, UploadState
from shared.domain.lists.uploads import PackedChunk
from shared.domain.recipients.addresses import address_hash
from shared.engine.lists.ingest import Ingestion, IngestResult

HEADER: Final = b"Recipient,first_name,last_name,city,code\r\n"
SUPPRESSED: Final = 10_000
"""Suppressions, and as many unsubscriptions, that the account has; none of the list's."""
BLOCK_ROWS: Final = 4000
"""Rows made at a time: some 280 KB."""


def blocks(rows: int, channel: str) -> Iterator[bytes]:
    """Yield the file: recipients in no order, each 1,000th row broken, each 500th a repetition, each 100th quoted."""
    yield HEADER
    for first in range(0, rows, BLOCK_ROWS):
        yield "".join(line(i, channel) for i in range(first, min(first + BLOCK_ROWS, rows))).encode()


def line(i: int, channel: str) -> str:
    """Return a row of the file."""
    n = (i - 250 if i % 500 == 499 else i) * 7919 % 100_000_007  # noqa: PLR2004
    if i % 1000 == 3:  # noqa: PLR2004
        return f"nobody,{i}\r\n"
    city = '"Saint-Denis, ""93"""' if i % 100 == 7 else "Montréal"  # noqa: PLR2004
    to = f"person.{n}@example{n % 997}.com" if channel == "email" else f"+336{n % 100_000_000:08d}"
    return f"{to},First{n % 997},Last-{n % 9973},{city},{n:09d}\r\n"


class Source(S3Files):
    """The bucket: the list's file, made when it is read; what is put into it goes nowhere.

    Attributes:
        size: bytes of the file that were read.
        spent: seconds of processor time that making them took.
    """

    def __init__(self, client: Any, rows: int, channel: str) -> None:
        super().__init__(lambda: client, "bench", SystemClock())
        self._rows = rows
        self._channel = channel
        self.size = 0
        self.spent = 0.0

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        """Walk the file's bytes, in blocks as the real bucket's."""
        del name, etag
        if start:
            raise ValueError("a list is read at one go here")
        source = blocks(self._rows, self._channel)
        rest = bytearray()
        ended = False
        while not ended or rest:
            began = time.process_time()
            while len(rest) < BLOCK and not ended:
                made = next(source, b"")
                rest += made
                ended = not made
            block = bytes(rest[:BLOCK])
            del rest[:BLOCK]
            self.spent += time.process_time() - began
            self.size += len(block)
            if block:
                yield block


class Counted(DynamoUploads):
    """The uploads' store; it notes the counts of the last checkpoint and the bytes of chunks."""

    chunks = 0
    bytes = 0
    last: Upload

    def store(self, upload: Upload, chunks: Any, ledgers: Any) -> None:
        """Store chunks and their ledgers."""
        made: list[PackedChunk] = list(chunks)
        self.chunks += len(made)
        self.bytes += sum(len(c.data) for c in made)
        super().store(upload, made, ledgers)

    def save(self, old: Upload, new: Upload) -> bool:
        """Write an upload."""
        self.last = new
        return super().save(old, new)


def run(rows: int, channel: str) -> dict[str, float]:
    """Read a list in this process; returns the figures."""
    aws = Aws()
    database, bucket = aws.client("dynamodb", CONFIG), aws.client("s3", S3_CONFIG)
    now = int(time.time() * 1000)
    region = "" if channel == "email" else "FR"
    upload = Upload(
        *("0" * 26, "1" * 26, "acc_bench", False, channel, "main", "uploads/bench", UploadState.QUEUED, now),
        *(now // 1000 + 10**7, region),
        size=1,
    )
    campaign = Campaign(
        upload.campaign, "acc_bench", False, "Bench", channel, "main", Message("Hi"), now, uploading=upload.id
    )
    items = {keys.upload(upload.campaign, upload.id)["sk"]["S"]: upload_item(upload)}
    calls: Counter[str] = Counter()
    log = [{"sk": {"S": f"{now:015d}#{address_hash(str(i))}"}} for i in range(SUPPRESSED)]
    suppressed = json.dumps({"Items": log, "Count": SUPPRESSED}).encode()

    def answer(request: Any, **_: Any) -> Answer:
        operation = request.headers.get("X-Amz-Target", b"S3.PutObject").decode().partition(".")[2]
        calls[operation] += 1
        body = b"" if operation == "PutObject" else b"{}"
        if operation == "GetItem":
            wanted = json.loads(request.body)["Key"]["sk"]["S"]
            item = items.get(wanted, campaign_item(campaign))
            body = json.dumps({"Item": item}, default=lambda raw: b64encode(raw).decode()).encode()
        elif operation == "Query":
            body = suppressed
        return Answer(request.url, body)

    for client in (database, bucket):
        client.meta.events.register("before-send", answer)
    dynamo, clock = Dynamo(database), SystemClock()
    files = Source(bucket, rows, channel)
    uploads = Counted(dynamo, records="records", ops="ops")
    nowhere: Any = None
    ingestion = Ingestion(
        records=DynamoRecords(dynamo, records="records", ops="ops", blobs=NoBlobs()),
        campaigns=DynamoCampaigns(dynamo, records="records", blobs=NoBlobs()),
        uploads=uploads,
        files=files,
        multipart=nowhere,
        queue=nowhere,
        settings=Settings("bench", (Credential("main", "sendgrid", channel, 150.0),), {channel: ("main",)}),
        clock=clock,
    )
    began = time.process_time()
    did = ingestion.work(upload.campaign, upload.id, owner="bench", deadline=clock.now() + 3600)
    spent = time.process_time() - began - files.spent
    if did is not IngestResult.READY or uploads.last.checkpoint is None:
        raise SystemExit(f"{did}")
    counts = uploads.last.checkpoint.counts
    kilobytes = peak_kb()
    return {
        "cpu_s": spent,
        "rss_mb": kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20,
        "bytes": files.size,
        "stored": uploads.bytes,
        "chunks": uploads.chunks,
        "calls": calls.total(),
        "rows": counts.rows,
        "accepted": counts.accepted,
        "invalid": counts.invalid,
        "duplicates": counts.duplicates,
    }


def main() -> None:
    """Print the figures as a line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upload", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--channel", default="email")
    options = parser.parse_args()
    os.environ |= ENVIRONMENT
    loop = calibrate()
    found = run(options.rows, options.channel)
    print(json.dumps(found | {"slowness": min(loop, calibrate()) / REFERENCE_S}))


if __name__ == "__main__":
    main()
