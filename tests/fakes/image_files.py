"""Small pictures that are made of their parts, so that tests can change one of them."""

import struct
import zlib


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG file, with its checksum."""
    return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)


def png(width: int = 2, height: int = 3, *more: bytes, colour: bytes = b"\x20\x80\x60") -> bytes:
    """Return a PNG file of one colour. `more`: chunks behind its header."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = png_chunk(b"IDAT", zlib.compress((b"\x00" + colour * width) * height, 9))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + pixels + png_chunk(b"IEND", b"")


def segment(marker: int, body: bytes) -> bytes:
    """Return a segment of a JPEG file."""
    return bytes((0xFF, marker)) + (len(body) + 2).to_bytes(2) + body


def jpeg(width: int = 2, height: int = 3, *more: bytes, frame: int = 0xC0) -> bytes:
    """Return the parts of a grey JPEG file, whose coded pixels have a restart and a stuffed byte.

    Args:
        more: segments behind the first.
        frame: the marker of its frame.
    """
    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")
        + b"".join(more)
        + segment(0xDB, b"\x00" + b"\x01" * 64)
        + segment(frame, struct.pack(">BHHBBBB", 8, height, width, 1, 1, 0x11, 0))
        + segment(0xC4, b"\x00\x01" + bytes(15) + b"\x00")
        + segment(0xC4, b"\x10\x01" + bytes(15) + b"\x00")
        + segment(0xDA, b"\x01\x01\x00\x00\x3f\x00")
        + b"\x3f\xff\x00\xff\xd0\x3f"
        + b"\xff\xd9"
    )


def exif(orientation: int, *, little: bool = True) -> bytes:
    """Return a segment of EXIF with an orientation, and the name of a camera."""
    order = "<" if little else ">"
    fields = struct.pack(f"{order}HHI4s", 0x010F, 2, 4, b"Cam\x00")
    fields += struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0)
    head = (b"II*\x00" if little else b"MM\x00*") + struct.pack(f"{order}IH", 8, 2)
    return segment(0xE1, b"Exif\x00\x00" + head + fields + bytes(4))


def gif(width: int = 2, height: int = 3, *more: bytes, frame: tuple[int, int] | None = None) -> bytes:
    """Return a GIF file. `more`: blocks before its frame; `frame`: the size of that, if it is another."""
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    shown = struct.pack("<BHHHHB", 0x2C, 0, 0, *(frame or (width, height)), 0)
    return b"GIF89a" + screen + b"".join(more) + shown + b"\x02\x02\x4c\x01\x00" + b"\x3b"


def gif_extension(label: int, *blocks: bytes) -> bytes:
    """Return an extension of a GIF file."""
    return bytes((0x21, label)) + b"".join(bytes((len(x),)) + x for x in blocks) + b"\x00"


def webp_chunk(kind: bytes, body: bytes) -> bytes:
    """Return a chunk of a WebP file, with its padding."""
    return kind + len(body).to_bytes(4, "little") + body + bytes(len(body) % 2)


def lossless(width: int = 2, height: int = 3) -> bytes:
    """Return a chunk of pixels without loss."""
    return webp_chunk(b"VP8L", b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + b"\x88\x88\x08")


def lossy(width: int = 2, height: int = 3) -> bytes:
    """Return a chunk of pixels with loss."""
    return webp_chunk(b"VP8 ", b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\x00")


def extended(width: int = 2, height: int = 3, flags: int = 0) -> bytes:
    """Return the chunk that begins an extended WebP file."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp_chunk(b"VP8X", bytes((flags, 0, 0, 0)) + size)


def webp(*chunks: bytes) -> bytes:
    """Return a WebP file of chunks; without any, of two by three pixels."""
    body = b"WEBP" + b"".join(chunks or (lossless(),))
    return b"RIFF" + len(body).to_bytes(4, "little") + body
