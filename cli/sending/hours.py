"""Hours as they are typed: `mon-fri 09:00-20:00 Europe/Paris`, or `09:00-20:00 recipient:Europe/Paris`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from cli.errors import Misused
from shared.domain.hours.openings import DAYS, InvalidHoursError, window_of

Within = Annotated[
    str,
    typer.Option(
        "--hours", metavar="HOURS", help='Send only then: "mon-fri 09:00-20:00 Europe/Paris"; without days on all.'
    ),
]
ANY: Final = "any"
_EXAMPLE: Final = 'write --hours like "mon-fri 09:00-20:00 Europe/Paris", or "09:00-20:00 Europe/Paris" for all days'


def hours_of(typed: str) -> dict[str, Any]:
    """Return hours as the API takes them, in a body; nothing for no text.

    Raises:
        Misused: they have another form.
    """
    if not typed:
        return {}
    words = typed.split()
    days = _days(words[0]) if len(words) == 3 else None  # noqa: PLR2004 - days, times, zone
    start, dash, end = words[-2].partition("-") if len(words) in (2, 3) else ("", "", "")
    if not dash or (len(words) == 3 and not days):  # noqa: PLR2004 - as above
        raise Misused(f"{typed!r} are no hours\n{_EXAMPLE}")
    try:
        window_of(start, end, days)
    except InvalidHoursError as error:
        raise Misused(f"{error}: {typed!r}\n{_EXAMPLE}") from None
    zone, _, fallback = words[-1].partition(":")
    own = {"fallback": fallback} if fallback else {}
    return {"hours": {"from": start, "to": end, "zone": zone, **own, **({"days": days} if days else {})}}


def _days(text: str) -> list[str]:
    """Return the days of `mon-fri`, `sat,sun` or both; none if it is something else."""
    found: set[str] = set()
    for part in text.lower().split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            return []
        at = DAYS.index(first)
        found |= {DAYS[(at + n) % 7] for n in range((DAYS.index(last or first) - at) % 7 + 1)}
    return [day for day in DAYS if day in found]


def hours_words(found: Mapping[str, Any]) -> str:
    """Return the hours of something that the API describes, for people; empty if it has none."""
    hours = found.get("hours")
    if not isinstance(hours, Mapping):
        return ""
    days: Sequence[str] = hours.get("days") or ()
    zone = f"{hours.get('zone')}:{hours['fallback']}" if hours.get("fallback") else hours.get("zone")
    return f"{','.join(days)} {hours.get('from')}-{hours.get('to')} {zone}".strip()
