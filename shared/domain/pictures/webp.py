"""WebP files. Sources: RFC 9649, sections 2 and 3; RFC 6386, section 9.1, for the header of a VP8 frame."""

from typing import Final

from shared.domain.pictures.parts import CleanPicture, NoPicture, PictureBytes, sized

KEPT: Final = frozenset({b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
"""Chunks that change what is seen. EXIF, XMP and unknown ones are left out."""
METADATA: Final = 0x0C
"""The flags of VP8X that EXIF and XMP are there."""
EXTENDED: Final = 10
FRAME: Final = 16
"""Bytes of a frame of an animation before its picture."""
KEY_FRAME: Final = b"\x9d\x01\x2a"
LOSSLESS: Final = 0x2F
Size = tuple[int, int]


def cleaned(data: bytes) -> CleanPicture:
    """Return the kept part of a WebP file. Raises NoPicture or IndexError."""
    at = PictureBytes(data)
    at.take(4)
    at = PictureBytes(at.take(at.number(4, little=True)))
    if at.take(4) != b"WEBP":
        raise NoPicture("It is no WebP file.")
    canvas: Size | None = None
    shown: list[Size] = []
    kept = []
    while at.left:
        kind, body = _chunk(at)
        if kind == b"VP8X":
            if canvas or shown:
                raise NoPicture("Its header is not where it belongs.")
            canvas, body = _canvas(body)
        shown += _sizes(kind, body, canvas)
        if kind in KEPT:
            kept.append(_written(kind, body))
    whole = b"WEBP" + b"".join(kept)
    return CleanPicture(*_size(canvas, shown), b"RIFF" + len(whole).to_bytes(4, "little") + whole)


def _canvas(body: bytes) -> tuple[Size, bytes]:
    """Return the size that an extended header says, and the header without the flags of metadata."""
    if len(body) != EXTENDED:
        raise NoPicture("Its header is not one of a WebP file.")
    size = sized(1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little"))
    return size, bytes((body[0] & ~METADATA,)) + body[1:]


def _size(canvas: Size | None, shown: list[Size]) -> Size:
    """Return the size of the picture, in which all that is shown lies."""
    if not shown:
        raise NoPicture("It has no pixels.")
    size = canvas or shown[0]
    if any(x[0] > size[0] or x[1] > size[1] for x in shown):
        raise NoPicture("A frame of it is larger than the picture.")
    return size


def _chunk(at: PictureBytes) -> tuple[bytes, bytes]:
    kind, length = at.take(4), at.number(4, little=True)
    body = at.take(length)
    if length % 2:
        at.take(1)
    return kind, body


def _written(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(4, "little") + body + bytes(len(body) % 2)


def _sizes(kind: bytes, body: bytes, canvas: Size | None) -> list[Size]:
    """Return the sizes of the pictures in a chunk: none, one, or of a frame where it ends in the canvas."""
    if kind == b"VP8 ":
        return [_lossy(body)]
    if kind == b"VP8L":
        return [_lossless(body)]
    if kind != b"ANMF":
        return []
    head = PictureBytes(body)
    x, y = 2 * head.number(3, little=True), 2 * head.number(3, little=True)
    head.take(FRAME - 6)
    found: list[Size] = []
    while head.left:
        inner, data = _chunk(head)
        if inner not in (b"VP8 ", b"VP8L", b"ALPH"):
            raise NoPicture("A frame of it has a part that is not known.")
        found += [(x + width, y + height) for width, height in _sizes(inner, data, canvas)]
    if canvas is None or len(found) != 1:
        raise NoPicture("A frame of it is not one of a WebP file.")
    return found


def _lossy(body: bytes) -> Size:
    if body[3:6] != KEY_FRAME:
        raise NoPicture("Its pixels do not begin as they should.")
    at = PictureBytes(body[6:])
    return sized(at.number(2, little=True) & 0x3FFF, at.number(2, little=True) & 0x3FFF)


def _lossless(body: bytes) -> Size:
    at = PictureBytes(body)
    if at.number(1) != LOSSLESS:
        raise NoPicture("Its pixels do not begin as they should.")
    bits = at.number(4, little=True)
    return sized(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
