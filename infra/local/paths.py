"""Where the local cloud keeps its files: one folder per cloud, `.local` unless POSTHASTE_LOCAL names another."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
"""The checkout."""
ENV_LOCAL: Final = "POSTHASTE_LOCAL"
"""Names the folder; also the mark that tells our processes from others' (see `processes`)."""

ENV_CLOUDS: Final = "POSTHASTE_CLOUDS"
"""Names the folders of all clouds that a command was started with, as PATH names its folders."""
EXPORT: Final = "export "
"""Begins each line of the settings: a shell that reads them hands them on to what it starts."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The folder of one local cloud and the files in it."""

    home: Path

    @property
    def env(self) -> Path:
        """`export KEY=VALUE` lines for clients, tests and shells."""
        return self.home / "env"

    @property
    def processes(self) -> Path:
        """The processes that were started: name, pid, start time, port."""
        return self.home / "processes.json"

    @property
    def ports(self) -> Path:
        """Ports of the last run, taken again while they are free, so that addresses stay the same."""
        return self.home / "ports.json"

    @property
    def deployed(self) -> Path:
        """Fingerprint of the sources that were deployed last."""
        return self.home / "deployed"

    @property
    def lock(self) -> Path:
        """Held while `up` or `down` changes something."""
        return self.home / "lock"

    @property
    def assembly(self) -> Path:
        """The synthesised cloud assembly."""
        return self.home / "cdk.out"

    @property
    def code(self) -> Path:
        """The functions' code, a folder for each version."""
        return self.home / "code"

    @property
    def requests(self) -> Path:
        """Which requests the HTTP API has answered."""
        return self.home / "requests.txt"

    @property
    def demo(self) -> Path:
        """What the demo measured."""
        return self.home / "demo.json"

    def log(self, name: str) -> Path:
        """Return the log file of a process or tool."""
        return self.home / "logs" / f"{name}.log"

    def make(self) -> None:
        """Create the folder and those inside it."""
        for folder in ("logs", "tmp", "state", "home"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)


def paths() -> Paths:
    """Return the files of the cloud that this process is about."""
    return Paths((ROOT / os.environ.get(ENV_LOCAL, ".local")).resolve())


def several(first: Paths, count: int) -> list[Paths]:
    """Return the files of so many clouds: one, and others beside it."""
    return [first, *(Paths(first.home.with_name(f"{first.home.name}-{n}")) for n in range(2, count + 1))]


def read_env(file: Path) -> dict[str, str]:
    """Read KEY=VALUE lines as `up` writes them, with or without `export`; an absent file is empty."""
    if not file.exists():
        return {}
    lines = (line.removeprefix(EXPORT) for line in file.read_text(encoding="utf-8").splitlines())
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
