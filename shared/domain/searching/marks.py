"""Marks that messages are searched by: short hashes of a recipient, a reference or a tag, apart for each namespace.

A mark only says where to look. A search compares its findings with the real items, so equal marks show nothing false.
Source: docs/adr/0260.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Final

from shared.domain.ids import pack_id, unpack_id
from shared.domain.jobs.job import Job
from shared.domain.jobs.labels import Labels
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass

WIDTH: Final = 4
"""Bytes of a mark. Of a million messages, one in 4,000 searches looks at a message for nothing."""
SPAN_MS: Final[Millis] = 10_000
"""Jobs of one page were accepted within so long, so that a search by time reads few pages twice."""
INSIDE: Final = 500
"""Messages of a job whose marks are all in its page: an item for each chunk would cost more."""
INSIDE_CHUNKS: Final = 20
_NONE: Final = bytes(WIDTH)
"""In the place of the mark of an erased recipient."""
_APART: Final = 1 << 15
"""In a record's header: the marks of its recipients are in items of their own, one for each chunk."""
_ID: Final = 17
"""Bytes of a packed id."""


class Sought(StrEnum):
    """The texts by which messages are searched."""

    RECIPIENT = "recipient"
    REFERENCE = "reference"
    TAG = "tag"


def mark(namespace: str, what: Sought, text: str) -> bytes:
    """Return the mark of a text. Those of two namespaces cannot be compared."""
    return hashlib.sha256(f"{namespace}\0{what.value}\0{text}".encode()).digest()[:WIDTH]


def marks_to(namespace: str, recipients: Iterable[str]) -> bytes:
    """Return the marks of recipients, in their order. `recipients`: normalised keys; erased ones are empty."""
    return b"".join(mark(namespace, Sought.RECIPIENT, key) if key else _NONE for key in recipients)


def marks_left(marks: bytes, recipients: Sequence[str]) -> bytes:
    """Return the marks of recipients without those that are erased since. `recipients`: as of `marks_to`."""
    each = (marks[i * WIDTH : (i + 1) * WIDTH] if key else _NONE for i, key in enumerate(recipients))
    return b"".join(each)


def marks_of(namespace: str, labels: Labels) -> bytes:
    """Return the marks of what an owner calls a job."""
    reference = [mark(namespace, Sought.REFERENCE, labels.reference)] if labels.reference else []
    return b"".join([*reference, *(mark(namespace, Sought.TAG, tag) for tag in labels.tags)])


def marked(marks: bytes, wanted: bytes) -> bool:
    """Tell whether a mark is among some."""
    at = marks.find(wanted)
    while at % WIDTH and at >= 0:
        at = marks.find(wanted, at + 1)
    return at >= 0


def without(marks: bytes, gone: Iterable[bytes]) -> bytes:
    """Return marks without some."""
    left = frozenset(gone)
    each = (marks[i : i + WIDTH] for i in range(0, len(marks), WIDTH))
    return b"".join(x for x in each if x not in left)


@dataclass(frozen=True, slots=True)
class MarkedJob:
    """A job in a page.

    Attributes:
        job: its id.
        marks: of its labels, and of its recipients unless they are apart.
        apart: its recipients' marks are in an item for each chunk.
    """

    job: str
    marks: bytes
    apart: bool = False


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Some jobs of a namespace that were accepted within SPAN_MS.

    Attributes:
        place: `created_at#job` of its newest job, of several also `#` and a hash of all their ids. So a repeated write
            replaces the same page, and no other.
        ttl: Unix seconds when it may be removed.
    """

    namespace: str
    place: str
    jobs: tuple[MarkedJob, ...]
    ttl: Seconds

    @property
    def newest(self) -> str:
        """The place of its newest job."""
        return self.place[:_PLACE]


_PLACE: Final = len("000000000000000#") + 26


def place_of(job: Job) -> str:
    """Return a job's place among those of its account: later ones have greater places."""
    return f"{job.created_at:015d}#{job.id}"


def is_inside(job: Job) -> bool:
    """Tell whether the marks of all of a job's recipients are in its page, and a search looks into all its chunks."""
    return job.total <= INSIDE and job.chunks <= INSIDE_CHUNKS


def page_of(job: Job, marks: bytes, *, apart: bool = False) -> SearchPage:
    """Return the page of one job."""
    return SearchPage(job.namespace, place_of(job), (MarkedJob(job.id, marks, apart),), job.ttl)


def pages_of(jobs: Iterable[Job]) -> Iterator[SearchPage]:
    """Yield the pages of jobs that have their marks themselves; those without marks are in none."""
    known = {job.id: job for job in jobs if job.marks}.values()
    ordered = sorted(known, key=lambda job: (job.namespace, place_of(job)), reverse=True)
    for _, each in groupby(ordered, key=lambda job: job.namespace):
        some: list[Job] = []
        for job in each:
            if some and some[0].created_at - job.created_at > SPAN_MS:
                yield _page(some)
                some = []
            some.append(job)
        yield _page(some)


def _page(jobs: Sequence[Job]) -> SearchPage:
    """Return the page of jobs of a namespace, the newest first."""
    place = place_of(jobs[0])
    if len(jobs) > 1:
        place += "#" + hashlib.sha256("".join(job.id for job in jobs).encode()).hexdigest()[:16]
    each = tuple(MarkedJob(job.id, job.marks) for job in jobs)
    return SearchPage(jobs[0].namespace, place, each, max(job.ttl for job in jobs))


def pack(jobs: Iterable[MarkedJob]) -> bytes:
    """Serialise the jobs of a page: 19 bytes each, and its marks."""
    return b"".join(
        pack_id(x.job) + (len(x.marks) // WIDTH | (_APART if x.apart else 0)).to_bytes(2) + x.marks for x in jobs
    )


def unpack(data: bytes) -> Iterator[MarkedJob]:
    """Read what `pack` wrote."""
    at = 0
    while at < len(data):
        header = int.from_bytes(data[at + _ID : at + _ID + 2])
        start = at + _ID + 2
        end = start + (header & ~_APART) * WIDTH
        yield MarkedJob(unpack_id(data[at : at + _ID]), data[start:end], bool(header & _APART))
        at = end
