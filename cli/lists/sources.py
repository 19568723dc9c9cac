"""Lists in files of this machine, as the API takes them: CSV in UTF-8.

The command recognises a file in another encoding and asks about it; it never reads one by a guess. Its copy in UTF-8 is
uploaded, and so is that of a workbook.
"""

import codecs
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cli.errors import Misused
from cli.lists.sheets import is_workbook, write_csv
from cli.output import tell
from cli.progress.transfer import measured
from shared.domain.lists.encodings import CODE_PAGES, kind_of, readings, sample_of

BLOCK: Final = 1024 * 1024
HEAD: Final = 4096
"""Bytes of a file that show whether it is UTF-16 without a mark."""
LONG: Final = 8
"""Bytes of two characters of UTF-32."""
MOST: Final = 0.3
"""Share of NUL bytes in every second place by which text is UTF-16."""
AROUND: Final = 12
"""Characters shown on each side of the first that is not ASCII."""
SHOWN: Final = 3
"""Encodings that are shown beside the likeliest."""
UTF8: Final = "utf-8"
_MARKS: Final = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DAMAGED: Final = re.compile("[\udc80-\udcff]")
"""Bytes that UTF-8 does not have, as Python decodes them by `surrogateescape`."""
_LETTER: Final = re.compile("[^\x00-\x7f\udc80-\udcff]")
_LINE_END: Final = re.compile("[\r\n]")
_CONTROLS: Final = bytes(i for i in range(32) if i not in b"\t\n\r\f\v\x1a")
"""Bytes that no text has."""

Ask = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Guess:
    """What a file looks like.

    Attributes:
        encoding: a codec's name; empty if it is no text that is recognised.
        example: some of its text in this encoding, with a letter that is not ASCII; or empty.
        others: likewise by other encodings that it may have.
        damaged: bytes that UTF-8 does not have, of a text that is UTF-8 otherwise.
        line: the line with the first of them, from 1.
    """

    encoding: str
    example: str = ""
    damaged: int = 0
    line: int = 0
    others: tuple[tuple[str, str], ...] = ()


@contextmanager
def as_csv(file: Path, *, encoding: str, sheet: str, ask: Ask | None, keep_hidden: bool = False) -> Iterator[Path]:
    """Give a list as CSV in UTF-8: the file itself, or a copy that is removed afterwards.

    Args:
        file: CSV in any encoding, or a workbook.
        encoding: of a CSV file, as `as_utf8` takes it.
        sheet: of a workbook; empty for the first one.
        ask: returns the answer to a question; None if there is no one to ask.
        keep_hidden: of a workbook: also take rows that its user does not see.

    Raises:
        Misused: the file cannot be read.
    """
    measured(file)
    if not is_workbook(file):
        if sheet:
            raise Misused(f"{file} is no workbook (.xlsx, .ods): leave out --sheet")
        with as_utf8(file, encoding, ask) as path:
            yield path
        return
    with TemporaryDirectory(prefix="posthaste-") as folder:
        copy = Path(folder) / f"{file.stem}.csv"
        write_csv(file, sheet, copy, tell, keep_hidden=keep_hidden)
        yield copy


@contextmanager
def as_utf8(file: Path, encoding: str, ask: Ask | None) -> Iterator[Path]:
    """Give a file in UTF-8 with what another has in its encoding; the file itself if it is UTF-8.

    Args:
        encoding: of the file; empty: it is found out, and asked about unless it is UTF-8.
        ask: returns the answer to a question; None if there is no one to ask.

    Raises:
        Misused: the file cannot be read, or its encoding is not known for sure.
    """
    chosen = _codec(encoding) if encoding else _asked(file, ask)
    if chosen == UTF8:
        yield file
        return
    with TemporaryDirectory(prefix="posthaste-") as folder:
        copy = Path(folder) / file.name
        _copy(file, copy, chosen)
        yield copy


def guess(file: Path) -> Guess:
    """Return what encoding a file looks like; all of it is read, unless its beginning shows it."""
    with file.open("rb") as source:
        head = source.read(HEAD)
        marked = next((name for mark, name in _MARKS if head.startswith(mark)), "") or _unmarked(head)
        if marked:
            return Guess(marked, _example(head[: len(head) // 4 * 4].decode(marked, errors="replace")))
        if kind_of(head):
            return Guess(UTF8)  # no text: reading its header says what it is
        source.seek(0)
        return _guess_bytes(iter(lambda: source.read(BLOCK), b""))


def _unmarked(head: bytes) -> str:
    """Return which UTF-16 or UTF-32 text without a mark is: Latin letters have NUL in one or three of their bytes."""
    places = [any(head[i::4]) for i in range(4)]
    if len(head) >= LONG and not all(places):
        if not any(places[2:]):
            return "utf-32-le"
        if not any(places[:2]):
            return "utf-32-be"
    half = max(1, len(head) // 2)
    first, second = head[::2].count(0), head[1::2].count(0)
    if max(first, second) <= half * MOST:
        return ""
    return "utf-16-le" if second > first else "utf-16-be"


def _guess_bytes(blocks: Iterator[bytes]) -> Guess:
    utf8, left, sample = _Utf8(), list(CODE_PAGES), b""
    for block in chain(blocks, (b"",)):
        utf8.take(block)
        left = [] if _has_controls(block) else [name for name in left if _may_be(block, name)]
        sample = sample or sample_of(block)
    if utf8.letters > utf8.damaged or not utf8.damaged:
        return Guess(UTF8, damaged=utf8.damaged, line=utf8.line)
    return _likely(sample, left)


def _likely(sample: bytes, left: Collection[str]) -> Guess:
    """Return the likely one of the code pages that a text may be in, and the others. `sample`: lines beyond ASCII."""
    found = [(name, _example(text)) for name, text in readings(sample).items() if name in left]
    return Guess(*found[0], others=tuple(found[1:])) if found else Guess("")


class _Utf8:
    """Counts what of a text is UTF-8.

    Attributes:
        letters: characters of several bytes.
        damaged: bytes that are part of no character.
        line: the line with the first of them, from 1; that of the end of the text if there is none.
    """

    def __init__(self) -> None:
        self.letters = self.damaged = 0
        self.line = 1
        self._decoder = codecs.getincrementaldecoder(UTF8)("surrogateescape")

    def take(self, block: bytes) -> None:
        """Take the next bytes of the text, none at its end."""
        text = self._decoder.decode(block, final=not block)
        found = 0 if text.isascii() else len(_DAMAGED.findall(text))
        if not self.damaged:
            first = _DAMAGED.search(text) if found else None
            self.line += text.count("\n", 0, first.start() if first else len(text))
        self.damaged += found
        self.letters += len(_LETTER.findall(text)) if not text.isascii() else 0


def _has_controls(block: bytes) -> bool:
    return len(block.translate(None, _CONTROLS)) < len(block)


def _may_be(block: bytes, encoding: str) -> bool:
    try:
        if not block.isascii():
            block.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _example(text: str) -> str:
    """Return what is around the first letter that is not ASCII, within its line."""
    at = next((i for i, c in enumerate(text) if not c.isascii() and c.isprintable()), -1)
    if at < 0:
        return ""
    before, after = text[max(0, at - AROUND) : at], text[at : at + AROUND]
    return (_LINE_END.split(before)[-1] + _LINE_END.split(after)[0]).strip()


def _asked(file: Path, ask: Ask | None) -> str:
    found = guess(file)
    if found.damaged:
        amount = "1 damaged byte" if found.damaged == 1 else f"{found.damaged:,} damaged bytes, the first"
        raise Misused(
            f"{file} is UTF-8 with {amount} in line {found.line:,}\n"
            "repair it, or have damaged rows left out and reported: --encoding utf-8. If it is none: --encoding NAME"
        )
    if found.encoding == UTF8:
        return UTF8
    if not found.encoding:
        raise Misused(f"{file} is not text in UTF-8\nsave it as CSV in UTF-8, or say what it is: --encoding NAME")
    name = found.encoding.upper() if found.encoding.startswith("utf") else found.encoding.capitalize()
    if ask is None:
        advice = f"to read it so, add --encoding {found.encoding}{_others(found)}"
        raise Misused(f"{file} is not UTF-8; it looks like {name}\n{advice}")
    for other, text in found.others[:SHOWN]:
        tell(f"{other.capitalize()} would read it as “{text}”")
    example = f", for example “{found.example}”" if found.example else ""
    if not ask(f"{file} is not UTF-8. It looks like {name}{example}. Read it so?"):
        advice = f"save the list as CSV in UTF-8, or say what it is with --encoding NAME{_others(found)}"
        raise Misused(f"nothing was uploaded: {advice}")
    return found.encoding


def _others(found: Guess) -> str:
    return "".join(f"\n--encoding {name} reads it as “{example}”" for name, example in found.others[:SHOWN])


def names_utf8(encoding: str) -> bool:
    """Return whether an encoding that was typed is UTF-8.

    Raises:
        Misused: there is no such encoding.
    """
    return bool(encoding) and _codec(encoding) == UTF8


def _codec(name: str) -> str:
    try:
        found = codecs.lookup(name).name
        "".encode(found)
    except (LookupError, UnicodeError):  # UnicodeError: `undefined`, an encoding that encodes nothing
        raise Misused(f"there is no encoding {name!r}; examples: utf-8, utf-16, windows-1252, iso-8859-2") from None
    return found


def _copy(file: Path, copy: Path, encoding: str) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as source, copy.open("wb") as sink:
            while block := source.read(BLOCK):
                sink.write(decoder.decode(block).encode())
            sink.write(decoder.decode(b"", final=True).encode())
    except UnicodeError:
        raise Misused(f"{file} cannot be read as {encoding}\nsay what it is: --encoding NAME") from None
    except OSError as error:
        raise Misused(f"cannot copy {file}: {error.strerror}") from None
