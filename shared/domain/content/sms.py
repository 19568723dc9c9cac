"""Short messages: how a text is encoded and in how many segments it is sent, charged and paced.

Sources:
- 3GPP TS 23.038 6.2.1: the GSM 7 bit default alphabet and its extension table.
- 3GPP TS 23.040 9.2.3.24.1: concatenation. Six octets of each segment's 140 are a header, which leaves 153 septets or
  67 UTF-16 code units.
- Unicode UAX 15: canonical composition.
- Unicode UAX 9: the marks that only turn the direction of letters.

National language tables are not used: providers do not offer them.
"""

import re
import unicodedata
from enum import StrEnum
from typing import Final

from shared.frozen import dataclass

_BASIC: Final = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION: Final = "\f^{}\\[~]|€"
"""Sent as an escape and a character: two septets."""
_GSM_7: Final = re.compile(f"[{re.escape(_BASIC + _EXTENSION)}]*+")
_EXTENDED: Final = re.compile(f"[{re.escape(_EXTENSION)}]")
_NOT_GSM_7: Final = re.compile(f"[^{re.escape(_BASIC + _EXTENSION)}]")
_PAIR: Final = re.compile("[\U00010000-\U0010ffff]")
_UNSEEN: Final = re.compile("[\u00ad\u200b\u200e\u200f\u202a\u202c\u2060\u2066\u2068\u2069\ufeff]+")
"""Marks without a look of their own: for breaks, for the direction of letters, and the mark of a file's beginning."""
_USES_MARKS: Final = re.compile(
    "[\u0590-\u08ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u202b\u202d\u202e\u2067"
    "\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Letters that such marks can move: those from right to left, and marks that turn letters. Also scripts without spaces
between words (Thai, Lao, Burmese, Khmer), which break where a mark is."""
_COMPOSABLE: Final = re.compile("[^\uf900-\ufaff\U0002f800-\U0002fa1f]+")
"""All but compatibility ideographs: composition would replace them by others, which names are not written with."""
MAX_HINTS: Final = 20
"""Characters named in a preview."""


class Encoding(StrEnum):
    """How a text travels."""

    GSM_7 = "gsm7"
    UCS_2 = "ucs2"
    """UTF-16 code units: a character beyond the Basic Multilingual Plane, such as an emoji, is two."""


_ALONE: Final = {Encoding.GSM_7: 160, Encoding.UCS_2: 70}
_JOINED: Final = {Encoding.GSM_7: 153, Encoding.UCS_2: 67}
"""Units of a segment that is one of several."""

_PLAIN: Final = {
    "\t": " ",
    "\u00a0": " ",
    "\u202f": " ",
    "\u200b": "",
    "`": "'",
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
    "\u00ab": '"',
    "\u00bb": '"',
    "\u2010": "-",
    "\u2011": "-",
    "\u2013": "-",
    "\u2014": "-",
    "\u2022": "-",
    "\u2026": "...",
}
"""Characters that typing aids insert → their equivalents in GSM 7."""


@dataclass(frozen=True, slots=True)
class Segments:
    """The cost of a text message.

    Attributes:
        encoding: GSM 7 unless a character forces UCS-2.
        characters: Unicode characters.
        units: septets or UTF-16 code units.
        count: segments, at least 1: an empty message is also a call.
    """

    encoding: Encoding
    characters: int
    units: int
    count: int


@dataclass(frozen=True, slots=True)
class Forcing:
    """A character that forces UCS-2.

    Attributes:
        character: one Unicode character.
        offset: Unicode characters before its first appearance.
        instead: text in GSM 7 that says the same (it may be empty), None if there is none.
    """

    character: str
    offset: int
    instead: str | None


def written(text: str) -> str:
    """Return a text as it is sent: letters composed with their accents, and no marks that show nothing.

    Texts that look the same cost the same: `e` with a separate accent would force UCS-2, and `é` does not. Joiners
    stay: emoji and Persian are written with them. In a text of letters that the marks can move, all marks stay.
    """
    if text.isascii() or _GSM_7.fullmatch(text):
        return text
    seen = text if _USES_MARKS.search(text) else _UNSEEN.sub("", text)
    return _COMPOSABLE.sub(lambda run: unicodedata.normalize("NFC", run[0]), seen)


def segments(text: str) -> Segments:
    """Return a rendered text's encoding and segments.

    The two units of one character are always in the same segment, since half an escape or half a surrogate pair is no
    character. A segment then ends a unit early.

    Args:
        text: of any length; lone surrogates count as one unit each.
    """
    characters = len(text)
    if _GSM_7.fullmatch(text):
        encoding, double = Encoding.GSM_7, _EXTENDED
    else:
        encoding, double = Encoding.UCS_2, _PAIR
    doubles = [m.start() for m in double.finditer(text)]
    units = characters + len(doubles)
    if units <= _ALONE[encoding]:
        return Segments(encoding, characters, units, 1)
    return Segments(encoding, characters, units, _count(units, doubles, _JOINED[encoding]))


def _count(units: int, doubles: list[int], size: int) -> int:
    """Count segments of `size` units; `doubles`: indices of the characters that take two."""
    lost = 0
    for n, index in enumerate(doubles):
        # Units before it: each earlier double adds one, each segment that ended early leaves one empty.
        if (index + n + lost) % size == size - 1:
            lost += 1
    return -(-(units + lost) // size)


def forcing(text: str) -> tuple[Forcing, ...]:
    """Return which characters force a text into UCS-2, each once, by first appearance, at most `MAX_HINTS`."""
    found: dict[str, Forcing] = {}
    for m in _NOT_GSM_7.finditer(text):
        if m[0] not in found:
            found[m[0]] = Forcing(m[0], m.start(), _PLAIN.get(m[0]))
            if len(found) == MAX_HINTS:
                break
    return tuple(found.values())
