"""The local cloud's processes are ended safely: never somebody else's, always their children. Needs no cloud."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from infra.local import processes
from infra.local.console import LocalCloudError
from infra.local.paths import ENV_LOCAL, ROOT, Paths

SLEEPER = "import signal; print(flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
PARENT = f"""
import subprocess, sys, signal
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[Paths]:
    found = Paths(tmp_path)
    found.make()
    yield found
    for process in processes.read(found).values():
        processes.stop(found, process, grace=1)


def begin(paths: Paths, code: str, name: str = "dummy") -> processes.Process:
    process = processes.start(paths, name, [sys.executable, "-c", code], {"PATH": os.defpath}, 0)
    assert processes.wait_for(lambda: paths.log(name).stat().st_size > 0, 20)
    return process


def test_a_process_is_recorded_with_its_start_time_and_stopped(paths: Paths) -> None:
    process = begin(paths, SLEEPER)
    assert processes.read(paths) == {"dummy": process}
    assert processes.alive(process)
    assert processes.stop(paths, process)
    assert not processes.alive(process)
    assert processes.read(paths) == {}


def test_a_process_has_the_same_start_time_in_every_command(paths: Paths) -> None:
    process = begin(paths, SLEEPER)
    code = f"from infra.local.processes import started_at; print(started_at({process.pid}))"
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == process.started


def test_a_process_that_ended_and_is_not_reaped_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read() == b""
        assert processes.wait_for(lambda: processes.started_at(child.pid) is None, 20)


def test_a_pid_that_belongs_to_another_process_by_now_is_left_alone(paths: Paths) -> None:
    process = begin(paths, SLEEPER)
    stale = replace(process, started="1")
    processes.write(paths, {"dummy": stale})
    assert not processes.alive(stale)
    assert not processes.stop(paths, stale, grace=0.2)
    assert processes.alive(process)
    assert processes.read(paths) == {}
    assert processes.stop(paths, process)


def test_a_process_that_ignores_sigterm_is_killed(paths: Paths) -> None:
    process = begin(paths, STUBBORN)
    assert processes.stop(paths, process, grace=0.3)
    assert not processes.alive(process)


def test_children_end_with_their_parent(paths: Paths) -> None:
    process = begin(paths, PARENT)
    child = int(paths.log("dummy").read_text())
    assert child in processes.group(process.pid)
    processes.stop(paths, process, grace=1)
    assert processes.started_at(child) is None


def test_orphans_of_a_killed_parent_are_found_by_their_mark(paths: Paths) -> None:
    process = begin(paths, PARENT)
    child = int(paths.log("dummy").read_text())
    os.kill(process.pid, 9)
    assert processes.wait_for(lambda: not processes.alive(process), 5)
    assert processes.started_at(child) is not None
    assert processes.stop(paths, process, grace=1)
    assert processes.started_at(child) is None


def test_orphans_without_the_mark_are_left_alone(paths: Paths, tmp_path: Path) -> None:
    other = Paths(tmp_path / "other")
    other.make()
    process = begin(other, PARENT)
    child = int(other.log("dummy").read_text())
    os.kill(process.pid, 9)
    assert processes.wait_for(lambda: not processes.alive(process), 5)
    assert not processes.stop(paths, process, grace=0.2)
    assert processes.started_at(child) is not None
    assert processes.stop(other, process, grace=1)


def test_starting_a_name_again_replaces_the_old_process(paths: Paths) -> None:
    first = begin(paths, SLEEPER)
    second = begin(paths, SLEEPER)
    assert not processes.alive(first)
    assert processes.alive(second)
    assert processes.read(paths) == {"dummy": second}


def test_nothing_of_the_developers_environment_reaches_a_process(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    code = "import os, signal; print(sorted(k for k in os.environ if k != 'LC_CTYPE'), flush=True); signal.pause()"
    begin(paths, code)
    assert paths.log("dummy").read_text().strip() == str(sorted(["PATH", ENV_LOCAL]))


def test_a_port_is_remembered_while_it_is_free(paths: Paths) -> None:
    port = processes.choose_port(paths, "dummy")
    assert processes.choose_port(paths, "dummy") == port
    code = f"import socket, signal; s = socket.create_server(('127.0.0.1', {port})); print(flush=True); signal.pause()"
    process = begin(paths, code)
    assert processes.choose_port(paths, "dummy") != port
    processes.stop(paths, process)


def test_only_one_command_changes_a_cloud_at_a_time(paths: Paths) -> None:
    code = """
import sys
from pathlib import Path
from infra.local import processes
from infra.local.console import LocalCloudError
from infra.local.paths import Paths
with processes.exclusive(Paths(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.readline()
"""
    arguments = [sys.executable, "-c", code, str(paths.home)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LocalCloudError), processes.exclusive(paths, patience=0.1):
            pass
        holder.communicate("\n")
    with processes.exclusive(paths, patience=0.1):
        pass
