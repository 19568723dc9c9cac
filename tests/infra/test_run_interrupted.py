"""`make run` and Ctrl-C, which a terminal sends to each process of the group: a short end, and nothing runs on."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from infra.local import processes
from infra.local.paths import ENV_LOCAL, ROOT, Paths

DRIVER: Final = """
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from examples.demo import __main__ as commands
from examples.demo import newsletter
from infra.local import cloud, deploy, emulator, processes, providers
from infra.local.console import step

def up(where, notice_clock=""):
    where.make()
    for name in (emulator.NAME, providers.NAME):
        waits = [sys.executable, "-c", "import signal; signal.pause()"]
        processes.start(where, name, waits, emulator.environment(where, 0), 0)
    if sys.argv[1] == "deploys":
        with step("cdk deploy"):
            deploy.deploy(where, 0)
    return cloud.Cloud(where, {"POSTHASTE_URL": "http://127.0.0.1:1", "SIMULATOR_URL": "http://127.0.0.1:2"})

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever ran the tests may ignore it, and so would this
sent = SimpleNamespace(answer={"recipients": 1}, batch_id="b1")
cloud.up = up
deploy.node_folder = lambda: Path(sys.argv[2])
newsletter.send = lambda running: sent
for name in ("strike", "watch", "evidence", "carried", "left_out", "recovered"):
    setattr(newsletter, name, lambda *_: "")
sys.exit(commands.main(["run"]))
"""
"""The entry of `make run`, with two processes instead of the emulator and the simulator, and a node that waits."""
NODE: Final = '#!/bin/sh\necho $$ > "{begun}"\nexec sleep 300\n'


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "code", "last"), [("deploys", 130, "cdk deploy: failed"), ("stays up", 0, "Ctrl-C")])
def test_ctrl_c_ends_the_run_and_all_that_it_started(tmp_path: Path, stage: str, code: int, last: str) -> None:
    begun, node, where = tmp_path / "begun", tmp_path / "node", Paths(tmp_path / "cloud")
    os.mkfifo(begun)
    node.write_text(NODE.format(begun=begun))
    node.chmod(0o755)
    child = subprocess.Popen(
        [sys.executable, "-c", DRIVER, stage, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, ENV_LOCAL: str(where.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as a terminal runs a command: in a process group of its own
    )
    assert child.stdout
    said = []
    if stage == "deploys":
        with os.fdopen(os.open(begun, os.O_RDONLY | os.O_NONBLOCK)) as told:
            assert select.select([told], [], [], 60)[0], child.communicate()
    else:
        while "Ctrl-C" not in (line := child.stdout.readline()):
            assert line, child.communicate()
            said.append(line)
        said.append(line)
    started = list(processes.read(where).values())
    assert [processes.alive(x) for x in started] == [True, True]
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (code, "")
    lines = [line for line in [*said, *out.splitlines()] if line.strip()]
    assert [line for line in lines if last in line]
    assert "Traceback" not in "".join(lines)
    assert len(lines) < 16
    assert [processes.alive(x) for x in started] == [False, False]
    assert processes.group(child.pid) == {}
