"""The parts of a deployment that only the console has, each made when first asked for."""

import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared import contracts
from shared.adapters.console_secret import ConsoleSecret
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.adapters.http.transport import HttpClient
from shared.adapters.joining import BUTTONS_CONFIG, ButtonsFunction, JoinFunction
from shared.adapters.joining import CONFIG as PATIENCE
from shared.adapters.sign_in.github import GitHubSignIn
from shared.bootstrap.use_cases import Room
from shared.contracts.console import OPENID, ConsoleSettings
from shared.lazy import PartOf, lazy
from shared.web.sessions import Sessions

if TYPE_CHECKING:
    from shared.adapters.sign_in import openid
    from shared.ports.people import SignIn
else:
    (openid,) = lazy("shared.adapters.sign_in", "openid")

SIGNED_IN: Final = "/console/signed-in"
"""Where a provider of identities sends a browser back to, below the API's address."""
part = PartOf["Consoling"]()


class Consoling(Room):
    """What people sign in by."""

    @cached_property
    def settings(self) -> ConsoleSettings:
        """Who may sign in. Raises FileNotFoundError if the environment names a file that no layer has."""
        told = ConsoleSettings.loads(self.deployment.env[contracts.ENV_CONSOLE])
        return ConsoleSettings.loads(_imported(told.file)) if told.file else told

    @cached_property
    def first_accounts(self) -> JoinFunction | None:
        """The client of the function that makes people's first accounts; None: people must be invited."""
        name = self.deployment.env.get(contracts.ENV_JOIN_FUNCTION, "")
        return JoinFunction(self.deployment.aws.later("lambda", PATIENCE), name) if name else None

    @cached_property
    def buttons(self) -> ButtonsFunction | None:
        """The client of the function that does what operators press; None: the console shows their commands."""
        name = self.deployment.env.get(contracts.ENV_BUTTONS_FUNCTION, "")
        return ButtonsFunction(self.deployment.aws.later("lambda", BUTTONS_CONFIG), name) if name else None

    people = part(
        lambda r: DynamoPeople(r.deployment.dynamo, r.deployment.env[contracts.ENV_PEOPLE_TABLE], r.deployment.clock)
    )
    """Users, memberships and sessions."""
    links = part(lambda r: ConsoleSecret(r.deployment.secrets))
    """The keys that seal cookies and cursors, and the secret that the identity provider shares with the console."""
    sessions = part(lambda r: Sessions(r.links.keys))
    """Cookies."""

    @cached_property
    def sign_in(self) -> "SignIn":
        """The provider of identities."""
        clock, secret = self.deployment.clock, self.links.client_secret
        if self.settings.provider != OPENID:
            return GitHubSignIn(self.settings, secret, HttpClient(clock), clock)
        back = f"{self.deployment.address}{SIGNED_IN}"
        return openid.OpenIdSignIn(self.settings, secret, HttpClient(clock), clock, back)


def _imported(name: str) -> str:
    """Return the text of a file on the import path, where Lambda has the layers of a function."""
    for folder in sys.path:
        file = Path(folder) / name
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(name)
