"""What `posthaste doctor` looks at: each check is a pure function from what AWS answered to findings."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    """Nobody looked, and why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `says`: what it means; `do`: what to do about it, empty if there is nothing to do."""

    check: str
    level: Level
    says: str
    do: str = ""
