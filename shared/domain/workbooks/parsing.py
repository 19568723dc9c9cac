"""Parts of a workbook, read as streams of XML elements. Neither a document type nor an endless token gets in."""

import zlib
from collections.abc import Iterator
from typing import Any, Final, Protocol
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from shared.domain.workbooks.bounds import WorkbookCode, WorkbookError, damaged

BLOCK: Final = 64 * 1024
MAX_TOKEN: Final = 512 * 1024
"""Bytes of a tag, which the parser holds until it ends."""


class Elements(Protocol):
    """Takes the elements of a part. Names are `namespace local`."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""

    def end(self, name: str) -> None:
        """End an element."""

    def text(self, text: str) -> None:
        """Take characters."""


def parsed(archive: ZipFile, part: str, elements: Elements) -> Iterator[None]:
    """Give a part's elements to what takes them; yield after each block.

    Raises:
        WorkbookError: the part is missing, or damaged, or declares a document type.
    """
    parser = _parser(elements)
    fed = 0
    try:
        with archive.open(part) as source:
            while block := source.read(BLOCK):
                parser.Parse(block, False)
                fed += len(block)
                if fed - parser.CurrentByteIndex > MAX_TOKEN:
                    raise damaged("one of its tags does not end")
                yield
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise damaged(expat.ErrorString(error.code)) from None
    except KeyError:
        raise damaged(f"it has no part {part}") from None
    except (
        BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
        OSError,
    ) as error:  # RuntimeError: encrypted
        raise damaged(type(error).__name__) from None
    yield


def read(archive: ZipFile, part: str, elements: Elements) -> None:
    """Give all of a part to what takes its elements.

    Raises:
        WorkbookError: as `parsed`.
    """
    for _ in parsed(archive, part, elements):
        pass


def _parser(elements: Elements) -> Any:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = elements.start
    parser.EndElementHandler = elements.end
    parser.CharacterDataHandler = elements.text
    parser.StartDoctypeDeclHandler = _refuse
    return parser


def _refuse(*_: Any) -> None:
    raise WorkbookError(
        WorkbookCode.UNREADABLE, "declares a document type, which no spreadsheet program does. Save it as CSV UTF-8"
    )
