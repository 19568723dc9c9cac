"""Encodings that a list may have, if its owner names one: the list is then made UTF-8 before it is read."""

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

UTF8: Final = "utf-8"
TRANSCODED: Final = ("utf-16", "windows-1252")
"""Encodings that are made UTF-8."""
ENCODINGS: Final = (UTF8, *TRANSCODED)

_KINDS: Final = (
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"PK\x03\x04", "a spreadsheet or a ZIP file"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet"),
    (b"\x1f\x8b", "compressed by gzip"),
)
"""How files that are no CSV begin. Sources: Unicode 23.8, PKWARE APPNOTE 4.3.7, [MS-CFB] 2.2, RFC 1952 2.3.1."""


class EncodingError(Exception):
    """A file does not have the encoding that its owner named. `args[0]`: a sentence."""


def as_utf8(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield a file in UTF-8, block by block.

    Args:
        blocks: the file.
        encoding: one of `TRANSCODED`. UTF-16 without a mark is little-endian.

    Raises:
        EncodingError: the file has bytes that the encoding does not have.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    try:
        for block in blocks:
            yield decoder.decode(block).encode()
            done += len(block)
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise EncodingError(
            f"The file is not {encoding}: it has other bytes after its first {done:,}. Save it as CSV in UTF-8."
        ) from None


def kind_of(head: bytes) -> str:
    """Return what a file is that begins like no CSV; empty if it may be one."""
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "")
