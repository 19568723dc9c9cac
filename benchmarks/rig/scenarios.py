"""The scenarios of the counted rows and the bills: batches and feedback through a metered deployment."""

import json
import random
import string
from typing import Final

from benchmarks.rig.mail import prose, recipients
from benchmarks.rig.meter import Tally
from benchmarks.rig.world import ID_BYTES, World
from shared.contracts import ProviderEvent
from shared.domain.lanes.pacing import SHARE, pace

BODY = 2000
"""Bytes of HTML unless told otherwise."""
CITIES: Final = ("Berlin", "São Paulo", "Nairobi", "Osaka", "Toronto")


def rate_of(window: int) -> float:
    """Return the lowest whole rate whose windows have that many recipients at a provider that takes many in a call."""
    return float(next(r for r in range(1, 10_000) if pace(r, SHARE * r, 1).window == window))


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
    return job, _logged(w, job, count)


def _logged(w: World, job: str, count: int) -> Tally:
    """Return what was counted; the job must be LOGGED, and everything sent."""
    tally = w.take()
    stored = w.deployment.records.job(job)
    w.take()
    if stored is None or stored.state != "LOGGED" or stored.counts["sent"] != count:
        raise RuntimeError("not all was logged as sent")
    return tally


def campaign(w: World, count: int, body: int = BODY) -> tuple[str, Tally]:
    """Send a campaign with three placeholders and an unsubscription link, from its creation to LOGGED.

    Its list of `count` recipients comes in the request. The owner of a larger list would put it into the bucket, and it
    would be read the same way. Returns its job and what that took, the planner's looks at the stream of jobs included.
    """
    w.take()
    text = "Dear {{ name }} of {{ city }}, {{ word }}. " + prose(body) + '<a href="{{ unsubscribe_url }}">no more</a>'
    template = {"from": "Example News <news@example.com>", "subject": "What is new this week", "body": text}
    wanted = {"name": "weekly", "channel": "email", "template": template}
    path = f"/campaigns/{w.ask('POST', '/campaigns', json.dumps(wanted))['campaign_id']}"
    rows = [f"{p.address},{p.display},{CITIES[i % len(CITIES)]},{i}" for i, p in enumerate(recipients(count))]
    w.ask("PUT", f"{path}/recipients", "\r\n".join(["recipient,name,city,word", *rows]), "text/csv")
    w.ingest()
    job = w.ask("POST", f"{path}/send", "{}")["job_id"]
    w.plan(job)
    w.finish()
    w.plan(job)
    return job, _logged(w, job, count)


def words(job: str, chunk: int, indices: range, seed: int = 11) -> list[ProviderEvent]:
    """Return a delivery event for each recipient, with ids and texts as different as mail servers make them."""
    source = random.Random(seed + indices.start)

    def token(n: int) -> str:
        return "".join(source.choices(string.ascii_letters + string.digits, k=n))

    return [
        ProviderEvent(
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
