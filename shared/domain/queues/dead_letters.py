"""Dead letters: the queues that have them, the messages, and what logs say of them. Times are Unix milliseconds."""

import json
import re
from collections.abc import Iterable
from dataclasses import field
from typing import Final

from shared import contracts
from shared.domain.recipients.local_parts import IN_TEXT
from shared.frozen import dataclass

LANE: Final = "lane-"
MAX_ERROR: Final = 160
_NO_ADDRESS: Final = re.compile(rf"(?:{IN_TEXT}|[^\s@<>\"']+)@[^\s@<>\"']+|\+\d{{6,}}")


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A queue of the stack.

    Attributes:
        name: without the stack's prefix, such as `lane-sendgrid-main`.
        url: of the queue; empty for `plan`, `log` and `sweep`, to which only reports of failed invocations come.
        dead: of its dead-letter queue; empty for a lane's express queue, whose dead letters lie with the lane's.
    """

    name: str
    url: str
    dead: str

    @property
    def kind(self) -> str:
        """The subject of its messages: `lane` for all lanes, else its name."""
        return "lane" if self.name.startswith(LANE) else self.name


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead message in hand. Times are Unix milliseconds.

    Attributes:
        receipt: with it the message is deleted or given back.
        group: its MessageGroupId, the share of an account in a lane; empty without one.
        deliveries: how often it was received, also by commands that looked at it.
        redrives: how often it was redriven; `run`: in which run last.
        fault: what the service that could not deliver it says.
    """

    id: str
    body: str
    receipt: str
    group: str
    sent_at: int
    first_at: int
    deliveries: int
    redrives: int
    run: str
    fault: str


@dataclass(slots=True)
class Redriven:
    """What a run did. `left`: messages that stay, and why; `more`: its time was over before the end was seen."""

    moved: int = 0
    discarded: int = 0
    left: list[tuple[Letter, str]] = field(default_factory=list)
    more: bool = False


def places(lanes: str, credentials: Iterable[str]) -> list[QueuePlace]:
    """Return the queues of a deployment in the order of their names.

    Args:
        lanes: the URL of a lane's queue, without the credential's id.
        credentials: ids of all that have a lane.
    """
    start = lanes.removesuffix(LANE)
    found = [QueuePlace(x, f"{start}{x}", contracts.dead_queue_url(lanes, x)) for x in contracts.WORK_QUEUES]
    found += [QueuePlace(x, "", contracts.dead_queue_url(lanes, x)) for x in contracts.REPORT_QUEUES]
    for name in {f"{LANE}{x}" for x in credentials}:
        express = f"{name}{contracts.EXPRESS_SUFFIX}"
        found.append(QueuePlace(name, f"{start}{name}", contracts.dead_queue_url(lanes, name)))
        found.append(QueuePlace(express, f"{start}{express}", ""))
    return sorted(found, key=lambda place: place.name)


def errors_of(line: str) -> dict[str, str]:
    """Return message id → error of one line of a log; empty if it is about no message."""
    try:
        raw = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(raw, dict) or not isinstance(raw.get("exception_name"), str):
        return {}
    ids = [raw["message_id"]] if "message_id" in raw else raw.get("message_ids", [])
    lines = str(raw.get("exception", "")).strip().splitlines()
    error = short(lines[-1] if lines else raw["exception_name"])
    return {str(name): error for name in ids}


def short(text: str) -> str:
    """Return a text that fits into a line, without addresses and phone numbers."""
    text = _NO_ADDRESS.sub("…", " ".join(text.split()))
    return text if len(text) <= MAX_ERROR else f"{text[: MAX_ERROR - 1]}…"
