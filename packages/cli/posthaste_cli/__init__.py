"""The `posthaste` command. Its modules have a folder of their own, so that their names take no others' places."""

import sys
from pathlib import Path
from typing import Final

MODULES: Final = Path(__file__).parent / "modules"


def main() -> None:
    """Run the command: the entry point of the package."""
    sys.path.insert(0, str(MODULES))
    from cli.main import main as run  # noqa: PLC0415 - found by the line above

    run()
