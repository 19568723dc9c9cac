"""Formats that providers of e-mail have in common."""

import re
from collections.abc import Mapping
from typing import Any, Final

_DOMAIN: Final = r"@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+"
ADDRESS: Final = re.compile(r"[^\s@<>()\[\],;:\"\\]{1,64}" + _DOMAIN)
QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.){1,62}"' + _DOMAIN)
"""An address with a quoted local part."""
MAX_ADDRESS: Final = 254
"""RFC 5321, 4.5.3.1.3: 256 with the angle brackets."""


def valid(address: Any, *, quotes: bool = True) -> bool:
    """Tell whether a value is an address that providers take: a local part, and a domain with a dot.

    `quotes`: the provider takes a quoted local part. Periods in a row or at an end are only taken in quotes.
    """
    if not isinstance(address, str) or len(address) > MAX_ADDRESS:
        return False
    if address.startswith('"'):
        return quotes and QUOTED.fullmatch(address) is not None
    local = address.partition("@")[0]
    return ADDRESS.fullmatch(address) is not None and all(local.split("."))


def render(text: str, values: Mapping[str, str]) -> str:
    """Replace each tag by its value, literally."""
    for tag, value in values.items():
        text = text.replace(tag, value)
    return text
