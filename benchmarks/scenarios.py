"""What the counted rows and the bills run: batches and feedback through a metered deployment."""

import random
import string

from benchmarks.meter import Tally
from benchmarks.world import ID_BYTES, World, recipients
from shared.contracts import Word
from shared.domain.pacing import pace

BODY = 2000
"""Bytes of HTML unless told otherwise."""


def rate_of(window: int) -> float:
    """Return the lowest whole rate whose windows have that many recipients when calls carry one."""
    return float(next(r for r in range(1, 10_000) if pace(r, 1, 1).window == window))


def warm(w: World) -> None:
    """Send a first batch, so that clients, secrets and the day's stats are there, as in a function that has run."""
    w.post(recipients(2), BODY)
    w.finish()
    w.take()


def batch(w: World, count: int, body: int = BODY) -> tuple[str, Tally]:
    """Take a batch from the POST's first read to LOGGED; returns its job and what that took.

    The API's process is a new one each time, which knows no key and no sender; the others have run before.
    """
    w.take()
    job = w.post(recipients(count), body)
    w.finish()
    tally = w.take()
    stored = w.deployment.records.job(job)
    w.take()
    if stored is None or stored.state != "LOGGED" or stored.counts["sent"] != count:
        raise RuntimeError("the batch was not logged as sent")
    return job, tally


def words(job: str, chunk: int, indices: range, seed: int = 11) -> list[Word]:
    """Return a delivery event for each recipient, with ids and texts as different as mail servers make them."""
    source = random.Random(seed + indices.start)

    def token(n: int) -> str:
        return "".join(source.choices(string.ascii_letters + string.digits, k=n))

    return [
        Word(
            f"{job}-{chunk}-{i}-1",
            "delivered",
            1_790_000_000 + i // 20,
            token(ID_BYTES),
            "250",
            f"250 2.0.0 OK {1_790_000_000 + i} {token(22)} - gsmtp",
        )
        for i in indices
    ]


def lane_of(w: World, job: str, chunk: int = 0) -> str:
    """Return the credential that a chunk went through."""
    ledger = w.deployment.ledgers.read(job, chunk)
    if ledger is None:
        raise RuntimeError("the chunk has gone")
    return ledger.lane
