"""The hours of a campaign, a batch or a policy: a window of some days, in one zone or in each recipient's own."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from shared.domain.hours.openings import DAYS, Opening, Window, after, opening, time_text, window_of
from shared.domain.times import Millis
from shared.frozen import dataclass

RECIPIENT: Final = "recipient"
"""In place of a zone: each recipient's own."""
ANYWHERE: Final = ("*",)
"""In place of the zones of a job that has many: some of its messages may be sent at any moment."""
MOST_ZONES: Final = 24
"""Zones that a job names, at most: every fold writes them."""


@dataclass(frozen=True, slots=True)
class OpenHours:
    """The hours of a campaign, a batch or a policy.

    Attributes:
        zone: a name of the IANA database, or RECIPIENT.
        fallback: with RECIPIENT: the zone of those whose own is not known; else empty.
        zones: with RECIPIENT, once recipients are known: the zones of the job's chunks, each as of `Chunk.zone`, or
            ANYWHERE.
    """

    window: Window
    zone: str
    fallback: str = ""
    zones: tuple[str, ...] = ()

    @property
    def by_recipient(self) -> bool:
        """Whether each recipient's own zone counts."""
        return self.zone == RECIPIENT

    def of(self, zone: str = "") -> tuple[Opening, ...]:
        """Return what must be open for a chunk to be sent.

        Args:
            zone: the chunk's, several separated by commas; empty: it has none of its own.
        """
        names = (zone or self.fallback).split(",") if self.by_recipient else [self.zone]
        return tuple(Opening(self.window, name) for name in names)

    def first(self, at: Millis) -> Millis:
        """Return the first moment from `at` on at which some chunk of the job may be sent."""
        if self.zones == ANYWHERE:
            return at
        return min(opening(self.of(zone), at) for zone in self.zones or ("",))

    def among(self, zones: Iterable[str]) -> "OpenHours":
        """Return them for a job whose chunks have these zones, each as of `Chunk.zone`; as they are if one zone counts.

        Args:
            zones: in any order, also repeated.
        """
        found = tuple(sorted(set(zones)))
        return replace(self, zones=found if len(found) <= MOST_ZONES else ANYWHERE) if self.by_recipient else self

    def after(self, at: Millis, length: Millis) -> Millis:
        """Return when each zone has been open for some time from `at` on. `length`: that time."""
        if self.zones == ANYWHERE:
            return at + length
        return max(after(self.of(zone), at, length) for zone in self.zones or ("",))

    def document(self) -> dict[str, Any]:
        """Return it as requests write it, and what is known of recipients."""
        out: dict[str, Any] = {"from": time_text(self.window.start), "to": time_text(self.window.end)}
        if len(self.window.days) < len(DAYS):
            out["days"] = [DAYS[x] for x in self.window.days]
        out["zone"] = self.zone
        return out | ({"fallback": self.fallback} if self.fallback else {})

    def text(self) -> str:
        """Return the text that is stored."""
        more = {"zones": list(self.zones)} if self.zones else {}
        return json.dumps(self.document() | more, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> "OpenHours":
        """Read what `text` wrote."""
        x = json.loads(text)
        return cls(
            window_of(x["from"], x["to"], x.get("days")), x["zone"], x.get("fallback", ""), tuple(x.get("zones", ()))
        )


def begin_of(hours: OpenHours | None, asked: Millis) -> Millis:
    """Return when sending begins that is asked for at a moment: then, or when the hours open next."""
    return hours.first(asked) if hours is not None else asked
