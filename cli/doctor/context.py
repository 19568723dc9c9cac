"""The subject of `posthaste doctor`: a deployment, or where it is to be, and what was found out about it so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cli.deployment import OperatedDeployment
from cli.environment import URL, local_cloud
from cli.errors import NotFound
from shared.contracts import Settings
from shared.ports import Clock


@dataclass(frozen=True)
class Patient:
    """The deployment that is examined.

    Attributes:
        found: how to reach it.
        settings: of cdk.json where there is one, else those that are deployed.
        reserved: whether the lanes reserve their concurrency.
        from_file: whether `settings` are those of cdk.json.
        clock: time.
        read: secret name → its value; never shown.
    """

    found: OperatedDeployment
    settings: Settings
    reserved: bool
    from_file: bool
    clock: Clock
    read: dict[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The environment of the deployed functions; empty if nothing is deployed."""
        return environment(self.found)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The identity that asks, and the answer's own headers."""
        answer: Mapping[str, Any] = self.found.client("sts").get_caller_identity()
        return answer

    @cached_property
    def url(self) -> str:
        """The API's public address; empty if it is not known."""
        local = local_cloud() if self.found.local else None
        if local is not None:
            return local.values.get(URL, "")
        if self.settings.public_url:
            return self.settings.public_url
        return self.found.output("ApiUrl").rstrip("/") if self.environment else ""

    def secret(self, name: str) -> str:
        """Return a secret's text, empty if it has none; each is asked for once."""
        if name not in self.read:
            self.read[name] = self.found.secret(name)
        return self.read[name]


def environment(found: OperatedDeployment) -> Mapping[str, str]:
    """Return the variables of a deployed function that has the settings; empty if nothing is deployed."""
    try:
        return found.environment()
    except NotFound:
        return {}
