"""The time zones of phone numbers: those of the country that a number belongs to.

libphonenumber's metadata has the country, and `tzdata` the zones of each country. Source: docs/adr/0229.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from shared.domain.hours.zones import zone_of

_KNOWN: Final = 9
"""Characters of a number in E.164 that decide about its country: `+` and eight digits."""
_SINCE: Final = datetime(2026, 1, 1, tzinfo=UTC)
_MOMENTS: Final = tuple(_SINCE + timedelta(days=5 * n) for n in range(730))
"""Moments of ten years at which clocks are compared. They are fixed, so that a list that is read again makes the same
chunks."""


class NumberZones:
    """Finds the zones of numbers. Made when needed: the library takes 50 ms and 6 MB, the table of zones 1 ms."""

    def __init__(self) -> None:
        import phonenumbers  # noqa: PLC0415 - only numbers need it

        self._library: Any = phonenumbers
        self._countries: dict[str, str] = {}

    def of(self, number: str) -> str:
        """Return the zones of a number, separated by commas; empty if its country has none. `number`: in E.164.

        Zones of a country whose clocks agree are one.
        """
        start = number[:_KNOWN]
        country = self._countries.get(start)
        if country is None:
            parsed = self._library.parse(number)
            country = self._countries[start] = self._library.region_code_for_number(parsed) or ""
        return zones_of(country)


@cache
def zones_of(country: str) -> str:
    """Return the zones of a country that differ, separated by commas; empty if there are none.

    `country`: a code of ISO 3166.
    """
    seen: dict[tuple[timedelta | None, ...], str] = {}
    for name in _table().get(country, ()):
        zone = zone_of(name)
        seen.setdefault(tuple(at.astimezone(zone).utcoffset() for at in _MOMENTS), name)
    return ",".join(seen.values())


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    """Return country → its zones, by the table of the IANA database."""
    from importlib.resources import files  # noqa: PLC0415 - only numbers need it

    found: dict[str, list[str]] = defaultdict(list)
    for line in files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            country, _, name, *_ = line.split("\t")
            found[country].append(name)
    return {country: tuple(names) for country, names in found.items()}
