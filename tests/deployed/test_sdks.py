"""Both SDKs' examples against the local cloud: a batch is sent once, and read to its end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployed import guides
from tests.deployed.inside import Inside
from tools.sdks import __main__ as sdks

pytestmark = pytest.mark.deployed
SENDER = "billing@example.com"
PROGRAMS = [x for x in guides.fences(guides.page("sdks")) if x.kind in ("python", "ts")]


@pytest.fixture(scope="module", autouse=True)
def made() -> None:
    sdks.sources()


def run(inside: Inside, words: list[str], folder: Path, tag: str, **more: str) -> dict[str, object]:
    """Run an example with a live key for two recipients; return what it prints."""
    beside = Path(sys.executable).parent
    env = {
        **os.environ,
        "PATH": f"{beside}:{os.environ['PATH']}",
        "POSTHASTE_URL": inside.cloud.api,
        "POSTHASTE_API_KEY": inside.cloud.env["POSTHASTE_API_KEY"],
        **more,
    }
    people = [f"{name}-{tag}@example.org" for name in ("ann", "ben")]
    done = subprocess.run(
        [*words, f"invoice-{tag}", SENDER, *people],
        cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def ends(lines: object) -> list[str]:
    assert isinstance(lines, list)
    assert {line["state"] for line in lines} <= {"sent", "delivered"}
    return [line["recipient"].split("-")[0] for line in lines]


@pytest.mark.promise(7)
def test_the_python_client_sends_a_batch_once_and_reads_it_to_its_end(inside: Inside, tag: str) -> None:
    found = run(inside, ["python", "examples/send.py"], sdks.PYTHON, tag, PYTHONPATH="src")
    assert ends(found["sync"]) == ends(found["async"]) == ["ann", "ben"]


@pytest.mark.promise(7)
def test_the_typescript_client_sends_a_batch_once_and_reads_it_to_its_end(inside: Inside, tag: str) -> None:
    found = run(inside, ["node", "examples/send.ts"], sdks.TYPESCRIPT, tag)
    assert ends(found["lines"]) == ["ann", "ben"]
    assert found["same"] is True


@pytest.mark.parametrize("kind", ["python", "ts"])
def test_the_program_of_the_page_sends_waits_and_reads(inside: Inside, tag: str, kind: str, tmp_path: Path) -> None:
    program = next(x.text for x in PROGRAMS if x.kind == kind).replace("invoice-17", f"invoice-{tag}-{kind}")
    beside = Path(sys.executable).parent
    env = {
        **os.environ,
        "PATH": f"{beside}:{os.environ['PATH']}",
        "POSTHASTE_URL": inside.cloud.api,
        "POSTHASTE_API_KEY": inside.cloud.env["POSTHASTE_API_KEY"],
    }
    if kind == "python":
        words, env["PYTHONPATH"] = ["python", "program.py"], str(sdks.PYTHON / "src")
    else:
        words = ["node", "program.ts"]
        program = program.replace('"posthaste-sdk"', f'"{sdks.TYPESCRIPT / "src" / "index.ts"}"')
        (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    (tmp_path / words[1]).write_text(program, "utf-8")
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() in (["ann@example.org", "sent"], ["ann@example.org", "delivered"])
