"""The page and the files that it loads, all from the API's own address."""

import gzip
import hashlib
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Final

from shared.web.http import Answer
from shared.web.routing import Page

FOLDER: Final = Path(__file__).parent
STATIC: Final = FOLDER / "static"
"""Where `make setup` puts the component's files."""
OF_COMPONENT: Final = ("swagger-ui-bundle.js", "swagger-ui.css")
OF_OURS: Final = ("samples.js", "page.js", "page.css")
TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The component sets styles on elements, and its icons are in its style sheet."""
SHORT: Final = "public, max-age=300"
FOREVER: Final = "public, max-age=31536000, immutable"
"""For an address that names the content."""


def _place(name: str) -> Path:
    return (STATIC if name in OF_COMPONENT else FOLDER) / name


@cache
def text_of(name: str) -> str:
    """Return a file that the page loads."""
    return _place(name).read_text(encoding="utf-8")


@cache
def zipped(file: Path) -> bytes:
    """Return a file compressed by gzip, the same bytes each time.

    The functions' asset has the large ones compressed beside them. Elsewhere each process compresses them once.
    """
    stored = file.with_name(f"{file.name}.gz")
    return stored.read_bytes() if stored.is_file() else gzip.compress(file.read_bytes(), mtime=0)


@cache
def _html() -> str:
    """Return the page, with addresses that change with the content of what they name."""

    def address(found: re.Match[str]) -> str:
        digest = hashlib.sha256(text_of(found[1]).encode()).hexdigest()[:16]
        return f"docs/{found[1]}?v={digest}"

    return re.sub(r"(?<=\")\{([a-z.-]+)\}(?=\")", address, text_of("page.html"))


def page() -> Answer:
    """Return the documentation: one page, which loads nothing from elsewhere."""
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": SHORT}
    return Answer(200, _html(), headers, "text/html; charset=utf-8")


def _file(name: str) -> Answer:
    return Answer(200, text_of(name), {"Cache-Control": FOREVER}, TYPES[Path(name).suffix], zipped(_place(name)))


def _route(name: str) -> Page:
    handler: Callable[[], Answer] = partial(_file, name)
    return Page(f"/docs/{name}", "getDocsFile", "A file of the page", TYPES[Path(name).suffix], handler)


FILES: Final = tuple(_route(name) for name in (*OF_COMPONENT, *OF_OURS))
"""What the page loads. These are no operations, so the document does not have them."""
