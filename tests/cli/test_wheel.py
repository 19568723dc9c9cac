"""The command as a package of its own: what is in it, and what a user without the checkout sees of it."""

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import budgets
from tests.api.conftest import build_api
from tests.cli.real import RealApi
from tests.fakes.clock import FakeClock as EngineClock
from tools import wheel
from tools.closure import closure, imports

OPERATORS = "this is a command of operators, which needs boto3: pipx inject posthaste-cli boto3"
CHECKOUT = "this command needs a checkout of Posthaste"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return wheel.build(folder / "dist", folder / "work")


@pytest.fixture(scope="module")
def user(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a clean environment: the wheel, and what it says that it needs, from this environment."""
    folder = tmp_path_factory.mktemp("user") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    uv = Path(sys.executable).with_name("uv")
    there = {"--python": str(folder / "bin" / "python")}
    words = [str(uv), "pip", "install", "-q", "--no-index", "--no-deps", *(x for pair in there.items() for x in pair)]
    subprocess.run([*words, str(built)], check=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    for name in needed(built):
        _lend(name, site)
    return folder


def needed(built: Path) -> set[str]:
    """Return the wheel's requirements and theirs, without those of its extras."""
    with zipfile.ZipFile(built) as archive:
        (name,) = [x for x in archive.namelist() if x.endswith("METADATA")]
        facts = Parser().parsestr(archive.read(name).decode())
    found: set[str] = set()
    waiting = [Requirement(text) for text in facts.get_all("Requires-Dist") or ()]
    while waiting:
        one = waiting.pop()
        if one.name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(one.name)
        waiting.extend(Requirement(text) for text in requires(one.name) or ())
    return found


def _lend(name: str, site: Path) -> None:
    """Link the files of an installed package into another environment."""
    package = distribution(name)
    for top in {file.parts[0] for file in package.files or () if file.parts[0] not in {"..", "__pycache__"}}:
        place = site / top
        if not place.exists():
            place.symlink_to(Path(str(package.locate_file(top))))


@pytest.fixture
def api(moto_dynamo: object) -> Iterator[RealApi]:
    real = RealApi(build_api(moto_dynamo, EngineClock()))
    yield real
    real.close()


def command(user: Path, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command as its user does; `typed` is what it reads, the rest its environment."""
    typed = more.pop("typed", "")
    around = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AWS_", "POSTHASTE_"))
    }
    return subprocess.run(
        [str(user / "bin" / "posthaste"), *words],
        env={**around, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", **more},
        cwd=folder, input=typed, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.slow
def test_the_package_declares_all_that_its_modules_import() -> None:
    assert wheel.outside() == set(wheel.NEEDS) | set(wheel.OPERATOR)
    assert [x.split(">")[0] for x in wheel.requirements(["typer", "pydantic", "typer"])] == ["pydantic", "typer"]


def test_the_package_has_only_what_the_command_needs(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"posthaste_cli", f"posthaste_cli-{wheel.version()}.dist-info"}
    kept = {name.removeprefix("posthaste_cli/modules/") for name in names if name.startswith("posthaste_cli/modules/")}
    assert {name for name in kept if name.startswith("infra/")} == {
        "infra/__init__.py", "infra/local/__init__.py", "infra/local/paths.py",
    }  # fmt: skip
    assert not {name for name in kept if name.startswith(("simulator/", "tests/", "functions/api/handler"))}
    assert {"cli/main.py", "shared/domain/channels/email.py"} <= kept


@pytest.mark.slow
def test_a_cut_module_leaves_with_all_that_only_it_needs() -> None:
    whole, cut = closure(wheel.ROOT, "cli.main"), closure(wheel.ROOT, "cli.main", wheel.CUT)
    left = set(whole) - set(cut)
    needed = {name for file in cut.values() for name in imports(file)}
    assert left & needed == set(wheel.CUT), "nothing that stays imports what leaves, but by the names that are cut"
    assert {"infra.settings", "infra.schema", "simulator.client"} <= left
    assert {name.split(".")[0] for name in left} <= {"infra", "simulator", "shared"}


def test_bounds_end_before_the_version_that_may_break() -> None:
    for text in wheel.requirements(["boto3", "typer", "tzdata"]):
        name, _, bounds = text.partition(">=")
        low, _, high = bounds.partition(",<")
        assert low[0].isdigit()
        assert (name == "tzdata") is (high == "")
        if name == "typer":
            assert high == f"0.{int(low.split('.')[1]) + 1}"


@pytest.mark.slow
def test_a_new_user_logs_in_sends_and_logs_out(user: Path, tmp_path: Path, api: RealApi) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    shown = command(user, tmp_path, "--help", **home)
    assert shown.returncode == 0, shown.stderr
    assert "campaign" in shown.stdout
    assert command(user, tmp_path, "--version", **home).stdout == f"posthaste {wheel.version()}\n"
    entered = command(user, tmp_path, "login", api.url, typed=api.api.key, **home)
    assert entered.returncode == 0, entered.stderr
    assert api.api.key not in entered.stdout + entered.stderr
    (tmp_path / "batch.json").write_text(json.dumps(api.api.body(("c@example.org",))))
    sent = command(user, tmp_path, "batch", "send", "batch.json", "--yes", "--json", **home)
    assert json.loads(sent.stdout)["recipients"] == 1, sent.stderr
    listed = command(user, tmp_path, "batch", "list", "--json", **home)
    assert [json.loads(line)["batch_id"] for line in listed.stdout.splitlines()] == [
        json.loads(sent.stdout)["batch_id"]
    ]
    (tmp_path / "list.csv").write_text("recipient,name\na@example.org,Ann\n")
    (tmp_path / "mail.html").write_text("<p>Dear {{ name }}</p>")
    words = ("campaign", "run", "list.csv", "--template", "mail.html", "--subject", "S", "--from", "news@example.com")
    assert "not a terminal" in command(user, tmp_path, *words, **home).stderr
    assert command(user, tmp_path, "logout", **home).returncode == 0
    assert "posthaste login" in command(user, tmp_path, "batch", "list", **home).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("account", "list"), OPERATORS),
        (("doctor",), OPERATORS),
        (("queue", "list"), OPERATORS),
        (("hook", "list", "--deployment"), OPERATORS),
        (("local", "up"), CHECKOUT),
        (("local", "status"), CHECKOUT),
    ],
    ids=" ".join,
)
def test_a_command_whose_part_is_missing_says_how_to_get_it(
    user: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    done = command(user, tmp_path, *words, HOME=str(tmp_path), AWS_REGION="us-east-1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {says}")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(user: Path, tmp_path: Path, shell: str) -> None:
    asked = {"COMP_WORDS": "posthaste log", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "posthaste log"}
    more = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"} if shell == "fish" else {}
    done = command(user, tmp_path, _POSTHASTE_COMPLETE=f"complete_{shell}", HOME=str(tmp_path), **asked, **more)
    assert {"login", "logout", "logs"} <= set(re.split(r"[^a-z]+", done.stdout))
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # not the shell that runs the tests
    shown = command(user, tmp_path, "--show-completion", shell, HOME=str(tmp_path), **named)
    assert "_POSTHASTE_COMPLETE" in shown.stdout


@pytest.mark.slow
def test_the_help_loads_nothing_heavy_and_takes_less_than_a_second(user: Path, tmp_path: Path) -> None:
    """What takes long to load is loaded when it is needed. The time is the processor's, from the start of Python."""
    code = (
        "import json, sys, time, posthaste_cli; sys.argv = ['posthaste', '--help']\n"
        "try: posthaste_cli.main()\n"
        "except SystemExit: pass\n"
        "took, loaded = time.process_time(), sorted({x.split('.')[0] for x in sys.modules})\n"
        "print(json.dumps([took, loaded]), file=sys.stderr)"
    )
    words = [str(user / "bin" / "python"), "-c", code]
    runs = [subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True) for _ in range(5)]
    took, loaded = zip(*(json.loads(run.stderr) for run in runs), strict=True)
    heavy = {"boto3", "botocore", "keyring", "openpyxl", "phonenumbers", "aiosmtpd", "pydantic", "httpx"}
    assert not heavy & set(loaded[0])
    assert budgets.kept(min(took), 1.0)
