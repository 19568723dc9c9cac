"""The functions' code, unpacked once for all processes of a local cloud.

The emulator unpacks the archive of a function for each process that it starts, thousands of files, and serves nothing
meanwhile. So the archives of a local cloud hold one file, which finds the code in the cloud's own folder.
"""

import shutil
from pathlib import Path
from typing import Final

PACKAGE: Final = "functions"
"""What each handler is in."""
KEPT: Final = 2
"""Versions of the code: processes of the one before may still run while a cloud is brought up to date."""
FINDS: Final = '''"""Finds the code of this function, which is not in the archive."""

import sys

sys.path.insert(0, {folder!r})
del sys.modules[__name__]
import {package}
'''


def move(assembly: Path, code: Path) -> None:
    """Move the functions' code out of a new assembly, and leave in each asset what finds it.

    Args:
        assembly: the folder that `cdk synth` wrote.
        code: the folder of the cloud's code; each version has a folder in it, of which the last two are kept.
    """
    for asset in sorted(assembly.glob("asset.*")):
        if (asset / PACKAGE).is_dir():
            _move(asset, code / asset.name.removeprefix("asset."))
    kept = sorted(code.glob("*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for old in kept[KEPT:]:
        shutil.rmtree(old)


def _move(asset: Path, folder: Path) -> None:
    if folder.exists():  # the same sources once more: the same code
        shutil.rmtree(asset)
    else:
        folder.parent.mkdir(parents=True, exist_ok=True)
        asset.rename(folder)
    folder.touch()
    (asset / PACKAGE).mkdir(parents=True)
    text = FINDS.format(folder=str(folder), package=PACKAGE)
    (asset / PACKAGE / "__init__.py").write_text(text, encoding="utf-8")
