"""The deployed settings, as the deployment's own functions see them, and the demo account that uses it."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.local import emulator
from infra.local.console import LocalCloudError
from infra.local.deploy import Stack, client
from infra.local.paths import ROOT
from shared.contracts import ENV_OPERATE_URL, ENV_SETTINGS, Settings

ACCOUNT: Final = "demo"
SENDER: Final = "example.com"
PEOPLE: Final = ("POSTHASTE_API_KEY", "POSTHASTE_TEST_KEY", "POSTHASTE_NOTIFIER", "POSTHASTE_NOTIFIER_PASSWORD")
NOTIFIER: Final = "demo"
ZONE: Final = "Australia/Sydney"
COUNTRY: Final = "AU"
COMMAND_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class LocalDeployment:
    """The deployment: base address of its API, its settings, and a function's whole environment."""

    api: str
    settings: Settings
    environment: Mapping[str, str]


def describe(stacks: Sequence[Stack], port: int) -> LocalDeployment:
    """Read the deployment from the emulator; LocalCloudError if there is no API or no function with settings."""
    api = address(stacks, port)
    functions = client("lambda", port)
    for stack in stacks:
        for name, _ in stack.of_type("AWS::Lambda::Function"):
            environment = functions.get_function_configuration(FunctionName=name).get("Environment", {})
            variables: dict[str, str] = environment.get("Variables", {})
            if ENV_SETTINGS in variables:
                return LocalDeployment(api, Settings.loads(variables[ENV_SETTINGS]), variables)
    raise LocalCloudError(f"no function has {ENV_SETTINGS}")


def address(stacks: Sequence[Stack], port: int) -> str:
    """Return the API's address, without a slash at its end; LocalCloudError if there is no API."""
    apis = [api for stack in stacks for api, _ in stack.of_type("AWS::ApiGatewayV2::Api")]
    if not apis:
        raise LocalCloudError("the stack has no HTTP API")
    # The stage is $default; its dollar is encoded, so that a shell can read the env file.
    return f"{emulator.url(port)}/_aws/execute-api/{apis[0]}/%24default"


def people(known: Mapping[str, str], deployment: LocalDeployment, port: int) -> dict[str, str]:
    """Return the demo account's keys and its notifier's password: those already known, else of a new account.

    Args:
        known: the environment of an earlier start, which may hold the keys.
        deployment: the local cloud's settings and environment.
        port: the emulator's port.
    """
    if all(known.get(name) for name in PEOPLE):
        return {name: known[name] for name in PEOPLE}
    account = posthaste(deployment, port, "account", "create", ACCOUNT, "--sender", SENDER)["account_id"]
    with ThreadPoolExecutor() as pool:
        live = pool.submit(posthaste, deployment, port, "key", "create", account)
        test = pool.submit(posthaste, deployment, port, "key", "create", account, "--test")
        place = ("--account", account, "--timezone", ZONE, "--country", COUNTRY)
        notifier = pool.submit(posthaste, deployment, port, "notifier", "create", NOTIFIER, *place)
    return {
        "POSTHASTE_API_KEY": live.result()["key"],
        "POSTHASTE_TEST_KEY": test.result()["key"],
        "POSTHASTE_NOTIFIER": NOTIFIER,
        "POSTHASTE_NOTIFIER_PASSWORD": notifier.result()["password"],
    }


def posthaste(deployment: LocalDeployment, port: int, *arguments: str) -> Any:
    """Run the `posthaste` command against the local cloud; return the JSON it prints, of several documents a list.

    Raises LocalCloudError if it fails.

    Args:
        deployment: the local cloud's settings and environment.
        port: the emulator's port.
        *arguments: the words after `posthaste`; `--json` is added.
    """
    done = subprocess.run(
        [str(Path(sys.executable).parent / "posthaste"), *arguments, "--json"],
        cwd=ROOT,
        env={
            **emulator.tool_environment(port),
            **deployment.environment,
            **emulator.client_environment(port),
            ENV_OPERATE_URL: deployment.api,
        },
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    if done.returncode:
        raise LocalCloudError(f"posthaste {' '.join(arguments[:2])} failed:\n{done.stderr or done.stdout}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[0] if len(lines) == 1 else lines
