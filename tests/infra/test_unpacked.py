"""The code of a local cloud is unpacked once, and each process finds it there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.building import unpacked
from infra.local.paths import Paths

HANDLER = """
import packaged, shared.words
def main():
    return packaged.NAME + shared.words.NAME
"""
FROM_ARCHIVE = """
import importlib, sys
sys.path.insert(0, {archive!r})
found = importlib.import_module("functions.api.handler")
print(found.main(), found.__file__)
"""
"""As the emulator's worker does it."""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    found = Paths(tmp_path / "cloud")
    found.make()
    return found


def synthesised(paths: Paths, version: str) -> Path:
    """Make an assembly with an asset, as `cdk synth` does; return the asset."""
    asset = paths.assembly / f"asset.{version}"
    for file, text in {
        "functions/__init__.py": "",
        "functions/api/__init__.py": "",
        "functions/api/handler.py": HANDLER,
        "shared/__init__.py": "",
        "shared/words.py": f"NAME = {version!r}",
        "packaged.py": "NAME = 'packaged '",
    }.items():
        (asset / file).parent.mkdir(parents=True, exist_ok=True)
        (asset / file).write_text(text)
    return asset


def test_a_process_finds_the_code_that_is_unpacked_already(paths: Paths) -> None:
    asset = synthesised(paths, "one")
    unpacked.move(paths.assembly, paths.code)
    assert [file.name for file in asset.rglob("*") if file.is_file()] == ["__init__.py"], "one small file is left"
    code = FROM_ARCHIVE.format(archive=str(asset))
    environment = {"PATH": os.defpath}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == f"packaged one {paths.code / 'one' / 'functions' / 'api' / 'handler.py'}\n"


def test_the_same_sources_are_unpacked_once(paths: Paths) -> None:
    synthesised(paths, "one")
    unpacked.move(paths.assembly, paths.code)
    before = (paths.code / "one" / "packaged.py").stat().st_ino
    shutil.rmtree(paths.assembly)
    synthesised(paths, "one")
    unpacked.move(paths.assembly, paths.code)
    assert (paths.code / "one" / "packaged.py").stat().st_ino == before


def test_the_version_before_is_kept_for_processes_that_still_run(paths: Paths) -> None:
    for version in ("one", "two", "three"):
        shutil.rmtree(paths.assembly, ignore_errors=True)
        synthesised(paths, version)
        unpacked.move(paths.assembly, paths.code)
    assert {folder.name for folder in paths.code.iterdir()} == {"two", "three"}


def test_what_is_no_code_of_ours_stays(paths: Paths) -> None:
    other = paths.assembly / "asset.other"
    other.mkdir(parents=True)
    (other / "page.html").write_text("x")
    unpacked.move(paths.assembly, paths.code)
    assert (other / "page.html").exists()
