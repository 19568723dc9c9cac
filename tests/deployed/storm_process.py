"""The process of the storm's provider, and how a lane of the local cloud calls it instead of the simulator."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from infra.local import deploy
from infra.local.processes import LOOPBACK
from shared.contracts import ENV_SETTINGS, HANDLERS, webhook_secret_name
from tests.deployed.inside import Inside
from tests.deployed.storm_provider import FAILS


class StormProvider:
    """The provider's process, and what it has noted. Use as a context manager.

    Args:
        webhook: where it posts events.
        seed: of its weather.
        folder: for its log.
        fails: share of the requests that fail, 0 to 1.
    """

    def __init__(self, webhook: str, seed: int, folder: Path, fails: float = FAILS) -> None:
        self._log = folder / "provider.jsonl"
        self._log.touch()
        program = Path(__file__).with_name("storm_provider.py")
        self._words = [sys.executable, str(program), "--log", str(self._log), "--webhook", webhook]
        self._words += ["--seed", str(seed), "--fails", str(fails)]
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.public_key = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        self.url, self.public_key = f"http://{LOOPBACK}:{said['port']}", said["public_key"]
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def calls(self) -> list[dict[str, Any]]:
        """Return a row for each recipient of each call: `at`, `to`, `weather`, and whether it was `taken`."""
        whole = self._log.read_text(encoding="utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]


@contextmanager
def serving(inside: Inside, credential: str, provider: StormProvider) -> Iterator[None]:
    """Have a credential's messages go to a provider, and its events believed.

    Args:
        inside: the cloud.
        credential: has a lane of its own.
        provider: is up.
    """
    settings = inside.deployment.settings
    changed = [replace(c, base_url=provider.url) if c.id == credential else c for c in settings.credentials]
    secrets, name = deploy.client("secretsmanager", inside.port), webhook_secret_name(settings.stage, credential)
    before = secrets.get_secret_value(SecretId=name)["SecretString"]
    sender, receiver = inside.names[credential], inside.names[HANDLERS["webhooks"]]
    try:
        verifying = {**json.loads(before), "webhook_public_key": provider.public_key}
        secrets.put_secret_value(SecretId=name, SecretString=json.dumps(verifying))
        variables = {ENV_SETTINGS: replace(settings, credentials=tuple(changed)).dumps()}
        with _renewed(inside, sender, variables), _renewed(inside, receiver, {}):
            yield
    finally:
        secrets.put_secret_value(SecretId=name, SecretString=before)


@contextmanager
def _renewed(inside: Inside, function: str, variables: Mapping[str, str]) -> Iterator[None]:
    """Give a function new processes, with other variables meanwhile."""
    own = inside.functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    try:
        inside.functions.update_function_configuration(
            FunctionName=function, Environment={"Variables": {**own, **variables}}
        )
        yield
    finally:
        inside.functions.update_function_configuration(FunctionName=function, Environment={"Variables": own})
