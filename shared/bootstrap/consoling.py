"""The parts of a deployment that only the console has, each made when first asked for."""

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared import contracts
from shared.adapters.console_secret import ConsoleSecret
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.adapters.joining import CONFIG as PATIENCE
from shared.adapters.joining import JoinFunction
from shared.adapters.sign_in.github import GitHubSignIn
from shared.contracts.console import OPENID, ConsoleSettings
from shared.web.sessions import Sessions

if TYPE_CHECKING:
    from shared.bootstrap.deployment import Deployment
    from shared.ports.people import SignIn

SIGNED_IN: Final = "/console/signed-in"
"""Where a provider of identities sends a browser back to, below the API's address."""


@dataclass(frozen=True)
class Consoling:
    """What people sign in by.

    Attributes:
        deployment: whose console it is.
    """

    deployment: "Deployment"

    @cached_property
    def settings(self) -> ConsoleSettings:
        """Who may sign in. Raises FileNotFoundError if the environment names a file that no layer has."""
        told = ConsoleSettings.loads(self.deployment.env[contracts.ENV_CONSOLE])
        return ConsoleSettings.loads(_imported(told.file)) if told.file else told

    @cached_property
    def people(self) -> DynamoPeople:
        """Users, memberships and sessions."""
        d = self.deployment
        return DynamoPeople(d.dynamo, d.env[contracts.ENV_PEOPLE_TABLE], d.clock)

    @cached_property
    def first_accounts(self) -> JoinFunction | None:
        """The client of the function that makes people's first accounts; None: people must be invited."""
        name = self.deployment.env.get(contracts.ENV_JOIN_FUNCTION, "")
        return JoinFunction(self.deployment.aws.later("lambda", PATIENCE), name) if name else None

    @cached_property
    def links(self) -> ConsoleSecret:
        """The keys that seal cookies and cursors, and the secret that the identity provider shares with the console."""
        return ConsoleSecret(self.deployment.secrets)

    @cached_property
    def sessions(self) -> Sessions:
        """Cookies."""
        return Sessions(self.links.keys)

    @cached_property
    def sign_in(self) -> "SignIn":
        """The provider of identities."""
        from shared.adapters.http.transport import HttpClient  # noqa: PLC0415 - only a sign-in needs it

        clock, secret = self.deployment.clock, self.links.client_secret
        if self.settings.provider != OPENID:
            return GitHubSignIn(self.settings, secret, HttpClient(clock), clock)
        from shared.adapters.sign_in.openid import OpenIdSignIn  # noqa: PLC0415 - only where the settings name one

        back = f"{self.deployment.address}{SIGNED_IN}"
        return OpenIdSignIn(self.settings, secret, HttpClient(clock), clock, back)


def _imported(name: str) -> str:
    """Return the text of a file on the import path, where Lambda has the layers of a function."""
    for folder in sys.path:
        file = Path(folder) / name
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(name)
