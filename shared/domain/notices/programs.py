"""Programs: schedules of notices that an account recommends, and that its notifiers copy."""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Final

from shared.frozen import dataclass

MAX_PROGRAMS: Final = 100
"""Programs of a namespace: a notifier reads all of them in one answer."""
MAX_STEPS: Final = 100
MAX_OFFSET_DAYS: Final = 730
NAME: Final = r"^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$"
"""Form of a program's name."""
_NAME: Final = re.compile(NAME)


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One notice of a program.

    Attributes:
        template_id: of a stored template.
        offset_days: from the program's first day.
        preferred_time: as a record has it, empty for none.
        delivery_method: `SMS` or `IVR`, empty for the notifier's choice.
    """

    template_id: str
    offset_days: int
    preferred_time: str = ""
    delivery_method: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, as of its latest version. Times are Unix milliseconds.

    Attributes:
        namespace: whose: of an account's live or test keys.
        name: unique in the namespace.
        steps: in the order in which their owner wrote them.
        created_at: when its first version was made; `saved_at`: this one.
        metadata: name → text, its description of itself.
        version: from 1, one more with every change.
    """

    namespace: str
    name: str
    steps: tuple[ProgramStep, ...]
    created_at: int
    saved_at: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    version: int = 1

    def pack(self) -> bytes:
        """Serialise steps and metadata: JSON, compressed."""
        said = {"steps": [asdict(x) for x in self.steps], "metadata": dict(self.metadata)}
        return zlib.compress(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(), 6)


def unpack(data: bytes) -> tuple[tuple[ProgramStep, ...], Mapping[str, str]]:
    """Read what `Program.pack` wrote: steps and metadata."""
    raw = json.loads(zlib.decompress(data))
    return tuple(ProgramStep(**x) for x in raw["steps"]), raw["metadata"]


def is_program_name(text: str) -> bool:
    """Return whether a text has the form of a program's name."""
    return _NAME.fullmatch(text) is not None
