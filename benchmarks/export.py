"""The export of a job of a million messages, over stores in memory: its processor time and peak memory.

Chunks, ledgers and details are made when they are read, as a sender leaves them: windows of 200, one provider id each,
all delivered since. The codecs of the real stores read them. Making them is not counted. Parts are dropped.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.start import peak_kb
from shared.domain.exports import Export
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs import details as detail_codec
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS, Ledger
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import COUNT_KEYS, Cell, JobState
from shared.engine.reports.export import Exporter, ExportResult
from shared.engine.reports.message_log import MessageLog

NAME: Final = "0" * 26
CREDENTIAL: Final = "sendgrid-main"
SIZE: Final = 500
WINDOW: Final = 200
NOW: Final = 1_790_000_000


class Clock:
    """The machine's time, from a fixed moment on."""

    def now(self) -> float:
        """Return Unix seconds."""
        return NOW + time.monotonic()

    def sleep(self, _seconds: float) -> None:
        """Nothing here waits."""


class Stores:
    """The state that a job left, made when it is read; `spent`: seconds of processor time that making it took."""

    def __init__(self, rows: int) -> None:
        self.total = rows
        self.chunks = -(-rows // SIZE)
        self.spent = 0.0

    def job(self, _job: str) -> Job:
        """Return the job."""
        return Job(
            id=NAME,
            account="acc",
            kind="campaign",
            channel="email",
            test=False,
            route=(CREDENTIAL,),
            providers=("sendgrid",),
            total=self.total,
            chunks=self.chunks,
            created_at=NOW * 1000,
            ttl=NOW + 10**7,
            state=JobState.LOGGED,
            counts=dict.fromkeys(COUNT_KEYS, 0) | {"delivered": self.total},
            by={CREDENTIAL: (self.total,) * len(BY_KEYS)},
        )

    def chunk(self, _job: str, number: int) -> Chunk:
        """Return a chunk, unpacked as the store does."""
        began = time.process_time()
        first = number * SIZE
        people = [_person(i) for i in range(first, min(first + SIZE, self.total))]
        data = chunking.pack(people)
        self.spent += time.process_time() - began
        return Chunk(NAME, number, chunking.unpack(data), NOW)

    def read(self, _job: str, number: int) -> Ledger:
        """Return a ledger: every message delivered at its first attempt."""
        began = time.process_time()
        size = min(SIZE, self.total - number * SIZE)
        made = rules.create(
            job=NAME, chunk=number, skipped=(), size=size, lane=CREDENTIAL, route=(CREDENTIAL,), limit=6, ttl=NOW
        )
        cells = bytes([1 << 4 | Cell.DELIVERED] * size)
        found = Ledger(NAME, number, cells, CREDENTIAL, CREDENTIAL, 6, made.by, made.folded, NOW)
        self.spent += time.process_time() - began
        return found

    def details(self, _job: str, number: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        """Return the windows of a chunk and the words about them, unpacked as the store does."""
        began = time.process_time()
        size = min(SIZE, self.total - number * SIZE)
        windows = [
            detail_codec.pack_entries(
                tuple(Entry(i, 1, Kind.ACCEPTED, f"{number:06d}.{i:03d}.filter0042p1las1") for i in range(at, end))
            )
            for at, end in ((at, min(at + WINDOW, size)) for at in range(0, size, WINDOW))
        ]
        words = detail_codec.pack_feedback(
            tuple(FeedbackEntry(i, 1, "delivered", NOW + 5, "", "250", "") for i in range(size))
        )
        self.spent += time.process_time() - began
        found = [
            Detail(NAME, number, 1, n + 1, NOW * 1000 + n, CREDENTIAL, detail_codec.unpack_entries(data), NOW)
            for n, data in enumerate(windows)
        ]
        return found, [FeedbackDetail(NAME, number, CREDENTIAL, detail_codec.unpack_feedback(words), NOW)]


class Target:
    """The export's item, its queue and the bucket: what is put is counted and dropped."""

    def __init__(self, export: Export) -> None:
        self.export = export
        self.bytes = 0

    def get(self, _export: str) -> Export:
        """Return the export."""
        return self.export

    def save(self, _old: Export | None, new: Export) -> bool:
        """Keep the export."""
        self.export = new
        return True

    def begin(self, _name: str) -> str:
        """Begin the file."""
        return "upload"

    def put(self, _name: str, _upload: str, number: int, data: bytes) -> str:
        """Take a part."""
        self.bytes += len(data)
        return f'"{number}"'

    def complete(self, _name: str, _upload: str, _etags: Sequence[str]) -> None:
        """Make the file."""

    def send(self, _bodies: Sequence[str], **_more: Any) -> None:
        """Nothing is handed over."""

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return True


def _person(i: int) -> Recipient:
    n = i * 7919 % 100_000_007
    address = f"person.{n}@example{n % 997}.com"
    values = {"first_name": f"First{n % 997}", "last_name": f"Last-{n % 9973}", "city": "Montréal", "code": f"{n:09d}"}
    return Recipient(address, address, values=values)


def main() -> None:
    """Print the figures as a line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.export", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    loop = calibrate()
    stores: Any = Stores(options.rows)
    clock = Clock()
    job = stores.job(NAME)
    until = int(clock.now() * 1000)
    target: Any = Target(Export(NAME, "acc", "run", (NAME,), (1,), NOW * 1000, job.chunks, NOW, until))
    logs = MessageLog(records=stores, ledgers=stores, clock=clock)
    exporter = Exporter(exports=target, multipart=target, records=stores, logs=logs, queue=target, clock=clock)
    began = time.process_time()
    did = exporter.work(NAME, owner="bench", deadline=clock.now() + 3600)
    spent = time.process_time() - began - stores.spent
    if did is not ExportResult.READY or target.export.rows != options.rows:
        raise SystemExit(f"{did}: {target.export.rows} rows")
    kilobytes = peak_kb()
    found = {
        "cpu_s": spent,
        "rss_mb": kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20,
        "slowness": min(loop, calibrate()) / REFERENCE_S,
        "bytes": target.bytes,
        "parts": len(target.export.parts),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
