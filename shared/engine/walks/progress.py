"""How far a walk has come, and when it was last at each place."""

import json
from dataclasses import dataclass, field
from typing import Final

from shared.domain.times import Millis

END: Final = "\uffff"
"""Behind all places."""
MAX_LEFT: Final = 200
"""Things that the next run begins with: those whose look failed or was cut short. More wait for the next round."""


@dataclass(slots=True)
class Progress:
    """The progress of one walk.

    Attributes:
        after: where the next run continues; empty: at the start.
        began: when the present round began (Unix ms), 0 between two rounds.
        laps: of the present round, by run: up to which place it came, and its time (Unix ms).
        before: the same of the round before.
        left: what the next run checks first → from which chunk on, and its `since` (Unix ms).
        floor: where rounds begin that come to each place once; empty for others.
    """

    after: str = ""
    began: int = 0
    laps: list[tuple[str, int]] = field(default_factory=list)
    before: list[tuple[str, int]] = field(default_factory=list)
    left: dict[str, tuple[int, int]] = field(default_factory=dict)
    floor: str = ""

    def since(self, place: str) -> int:
        """Return the time of the run that was last at a place (Unix ms), 0 if none is known to have been."""
        return next((at for upto, at in self.before if place <= upto), 0)

    def begin(self, now: Millis) -> None:
        """Note that a run begins."""
        self.began = self.began or now

    def reach(self, place: str, now: Millis) -> None:
        """Note that all looks up to a place are over."""
        if not place:
            return
        self.after = place
        if self.laps and self.laps[-1][1] == now:
            self.laps.pop()
        self.laps.append((place, now))

    def end(self, now: Millis) -> None:
        """Note that the round is over."""
        self.reach(END, now)
        self.before, self.laps, self.after, self.began = self.laps, [], "", 0

    @property
    def is_full(self) -> bool:
        """Tell whether no more can be left for the next run."""
        return len(self.left) >= MAX_LEFT

    def leave(self, name: str, chunk: int, since: int) -> None:
        """Put a thing first in the next run.

        Args:
            chunk: the chunk to continue from.
            since: its last look, Unix milliseconds.
        """
        if not self.is_full:
            self.left[name] = (chunk, since)

    def dumps(self) -> str:
        """Return the progress as text."""
        fields = {"after": self.after, "began": self.began, "laps": self.laps, "before": self.before, "left": self.left}
        return json.dumps(fields | ({"floor": self.floor} if self.floor else {}), separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> "Progress":
        """Read what `dumps` wrote, of this version or another; nothing is the progress of a walk that never began."""
        raw = json.loads(text) if text else {}
        return cls(
            after=raw.get("after", ""),
            began=raw.get("began", 0),
            laps=[(place, at) for place, at in raw.get("laps", [])],
            before=[(place, at) for place, at in raw.get("before", [])],
            left={name: (chunk, since) for name, (chunk, since) in raw.get("left", {}).items()},
            floor=raw.get("floor", ""),
        )
