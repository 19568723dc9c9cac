"""The command as a whole: settings, usage errors, version, the local cloud, and a fault of its own."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from cli.environment import Destination, api_target, local_cloud
from cli.errors import CommandError, ExitCode, Misused
from cli.groups import GROUPS, TITLES
from cli.main import EXIT_CODES, app
from infra.local import paths
from infra.local.cloud import write_env
from tests.cli.fakes import API_KEY, Answer, FakeApi, Run

COMMAND = [sys.executable, "-P", "-c", "from cli.main import main; main()"]


def commands_of(made: typer.Typer) -> list[str]:
    """Return the names of the commands of the whole."""
    found: Any = get_command(made)
    return list(found.commands)


def env_file(folder: Path, **values: str) -> Path:
    file = folder / ".local" / "env"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return file


def test_the_version_is_the_packages(run: Run) -> None:
    assert run("--version").out == f"posthaste {version('posthaste')}\n"


def test_the_exit_codes_are_documented_in_the_help(run: Run) -> None:
    shown = " ".join(run("--help").out.split())
    for code in ExitCode:
        assert f"{code.value} " in EXIT_CODES
    assert EXIT_CODES.split(",")[0] in shown


def test_every_error_has_a_distinct_code() -> None:
    kinds = CommandError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds) == 5


def test_the_help_groups_commands_by_what_people_do(run: Run) -> None:
    shown = run("--help").out
    assert {name for names in GROUPS.values() for name in names} == {*commands_of(app)}
    assert len(TITLES) == sum(map(len, GROUPS.values())), "each is in one group"
    places = [shown.index(f"─ {title} ─") for title in GROUPS]
    assert places == sorted(places)
    ends = [*places[1:], len(shown)]
    for names, begin, end in zip(GROUPS.values(), places, ends, strict=True):
        assert [x for x in TITLES if f"│ {x} " in shown[begin:end]] == list(names)
    assert "─ Commands ─" not in shown, "no command is left over"


@pytest.mark.parametrize(
    "words", [["nonsense"], ["batch", "sned"], ["batch", "watch"], ["key", "create", "a", "--nope"]]
)
def test_a_wrong_command_line_is_one_line_that_points_to_the_help(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--help`" in done.err


@pytest.mark.slow
def test_every_command_takes_json_and_explains_itself(run: Run) -> None:
    commands = {
        "batch": ("send", "watch", "logs", "stop", "resume", "retry"),
        "account": ("create", "list"),
        "key": ("create", "list", "revoke"),
        "sender": ("add", "list", "remove", "identities", "forget"),
        "credential": ("set",),
        "local": ("up", "down", "status"),
    }
    for group, names in commands.items():
        for name in names:
            shown = run(group, name, "--help")
            assert (shown.code, "--json" in shown.out) == (0, True), (group, name)


@pytest.mark.slow
def test_shell_completion_is_offered() -> None:
    words = {**os.environ, "_POSTHASTE_COMPLETE": "complete_bash", "COMP_WORDS": "posthaste batch s", "COMP_CWORD": "2"}
    done = subprocess.run(
        [*COMMAND[:3], "import sys; sys.argv[0] = 'posthaste'; from cli.main import main; main()"],
        env=words, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.stdout.split() == ["send", "show", "stop"]


def test_an_unexpected_fault_is_one_line_without_its_text(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_named: object) -> None:
        raise ZeroDivisionError(API_KEY)

    monkeypatch.setattr("cli.client.api_target", broken)
    done = run("batch", "watch", "b1")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "ZeroDivisionError" in done.err
    assert API_KEY not in done.err


def test_the_local_clouds_settings_are_found_from_inside_the_checkout(folder: Path) -> None:
    file = env_file(folder, POSTHASTE_URL="http://127.0.0.1:9/", POSTHASTE_API_KEY="ph_live_x")
    inside = folder / "a" / "b"
    inside.mkdir(parents=True)
    assert api_target({}, inside) == Destination("http://127.0.0.1:9", "ph_live_x")
    found = local_cloud({"POSTHASTE_LOCAL": str(folder / ".local")}, Path("/"))
    assert found is not None
    assert found.file == file
    assert local_cloud({"POSTHASTE_LOCAL": "elsewhere"}, inside) is None


def test_the_environment_comes_first_and_a_local_key_goes_nowhere_else(folder: Path) -> None:
    env_file(folder, POSTHASTE_URL="http://127.0.0.1:9", POSTHASTE_API_KEY="ph_live_local")
    remote = {"POSTHASTE_URL": "https://api.example.com"}
    with pytest.raises(Misused, match="POSTHASTE_API_KEY"):
        api_target(remote, folder)
    assert api_target({**remote, "POSTHASTE_API_KEY": "k"}, folder) == Destination("https://api.example.com", "k")
    with pytest.raises(Misused, match="set both, or neither"):
        api_target({"POSTHASTE_API_KEY": "k"}, folder)
    local = Destination("http://127.0.0.1:9", "ph_live_local")
    assert api_target({"POSTHASTE_API_KEY": "ph_live_local"}, folder) == local
    assert api_target({"POSTHASTE_URL": "http://127.0.0.1:9/"}, folder) == local


def test_a_file_of_somebody_else_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env_file(folder, POSTHASTE_URL="http://127.0.0.1:9", POSTHASTE_API_KEY="k")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert local_cloud({}, folder) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com",
        "ftp://api.example.com",
        "api.example.com",
        "https://",
        "https://me:secret@api.example.com",
        "https://api.example.com/?a=b",
        "https://[::1",
        "https://api.example.com:port",
    ],
)
def test_an_address_that_is_wrong_or_unencrypted_gets_no_key(url: str, folder: Path) -> None:
    with pytest.raises(Misused) as caught:
        api_target({"POSTHASTE_URL": url, "POSTHASTE_API_KEY": API_KEY}, folder)
    assert API_KEY not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://localhost:8080/", "http://[::1]:8080", "http://127.0.0.1:8080/a/$default"])
def test_this_machine_needs_no_encryption(url: str, folder: Path) -> None:
    assert api_target({"POSTHASTE_URL": url, "POSTHASTE_API_KEY": "k"}, folder).url == url.rstrip("/")


@pytest.mark.parametrize("key", ["ph live", "ph_live_\n", "ph_live_é"])
def test_a_key_that_cannot_be_a_header_is_refused_unshown(key: str, folder: Path) -> None:
    with pytest.raises(Misused) as caught:
        api_target({"POSTHASTE_URL": "https://api.example.com", "POSTHASTE_API_KEY": key}, folder)
    assert key not in str(caught.value)


@pytest.mark.slow
def test_the_real_command_sends_and_returns_its_code(api: FakeApi, folder: Path) -> None:
    (folder / "batch.json").write_text("{}")
    api.answers(Answer({"detail": "No", "code": "invalid_request"}, 422))
    done = subprocess.run(
        [*COMMAND, "batch", "send", "batch.json", "--yes"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: No\n  code: invalid_request\n")
    api.answers(Answer({"batch_id": "b1", "recipients": 1}, 202))
    done = subprocess.run(
        [*COMMAND, "batch", "send", "batch.json", "--yes", "--json"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"batch_id": "b1", "recipients": 1}, "")


@pytest.fixture
def local_command(folder: Path) -> dict[str, str]:
    """An environment in which the local cloud's own command is one that tells what it was asked and fails on `down`."""
    package = folder / "stand-in" / "infra" / "local"
    package.mkdir(parents=True)
    for name in ("__init__.py", "local/__init__.py"):
        (package.parent / name).write_text("")
    (package / "paths.py").write_text(
        "from pathlib import Path\nENV_LOCAL = 'POSTHASTE_LOCAL'\n"
        "def read_env(file): return {'POSTHASTE_URL': 'http://127.0.0.1:9'}\n"
        "class P:\n    home = Path('home')\n    env = home / 'env'\n"
        "def paths(): return P\n"
    )
    (package / "__main__.py").write_text(
        "import sys\nprint('did', sys.argv[1:])\nsys.exit({'up': 0, 'status': 1, 'down': 1}[sys.argv[1]])\n"
    )
    (folder / "infra.py").write_text("raise SystemExit('what lies in the current folder was imported')")
    return {**os.environ, "PYTHONPATH": str(folder / "stand-in")}


@pytest.mark.slow
def test_the_local_cloud_is_asked_and_its_exit_code_kept(local_command: dict[str, str]) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, "local", *words], env=local_command, capture_output=True, text=True, check=False, timeout=30
        )

    up = run("up")
    assert (up.returncode, up.stdout) == (0, "did ['up']\n")
    as_json = run("up", "--json")
    assert json.loads(as_json.stdout) == {"running": True, "url": "http://127.0.0.1:9", "settings": "home/env"}
    assert as_json.stderr == "did ['up']\n"
    status = run("status", "--json")
    assert (status.returncode, json.loads(status.stdout)["running"]) == (1, False)
    down = run("down")
    assert down.returncode == 1
    assert "`local down` failed" in down.stderr


def test_the_settings_of_a_local_cloud_reach_what_a_shell_starts(folder: Path) -> None:
    file = paths.Paths(folder / ".local")
    file.make()
    write_env(file, {"POSTHASTE_URL": "http://127.0.0.1:9/x"})
    words = [
        "sh",
        "-c",
        '. ./.local/env; exec "$0" -c "import os; print(os.environ[\'POSTHASTE_URL\'])"',
        sys.executable,
    ]
    assert (
        subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout == "http://127.0.0.1:9/x\n"
    )
    assert paths.read_env(file.env) == {"POSTHASTE_URL": "http://127.0.0.1:9/x"}


@pytest.mark.slow
def test_the_local_clouds_command_starts_no_process_for_templates() -> None:
    """What it imports would start node, which Ctrl-C kills before Python has said goodbye to it."""
    words = [sys.executable, "-c", "import sys, infra.local.__main__; sys.exit('aws_cdk' in sys.modules)"]
    assert subprocess.run(words, check=False, timeout=60).returncode == 0
