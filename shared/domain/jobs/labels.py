"""Names and data that the owner of a batch gives it. They change no message, and no provider gets them."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from shared.frozen import dataclass

MAX_REFERENCE: Final = 128
"""Characters of a reference."""
MAX_TAGS: Final = 10
MAX_TAG: Final = 64
"""Characters of a tag."""
MAX_KEYS: Final = 20
"""Keys of metadata."""
MAX_KEY: Final = 64
"""Characters of a key of metadata."""
MAX_VALUE: Final = 500
"""Characters of a value of metadata."""
MAX_METADATA: Final = 4_096
"""Bytes of metadata as JSON: each write of a job pays for its whole item."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The names and data that an owner gives a job or one of its messages.

    Attributes:
        reference: its name in the owner's own system; empty: none.
        tags: words, each once.
        metadata: the owner's own data.
    """

    reference: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Serialise: JSON, without what is empty; an empty text if all is."""
        given = {"reference": self.reference, "tags": self.tags, "metadata": dict(self.metadata)}
        kept = {name: value for name, value in given.items() if value}
        return as_json(kept) if kept else ""

    @classmethod
    def read(cls, text: str) -> "Labels":
        """Read what `text` wrote."""
        raw = json.loads(text) if text else {}
        return cls(raw.get("reference", ""), tuple(raw.get("tags", ())), raw.get("metadata", {}))


NO_LABELS: Final = Labels()


def as_json(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
