"""Campaigns' jobs in a world: stored as sending a list stores them, READY, for the planner to start."""

from collections.abc import Sequence
from typing import Any

from shared.domain.content.content import Content
from shared.domain.ids import new_id
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.job import Job, Policy
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import COUNT_KEYS, JobState
from shared.ports import Stored
from tests.fakes.world import ACCOUNT, CONTENT, World, recipients


def send_list(
    world: World,
    campaign: str,
    who: int | Sequence[Recipient] = 1,
    *,
    credential: str = "one",
    content: Content = CONTENT,
    **changes: Any,
) -> Job:
    """Store a job of a campaign to n recipients, or to those given, its chunks and ledgers, and return it."""
    now = world.clock.ms
    job_id = new_id(now)
    ttl = now // 1000 + 60 * 86_400
    policy = changes.get("policy", Policy())
    people = recipients(who) if isinstance(who, int) else tuple(who)
    n = len(people)
    size = chunking.chunk_size(n, 1, world.settings.credential(credential).rate)
    chunks = [Chunk(job_id, i, part, ttl) for i, part in enumerate(chunking.split(people, size))]
    ledgers = [
        rules.create(
            job=job_id,
            chunk=c.number,
            skipped=(),
            size=len(c.recipients),
            lane=credential,
            route=(credential,),
            limit=policy.max_attempts,
            ttl=ttl,
        )
        for c in chunks
    ]
    fields: dict[str, Any] = {
        "account": ACCOUNT,
        "kind": "campaign",
        "channel": "email",
        "test": False,
        "created_at": now,
        "counts": dict.fromkeys(COUNT_KEYS, 0) | {"queued": n},
        "campaign": campaign,
    }
    job = Job(
        id=job_id,
        route=(credential,),
        providers=(world.settings.credential(credential).provider,),
        total=n,
        chunks=len(chunks),
        ttl=ttl,
        state=JobState.READY,
        by={credential: (0,) * len(BY_KEYS)},
        **{**fields, **changes},
    )
    stored = world.records.accept(job, chunks, ledgers, content, None)
    assert isinstance(stored, Stored)
    world.jobs.append(job.id)
    return job
