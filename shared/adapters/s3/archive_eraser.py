"""Takes a person's rows out of archived files. These outlive the jobs that name the files with such rows.

So it reads each file in all its versions. It writes a file with such rows anew, and then deletes the version that it
read. Doing everything again changes nothing. Source: docs/adr/0049.

A file may be too large for one call, so each call ends at a place within it, from which the next one continues. The
copy is then an upload in parts, which no reader sees before it is complete.
"""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, field, replace
from typing import Any, Final, Self, cast

from shared.adapters.s3.multipart import S3Multipart
from shared.domain.archive import PREFIX
from shared.domain.erasure import erased_row
from shared.domain.exports import rows
from shared.frozen import dataclass

PART: Final = 8 * 1024 * 1024
"""Bytes of a part of a copy; S3 takes at least 5 MB and at most 10,000 of them."""


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """A place in the archive. Empty: its beginning.

    Attributes:
        name: of a file.
        version: of the file.
        size: of that, in bytes.
        at: the byte up to which it is read.
        found: rows of the person up to there.
        upload: the copy that is being made; empty: the file is only searched so far.
        etags: of the copy's parts.
    """

    name: str = ""
    version: str = ""
    size: int = 0
    at: int = 0
    found: int = 0
    upload: str = ""
    etags: Sequence[str] = ()

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read what `dumps` wrote; TypeError or ValueError on anything else."""
        return cls(**json.loads(text)) if text else cls()

    def dumps(self) -> str:
        """Return it as a text."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a file.

    Attributes:
        raw: its bytes, with the end of the line.
        left: the cells as they are to be, the same object if the row stays.
        end: the byte behind it.
    """

    raw: bytes
    cells: list[str]
    left: list[str]
    end: int

    @property
    def found(self) -> bool:
        return self.left is not self.cells

    @property
    def bytes_left(self) -> bytes:
        return rows([self.left]) if self.found else self.raw


def never() -> bool:
    """Return False: there is never enough."""
    return False


@dataclass(slots=True)
class Archived:
    """Takes rows out of archived files.

    Args:
        client: of S3.
        bucket: the deployment's, which may keep versions.
        names: the person, as addresses and numbers are written, in any case.

    Attributes:
        rows: how many were blanked; `files`: in how many.
        accounts: whose they are.
        kept: files that changed meanwhile.
    """

    client: Any
    bucket: str
    names: Collection[str]
    dry: bool = False
    rows: int = 0
    files: int = 0
    accounts: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)

    def erase(self, reached: Callable[[int], None], *, after: str = "", enough: Callable[[], bool] = never) -> str:
        """Read archived files, and blank the person's rows.

        Args:
            reached: told the bytes of each file read.
            after: where an earlier call ended; empty: the beginning.
            enough: asked at each row whether to end.

        Returns:
            The place to continue from, empty at the end.
        """
        place = ArchivePlace.loads(after)
        for x in self._versions(place):
            begun = x["VersionId"] == place.version
            here = place if begun else ArchivePlace(x["Key"], x["VersionId"], x["Size"])
            left = here if enough() and not begun else self._version(here, enough, latest=x["IsLatest"])
            if left is not None:
                return left.dumps()
            reached(x["Size"])
        return ""

    def _versions(self, place: ArchivePlace) -> Iterator[dict[str, Any]]:
        """Yield versions of files from a place on; all of its file if that version is no longer there."""
        if place.name:
            same = [x for x in self._listed(place.name) if x["Key"] == place.name]
            ids = [x["VersionId"] for x in same]
            yield from same[ids.index(place.version) if place.version in ids else 0 :]
        further = {"KeyMarker": place.name} if place.name else {}
        yield from (x for x in self._listed(PREFIX, **further) if x["Key"] > place.name)  # moto includes the marker

    def _listed(self, prefix: str, **further: str) -> Iterator[dict[str, Any]]:
        pages = self.client.get_paginator("list_object_versions").paginate
        for page in pages(Bucket=self.bucket, Prefix=prefix, **further):
            yield from page.get("Versions", ())

    def _version(self, here: ArchivePlace, enough: Callable[[], bool], *, latest: bool) -> ArchivePlace | None:
        """Search one version from a place on, and write it anew; return where it ended before the end."""
        if not here.upload:
            found, left = self._search(here, enough)
            if left is not None or not found:
                return left
            if latest:
                self.rows += found
                self.files += 1
                self.accounts.add(here.name.split("/")[1])
            if self.dry:
                return None
            if latest:
                here = replace(here, at=0, upload=self._parts.begin(here.name))
        if here.upload:
            here, whole = self._copy(here, enough)
            if not whole:
                return here
            if not self._complete(here):
                return None
        self.client.delete_object(Bucket=self.bucket, Key=here.name, VersionId=here.version)
        return None

    def _search(self, here: ArchivePlace, enough: Callable[[], bool]) -> tuple[int, ArchivePlace | None]:
        """Return how many rows of the person there are, or the place at which it was enough."""
        found = here.found
        for row in self._read(here):
            found += row.found
            if enough():
                return found, replace(here, at=row.end, found=found)
        return found, None

    def _copy(self, here: ArchivePlace, enough: Callable[[], bool]) -> tuple[ArchivePlace, bool]:
        """Put a version without the rows into parts; return how far that came, and whether it is all."""
        data = bytearray()
        for row in self._read(here):
            data += row.bytes_left
            if len(data) >= PART:
                here = self._put(replace(here, at=row.end), data)
                data.clear()
                if enough():
                    return here, False
        return self._put(here, data) if data else here, True

    def _put(self, here: ArchivePlace, data: bytearray) -> ArchivePlace:
        etag = self._parts.put(here.name, here.upload, len(here.etags) + 1, bytes(data))
        return replace(here, etags=(*here.etags, etag))

    def _complete(self, here: ArchivePlace) -> bool:
        """Put a copy in the place of its version; False if that is not the latest any more."""
        if self.client.head_object(Bucket=self.bucket, Key=here.name).get("VersionId", "null") != here.version:
            self.kept.append(f"The archived file {here.name} changed meanwhile: erase again.")
            return False
        self._parts.complete(here.name, here.upload, here.etags)
        return True

    @property
    def _parts(self) -> S3Multipart:
        return S3Multipart(lambda: self.client, self.bucket)

    def _read(self, here: ArchivePlace) -> Iterator[_Row]:
        """Yield the rows of a file, with its first, from a place on."""
        if here.at >= here.size:
            return
        part = {"Range": f"bytes={here.at}-"} if here.at else {}
        body = self.client.get_object(Bucket=self.bucket, Key=here.name, VersionId=here.version, **part)["Body"]
        end, raw = here.at, bytearray()

        def lines() -> Iterator[str]:
            for line in io.BufferedReader(cast("Any", body)):
                raw.extend(line)
                yield line.decode()

        for cells in csv.reader(lines()):  # takes as many lines as the row has
            end += len(raw)
            yield _Row(bytes(raw), cells, erased_row(cells, self.names), end)
            raw.clear()
