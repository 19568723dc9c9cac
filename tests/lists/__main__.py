"""`python -m tests.lists`: a list of a million whose reader is stopped every two seconds, by `kill -9` or by its time.

Its chunks, ledgers, counts and reports must be those of a list that is read at one go. Prints figures.
"""

import argparse
import hashlib
import sys
import time
from collections import Counter

from benchmarks.upload import blocks
from shared.domain.campaigns.campaign import UNREAD
from shared.domain.lists.uploads import Options
from tests.lists.stage import Cloud, Stage, uninterrupted

SECONDS = 2.0


def main() -> int:
    """Run the proof; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lists", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="between two stops")
    options = parser.parse_args()
    cloud = Cloud()
    stage = Stage(cloud, options.rows)
    began = time.monotonic()
    ends: Counter[str] = Counter()
    while stage.upload.state in UNREAD:
        killed = ends.total() % 2 == 0
        reader = stage.reader() if killed else stage.reader(seconds=options.seconds)
        reader.start()
        reader.join(options.seconds if killed else None)
        if reader.exitcode is None:
            reader.kill()
            reader.join()
        mark = stage.upload.checkpoint
        how = {-9: "killed", 0: "ended by themselves"}.get(reader.exitcode or 0, "failed")
        ends[how] += 1
        say(f"{time.monotonic() - began:6.1f} s  {how:20}  {mark.position.row if mark else 0:>9} rows")
    took = time.monotonic() - began
    upload, found = stage.upload, stage.read()
    wanted = uninterrupted(blocks(options.rows, "email"), Options("email", drop_duplicates=True), upload)
    cloud.stop()
    counts = found.checkpoint.counts
    say(
        f"{counts.rows} rows, {len(found.digests)} chunks, {counts.accepted} accepted, {counts.invalid} invalid, "
        f"{counts.duplicates} duplicates, {len(found.problems)} reported; {upload.state}\n"
        f"{ends.total()} readers in {took:.0f} s: {', '.join(f'{n} {how}' for how, n in sorted(ends.items()))}\n"
        f"chunks  {_digest(found.digests)}\n"
        f"at one go  {_digest(wanted.digests)}"
    )
    for name in ("digests", "ledgers", "problems", "checkpoint"):
        if getattr(found, name) != getattr(wanted, name):
            say(f"error: other {name} than at one go")
            return 1
    return 1 if ends["failed"] else 0


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)  # noqa: T201 - this is its output


def _digest(digests: tuple[str, ...]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
