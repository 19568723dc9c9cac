"""Links of the repository's pages, as its site needs them."""

import posixpath
import re
from pathlib import Path
from typing import Final

DOCS: Final = "docs/"
TOP: Final = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Page at the top of the repository → its path on the site, where `README.md` is that of `docs/`."""
_LINK: Final = re.compile(r"(?<=\]\()([^)\s#]+)(?=(?:#[^)\s]*)?\))")
_EXTERNAL: Final = re.compile(r"[a-z]+:")


def repository_path(page: str) -> str:
    """Return where a page of the site is in the repository."""
    return next((top for top, path in TOP.items() if path == page), DOCS + page)


def site_path(file: str) -> str:
    """Return where a file of the repository is on the site."""
    return TOP.get(file, file.removeprefix(DOCS))


def rewritten(text: str, page: str, root: Path) -> tuple[str, set[str]]:
    """Return a page's text with links for the site, and the files outside of `docs/` and its pages that they lead to.

    Args:
        text: the page, as it is in the repository.
        root: the repository. A link to anything that is not in it stays, for the strict build to complain about.
    """
    more = set()

    def link(found: re.Match[str]) -> str:
        if _EXTERNAL.match(found[1]):
            return found[1]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1]))
        if (root / file).is_dir():
            file += "/README.md"
        if file.startswith("../") or not (root / file).is_file():
            return found[1]
        if not file.startswith(DOCS) and file not in TOP:
            more.add(file)
        return posixpath.relpath(site_path(file), posixpath.dirname(site_path(page)) or ".")

    return _LINK.sub(link, text), more
