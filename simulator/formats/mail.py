"""What providers of e-mail have in common."""

import re
from collections.abc import Mapping
from typing import Any, Final

ADDRESS: Final = re.compile(r"[^\s@<>()\[\],;:\"\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+")
MAX_ADDRESS: Final = 254
"""RFC 5321, 4.5.3.1.3: 256 with the angle brackets."""


def valid(address: Any) -> bool:
    """Tell whether a value is an address that providers take: a local part, and a domain with a dot."""
    return isinstance(address, str) and len(address) <= MAX_ADDRESS and ADDRESS.fullmatch(address) is not None


def render(text: str, values: Mapping[str, str]) -> str:
    """Replace each tag by its value, literally."""
    for tag, value in values.items():
        text = text.replace(tag, value)
    return text
