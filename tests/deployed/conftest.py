"""Tests in this folder marked `deployed` talk to the running local cloud; without one they fail."""

import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from infra.local import accounts, deploy, emulator
from infra.local import cloud as local_cloud
from infra.local.console import LocalCloudError
from infra.local.paths import ENV_CLOUDS, ENV_LOCAL, ROOT, Paths, paths, read_env
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.drill import Running
from tests.deployed.following import Reader, reader
from tests.deployed.forked import Program, forking
from tests.deployed.inside import Inside, clients, port_of
from tests.deployed.mail_door import MailDoor
from tests.fakes.browser import Browser, browsing

HERE: Final = Path(__file__).parent
WORKER: Final = "PYTEST_XDIST_WORKER"
"""In a process of pytest-xdist: gw0, gw1, …"""


LATER: Final = (
    *("pydantic.type_adapter", "rich.markdown", "typer.rich_utils", "cli.client", "cli.local", "cli.mails.mails"),
    *("cli.account.timeline", "cli.content.previewing", "cli.digests.digests", "cli.doctor.doctor"),
    *("cli.hooks.commands", "cli.keys.commands", "cli.notifier.commands", "cli.operating.accounts"),
    *("cli.operating.logs", "cli.operating.queues", "cli.operating.switches"),
    *("cli.sending.batches", "cli.sending.campaigns", "cli.sending.templates"),
)
"""Large modules that `posthaste` imports once it needs them."""
SLOW: Final = ("guides", "runbooks", "clinic", "hooks", "storm", "chaos", "campaign", "notices", "short_drills")
"""Files, and drills, that take long, longest first: they begin first, so that all clouds are done at about the same
time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what is slow before the rest."""
    places = {f"test_{name}": n for n, name in enumerate(SLOW)} | {f"[{name}]": n for n, name in enumerate(SLOW)}

    def place(item: pytest.Item) -> int:
        drill = item.name.removeprefix("test_a_drill_breaks_no_promise")
        return places.get(drill, places.get(item.path.stem, len(places))) if item.path.parent == HERE else len(places)

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Let clouds that share the tests file by file share the drills one by one."""
    if config.getoption("dist") != "loadfile":
        return None  # what else runs files of this folder says how to share them
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - a plugin that only `make` loads

    class Scheduling(LoadFileScheduling):  # type: ignore[misc] # it has no types
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if "test_short_drills" in nodeid else str(super()._split_scope(nodeid))

    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def cloud_of_this_process() -> Iterator[None]:
    """Turn each process of pytest-xdist towards a cloud of its own, if the command was started with several."""
    folders = os.environ.get(ENV_CLOUDS, "").split(os.pathsep)
    with pytest.MonkeyPatch.context() as patch:
        if len(folders) > 1 and WORKER in os.environ:
            folder = folders[int(os.environ[WORKER].removeprefix("gw"))]
            for name, value in {**read_env(Paths(Path(folder)).env), ENV_LOCAL: folder}.items():
                patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def cloud() -> local_cloud.Cloud:
    """The running local cloud, as its `env` file describes it."""
    try:
        return local_cloud.current(paths())
    except LocalCloudError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def cloud_port(cloud: local_cloud.Cloud) -> int:
    return port_of(cloud)


@pytest.fixture(scope="session")
def aws(cloud_port: int) -> Callable[[str], Any]:
    """Clients of the emulator's root user, by service."""
    return lambda service: deploy.client(service, cloud_port)


@pytest.fixture(scope="session")
def stacks(cloud: local_cloud.Cloud, cloud_port: int) -> list[deploy.Stack]:
    return deploy.stacks(cloud.paths, cloud_port)


@pytest.fixture(scope="session")
def api(cloud: local_cloud.Cloud) -> Api:
    """The API with the demo account's key."""
    return clients(cloud)[0]


@pytest.fixture(scope="session")
def control(cloud: local_cloud.Cloud) -> ControlClient:
    """The simulator."""
    return clients(cloud)[1]


@pytest.fixture(scope="session")
def inside(cloud: local_cloud.Cloud, stacks: list[deploy.Stack], cloud_port: int) -> Inside:
    return Inside.of(cloud, stacks, cloud_port)


@pytest.fixture(scope="session")
def running(inside: Inside, api: Api, control: ControlClient) -> Running:
    """What drills need of the cloud."""
    return inside, api, control


@pytest.fixture
def mend(control: ControlClient, inside: Inside) -> Callable[[str, str], None]:
    """Ends the trouble of a provider's credential: its senders call it within 3 seconds, whatever its breaker waits."""

    def mended(provider: str, credential: str) -> None:
        control.faults(provider, credential)
        why = ("--reason", "end of a test")
        accounts.posthaste(inside.deployment, inside.port, "credential", "close-breaker", credential, *why)

    return mended


@pytest.fixture
def tag() -> str:
    """Part of every address of a test, so that tests do not meet."""
    return uuid.uuid4().hex[:10]


@pytest.fixture
def door(api: Api, control: ControlClient, tag: str) -> MailDoor:
    """Mails of a test."""
    return MailDoor(api, control, tag)


@pytest.fixture(scope="session")
def in_role(aws: Callable[[str], Any], cloud_port: int) -> Callable[[str, str], Any]:
    """Clients that act in the role of a deployed function: `in_role(function_name, service)`."""

    @cache
    def client(function: str, service: str) -> Any:
        role = aws("lambda").get_function_configuration(FunctionName=function)["Role"]
        found = aws("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
        session: Any = emulator.session()
        return session.client(
            service,
            endpoint_url=emulator.url(cloud_port),
            config=emulator.config(),
            aws_access_key_id=found["AccessKeyId"],
            aws_secret_access_key=found["SecretAccessKey"],
            aws_session_token=found["SessionToken"],
        )

    return client


@pytest.fixture(scope="session")
def programs() -> Iterator[dict[str, list[str]]]:
    """What begins each program that is forked, `python` among them."""
    calls = ["/usr/bin/env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.deployed.aws_cli"]
    commands = {
        "posthaste": Program("cli.main:main", [str(Path(sys.executable).parent / "posthaste")], LATER),
        "aws": Program("tests.deployed.aws_cli:main", calls),
        "python": Program("tests.deployed.forked:script", [sys.executable], ["httpx"]),
    }
    with tempfile.TemporaryDirectory() as folder, forking(commands, Path(folder)) as words:
        yield words


@pytest.fixture(scope="session")
def forked(programs: dict[str, list[str]]) -> dict[str, list[str]]:
    """What begins each program of the pages that is forked."""
    return {name: programs[name] for name in ("posthaste", "aws")}


@pytest.fixture
def opened(cloud: local_cloud.Cloud, forked: dict[str, list[str]], tmp_path: Path) -> Iterator[Callable[..., Reader]]:
    """Readers of pages: `opened({a word of the page: what is written in its place})`."""
    with ExitStack() as stack:

        def one(own: Mapping[str, str] | None = None, **more: str) -> Reader:
            return stack.enter_context(reader(cloud, forked, tmp_path, own or {}, **more))

        yield one


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser in a window of a service."""
    with browsing(scripts=True) as opened:
        size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        opened.devtools("Emulation.setDeviceMetricsOverride", **size)
        yield opened
