"""The simulated providers: started on loopback, told the webhooks' address, and asked for what goes into secrets."""

import json
import sys
from typing import Any, Final

from infra.local import emulator, processes, sign_in
from infra.local.accounts import LocalDeployment, posthaste
from infra.local.console import LocalCloudError
from infra.local.deploy import client
from infra.local.paths import Paths
from infra.local.processes import LOOPBACK, Process
from shared.contracts import WEBHOOK_PATH, console_secret_name, secret_name, topic_name
from shared.providers.needs import Transport, needs_of
from simulator.client import ControlClient, ControlError

NAME: Final = "simulator"
START_SECONDS: Final = 20.0
POSTING: Final = {"batch_ms": 200, "parallel": 2, "timeout_s": 60}
"""Few, larger webhook posts, as the vendors make them: every worker they start costs half a second of a core. A post
that is given up early comes again, and starts one more of them while the first still begins."""


def url(port: int) -> str:
    """Return the simulator's address."""
    return f"http://{LOOPBACK}:{port}"


def begin(paths: Paths) -> Process:
    """Start the simulator without waiting for it; a living one is kept."""
    recorded = processes.read(paths).get(NAME)
    if recorded is not None and processes.alive(recorded):
        return recorded
    port = processes.choose_port(paths, NAME)
    keys = f"--key-folder={paths.home / 'state'}"  # a restarted simulator signs as before
    command = [sys.executable, "-m", "simulator", "--port", str(port), keys]
    return processes.start(paths, NAME, command, emulator.plain_environment(paths), port)


def wait(paths: Paths, process: Process) -> None:
    """Wait until the simulator answers; LocalCloudError with the end of its log otherwise."""
    emulator.wait_until_answers(paths, process, f"{url(process.port)}/_control", START_SECONDS)


def relay(port: int, credential: str) -> str:
    """Return the address of a credential's SMTP relay, which listens as long as the simulator runs.

    Args:
        port: the simulator's.

    Raises:
        LocalCloudError: the simulator takes no such name.
    """
    try:
        return str(ControlClient(url(port)).json("GET", f"/_control/relays/{credential}")["base_url"])
    except ControlError as error:
        raise LocalCloudError(str(error)) from error


def introduce(deployment: LocalDeployment, cloud_port: int, simulator_port: int) -> None:
    """Make deployment and simulator know each other: credentials' secrets filled, webhooks aimed at the API.

    Args:
        deployment: the local cloud's settings and addresses.
        cloud_port: the emulator's port.
        simulator_port: the provider simulator's port.

    Raises:
        LocalCloudError: a credential names a provider that the simulator does not have.
    """
    control = ControlClient(url(simulator_port))
    secrets = client("secretsmanager", cloud_port)
    known = control.json("GET", "/_control/keys")
    for credential in deployment.settings.credentials:
        needs = needs_of(credential.provider)
        if needs.transport is Transport.SMTP:  # it stays where the settings say, and asks for no password
            name = secret_name(deployment.settings.stage, credential.id)
            secrets.put_secret_value(SecretId=name, SecretString='{"auth": "none"}')
            continue
        if credential.provider not in known:
            raise LocalCloudError(f"the simulator has no provider {credential.provider}")
        keys = dict(known[credential.provider])
        secret = {"api_key": keys.pop("keys")[0], **keys}
        name = secret_name(deployment.settings.stage, credential.id)
        path = WEBHOOK_PATH.format(provider=credential.provider, credential_id=credential.id)
        topic = needs.topic_name
        target = _topic(deployment.settings.stage, topic, cloud_port) if topic else deployment.api + path
        if needs.calls_back:
            secret["webhook_url"] = target
        secrets.put_secret_value(SecretId=name, SecretString=json.dumps(secret))
        try:
            control.webhooks(credential.provider, credential.id, url=target, **POSTING)
        except ControlError as error:
            raise LocalCloudError(str(error)) from error
    posthaste(deployment, cloud_port, "credential", "split")
    _introduce_console(deployment, secrets, control)


def _introduce_console(deployment: LocalDeployment, secrets: Any, control: ControlClient) -> None:
    """Register the console as an OAuth app with the simulator, and put the app's secret into the console's."""
    name = console_secret_name(deployment.settings.stage)
    held = json.loads(secrets.get_secret_value(SecretId=name)["SecretString"])
    document = json.dumps({**held, "client_secret": sign_in.CLIENT_SECRET})
    secrets.put_secret_value(SecretId=name, SecretString=document)
    control.json("PUT", "/_control/github", sign_in.app(deployment.api))


def _topic(stage: str, name: str, cloud_port: int) -> str:
    """Return the topic that a service of AWS publishes to, as the simulator wants it: with endpoint and keys."""
    arn = f"arn:aws:sns:{emulator.REGION}:{emulator.ACCOUNT}:{topic_name(stage, name)}"
    return f"http://{emulator.KEY}:{emulator.KEY}@{LOOPBACK}:{cloud_port}/#{arn}"
