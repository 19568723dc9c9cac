import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.sdks import __main__ as sdks

Tool = Callable[..., str]
"""`tool("npx", "tsc", folder=…)`: runs a program of this environment and returns what it prints; its failure fails."""


@pytest.fixture(scope="session", autouse=True)
def made() -> None:
    """What is generated of both SDKs."""
    sdks.sources()


@pytest.fixture(scope="session")
def tool() -> Tool:
    def run(*words: str, folder: Path, given: str = "", **more: str) -> str:
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more}
        done = subprocess.run(
            words, cwd=folder, env=env, input=given, capture_output=True, text=True, check=False, timeout=250
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The built packages, by the end of their names."""
    folder = tmp_path_factory.mktemp("packages")
    return {"".join(file.suffixes[-1:]): file for file in sdks.packages(folder / "dist", folder / "work")}
