"""Takes a person's rows out of archived files. These outlive the jobs that name the files with such rows.

So it reads each file in all its versions. It writes a file with such rows anew, and then deletes the version that it
read. Doing everything again changes nothing. Source: docs/adr/0049.
"""

import csv
import io
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from shared.adapters.s3.multipart import CONTENT_TYPE
from shared.domain.archive import PREFIX
from shared.domain.erasure import erased_row
from shared.domain.exports import rows


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

    def erase(self, reached: Callable[[int], None]) -> None:
        """Read all archived files, and blank the person's rows. `reached`: told the bytes of each file read."""
        pages = self.client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=PREFIX)
        for page in pages:
            for x in page.get("Versions", ()):
                self._version(x["Key"], x["VersionId"], latest=x["IsLatest"])
                reached(x["Size"])

    def _version(self, name: str, version: str, *, latest: bool) -> None:
        found = sum(1 for old, new in self._read(name, version) if old is not new)
        if not found:
            return
        if latest:
            self.rows += found
            self.files += 1
            self.accounts.add(name.split("/")[1])
        if self.dry:
            return
        if latest and not self._rewrite(name, version):
            self.kept.append(f"The archived file {name} changed meanwhile: erase again.")
            return
        self.client.delete_object(Bucket=self.bucket, Key=name, VersionId=version)

    def _read(self, name: str, version: str) -> Iterator[tuple[list[str], list[str]]]:
        """Yield each row of a file, with its first, as it is and as it is to be: the same if it stays."""
        body = self.client.get_object(Bucket=self.bucket, Key=name, VersionId=version)["Body"]
        text = io.TextIOWrapper(io.BufferedReader(cast("Any", body)), encoding="utf-8-sig", newline="")
        with text:
            for row in csv.reader(text):
                yield row, erased_row(row, self.names)

    def _rewrite(self, name: str, version: str) -> bool:
        """Put a file without the rows in the place of a version; False if that is not the latest any more."""
        with tempfile.TemporaryFile() as out:
            lines = (new for _, new in self._read(name, version))
            out.write(BOM_UTF8)
            for line in lines:
                out.write(rows([line]))
            out.seek(0)
            if self.client.head_object(Bucket=self.bucket, Key=name).get("VersionId", "null") != version:
                return False
            self.client.upload_fileobj(out, self.bucket, name, ExtraArgs={"ContentType": CONTENT_TYPE})
        return True
