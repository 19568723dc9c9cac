"""Reads a picture's structure, and keeps what shows it: no place, time, camera or text, and nothing behind its end.

No pixel is decoded, so no file can take more memory or time than its length. The kept parts are written anew, one by
one. So a file that is also something else (a page, a script, an archive) is that no more.
"""

from collections.abc import Callable, Mapping
from typing import Final

from shared.domain.pictures import gif, jpeg, png, webp
from shared.domain.pictures.parts import CleanPicture, NoPicture
from shared.domain.pictures.picture import BEGINNINGS, MAX_BYTES, PictureKind

_READERS: Final[Mapping[PictureKind, Callable[[bytes], CleanPicture]]] = {
    PictureKind.PNG: png.cleaned,
    PictureKind.JPEG: jpeg.cleaned,
    PictureKind.GIF: gif.cleaned,
    PictureKind.WEBP: webp.cleaned,
}


def cleaned(data: bytes) -> tuple[PictureKind, CleanPicture]:
    """Return a picture's kind, by its bytes only, and its kept part.

    Raises:
        NoPicture: it is none of these, is damaged, or is too large.
    """
    if len(data) > MAX_BYTES:
        raise NoPicture(f"It has {len(data):,} bytes. A picture has at most {MAX_BYTES:,}.")
    for kind, beginning in BEGINNINGS.items():
        if data.startswith(beginning):
            try:
                return kind, _READERS[kind](data)
            except IndexError:
                raise NoPicture("It ends too early.") from None
    raise NoPicture("It is no PNG, JPEG, GIF or WebP file.")
