"""Style, scripts and pictures: files of ours and of packages that npm has pinned, each under the hash of its content.

A browser keeps them for a year, since another content has another address.
"""

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shared.frozen import dataclass
from shared.web.http import Answer

OURS: Final = Path(__file__).with_name("static")
PACKED: Final = Path(__file__).with_name("packages")
"""Where `make setup` puts the files of packages."""
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file. `digest`: the beginning of its SHA-256, hex; `zipped`: compressed by gzip."""

    name: str
    text: str
    digest: str
    zipped: bytes

    def answer(self, digest: str) -> Answer:
        """Return the file. `digest`: of the address; that of another version is answered, but not kept."""
        keep = {"Cache-Control": FOREVER} if digest == self.digest else {}
        return Answer(200, self.text, {"X-Robots-Tag": "noindex", **keep}, TYPES[Path(self.name).suffix], self.zipped)


class Assets:
    """The files of some folders.

    Args:
        folders: where they are; the names of files are unique.
    """

    def __init__(self, folders: Sequence[Path] = (OURS, PACKED)) -> None:
        files = [file for folder in folders for file in sorted(folder.iterdir()) if file.suffix in TYPES]
        self._known = {file.name: _asset(file) for file in files}

    def get(self, name: str) -> Asset | None:
        """Return a file; None if there is none of that name."""
        return self._known.get(name)

    def path(self, name: str) -> str:
        """Return a file's address, relative to the console. Raises KeyError if there is none of that name."""
        return f"static/{self._known[name].digest}/{name}"


def _asset(file: Path) -> Asset:
    data = file.read_bytes()
    return Asset(file.name, data.decode(), hashlib.sha256(data).hexdigest()[:16], gzip.compress(data, mtime=0))
