"""PNG files. Source: W3C, Portable Network Graphics (third edition), sections 5 and 11."""

import zlib
from typing import Final

from shared.domain.pictures.parts import CleanPicture, NoPicture, PictureBytes, sized
from shared.domain.pictures.picture import BEGINNINGS, PictureKind

KEPT: Final = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS"),
        *(b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"sBIT", b"bKGD", b"pHYs"),
        *(b"acTL", b"fcTL", b"fdAT"),
    }
)
"""Chunks that change what is seen. Texts, times and EXIF are left out."""
HEADER: Final = 13
FRAME: Final = 26


def cleaned(data: bytes) -> CleanPicture:
    """Return the kept part of a PNG file. Raises NoPicture or IndexError."""
    at = PictureBytes(data)
    kept = [at.take(len(BEGINNINGS[PictureKind.PNG]))]
    size: tuple[int, int] | None = None
    kind, shown = b"", False
    while kind != b"IEND":
        kind, body, raw = _chunk(at)
        if size is None:
            size = _size(kind, body)
        elif kind == b"IHDR":
            raise NoPicture("It has more than one header.")
        if _stays(kind, body, size):
            kept.append(raw)
        shown = shown or kind == b"IDAT"
    if size is None or not shown:
        raise NoPicture("It has no pixels.")
    return CleanPicture(*size, b"".join(kept))


def _chunk(at: PictureBytes) -> tuple[bytes, bytes, bytes]:
    """Return a chunk's kind, its body, and all its bytes."""
    length, kind = at.take(4), at.take(4)
    body, check = at.take(int.from_bytes(length)), at.take(4)
    if zlib.crc32(kind + body) != int.from_bytes(check):
        raise NoPicture("It is damaged: a checksum is wrong.")
    return kind, body, length + kind + body + check


def _size(kind: bytes, body: bytes) -> tuple[int, int]:
    if kind != b"IHDR" or len(body) != HEADER:
        raise NoPicture("Its header is not where it belongs.")
    return sized(int.from_bytes(body[:4]), int.from_bytes(body[4:8]))


def _stays(kind: bytes, body: bytes, size: tuple[int, int]) -> bool:
    """Tell whether a chunk is kept. Raises NoPicture for one that browsers cannot show, or need."""
    if kind == b"fcTL" and not _within(body, size):
        raise NoPicture("A frame of it is larger than the picture.")
    if kind not in KEPT and kind[:1].isupper():
        raise NoPicture("It has a part that is not known, and that is needed to show it.")
    return kind in KEPT


def _within(frame: bytes, size: tuple[int, int]) -> bool:
    if len(frame) != FRAME:
        return False
    width, height, x, y = (int.from_bytes(frame[i : i + 4]) for i in range(4, 20, 4))
    return bool(width and height) and x + width <= size[0] and y + height <= size[1]
