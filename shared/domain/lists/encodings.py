"""Encodings that a list may have, if its owner names one: the list is then made UTF-8 before it is read."""

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

UTF8: Final = "utf-8"
TRANSCODED: Final = ("utf-16", "windows-1252")
"""Encodings that are made UTF-8."""
ENCODINGS: Final = (UTF8, *TRANSCODED)


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
