"""The results of reading an uploaded list, step by step, and the rules of reading. `ingest` reads the list."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Final

from shared.domain.jobs.chunks import MAX_RECIPIENTS
from shared.domain.lists import gaps
from shared.domain.lists.gaps import Gap
from shared.domain.lists.rows import Position
from shared.frozen import dataclass

MAX_VALUE: Final = 100
"""Characters of a bad value that are kept. A longer one is not: a part of an address could not be erased."""
DUPLICATE: Final = "duplicate"
"""The code of a recipient that an earlier row has."""


_LATER: Final[Mapping[str, Mapping[str, Any]]] = {
    "position": {"separator": ",", "blanks": 0},
    "options": {"column": "", "strict": False, "zones": False},
}
"""Fields that earlier versions do not know, with their defaults: stored apart, so that those versions read the rest."""
_HEADING: Final = {
    "row": ("position", "header_row"),
    "named": ("position", "named"),
    "asked": ("options", "header_row"),
}
"""Names in `heading` of a stored checkpoint → part and field. Earlier versions would refuse these fields in `more`."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a list is read; the same for all of it.

    Attributes:
        channel: `email`, `sms` or `voice`.
        region: ISO 3166 code of the country whose numbers need no country code.
        drop_duplicates: leave out recipients that an earlier row has, instead of only reporting them.
        size: recipients of a chunk (`chunks.chunk_size`).
        column: name of the column that holds the recipients; empty: `recipient`, or a name that the channel knows.
        strict: the first invalid row makes the file one that cannot be used.
        zones: each chunk holds recipients of one zone.
        header_row: the row with the names of columns, as a spreadsheet numbers it; 0: it is found out.
    """

    channel: str
    region: str = ""
    drop_duplicates: bool = False
    size: int = MAX_RECIPIENTS
    column: str = ""
    strict: bool = False
    zones: bool = False
    header_row: int = 0


@dataclass(frozen=True, slots=True)
class ListRules:
    """How an upload asks for its list to be read.

    Attributes:
        region: ISO 3166 code of the country whose numbers need no country code.
        drop_duplicates: as in `Options`, and so are `column`, `strict` and `header_row`.
        sha256: of the file, hex, as its client says; empty if it says nothing. Only finds the same file again.
        sheet: of a workbook, by its name; empty for the first one that a user sees.
        keep_hidden: of a workbook: also send to rows that its user does not see.
        encoding: of a CSV file (`encodings.ENCODINGS`). Empty: UTF-8, and a row that is not makes the file useless.
    """

    region: str = ""
    drop_duplicates: bool = False
    column: str = ""
    strict: bool = False
    sha256: str = ""
    sheet: str = ""
    encoding: str = ""
    keep_hidden: bool = False
    header_row: int = 0


@dataclass(frozen=True, slots=True)
class ListCounts:
    """Of the rows so far: accepted + invalid + (duplicates, if they are dropped) = rows."""

    rows: int = 0
    accepted: int = 0
    invalid: int = 0
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The whole state of an ingest at the end of a chunk, without its marks: a few hundred bytes and the header.

    Attributes:
        position: where reading continues.
        chunk: number of the next chunk.
        marks: how many marks of recipients (`seen.marks_of`) belong to the rows before it.
        options: as the ingest was begun with.
        gaps: values that the rows before it lack; None: an earlier version, which does not count them, has read some.
        zones: those of the chunks so far, each as of `Chunk.zone`, sorted.
    """

    position: Position
    chunk: int
    counts: ListCounts
    marks: int
    options: Options
    gaps: tuple[Gap, ...] | None = ()
    zones: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        out = asdict(self) | {"position": asdict(self.position) | {"header": list(self.position.header)}}
        heading = {name: out[part].pop(field) for name, (part, field) in _HEADING.items()}
        later = {(part, name): out[part].pop(name) for part, names in _LATER.items() for name in names}
        del out["gaps"], out["zones"]
        if self.gaps is not None:
            out["gaps"] = gaps.document_of(self.gaps)
        more = {f"{part}.{name}": value for (part, name), value in later.items() if value != _LATER[part][name]}
        read = {"heading": heading} if any(heading.values()) else {}
        return out | ({"more": more} if more else {}) | ({"zones": list(self.zones)} if self.zones else {}) | read

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Checkpoint":
        """Read what `document` returned, also after a way through JSON.

        Raises:
            KeyError, TypeError: it is something else.
        """
        parts: dict[str, dict[str, Any]] = {part: {} for part in _LATER}
        for name, value in document.get("more", {}).items():
            part, _, field = name.partition(".")
            parts[part][field] = value
        for name, value in document.get("heading", {}).items():
            part, field = _HEADING[name]
            parts[part][field] = value
        at = document["position"]
        return cls(
            Position(**(at | {"header": tuple(at["header"])} | parts["position"])),
            document["chunk"],
            ListCounts(**document["counts"]),
            document["marks"],
            Options(**(document["options"] | parts["options"])),
            gaps.read(document["gaps"]) if "gaps" in document else None,
            tuple(document.get("zones", ())),
        )


@dataclass(frozen=True, slots=True)
class BadRow:
    """The report of a row.

    Attributes:
        row: its number, 1 for the first below the header.
        code: stable.
        detail: a sentence, which quotes nothing of the row.
        sheet_row: its number in a spreadsheet; 0 if an earlier version has read it.
        value: the cell of the recipient; empty if the row has none, or it is longer than `MAX_VALUE`.
    """

    row: int
    code: str
    detail: str
    sheet_row: int = 0
    value: str = ""


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk ready to be stored. `data` as `chunks.unpack` reads it; `skipped`: indices not to be sent to.

    `zone` and `rows`: as of `Chunk`. `keys`: its normalised recipients, in order; empty: no search is to find them.
    """

    number: int
    size: int
    data: bytes
    skipped: tuple[int, ...] = ()
    zone: str = ""
    rows: bytes = b""
    keys: tuple[str, ...] = field(default=(), compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the data, hex."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class UploadStep:
    """The results of a block: store the chunks, append problems and marks, then save the checkpoint.

    Until a chunk is full, its rows bring nothing. `marks`: 8 bytes each, those before `checkpoint.marks`.
    """

    chunks: tuple[PackedChunk, ...]
    problems: tuple[BadRow, ...]
    marks: bytes
    checkpoint: Checkpoint
