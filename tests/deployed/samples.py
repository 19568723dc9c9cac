"""Runs a sample of the API's documentation as its reader has it, but for literals that are theirs to replace.

A sample ends with exit code 0 only if the API's answer is a success.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from infra.local import deploy
from infra.local.paths import ROOT
from tools.samples import LANGUAGES, Sample
from tools.sdks import __main__ as sdks

SECONDS: Final = 120
NODE: Final = (deploy.node_folder() or ROOT / ".venv" / "bin") / "node"
_RUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "curl": ("sh", "-e"),
    "Python": (sys.executable,),
    "TypeScript": (str(NODE), "--disable-warning=ExperimentalWarning"),
}
"""Label of a language → what runs one of its files."""
_SDK: Final = '"posthaste-sdk"'


OUT_OF_REACH: Final[Mapping[str, str]] = {"verifySender": "It succeeds only for a domain that has a record in DNS."}
"""Operations whose samples cannot succeed on a local cloud → why."""


def run(sample: Sample, values: Mapping[str, str], environment: Mapping[str, str], folder: Path) -> str:
    """Run a sample; return what is wrong with it, or nothing.

    Args:
        values: what its literals are replaced by.
        environment: of its process.
        folder: for its file.
    """
    source = sample.source.replace(_SDK, f'"{sdks.TYPESCRIPT / "src" / "index.ts"}"')
    for literal, value in values.items():
        source = source.replace(literal, value)
    file = folder / f"{sample.operation}.{LANGUAGES[sample.label][1]}"
    file.write_text(source, "utf-8")
    done = subprocess.run(
        [*_RUNS[sample.label], str(file)],
        env={**os.environ, **environment, "PYTHONPATH": str(sdks.PYTHON / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return "" if done.returncode == 0 else f"{sample.label} {sample.operation}: {done.stdout}{done.stderr}\n{source}"
