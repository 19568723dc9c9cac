"""The worlds of quotas that are searched whole, and those in which a rule is left out and something must break."""

from dataclasses import replace
from typing import Final

from shared.contracts import CredentialQuota, Per
from shared.domain.lanes.periods import BUCKET
from tests.model.quotas.spending import Spending

_END: Final = 497_000 * 3600.0
"""An hour's end, and that of a counter of 24 hours."""
_DAY: Final = 86_400.0
_AROUND: Final = tuple(_END + x for x in (-60, -8, -1, 1, 8, 60))
_SLIDES: Final = tuple(_END + x for x in (-1, 1, _DAY - 2, _DAY + BUCKET - 4, _DAY + BUCKET + 8, 3 * _DAY))
_TURNS: Final = tuple(_END + x for x in (-7, 8, BUCKET + 8, _DAY - 8, _DAY + BUCKET + 8, 3 * _DAY))
_LATE: Final = tuple(_END + x for x in (-600, 600, _DAY + 540, 3 * _DAY))

_HOUR: Final = Spending(CredentialQuota(2, Per.HOUR), _AROUND)
_HOURS: Final = Spending(CredentialQuota(2, Per.SLIDING), _SLIDES, spared=0)
QUOTAS: Final[dict[str, Spending]] = {
    "an hour's end, two workers, a crash": _HOUR,
    "an hour's end, three workers": replace(_HOUR, clocks=(-2.0, 0.0, 2.0), messages=3, crash=0, spared=0),
    "an hour's end, two crashes": replace(_HOUR, crash=2, spared=2),
    "24 hours slide, two workers, a crash": _HOURS,
    "24 hours slide from counter to counter": replace(_HOURS, moments=_TURNS, crash=0, spared=1),
    "24 hours slide, units come back late": replace(_HOURS, moments=_LATE, spared=1),
}
"""Name to world: in none of them may anything break."""

LEFT_OUT: Final[dict[str, Spending]] = {
    "units_beside_an_end_count_in_both": _HOUR,  # Q.2
    "a_reservation_checks_as_it_counts": _HOUR,  # Q.1
    "a_late_call_is_not_begun": _HOUR,  # P.8
    "a_crash_keeps_what_was_counted": _HOUR,  # Q.4
    "a_sum_is_of_what_is_stored": replace(_HOURS, moments=_TURNS),  # Q.6
    "a_later_sum_is_never_passed_by": replace(_HOURS, moments=_TURNS, crash=0),  # Q.6
    "what_a_later_sum_holds_is_kept": replace(_HOURS, moments=_LATE, crash=0),  # Q.7
}
"""A rule to the world in which leaving it out breaks something; behind it, its number in docs/protocol.md."""

SMALL: Final = ("an hour's end, two workers, a crash", "24 hours slide, two workers, a crash")
"""Worlds that are searched with every run of the tests."""


def left_out(rule: str) -> Spending:
    """Return the world in which a rule is left out."""
    return replace(LEFT_OUT[rule], without=frozenset({rule}))
