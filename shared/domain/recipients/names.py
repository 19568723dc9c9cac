"""Display names as people read them: an address in one looks like the sender's own, and many readers show no other."""

import re
import unicodedata
from typing import Final

from shared.domain.characters.invisible import without_invisible
from shared.domain.recipients.local_parts import IN_TEXT

_TURNS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates of direction: they show letters in another order than they are written in."""
_ADDRESS: Final = re.compile(rf"(?:{IN_TEXT}|[^\s@<>()\[\],;:\"]+|[<>()\[\],;:\"])@((?:[\w-]+\.)+[\w-]*[^\W\d_][\w-]*)")
"""Quotes or brackets before the @ show a local part as well: its last one is enough to know the domain."""
_DOTS: Final = str.maketrans({"\u3002": ".", "\uff61": "."})
"""Full stops of other scripts that separate labels (RFC 3490 3.1); compatibility forms become a full stop by NFKC."""


def turns(name: str) -> bool:
    """Whether a name shows its letters in another order than they are written in."""
    return _TURNS.search(name) is not None


def addresses_in(name: str) -> tuple[str, ...]:
    """Return what looks like an address in a name, in lower case; without invisible characters."""
    plain = unicodedata.normalize("NFKC", without_invisible(name)).translate(_DOTS).lower()
    return tuple(found[0] for found in _ADDRESS.finditer(plain))


def is_near(domain: str, other: str) -> bool:
    """Whether two domains are the same, or one is below the other."""
    return f".{domain}".endswith(f".{other}") or f".{other}".endswith(f".{domain}")
