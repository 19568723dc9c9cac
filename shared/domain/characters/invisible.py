"""Characters that show nothing, though Unicode counts some as letters: of no width, or as blank as a space.

They are Unicode 16's Default_Ignorable_Code_Point, with the empty Braille pattern and the marks of annotations.
"""

import re
from typing import Final

_RANGES: Final = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
INVISIBLE: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES)
"""All of them, as a regular expression's class has them."""
ENDS: Final = "".join(chr(x) for first, last in _RANGES if last <= 0xFFFF for x in range(first, last + 1))  # noqa: PLR2004
"""Those of the Basic Multilingual Plane, as `str.strip` takes them: no others come around a cell."""
_ANY: Final = re.compile(f"[{INVISIBLE}]")
_SHOWN: Final = re.compile(f"[^\\s\\x00-\\x1f\\x7f-\\x9f{INVISIBLE}]")

ONE_LINE: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$"
"""The pattern of a text of one line, without control characters."""


def without_invisible(text: str) -> str:
    """Return a text without characters that show nothing; its blanks stay."""
    return text if text.isascii() else _ANY.sub("", text)


def first_invisible(text: str) -> str:
    """Return the first character that shows nothing, as people write it (`U+200B`); empty if there is none."""
    found = None if text.isascii() else _ANY.search(text)
    return f"U+{ord(found[0]):04X}" if found else ""


def seen(text: str) -> bool:
    """Return whether a plain text shows anything."""
    return _SHOWN.search(text) is not None
