"""Spans of time as options take them: `90s`, `30m`, `4h`, `2d`."""

import re
from typing import Final

from cli.errors import Misused

_SPAN: Final = re.compile(r"(\d{1,6})([smhd])", re.ASCII)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def span_of(text: str) -> int | None:
    """Return the seconds of a span, None if the text is none."""
    found = _SPAN.fullmatch(text)
    return int(found[1]) * _SECONDS[found[2]] if found else None


def seconds_of(span: str, option: str) -> int:
    """Return the seconds of a span.

    Args:
        option: its name, for the message.

    Raises:
        Misused: it is no span.
    """
    seconds = span_of(span)
    if seconds is None:
        raise Misused(f"{option} takes a span such as 90s, 30m, 4h or 2d")
    return seconds
