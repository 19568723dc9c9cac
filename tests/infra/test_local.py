"""The commands of the local cloud, as somebody at a terminal meets them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import __main__ as commands
from infra.local import cloud as local_cloud
from infra.local import deploy, emulator, processes
from infra.local.console import LocalCloudError, Patience
from infra.local.paths import ENV_CLOUDS, ENV_LOCAL, ROOT, Paths, several

MODULES = sorted(f"infra.local.{file.stem}" for file in Path(local_cloud.__file__).parent.glob("*.py"))


def test_a_wait_ends_when_nothing_changes_however_long_it_takes_otherwise() -> None:
    now = 0.0
    patience = Patience(90, clock=lambda: now)
    for now in range(0, 900, 60):
        assert not patience.over(f"{now} of 900")
    assert not patience.over("840 of 900")
    now = 840 + 90
    assert not patience.over("840 of 900")
    now += 1
    assert patience.over("840 of 900")
    assert not patience.over("841 of 900")


@pytest.mark.slow
def test_no_node_runs_in_the_command_so_that_ctrl_c_finds_none() -> None:
    """A kernel of jsii that a terminal's Ctrl-C ends before us makes a traceback of our end."""
    code = f"import sys\nfor name in {MODULES}:\n    __import__(name)\nsys.exit('jsii' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60).returncode == 0


def test_a_cloud_that_stops_leaves_no_copy_of_the_asset(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "cloud")
    paths.make()
    unpacked = paths.home / "tmp" / "ministack-lambda-posthaste-api-0a1b2c3d"
    (unpacked / "shared").mkdir(parents=True)
    (unpacked / "shared" / "contracts.py").write_text("")
    other = paths.home / "tmp" / "of-another-program"
    other.mkdir()
    processes.start(paths, emulator.NAME, [sys.executable, "-c", "input()"], emulator.environment(paths, 0), 0)
    local_cloud.down(paths)
    assert processes.wait_for(lambda: not unpacked.exists(), 30)
    assert other.exists()


@pytest.mark.slow
def test_to_ask_what_runs_while_nothing_does_is_no_error_of_make(tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.fail("there is no make")
    environment = {**os.environ, "POSTHASTE_LOCAL": str(tmp_path / "cloud")}
    done = subprocess.run(
        [make, "-o", "setup", "status", f"PY={sys.executable}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_relay_without_an_address_is_the_simulator_s(tmp_path: Path) -> None:
    lane = {"provider": "smtp", "channel": "email", "rate": 5}
    elsewhere = "smtp+plain://127.0.0.1:2525"
    lanes = [{"id": "one", **lane}, {"id": "two", **lane, "base_url": elsewhere}, {"id": "three", "provider": "ses"}]
    (tmp_path / "lanes.json").write_text(json.dumps(lanes))
    (argument,) = deploy.more_lanes(
        tmp_path / "lanes.json", lambda name: f"smtp+plain://127.0.0.1/{name}", "http://127.0.0.1:1"
    )
    found = {x["id"]: x.get("base_url") for x in json.loads(argument.removeprefix("posthaste="))["credentials"]}
    assert (found["one"], found["two"], found["three"]) == ("smtp+plain://127.0.0.1/one", elsewhere, None)


def test_a_command_may_have_several_clouds_which_end_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / name for name in ("test", "test-2", "test-3")]
    up: list[Path] = []
    ended: list[Path] = []

    def start(where: Paths, _lanes: Path | None) -> local_cloud.Cloud:
        up.append(where.home)
        return local_cloud.Cloud(where, {"POSTHASTE_URL": f"http://{where.home.name}"})

    monkeypatch.setattr(local_cloud, "up", start)
    monkeypatch.setattr(local_cloud, "down", lambda where: ended.append(where.home))
    code = f"import os; print(*(os.environ[x] for x in ('{ENV_LOCAL}', 'POSTHASTE_URL', '{ENV_CLOUDS}')), sep='\\n')"
    assert commands.run_with(several(Paths(folders[0]), 3), [sys.executable, "-c", code], None) == 0
    assert capfd.readouterr().out.splitlines() == [
        str(folders[0]),
        "http://test",
        os.pathsep.join(str(folder) for folder in folders),
    ]
    assert set(up) == set(ended) == set(folders)


def test_a_cloud_that_ran_before_a_command_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(local_cloud, "up", lambda where, _lanes: local_cloud.Cloud(where, {}))
    monkeypatch.setattr(local_cloud, "runs", lambda where: where.home.name == "test")
    monkeypatch.setattr(local_cloud, "down", lambda where: ended.append(where.home.name))
    assert commands.run_with(several(Paths(tmp_path / "test"), 2), [sys.executable, "-c", ""], None) == 0
    assert ended == ["test-2"]


def test_a_deploy_that_takes_too_long_ends_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = Paths(tmp_path / "cloud")
    paths.make()
    monkeypatch.setattr(deploy, "CDK_SECONDS", 0.01)
    monkeypatch.setattr(os, "getloadavg", lambda: (17.04, 9.0, 5.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with pytest.raises(LocalCloudError) as ended:
        deploy.deploy(paths, 1)
    assert str(ended.value) == (
        "cdk deploy was ended after 0.01 s. The load of this machine is 17.0, and it has 2 cores. Wait until other "
        "work on it has ended, and repeat your command.\n"
        f"Its output so far ({paths.log('cdk-deploy')}):\n(nothing)"
    )
