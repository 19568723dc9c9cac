"""Bytecode for Lambda's Python: uv finds or fetches the interpreter, or the synth ends with one line."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.building import bundling
from infra.settings import ROOT, DeployTarget, SettingsError, read
from tests.infra.conftest import SETTINGS

UV = """#!/bin/sh
# A uv that notes what it is asked, and finds the interpreter once it has been fetched.
echo "$@" >> {log}
case "$1 $2" in
  "python find") [ -e {there} ] && echo {python} && exit 0; exit 2;;
  "python install") [ -e {reachable} ] && touch {there} && exit 0
    echo "error: Failed to download" >&2; echo "  cause: dns error" >&2; exit 1;;
esac
exit 3
"""


class Machine:
    """A machine with such a uv. `python`: the interpreter that it finds; it notes what it is to compile."""

    def __init__(self, folder: Path) -> None:
        self._log, self._there, self._reachable = folder / "log", folder / "there", folder / "reachable"
        self.uv, self.python = folder / "uv", folder / "python3.13"
        self.compiled = folder / "compiled"
        values = {"log": self._log, "there": self._there, "reachable": self._reachable, "python": self.python}
        self._write(self.uv, UV.format(**values))
        self._write(self.python, f'#!/bin/sh\necho "$@" > {self.compiled}\nexec {sys.executable} "$@"\n')

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def has_interpreter(self) -> None:
        self._there.touch()

    def is_online(self) -> None:
        self._reachable.touch()

    @property
    def asked(self) -> list[str]:
        """What uv was asked to do."""
        return [" ".join(x.split()[:2]) for x in self._log.read_text("utf-8").splitlines()]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(tmp_path)
    monkeypatch.setattr(bundling, "find_uv_bin", lambda: str(made.uv))
    bundling.interpreter.cache_clear()
    yield made
    bundling.interpreter.cache_clear()


def test_an_interpreter_that_is_there_is_not_fetched(machine: Machine) -> None:
    machine.has_interpreter()
    assert bundling.interpreter(DeployTarget.AWS) == str(machine.python)
    assert machine.asked == ["python find"]


def test_uv_fetches_the_interpreter(machine: Machine) -> None:
    machine.is_online()
    assert bundling.interpreter(DeployTarget.AWS) == str(machine.python)
    assert machine.asked == ["python find", "python install", "python find"]


def test_where_it_cannot_one_line_says_what_to_do(machine: Machine) -> None:
    with pytest.raises(SettingsError) as found:
        bundling.interpreter(DeployTarget.AWS)
    assert "\n" not in str(found.value)
    for part in ("Python 3.13", "Failed to download cause: dns error", "-c bytecode=off"):
        assert part in str(found.value)


def test_the_local_cloud_needs_none(machine: Machine) -> None:
    assert bundling.interpreter(DeployTarget.LOCAL) == sys.executable
    assert not (machine.uv.parent / "log").exists()


@pytest.mark.slow
def test_the_asset_of_aws_is_compiled_by_that_interpreter(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of unchecked hashes, which name Lambda's folder in traces, not this machine's."""
    machine.has_interpreter()
    monkeypatch.setattr(
        bundling, "_install", lambda _target, folder: (folder / "botocore" / "data").mkdir(parents=True)
    )
    folder = tmp_path / "asset"
    folder.mkdir()
    bundling.build(DeployTarget.AWS, folder)
    assert f"--invalidation-mode unchecked-hash -s {folder} -p /var/task" in machine.compiled.read_text("utf-8")
    (made,) = (folder / "functions" / "__pycache__").glob("early.*.pyc")
    assert int.from_bytes(made.read_bytes()[4:8], "little") == 0b01, "unchecked hash (PEP 552)"
    assert b"/var/task/functions/early.py" in made.read_bytes()
    assert str(tmp_path).encode() not in made.read_bytes()


@pytest.mark.slow
def test_without_bytecode_nothing_is_asked_for(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        bundling, "_install", lambda _target, folder: (folder / "botocore" / "data").mkdir(parents=True)
    )
    bundling.build(DeployTarget.AWS, tmp_path / "asset", bytecode=False)
    assert not list((tmp_path / "asset").rglob("*.pyc"))
    assert not (tmp_path / "log").exists()


@pytest.mark.slow
def test_the_hash_is_the_same_on_a_machine_without_the_interpreter(machine: Machine) -> None:
    """Else a laptop and the CI would replace each other's functions."""
    before = bundling.source_hash(DeployTarget.AWS)
    machine.has_interpreter()
    bundling.interpreter.cache_clear()
    assert bundling.source_hash(DeployTarget.AWS) == before
    assert bundling.source_hash(DeployTarget.AWS, bytecode=False) != before


@pytest.mark.slow
def test_the_app_ends_with_that_line(tmp_path: Path) -> None:
    """As `cdk deploy` starts it, on a machine whose uv finds nothing and reaches nobody."""
    machine = Machine(tmp_path)
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from infra.building import bundling
bundling.find_uv_bin = lambda: {str(machine.uv)!r}
import app
sys.exit(app.main())
"""
    environment = {**os.environ, "CDK_CONTEXT_JSON": json.dumps({"posthaste": SETTINGS})}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("posthaste: bytecode: uv cannot fetch Python 3.13")


def test_bytecode_is_on_or_off() -> None:
    assert read(SETTINGS, bytecode="off", known=["sendgrid"]).bytecode is False
    with pytest.raises(SettingsError, match=r"context bytecode: 'no' is neither on nor off"):
        read(SETTINGS, bytecode="no", known=["sendgrid"])
