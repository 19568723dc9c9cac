"""A newcomer's shell: the commands of a page, in a checkout that has the cloud of the tests in `.local`."""

import os
import subprocess
import sys
from pathlib import Path

from infra.local.cloud import Cloud


def checkout(cloud: Cloud, folder: Path) -> Path:
    """Make a folder a checkout as the pages' commands see it: this cloud in `.local`, the commands in `.venv`."""
    (folder / ".local").symlink_to(cloud.paths.home)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    return folder


def typed(commands: str, folder: Path) -> str:
    """Type commands into a shell; return what they print."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("POSTHASTE_", "AWS_"))}
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=folder,
        env=plain,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
