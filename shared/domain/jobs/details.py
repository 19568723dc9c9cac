"""Window details and feedback details: when, through whom, under which id.

They never decide a state, except that a window detail is proof in a takeover.
"""

import hashlib
import json
import zlib
from typing import Any, Final

from shared.domain.jobs.outcomes import Entry, Kind
from shared.frozen import dataclass

LOST: Final = "worker_lost"
"""The code of an attempt whose worker was lost before it could write what its call brought."""
_WORDS: Final = "d"
"""Before a row's number: the key of its detail among the codes."""


@dataclass(frozen=True, slots=True)
class Detail:
    """The work of one window. `at` is Unix milliseconds. A throttled recipient has no entry."""

    job: str
    chunk: int
    epoch: int
    seq: int
    at: int
    credential: str
    entries: tuple[Entry, ...]
    ttl: int


def pack_entries(entries: tuple[Entry, ...]) -> bytes:
    """Serialise entries by column; equal ids (one per provider call) are stored once.

    A detail is beside the codes: a reader of an older version leaves out what it does not ask for.
    """
    ids = list(dict.fromkeys(e.id for e in entries))
    place = {v: i for i, v in enumerate(ids)}
    columns: list[Any] = [
        [e.index for e in entries],
        [e.attempt for e in entries],
        "".join(e.kind.value for e in entries),
        ids,
        [place[e.id] for e in entries] if len(ids) < len(entries) else 0,
        _texts(entries),
    ]
    return zlib.compress(json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode(), 6)


def _texts(entries: tuple[Entry, ...]) -> dict[str, str]:
    codes = {str(n): e.code for n, e in enumerate(entries) if e.code}
    return codes | {f"{_WORDS}{n}": e.detail for n, e in enumerate(entries) if e.detail}


def unpack_entries(data: bytes) -> tuple[Entry, ...]:
    """Read what `pack_entries` wrote."""
    indices, attempts, kinds, ids, places, codes = json.loads(zlib.decompress(data))
    return tuple(
        Entry(
            index,
            attempts[n],
            Kind(kinds[n]),
            ids[places[n]] if places else ids[n],
            codes.get(str(n), ""),
            codes.get(f"{_WORDS}{n}", ""),
        )
        for n, index in enumerate(indices)
    )


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """One word about one attempt; `at` in Unix seconds, as the provider says. `id`: empty if the window names it."""

    index: int
    attempt: int
    word: str
    at: int
    id: str = ""
    code: str = ""
    detail: str = ""
    secondary: bool = False


@dataclass(frozen=True, slots=True)
class FeedbackDetail:
    """The words of one batch of events about one chunk; its key is their hash, so a repeat is the same item.

    The first one stored stays: ids are not part of the hash, and a repeat may know more of them from the windows.
    """

    job: str
    chunk: int
    credential: str
    entries: tuple[FeedbackEntry, ...]
    ttl: int

    @property
    def key(self) -> str:
        """The hash of the events, in any order."""
        rows = sorted(
            [json.dumps([e.index, e.attempt, e.word, e.at, e.code, e.detail, int(e.secondary)]) for e in self.entries]
        )
        return hashlib.sha256("\n".join((self.credential, *rows)).encode()).hexdigest()[:32]


def _feedback_row(e: FeedbackEntry) -> list[Any]:
    return [e.index, e.attempt, e.word, e.at, e.id, e.code, e.detail, int(e.secondary)]


def pack_feedback(entries: tuple[FeedbackEntry, ...]) -> bytes:
    """Serialise feedback entries."""
    rows = [_feedback_row(e) for e in entries]
    return zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 6)


def unpack_feedback(data: bytes) -> tuple[FeedbackEntry, ...]:
    """Read what `pack_feedback` wrote."""
    rows = json.loads(zlib.decompress(data))
    return tuple(FeedbackEntry(r[0], r[1], r[2], r[3], r[4], r[5], r[6], bool(r[7])) for r in rows)
