"""Stores a job's content in one of three places: its only chunk, an item of its own, or the bucket."""

from collections.abc import Sequence
from typing import Final, Protocol

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, s
from shared.contracts import CONTENT_WAITS, CONTENTS
from shared.domain.content import content as content_codec
from shared.domain.content.content import Content
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.times import DAY_MS

CHUNK_CONTENT: Final = 3_000
"""Most bytes of packed content that are stored in the chunk of a job that has only one: a single mail is one write
less. With more, the chunk would be expensive to read for callers that need only its recipients."""
INLINE_CONTENT: Final = 350_000
"""Bytes of packed content that still fit DynamoDB's 400 KB item; larger contents go to the bucket."""


class Blobs(Protocol):
    """Large contents, each under its name."""

    def put(self, name: str, data: bytes) -> None:
        """Store bytes."""

    def get(self, name: str) -> bytes | None:
        """Return bytes, None if there are none."""


def items(job: Job, chunks: Sequence[Chunk], content: Content, blobs: Blobs) -> list[Item]:
    """Return the items of a job's chunks and its content. A large content is first stored as a blob."""
    packed = content_codec.pack(content)
    if len(chunks) == 1 and len(packed) <= CHUNK_CONTENT:
        return [codec.chunk_item(chunks[0], packed)]
    return [*map(codec.chunk_item, chunks), _content_item(job, packed, blobs)]


def _content_item(job: Job, packed: bytes, blobs: Blobs) -> Item:
    item: Item = {**keys.content(job.id), "ttl": n(job.ttl)}
    if len(packed) <= INLINE_CONTENT:
        return {**item, "data": {"B": packed}}
    name = _name(job)
    blobs.put(name, packed)
    return {**item, "blob": s(name)}


def _name(job: Job) -> str:
    """Return the name of a job's content in the bucket: a rule of its folder deletes it, no sooner than the job."""
    ahead = max(0, job.not_before - job.created_at)
    days = next((x for x in CONTENT_WAITS if ahead <= x * DAY_MS), CONTENT_WAITS[-1])
    return f"{CONTENTS}{days}/{job.id}"


def kept(job_id: str, item: Item, blobs: Blobs) -> Item:
    """Copy the content of a job that is kept longer to where the bucket keeps it the longest, if it exists.

    Args:
        item: the item of the content.

    Returns:
        The attributes that the item of the content gets. The rule of its folder deletes the former copy.
    """
    name = item["blob"]["S"] if "blob" in item else ""
    new = f"{CONTENTS}{CONTENT_WAITS[-1]}/{job_id}"
    data = blobs.get(name) if name and name != new else None
    if data is None:
        return {}
    blobs.put(new, data)
    return {"blob": s(new)}


def unpack(item: Item, blobs: Blobs) -> Content | None:
    """Return the content in an item, or in the blob that the item names; None if there is none (any more)."""
    packed = bytes(item["data"]["B"]) if "data" in item else None
    if "blob" in item:
        packed = blobs.get(item["blob"]["S"])
    return content_codec.unpack(packed) if packed is not None else None
