"""Pictures that a browser takes, made as small as they are without any loss."""

import struct
import zlib
from collections.abc import Iterator
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
"""https://www.w3.org/TR/png-3/#5PNG-file-signature"""


def size_of(png: bytes) -> tuple[int, int]:
    """Return the width and the height of a picture, in pixels."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def packed(png: bytes) -> bytes:
    """Return the same picture, compressed again as well as its format can; a browser prefers to be quick."""
    chunks = list(_chunks(png))
    drawn = b"".join(data for kind, data in chunks if kind == b"IDAT")
    best = zlib.compress(zlib.decompress(drawn), 9)
    if len(best) >= len(drawn):
        return png
    kept = [(kind, data) for kind, data in chunks if kind != b"IDAT"]
    return SIGNATURE + b"".join(_chunk(*x) for x in (*kept[:-1], (b"IDAT", best), kept[-1]))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give the kinds and the data of a picture's parts, of which IEND is the last."""
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
