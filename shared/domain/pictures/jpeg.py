"""JPEG files. Sources: ITU-T T.81, annex B; Exif 2.32 (CIPA DC-008), section 4.

Of EXIF only the orientation is kept, or a phone's picture would lie on its side.
"""

import re
from typing import Final

from shared.domain.pictures.parts import CleanPicture, NoPicture, PictureBytes, sized

FRAMES: Final = frozenset({0xC0, 0xC1, 0xC2})
"""Baseline, extended and progressive: the ones that browsers show."""
OTHER_FRAMES: Final = frozenset({0xC3, *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)})
RESTARTS: Final = range(0xD0, 0xD8)
END: Final = 0xD9
SCAN: Final = 0xDA
EXIF: Final = 0xE1
COMMENT: Final = 0xFE
APPLICATION: Final = range(0xE0, 0xF0)
KEPT: Final = {0xE0: b"JFIF\x00", 0xE2: b"ICC_PROFILE\x00", 0xEE: b"Adobe"}
"""Application segments that change what is seen, by what they begin with: the density, the colours, their transform."""
UPRIGHT: Final = 1
ORIENTATIONS: Final = range(1, 9)
ORIENTATION: Final = b"\x12\x01\x03\x00\x01\x00\x00\x00"
"""The field of EXIF, little-endian: tag 0x0112, one short number."""
_TAG: Final = 0x0112
_EXIF: Final = b"Exif\x00\x00"
_MAX_FIELDS: Final = 1000
_MARKER: Final = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""Ends coded pixels: a marker that is no restart."""


def cleaned(data: bytes) -> CleanPicture:
    """Return the kept part of a JPEG file. Raises NoPicture or IndexError."""
    at = PictureBytes(data)
    kept = [at.take(2)]
    sizes: list[tuple[int, int]] = []
    turned, scans = UPRIGHT, 0
    while (marker := _marker(at)) != END:
        body = at.take(max(0, at.number(2) - 2))
        if marker in FRAMES:
            sizes.append(sized(int.from_bytes(body[3:5]), int.from_bytes(body[1:3])))
        elif marker == EXIF:
            turned = _orientation(body) or turned
        if _stays(marker, body):
            kept.append(_segment(marker, body))
        if marker == SCAN:
            if len(sizes) != 1:
                raise NoPicture("It has not one header.")
            kept.append(at.until(_MARKER))
            scans += 1
    if len(sizes) != 1 or not scans:
        raise NoPicture("It has no pixels, or not one header.")
    kept.insert(1, _exif(turned))
    return CleanPicture(*sizes[0], b"".join(kept) + bytes((0xFF, END)))


def _exif(turned: int) -> bytes:
    """Return a segment that says how the picture is turned; empty if it is upright."""
    if turned == UPRIGHT:
        return b""
    tiff = b"II*\x00\x08\x00\x00\x00\x01\x00" + ORIENTATION + turned.to_bytes(4, "little") + bytes(4)
    return _segment(EXIF, _EXIF + tiff)


def _marker(at: PictureBytes) -> int:
    """Return the next marker; any number of 0xFF may be before it."""
    if at.number(1) != 0xFF:  # noqa: PLR2004 - what each marker begins with
        raise NoPicture("It is damaged: something is between its parts.")
    found = 0xFF
    while found == 0xFF:  # noqa: PLR2004
        found = at.number(1)
    if found in (0x00, 0x01, 0xD8, *RESTARTS):
        raise NoPicture("It is damaged: a part is where none belongs.")
    return found


def _stays(marker: int, body: bytes) -> bool:
    """Tell whether a segment is kept. Raises NoPicture for one of a JPEG file that browsers do not show."""
    if marker in OTHER_FRAMES:
        raise NoPicture("It is a kind of JPEG file that mail programs do not show.")
    if marker in APPLICATION:
        return body.startswith(KEPT.get(marker, _EXIF)) and marker != EXIF
    return marker != COMMENT


def _segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(body) + 2).to_bytes(2) + body


def _orientation(body: bytes) -> int:
    """Return how EXIF says that the picture is turned; 0 if it does not say so."""
    if not body.startswith(_EXIF):
        return 0
    tiff = body[len(_EXIF) :]
    order = {b"II*\x00": "little", b"MM\x00*": "big"}.get(tiff[:4])
    if order is None:
        return 0
    little = order == "little"
    at = PictureBytes(tiff)
    at.take(4)
    try:
        at.at = at.number(4, little=little)
        for _ in range(min(at.number(2, little=little), _MAX_FIELDS)):
            field = PictureBytes(at.take(12))
            tag = field.number(2, little=little)
            field.take(6)
            if tag == _TAG:
                found = field.number(2, little=little)
                return found if found in ORIENTATIONS else 0
    except IndexError:
        return 0
    return 0
