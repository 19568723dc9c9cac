"""Deliveries: what is posted to an endpoint in one request, stored before the first try.

A delivery of messages' changes names cells. Its body is made of them and of items that never change, so every attempt
posts the same bytes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final

from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

MAX_ANSWER: Final = 1_024
"""Characters of an answer that are kept."""
MAX_KEPT_ATTEMPTS: Final = 12
"""The latest attempts are kept with a delivery."""
# change: when a webhook is posted again
DELAYS_MS: Final[Sequence[Millis]] = (
    5_000,
    300_000,
    1_800_000,
    7_200_000,
    18_000_000,
    36_000_000,
    50_400_000,
    72_000_000,
    86_400_000,
)
"""Before the second and every later attempt: 76 hours in all, without the spread."""
SPREAD: Final = 0.2
"""± share of a delay."""
MAX_RETRY_AFTER: Final[Millis] = 3_600_000
"""The longest pause after an answer that asks for one."""
EXPIRES_MS: Final[Millis] = 92 * 3_600_000
"""A delivery that waited for so long fails; most of that may be behind a breaker. Ten attempts take up to 91 hours."""
KEPT_MS: Final[Millis] = 7 * DAY_MS
"""A delivery that has ended is kept for so long."""
CONTENT_GONE: Final = "content_gone"
"""Error of a delivery about messages that are no longer stored."""
EXPIRED: Final = "expired"
"""Error of a delivery that waited too long."""
FAULT: Final = "fault"
"""Error of an attempt that was not made, by a fault of ours."""
_NAME: Final = re.compile(r"([0-9]{1,15})\.([A-Za-z0-9_.-]{1,128})")


class DeliveryState(StrEnum):
    """How far a delivery is."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Cells:
    """Changed messages of one chunk.

    Attributes:
        job: the job's id.
        chunk: the chunk's number.
        cells: the index of each message, and its cell's byte as it was.
        notes: texts about some of them, by index: codes of errors.
    """

    job: str
    chunk: int
    cells: tuple[tuple[int, int], ...]
    notes: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HookAttempt:
    """One try of a delivery.

    Attributes:
        at: when it began, Unix milliseconds.
        status: of the answer; 0: there was none.
        ms: how long it took.
        answer: the beginning of the answer's body.
        error: why there was no answer, in snake_case; empty if there was one.
    """

    at: Millis
    status: int = 0
    ms: Millis = 0
    answer: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class HookDelivery:
    """A delivery to one endpoint. Times are Unix milliseconds.

    Attributes:
        id: the `webhook-id`: the id of its event, or of its batch; the same for every attempt and replay.
        endpoint: the endpoint's id.
        kind: of its event or events.
        created_at: the body's timestamp: the time of its event, or when its batch was made.
        due: when it is tried next; when it ended, once it has.
        cells: the changed messages that it is about; or else `data`.
        data: JSON of its event's data.
        batch: the body lists events, even if there is only one.
        attempts: the latest of them, oldest first.
        tries: attempts since it was created, retried or replayed: they set the next delay.
        since: when it was created, retried or replayed.
        state: PENDING unless it has ended.
    """

    id: str
    endpoint: str
    kind: str
    created_at: Millis
    due: Millis
    cells: tuple[Cells, ...] = ()
    data: str = ""
    batch: bool = False
    attempts: tuple[HookAttempt, ...] = ()
    tries: int = 0
    since: Millis = 0
    state: DeliveryState = DeliveryState.PENDING

    @property
    def name(self) -> str:
        """Its name among those of its endpoint: when it was created, and its id."""
        return f"{self.created_at}.{self.id}"

    @property
    def waits_since(self) -> Millis:
        """Return from when its time counts."""
        return self.since or self.created_at

    def pack(self) -> str:
        """Serialise what an item holds besides key, state and times: JSON."""
        raw: dict[str, Any] = {"kind": self.kind}
        if self.cells:
            raw["cells"] = [[c.job, c.chunk, [list(x) for x in c.cells], _notes(c)] for c in self.cells]
        raw |= {k: v for k, v in (("data", self.data), ("batch", self.batch), ("tries", self.tries)) if v}
        if self.attempts:
            raw["attempts"] = [[a.at, a.status, a.ms, a.answer, a.error] for a in self.attempts]
        return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def _notes(cells: Cells) -> dict[str, str]:
    return {str(index): text for index, text in cells.notes.items()}


def unpack_delivery(packed: str) -> dict[str, Any]:
    """Read what `HookDelivery.pack` wrote, as arguments of `HookDelivery`."""
    raw = json.loads(packed)
    cells = tuple(
        Cells(job, chunk, tuple((i, b) for i, b in pairs), {int(i): text for i, text in notes.items()})
        for job, chunk, pairs, notes in raw.get("cells", [])
    )
    return {
        "kind": raw["kind"],
        "cells": cells,
        "data": raw.get("data", ""),
        "batch": raw.get("batch", False),
        "tries": raw.get("tries", 0),
        "attempts": tuple(HookAttempt(*x) for x in raw.get("attempts", [])),
    }


def parse_name(text: str) -> tuple[Millis, str] | None:
    """Read a delivery's name: when it was created, and its id; None if the text is none."""
    found = _NAME.fullmatch(text)
    return (int(found[1]), found[2]) if found else None


def next_due(delivery: HookDelivery, now: Millis, draw: float, retry_after: Millis = 0) -> Millis | None:
    """Return when a delivery whose attempt failed is tried next; None: it has failed for good.

    Args:
        draw: a random number, 0 to 1, for the spread.
        retry_after: milliseconds that the endpoint asked for; 0 for none.
    """
    if delivery.tries > len(DELAYS_MS) or is_expired(delivery, now):
        return None
    delay = DELAYS_MS[delivery.tries - 1] * (1 + SPREAD * (2 * draw - 1))
    return now + max(int(delay), min(retry_after, MAX_RETRY_AFTER))


def is_expired(delivery: HookDelivery, now: Millis) -> bool:
    """Tell whether a delivery waited too long to be tried again."""
    return delivery.waits_since + EXPIRES_MS <= now


def attempted(delivery: HookDelivery, attempt: HookAttempt) -> HookDelivery:
    """Return a delivery with one more attempt."""
    return replace(delivery, attempts=(*delivery.attempts, attempt)[-MAX_KEPT_ATTEMPTS:], tries=delivery.tries + 1)


def ended(delivery: HookDelivery, state: DeliveryState, now: Millis) -> HookDelivery:
    """Return a delivery that is not tried again."""
    return replace(delivery, state=state, due=now)


def again(delivery: HookDelivery, now: Millis) -> HookDelivery:
    """Return a delivery that is tried from the beginning, under the same id, from a moment on (Unix milliseconds)."""
    return replace(delivery, state=DeliveryState.PENDING, due=now, since=now, tries=0)
