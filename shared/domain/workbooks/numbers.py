"""Numbers of an .xlsx as people read them: which of them are dates, by the formats of their cells.

Source: ECMA-376 part 1, 18.8.30 (number formats) and 18.17.4 (dates and times).
"""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final

_DIGITS: Final = 15
"""Digits of a number that is not whole: what spreadsheets show. Those behind are noise of arithmetic."""
_PLACES: Final = 40
"""Places before or behind the point up to which a number has no exponent."""
_PLAIN: Final = re.compile(r"0|-?[1-9][0-9]{0,14}", re.ASCII)
_DATES: Final = frozenset({*range(14, 23), *range(27, 37), 45, 47, *range(50, 59)})
"""Formats of dates that a workbook need not describe."""
_ELAPSED: Final = 46
_ASIDE: Final = re.compile(r'"[^"]*"|\\.|_.|\*.')
"""The parts that a format shows as they are: quoted text, an escaped, skipped or repeated character."""
_SPANS: Final = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_BRACKETS: Final = re.compile(r"\[[^\]]*\]")
_LETTERS: Final = re.compile(r"[dmhys]", re.IGNORECASE)
_1900: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - a workbook knows no zones
_1904: Final = datetime(1904, 1, 1)  # noqa: DTZ001
_LEAP: Final = 60
"""The day that 1900 did not have: what is before it counts one less."""
_LAST: Final = 2_958_466
"""The day after 9999-12-31, as a number of 1900."""


class Shown(Enum):
    """How the format of a cell shows a number."""

    NUMBER = "number"
    DATE = "date"
    SPAN = "span"


def shown_by(number: int, code: str = "") -> Shown:
    """Return how a format shows numbers.

    Args:
        number: the format's.
        code: its text; empty if the workbook does not describe it.
    """
    if not code:
        return Shown.DATE if number in _DATES else Shown.SPAN if number == _ELAPSED else Shown.NUMBER
    bare = _ASIDE.sub("", code).partition(";")[0]
    if _SPANS.search(bare):
        return Shown.SPAN
    return Shown.DATE if _LETTERS.search(_BRACKETS.sub("", bare).replace("General", "")) else Shown.NUMBER


def number_text(text: str, shown: Shown = Shown.NUMBER, *, from_1904: bool = False) -> str:
    """Return a number as people read it; a text that is no number as it is.

    Args:
        text: as the workbook has it.
        from_1904: whether the workbook counts days from 1904.
    """
    if shown is Shown.NUMBER and _PLAIN.fullmatch(text):
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    if shown is Shown.SPAN and 0 <= value < _LAST:
        seconds = round(value * 86_400)
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if shown is Shown.DATE and 0 <= value < _LAST:
        return _date(value, from_1904=from_1904)
    return _written(value)


def _written(value: float) -> str:
    """Return a number without exponent, and without the noise of arithmetic if it is not whole."""
    whole = value.is_integer()
    exact = Decimal(repr(value) if whole else f"{value:.{_DIGITS}g}")
    if not exact.is_finite() or abs(exact.adjusted()) > _PLACES:
        return str(value)
    return f"{exact.to_integral_value() + 0 if whole else exact.normalize():f}"  # + 0: no minus zero


def _date(value: float, *, from_1904: bool) -> str:
    span = timedelta(milliseconds=round(value * 86_400_000))
    if value < 1 and span < timedelta(days=1):
        return (_1900 + span).time().isoformat("seconds")
    if 0 < value < _LEAP and not from_1904:
        span += timedelta(days=1)
    try:
        at = (_1904 if from_1904 else _1900) + span
    except OverflowError:
        return str(value)
    return at.date().isoformat() if at == datetime.combine(at, datetime.min.time()) else at.isoformat(" ", "seconds")
