"""Encodings that a list may have, if its owner names one: the list is then made UTF-8 before it is read."""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Final

UTF8: Final = "utf-8"
CODE_PAGES: Final = (
    *("windows-1252", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1257"),
    *("iso-8859-2", "iso-8859-15", "macintosh"),
)
"""Encodings with a byte for each letter, the most usual first. `campaign.js` has the same, and the same rules."""
TRANSCODED: Final = ("utf-16", *CODE_PAGES)
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


_LETTER: Final = r"[^\W\d_]"
_SIGN: Final = (
    "[\u00a2-\u00a9\u00ac\u00ae-\u00b4\u00b6\u00b8\u00b9\u00bc-\u00be"
    "\u00d7\u00f7\u02c6-\u02dd\u2020\u2021\u2030\u2202-\u2265\u25ca]"
)
_ODD: Final = re.compile(
    "[\x80-\x9f]"
    f"|{_SIGN}(?={_LETTER})|(?<={_LETTER}){_SIGN}"
    f"|(?<={_LETTER})\u00bf"
    "|[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z]"
    "|[\u00c0-\u024f]{4,}"
)
"""Signs of a wrong decoding: controls, signs beside letters, words of two scripts, and words of accents only."""
MAX_LINES: Final = 200
"""Lines of a block that are checked."""


def sample_of(block: bytes) -> bytes:
    """Return lines of a block that have a byte beyond ASCII."""
    found = () if block.isascii() else (line for line in block.splitlines() if not line.isascii())
    return b"\n".join(islice(found, MAX_LINES))


def readings(sample: bytes) -> dict[str, str]:
    """Return a text as each code page reads it, the likeliest first; those that read it alike come once.

    Args:
        sample: bytes with some beyond ASCII.
    """
    found: dict[str, str] = {}
    for name in CODE_PAGES:
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if text not in found.values():
            found[name] = text
    return dict(sorted(found.items(), key=lambda x: _odd(x[1])))


def _odd(text: str) -> int:
    capitals = sum(b.isupper() and not b.isascii() and a.islower() for a, b in pairwise(text))
    return capitals + len(_ODD.findall(text))
