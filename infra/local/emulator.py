"""The AWS emulator: MiniStack, one process on loopback, with IAM enforced."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

import boto3
from botocore.config import Config

from infra.local import processes
from infra.local.console import LocalCloudError
from infra.local.paths import ROOT, Paths
from infra.local.processes import LOOPBACK, Process

NAME: Final = "emulator"
REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
KEY: Final = "test"
"""The emulator's root user; IAM judges every other caller."""
START_SECONDS: Final = 30.0
UNPACKED: Final = "ministack-lambda-*"
"""Folders that the emulator leaves behind of every process that is killed or cut short."""


def plain_environment(paths: Paths) -> dict[str, str]:
    """Return an environment with nothing of the developer's in it."""
    return {
        "PATH": os.pathsep.join((str(ROOT / ".venv" / "bin"), os.defpath)),
        "HOME": str(paths.home / "home"),
        "TMPDIR": str(paths.home / "tmp"),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }


def environment(paths: Paths, port: int) -> dict[str, str]:
    """Return the emulator's whole environment; its functions inherit it."""
    return {
        **plain_environment(paths),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "MINISTACK_REGION": REGION,
        "AUTH": "true",
        "STATE_DIR": str(paths.home / "state"),
        "S3_DATA_DIR": str(paths.home / "state" / "s3"),
        "LAMBDA_EXECUTOR": "local",
        "DOCKER_HOST": f"unix://{paths.home / 'no-docker.sock'}",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
    }


def url(port: int) -> str:
    """Return the emulator's endpoint."""
    return f"http://{LOOPBACK}:{port}"


def client_environment(port: int) -> dict[str, str]:
    """Return what an AWS client needs to talk to the emulator as its root user."""
    return {
        "AWS_ENDPOINT_URL": url(port),
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def tool_environment(port: int) -> dict[str, str]:
    """Return the developer's environment turned towards the emulator: no profile or session of theirs survives."""
    dropped = {k for k in os.environ if k.startswith("AWS_") and k != "AWS_CA_BUNDLE"}
    dropped.add("PYTHONDONTWRITEBYTECODE")  # compiling aws_cdk anew costs each synth five seconds
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    return {
        **kept,
        **client_environment(port),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "no_proxy": LOOPBACK,
        "NO_PROXY": LOOPBACK,
    }


def begin(paths: Paths) -> Process:
    """Start the emulator without waiting for it; a living one is kept."""
    recorded = processes.read(paths).get(NAME)
    if recorded is not None and processes.alive(recorded):
        return recorded
    if recorded is not None:
        end(paths, recorded)  # orphans of a killed emulator
    for stale in (paths.deployed, paths.env):
        stale.unlink(missing_ok=True)
    port = processes.choose_port(paths, NAME)
    command = [sys.executable, "-m", "infra.local.emulated"]
    return processes.start(paths, NAME, command, environment(paths, port), port)


def end(paths: Paths, process: Process) -> None:
    """Stop the emulator with its functions, and remove what each of them unpacked, by a process of low priority."""
    processes.stop(paths, process)
    unpacked = [str(folder) for folder in (paths.home / "tmp").glob(UNPACKED)]
    if unpacked:
        command = ["sh", "-c", 'nice rm -rf -- "$@" &', "sh", *unpacked]
        quiet = subprocess.DEVNULL  # a reader of this command's output does not wait for it
        subprocess.run(command, check=True, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def wait(paths: Paths, process: Process) -> None:
    """Wait until the emulator answers; LocalCloudError with the end of its log otherwise."""
    wait_until_answers(paths, process, f"{url(process.port)}/_ministack/ready", START_SECONDS)


def wait_until_answers(paths: Paths, process: Process, probe: str, seconds: float) -> None:
    """Wait until a process answers 200 at a URL; LocalCloudError if it ends or stays silent.

    Args:
        process: the process that is to answer.
        seconds: how long to wait.
    """

    def ready() -> bool:
        if not processes.alive(process):
            raise LocalCloudError(f"{process.name} ended:\n{processes.tail(paths.log(process.name))}")
        try:
            with direct(probe, timeout=2) as answer:
                return int(answer.status) == 200  # noqa: PLR2004
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    if not processes.wait_for(ready, seconds):
        raise LocalCloudError(f"{process.name} did not answer:\n{processes.tail(paths.log(process.name))}")


def direct(
    target: str,
    *,
    timeout: float,
    body: Any = None,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Any:
    """Open a URL without any proxy; a body is sent as JSON. Use as a context manager; errors as urllib's.

    Args:
        timeout: seconds without an answer before it fails.
        body: sent as JSON; None for no body.
        method: the HTTP method; None for GET, or POST with a body.
        headers: added to the content type.
    """
    data = None if body is None else json.dumps(body).encode()
    wanted = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(target, data, wanted, method=method)  # noqa: S310 - our own loopback address
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=timeout)


def session() -> boto3.Session:
    """Return a session as the emulator's root user."""
    return boto3.Session(aws_access_key_id=KEY, aws_secret_access_key=KEY, region_name=REGION)


def config() -> Config:
    """Return the client settings for the emulator: no proxy, patience for a busy laptop."""
    return Config(proxies={}, connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 3})
