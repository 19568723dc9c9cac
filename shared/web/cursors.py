"""Cursors: places in lists, opaque to clients.

A place may be that of something that the caller may not see, such as a live job that a test key's page ends behind. So
what holds a name is sealed, for its account; what is only a number is not. Everything else is answered with
`bad_cursor`.
"""

import base64
import re
from typing import Any, Final

from shared.web.problems import Problem
from shared.web.routing import Call

_JOBS: Final = re.compile(r"\d{15}#[0-9a-z]{26}")
_FOUND: Final = re.compile(r"\d{15}(?:#[0-9a-z]{26})? \d{1,5} \d{1,3}", re.ASCII)
_SUPPRESSIONS: Final = re.compile(r"\d{15}#[0-9a-f]{64}")
_EVENTS: Final = re.compile(r"\d{15}#[^#\s]{1,80}#[a-z_]{1,40}\.[a-z_]{1,40}(?:#[0-9a-f]{8})?")
_NOTIFIERS: Final = re.compile(r"\d{15}#[a-z0-9-]{1,63}")
_PLACE: Final = re.compile(r"[^\x00-\x1f]{1,400}")
_TEXTS: Final = re.compile(r"\d{15}#[0-9a-f]{32}")
_NUMBER: Final = re.compile(r"[1-9]\d{0,6}", re.ASCII)
_MESSAGES: Final = re.compile(r"(\d{1,3})\.(\d{1,5})\.(\d{1,3})", re.ASCII)
_LINES: Final = re.compile(r"(\d{1,5})\.(\d{1,3})")


def jobs(call: Call[Any, Any, Any]) -> str:
    """Return the place in a list of jobs; empty at its beginning."""
    return _unsealed(call, _JOBS)


def messages_found(call: Call[Any, Any, Any]) -> str:
    """Return the place in a search for messages; empty at its beginning."""
    return _unsealed(call, _FOUND)


def notifiers(call: Call[Any, Any, Any]) -> str:
    """Return the place in a list of notifiers; empty at its beginning."""
    return _unsealed(call, _NOTIFIERS)


def texts(call: Call[Any, Any, Any]) -> str:
    """Return the place in a list of received texts; empty at its beginning."""
    return _unsealed(call, _TEXTS)


def suppressions(call: Call[Any, Any, Any]) -> str:
    """Return the place in a list of suppressions; empty at its beginning."""
    return _unsealed(call, _SUPPRESSIONS)


def digests(call: Call[Any, Any, Any]) -> str:
    """Return the place in a list of windows or of digest policies; empty at its beginning."""
    return _unsealed(call, _PLACE)


def hooks(call: Call[Any, Any, Any]) -> str:
    """Return the place in a list of deliveries of an endpoint; empty at its beginning."""
    return _unsealed(call, _PLACE)


def events(call: Call[Any, Any, Any]) -> str:
    """Return the place in an audit log; empty at its beginning."""
    return _unsealed(call, _EVENTS)


def lines(cursor: str | None) -> tuple[int, int]:
    """Return the place in a log: chunk and index."""
    if cursor is None:
        return (0, 0)
    match = _place(cursor, _LINES)
    return int(match[1]), int(match[2])


def number(cursor: str | None) -> int:
    """Return a place that is a number; 0 at the beginning of a list."""
    return int(_place(cursor, _NUMBER)[0]) if cursor is not None else 0


def messages(cursor: str | None) -> tuple[int, int, int]:
    """Return the place in a campaign's messages: which of its jobs, chunk and index."""
    if cursor is None:
        return (0, 0, 0)
    match = _place(cursor, _MESSAGES)
    return int(match[1]), int(match[2]), int(match[3])


def seal(call: Call[Any, Any, Any], place: str) -> str | None:
    """Return the cursor of a place that holds a name; None at the end of a list."""
    return call.services.links.seal(_use(call), place) if place else None


def _unsealed(call: Call[Any, Any, Any], form: re.Pattern[str]) -> str:
    cursor = call.query.cursor
    if cursor is None:
        return ""
    place: str | None = call.services.links.unseal(_use(call), cursor)
    if place is None or not form.fullmatch(place):
        raise Problem("bad_cursor")
    return place


def _use(call: Call[Any, Any, Any]) -> str:
    return f"posthaste cursor 1 {call.key.account}"


def write(place: str) -> str | None:
    """Return the cursor of a place; None at the end of a list."""
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=") if place else None


def write_line(place: tuple[int, int] | None) -> str | None:
    """Return the cursor of a place in a log."""
    return write(f"{place[0]}.{place[1]}") if place else None


def _place(cursor: str, form: re.Pattern[str]) -> re.Match[str]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        raise Problem("bad_cursor") from None
    match = form.fullmatch(text)
    if match is None:
        raise Problem("bad_cursor")
    return match
