"""Bring the local cloud up, tell what runs, and take it down."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from infra.local import accounts, completion, deploy, emulator, processes, providers
from infra.local.console import LocalCloudError, say, step
from infra.local.paths import EXPORT, Paths, read_env
from infra.local.processes import Process

HEALTH_SECONDS: Final = 60.0
NOTICE_CLOCK: Final = "POSTHASTE_NOTICE_CLOCK"
"""In the `env` file of a cloud whose notices have another time than the machine."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A running local cloud: its files, and what is in its `env` file."""

    paths: Paths
    env: Mapping[str, str]

    @property
    def api(self) -> str:
        """Base address of the HTTP API, without trailing slash."""
        return self.env["POSTHASTE_URL"]

    @property
    def simulator_port(self) -> int:
        """The simulator's port."""
        return processes.read(self.paths)[providers.NAME].port


def up(paths: Paths, lanes: Path | None = None, notice_clock: str = "") -> Cloud:
    """Start what does not run, deploy what has changed, and write the `env` file.

    Args:
        lanes: a file with a JSON list of credentials that this cloud has beside those of `cdk.json`.
        notice_clock: the context of that name; a cloud that is up keeps its own.

    Returns:
        The running cloud. Calling this again is cheap: nothing is deployed while the sources are those deployed last.

    Raises:
        LocalCloudError: a step failed; running parts stay for inspection, and the next `up` continues from there.
    """
    paths.make()
    with processes.exclusive(paths):
        already = _running(paths)
        fresh = emulator.NAME not in already
        with step("emulator and provider simulator"):
            machines = [emulator.begin(paths), providers.begin(paths)]
            emulator.wait(paths, machines[0])
            providers.wait(paths, machines[1])
        cloud_port, simulator_port = (machine.port for machine in machines)
        known = read_env(paths.env) if not fresh else {}
        notice_clock = notice_clock if fresh else known.get(NOTICE_CLOCK, "")
        clock = (f"notice_clock={notice_clock}",) if notice_clock else ()
        more = deploy.more_lanes(lanes, partial(providers.relay, simulator_port), providers.url(simulator_port))
        context = ("target=local", f"simulator_url={providers.url(simulator_port)}", *clock, *more)
        mark = deploy.fingerprint(context)
        if not deploy.up_to_date(paths, mark):
            with step("synthesise" + (" and bootstrap" if fresh else "")):
                deploy.prepare(paths, cloud_port, context, mark)
            with step("cdk deploy"):
                deploy.deploy(paths, cloud_port)
        stacks = deploy.stacks(paths, cloud_port)
        with step("what the emulator drops"):
            completion.complete(stacks, cloud_port)
        found = accounts.describe(stacks, cloud_port)
        with ThreadPoolExecutor(1) as pool:
            # Its first start takes seconds: let it have them now.
            health = pool.submit(_healthy, f"{found.api}/health")
            with step("secrets, webhooks and the demo account"):
                providers.introduce(found, cloud_port, simulator_port)
                people = accounts.people(known, found, cloud_port)
            with step("the API answers"):
                health.result()
        env = {
            "POSTHASTE_URL": found.api,
            "POSTHASTE_STAGE": found.settings.stage,
            **people,
            "SIMULATOR_URL": providers.url(simulator_port),
            **emulator.client_environment(cloud_port),
            **({NOTICE_CLOCK: notice_clock} if notice_clock else {}),
        }
        write_env(paths, env)
        deploy.remember(paths, mark)
    return Cloud(paths, env)


def down(paths: Paths) -> None:
    """Stop everything that `up` started, the functions' workers included; quiet if nothing runs."""
    if not paths.home.exists():
        return
    with processes.exclusive(paths):
        for process in reversed(processes.read(paths).values()):
            with step(f"stop {process.name}"):
                (emulator.end if process.name == emulator.NAME else processes.stop)(paths, process)
        paths.env.unlink(missing_ok=True)
        paths.deployed.unlink(missing_ok=True)


def status(paths: Paths) -> bool:
    """Print what runs; tell whether all of it does."""
    running = _running(paths)
    for name in (emulator.NAME, providers.NAME):
        process = running.get(name)
        say(f"{name:10} " + (f"running, pid {process.pid}, port {process.port}" if process else "not running"))
    return runs(paths)


def runs(paths: Paths) -> bool:
    """Tell whether the emulator and the simulator run."""
    return len(_running(paths)) == 2  # noqa: PLR2004 - emulator and simulator


def current(paths: Paths) -> Cloud:
    """Return the cloud that is up; LocalCloudError if it is not."""
    env = read_env(paths.env)
    if "POSTHASTE_URL" not in env or emulator.NAME not in _running(paths):
        raise LocalCloudError("the local cloud is not up: run `make up`")
    return Cloud(paths, env)


def write_env(paths: Paths, env: Mapping[str, str]) -> None:
    """Write the `env` file, readable only by its owner, in one rename."""
    draft = paths.env.with_suffix(".new")
    draft.touch(mode=0o600)
    draft.write_text("".join(f"{EXPORT}{key}={value}\n" for key, value in env.items()), encoding="utf-8")
    draft.replace(paths.env)


def _healthy(url: str) -> None:
    try:
        with emulator.direct(url, timeout=HEALTH_SECONDS):
            return
    except OSError as error:
        raise LocalCloudError(f"the API does not answer ({error}): see the emulator's log") from error


def _running(paths: Paths) -> dict[str, Process]:
    return {name: p for name, p in processes.read(paths).items() if processes.alive(p)}
