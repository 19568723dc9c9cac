"""Stacks that tests read: each is synthesised once, for all processes and runs, until what it is made from changes."""

import fcntl
import shutil
from functools import cache
from pathlib import Path
from typing import Final

from infra.lint import synthesise
from infra.local.deploy import fingerprint
from infra.local.paths import ROOT
from infra.settings import DeploymentSettings

CACHE: Final = ROOT / ".local" / "synth"
"""A folder of each state of the sources, with a folder of each deployment."""


@cache
def sources() -> Path:
    """Return the folder of the present sources; those of others are removed."""
    folder = CACHE / fingerprint(())[:16]
    for other in CACHE.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def synthesised(deployment: DeploymentSettings) -> Path:
    """Return the file of a stack's template in its assembly, which no test changes; raises what `synthesise` does."""
    folder = sources() / fingerprint((repr(deployment),))[:16]
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            draft = folder.with_suffix(".new")
            shutil.rmtree(draft, ignore_errors=True)
            synthesise(deployment, draft)
            draft.rename(folder)
    return folder / f"posthaste-{deployment.stage}.template.json"
