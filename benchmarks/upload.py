"""A list of a million rows, made in blocks on the fly, ingested in one process: its processor time and peak memory."""

import argparse
import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Final

from benchmarks.machine import REFERENCE_S, calibrate
from shared.domain.uploads import Ingest, Options

HEADER: Final = b"Recipient,first_name,last_name,city,code\r\n"
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


def main() -> None:
    """Print the figures as a line of JSON; the time of making the file is not counted, its memory is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upload", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--channel", default="email")
    options = parser.parse_args()
    loop = calibrate()
    size = 0
    spent = 0.0
    digest = hashlib.sha256()
    ingest = Ingest(Options(options.channel, "FR"))
    chunks = 0
    source = blocks(options.rows, options.channel)
    for block in source:
        size += len(block)
        began = time.process_time()
        step = ingest.feed(block)
        for chunk in step.chunks:
            digest.update(chunk.digest.encode())
        spent += time.process_time() - began
        chunks += len(step.chunks)
    began = time.process_time()
    last = ingest.finish()
    spent += time.process_time() - began
    counts = last.checkpoint.counts
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {
        "cpu_s": spent,
        "rss_mb": kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20,
        "slowness": min(loop, calibrate()) / REFERENCE_S,
        "bytes": size,
        "chunks": chunks + len(last.chunks),
        "accepted": counts.accepted,
        "invalid": counts.invalid,
        "duplicates": counts.duplicates,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
