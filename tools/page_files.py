"""`python -m tools.page_files`: copy what pages load out of packages of npm: for `/docs` and for the console."""

import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ROOT / "node_modules"
COPIES: Final = (
    (
        PACKAGES / "swagger-ui-dist",
        ROOT / "functions" / "api" / "docs" / "static",
        ("swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css", "LICENSE", "NOTICE"),
    ),
    (PACKAGES / "htmx.org" / "dist", ROOT / "functions" / "console" / "packages", ("htmx.min.js",)),
)
"""From where, to where, and which files."""


def main() -> int:
    """Copy the files; return the exit code."""
    for package, to, files in COPIES:
        to.mkdir(exist_ok=True)
        for name in files:
            shutil.copyfile(package / name, to / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
