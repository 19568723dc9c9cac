"""Characters that show nothing, held against what Unicode says of each."""

import re
import sys
import unicodedata
from typing import Final

from shared.domain.characters.invisible import ENDS, INVISIBLE, first_invisible, seen, without_invisible

SHOWN: Final = re.compile("[\u0600-\u0605\u06dd\u070f\u0890-\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001345f]")
"""Format characters with a look of their own: signs before numbers, and joints of hieroglyphs."""
FILLERS: Final = "\u115f\u1160\u2800\u3164\uffa0"


def test_each_character_of_format_shows_nothing_but_those_that_show_something() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    found = [c for c in every if unicodedata.category(c) == "Cf" and not SHOWN.match(c)]
    assert [hex(ord(c)) for c in found if not re.match(f"[{INVISIBLE}]", c)] == []
    assert len(found) > 100


def test_selectors_and_fillers_show_nothing() -> None:
    for mark in f"{FILLERS}\ufe00\ufe0f\u180b\u034f\u17b4\U000e0100":
        assert (seen(mark), without_invisible(f"a{mark}b"), first_invisible(f"a{mark}")) == (
            False,
            "ab",
            f"U+{ord(mark):04X}",
        )
    assert set(FILLERS) < set(ENDS)


def test_letters_signs_and_blanks_stay() -> None:
    text = "J\u00f6rg \u05d0 \u0e01\u0e34 \u00a0 \u2764 \u110b\u1161 \U0001f600"
    assert (without_invisible(text), first_invisible(text), seen(text)) == (text, "", True)
    assert not seen(" \u00a0\u3000\n")
