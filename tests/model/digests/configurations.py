"""The worlds of digests that are searched whole, and those in which a rule is left out and something must break."""

from dataclasses import replace
from typing import Final

from tests.model.digests.windows import Digests

DIGESTS: Final = {
    "three events, two adders, lost answer": Digests(end=3, makers=1, crash=0),
    "three events, three adders, roomy windows": Digests(adders=3, room=3, end=3, makers=1, crash=0),
    "two events, crash and two lost answers": Digests(events=2, lost=2, end=4),
    "two events, windows of one part, two crashes": Digests(events=2, room=1, crash=2, end=2),
    "two events, windows of one part, a crash and a lost answer": Digests(events=2, room=1, end=2, makers=1),
    "two events, windows of one part, two makers, a crash": Digests(events=2, room=1, end=2, lost=0),
    "long clock, one lost answer, cancelled window": Digests(events=2, room=3, end=6, crash=0, cancel=1),
    "two crashes": Digests(events=2, crash=2, end=3),
    "three events, two makers, a crash": Digests(room=3, lost=0, end=2),
}
"""Name to world: in none of them may anything break."""

LEFT_OUT: Final = {
    "a_number_is_used_once": Digests(),  # D2.1
    "a_doubtful_window_is_asked_again": Digests(),  # D1.4
    "ones_own_part_is_known": Digests(room=3),  # D1.3
    "repeats_are_looked_for_in_earlier_windows": Digests(events=2, room=1, end=2),  # D8.2
    "an_end_moves_as_read": Digests(events=4, room=5, end=3, crash=0, lost=0, makers=1),  # D4.2
    "only_closed_windows_are_made": Digests(events=2, room=3, end=3, crash=0, lost=0),  # D6.1
    "job_and_window_change_together": Digests(),  # D7.2
    "only_processed_windows_are_removed": Digests(),  # D9.1
    "later_windows_look_back": Digests(events=1, room=1, end=2),  # D9.3
    "every_later_window_counts": Digests(events=2, lost=2, end=4),  # D9.3
}
"""A rule to the world in which leaving it out breaks something; behind it, its number in docs/protocol.md."""

SMALL: Final = (
    "two events, windows of one part, a crash and a lost answer",
    "two events, windows of one part, two makers, a crash",
)
"""Worlds that are searched with every run of the tests."""
DEAR: Final = frozenset({"every_later_window_counts"})
"""Rules whose worlds take seconds until something breaks."""


def left_out(rule: str) -> Digests:
    """Return the world in which a rule is left out."""
    return replace(LEFT_OUT[rule], without=frozenset({rule}))
