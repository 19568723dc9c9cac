"""Digest policies: how the events of the batch keys with a prefix are collected, and how their digest looks.

A key's policy is the one with the longest prefix of the key. Each change makes a new version, and earlier ones stay: a
window keeps the version that it was opened with.
"""

import json
import zlib
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from shared.domain.channels.email import EMAIL
from shared.domain.content.content import Mailbox
from shared.domain.hours.hours import OpenHours
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass

DAY_S: Final = 86_400
MAX_EVENTS: Final = 1_000
"""Events of a window."""
# change: how long a window of events may be open
MAX_WINDOW: Final = DAY_S
"""Seconds that a window may be open."""
MAX_LINES: Final = 1_000
MIN_RETENTION: Final = 2 * DAY_S
MAX_RETENTION: Final = 365 * DAY_S
MAX_PACKED: Final = 300_000
"""Bytes of a policy's texts, compressed: they are in its item."""


@dataclass(frozen=True, slots=True)
class DigestPolicy:
    """A policy, as of one of its versions. Lengths of time are seconds, moments Unix milliseconds.

    Attributes:
        namespace: whose: of an account's live or test keys.
        prefix: what the batch keys begin with.
        version: from 1, one more with every change.
        created_at: when its first version was made; `saved_at`: this one.
        sender: From of the digests; None: the credential's own.
        route: ids of credentials; empty: the deployment's route of the channel.
        subject: with placeholders.
        template: HTML of the digest, with placeholders; empty: the default.
        text: the text part; empty: derived.
        line: HTML of one event; empty: the default. `line_text`: the same as text.
        channel: the channel's name.
        timezone: IANA name of the zone in which times are shown.
        window: seconds from the first event to the end of its window.
        near: an event this close to the end of its window moves the end.
        extend: seconds by which such an event moves the end.
        max_age: seconds after the first event beyond which the end is never moved.
        max_events: events after which a window closes.
        max_lines: events that one message lists. It counts the others.
        retention: seconds for which windows and events are kept once they are processed.
        unsubscribe: each recipient gets a link to leave the digests of this policy.
        hours: when digests may be sent; None: at any time.
        deleted: it applies to no key; its versions continue to be counted.
    """

    namespace: str
    prefix: str
    version: int
    created_at: Millis
    saved_at: Millis
    sender: Mailbox | None = None
    route: tuple[str, ...] = ()
    subject: str = ""
    template: str = ""
    text: str = ""
    line: str = ""
    line_text: str = ""
    channel: str = EMAIL.name
    timezone: str = "UTC"
    window: int = 300
    near: int = 30
    extend: int = 60
    max_age: int = 1_800
    max_events: int = MAX_EVENTS
    max_lines: int = 100
    retention: int = 7 * DAY_S
    unsubscribe: bool = False
    hours: OpenHours | None = None
    deleted: bool = False

    @property
    def kept_for(self) -> Seconds:
        """Seconds for which a part is kept from the moment it is stored."""
        return self.max_age + self.retention

    def pack(self) -> bytes:
        """Serialise what its owner sets: JSON, compressed."""
        said = {name: getattr(self, name) for name in SETTINGS}
        if self.sender is not None:
            said["sender"] = {"address": self.sender.address, "display": self.sender.display}
        if self.hours is None:
            del said["hours"]  # other policies are stored as before
        else:
            said["hours"] = self.hours.text()
        return zlib.compress(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(), 6)


_STORED: Final = frozenset({"namespace", "prefix", "version", "created_at", "saved_at", "deleted"})
SETTINGS: Final = tuple(x.name for x in fields(DigestPolicy) if x.name not in _STORED)


def settings(data: bytes) -> dict[str, Any]:
    """Read what `DigestPolicy.pack` wrote, as arguments of `DigestPolicy`."""
    raw = json.loads(zlib.decompress(data))
    known = {name: raw[name] for name in SETTINGS if name in raw}
    sender, hours = known["sender"], known.pop("hours", "")
    known["hours"] = OpenHours.read(hours) if hours else None
    return {**known, "sender": Mailbox(**sender) if sender else None, "route": tuple(known["route"])}


def faults(policy: DigestPolicy) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a policy's numbers: a field, and a sentence about it."""
    bounds = {
        "window": (1, MAX_WINDOW),
        "near": (0, policy.window),
        "extend": (0, MAX_WINDOW),
        "max_age": (policy.window, MAX_WINDOW),
        "max_events": (1, MAX_EVENTS),
        "max_lines": (1, MAX_LINES),
        "retention": (MIN_RETENTION, MAX_RETENTION),
    }
    for name, (least, most) in bounds.items():
        if not least <= getattr(policy, name) <= most:
            yield name, f"The value must be between {least:,} and {most:,}."
