"""GIF files. Source: CompuServe, Graphics Interchange Format version 89a."""

from typing import Final

from shared.domain.pictures.parts import CleanPicture, NoPicture, PictureBytes, sized

VERSIONS: Final = (b"GIF87a", b"GIF89a")
EXTENSION: Final = 0x21
FRAME: Final = 0x2C
TRAILER: Final = 0x3B
CONTROL: Final = 0xF9
"""An extension: the time and the transparency of a frame."""
APPLICATION: Final = 0xFF
LOOP: Final = (b"\x0bNETSCAPE2.0", b"\x0bANIMEXTS1.0")
"""The applications whose extension says how often an animation is shown. Those of others hold texts (XMP)."""
TABLE: Final = 0x80
"""The flag that a table of colours follows; the three lowest bits are its size."""


def cleaned(data: bytes) -> CleanPicture:
    """Return the kept part of a GIF file. Raises NoPicture or IndexError."""
    at = PictureBytes(data)
    kept = [at.take(6)]
    if kept[0] not in VERSIONS:
        raise NoPicture("It is no GIF file of a known version.")
    screen = at.take(7)
    size = sized(int.from_bytes(screen[:2], "little"), int.from_bytes(screen[2:4], "little"))
    kept += [screen, _table(at, screen[4])]
    shown = False
    while True:
        mark = at.number(1)
        if mark == TRAILER:
            break
        if mark == EXTENSION:
            kept.append(_extension(at))
        elif mark == FRAME:
            kept.append(_frame(at, size))
            shown = True
        else:
            raise NoPicture("It is damaged: something is between its parts.")
    if not shown:
        raise NoPicture("It has no pixels.")
    return CleanPicture(*size, b"".join(kept) + bytes((TRAILER,)))


def _frame(at: PictureBytes, size: tuple[int, int]) -> bytes:
    """Return a frame, which lies within the picture's size."""
    frame = at.take(9)
    x, y, width, height = (int.from_bytes(frame[i : i + 2], "little") for i in range(0, 8, 2))
    if not (width and height and x + width <= size[0] and y + height <= size[1]):
        raise NoPicture("A frame of it is larger than the picture.")
    return bytes((FRAME,)) + frame + _table(at, frame[8]) + at.take(1) + _blocks(at)


def _table(at: PictureBytes, flags: int) -> bytes:
    return at.take(3 * 2 ** ((flags & 7) + 1)) if flags & TABLE else b""


def _blocks(at: PictureBytes) -> bytes:
    """Return blocks up to the empty one that ends them."""
    found = []
    while True:
        length = at.number(1)
        found.append(bytes((length,)) + at.take(length))
        if not length:
            return b"".join(found)


def _extension(at: PictureBytes) -> bytes:
    """Return an extension, empty if it changes nothing that is seen."""
    label = at.number(1)
    blocks = _blocks(at)
    stays = label == CONTROL or (label == APPLICATION and blocks.startswith(LOOP))
    return bytes((EXTENSION, label)) + blocks if stays else b""
