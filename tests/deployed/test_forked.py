"""A command that is forked does what it does in a process of its own."""

import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployed.forked import Program, forking

TRUE = "import sys; print('in a process of its own', *sys.argv[1:])"
TEXT = '{"a": "é"}'


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return what a shell types for `json.tool`, of which each kind has been begun once."""
    python = str(Path(__file__).parents[2] / ".venv" / "bin" / "python")
    with forking({"json": Program("json.tool:main", [python, "-c", TRUE])}, tmp_path_factory.mktemp("d")) as words:
        begins = shlex.join(words["json"])
        for kind in ("--indent", "given"):
            assert run(f"{begins} {kind}").stdout == f"in a process of its own {kind}\n"
        yield begins


def run(commands: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", commands], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


def test_it_reads_and_prints(command: str, tmp_path: Path) -> None:
    (tmp_path / "given").write_text(TEXT, "utf-8")
    done = run(f"{command} given --compact --no-ensure-ascii | cat", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ('{"a":"é"}\n', "")
    assert run(f"{command} --indent 0", input=TEXT).stdout == '{\n"a": "\\u00e9"\n}\n'


def test_it_fails_as_it_does(command: str) -> None:
    done = run(f"{command} --indent 2", input="no")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Expecting value")


def test_it_has_the_variables_of_its_shell(command: str) -> None:
    narrow, wide = (run(f"COLUMNS={x} {command} --indent 1 --help").stdout for x in (40, 200))
    assert len(wide.splitlines()) < len(narrow.splitlines())
    assert wide.startswith("usage: ")


def test_a_signal_ends_it(command: str) -> None:
    with subprocess.Popen(["sh", "-c", f"exec {command}"], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.2)
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == -signal.SIGTERM
