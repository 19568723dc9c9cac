"""`python -m tools.page_files`: copy what the API's documentation needs out of its package of npm."""

import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "node_modules" / "swagger-ui-dist"
TO: Final = ROOT / "functions" / "api" / "docs" / "static"
FILES: Final = ("swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css", "LICENSE", "NOTICE")


def main() -> int:
    """Copy the files; return the exit code."""
    TO.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copyfile(PACKAGE / name, TO / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
