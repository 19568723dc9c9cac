"""The console's settings in `cdk.json`, as its function receives them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Final

from shared.contracts.settings import known_fields
from shared.frozen import dataclass

GITHUB: Final = "github"
OPENID: Final = "openid"
OPERATOR: Final = "operator"
"""The role of people who look after the whole deployment."""
KEY_ADMIN: Final = "key-admin"
"""The role of operators who may also make, replace and revoke API keys in the console."""
GROUP_PREFIX: Final = "group:"
"""Begins a group of an OpenID provider, so that no login, which people may choose, is the name of a group."""
DOMAIN_PREFIX: Final = "@"
"""Begins a domain of verified e-mail addresses, which is no login either."""
ID_PREFIX: Final = "id:"
"""Begins the provider's own id of a person, which never becomes another's; no login has it."""
FILE: Final = "posthaste_console.json"
"""The file in the console's layer with its settings. An environment of 4 KB has no room for hundreds of people."""


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The people who may sign in, and the identity provider that signs them in.

    Attributes:
        provider: of identities: `github` or `openid`.
        client_id: by which the provider knows this deployment; its secret is in Secrets Manager.
        users: logins that may sign in, in lower case, and people by `id:` and the provider's own id.
        organizations: whose members may sign in, in lower case; of OpenID: `group:name`, as it is, and `@domain`.
        roles: login, id or organization, likewise → role in the whole deployment.
        base_url: the provider's own address, if it is not the public one; without a slash at its end.
        inbox: where the simulator shows what its providers took, without a slash at its end; empty on AWS.
        own_accounts: whether people may make an account of their own.
        buttons: whether operators do in the console what else only their commands do.
        issuer: of OpenID: its identifier, letter by letter as in its tokens.
        groups_claim: of OpenID: the claim with a person's groups.
        name: of OpenID: how people know the provider.
        file: on the function's import path, with all of these settings; empty: they are here.
    """

    provider: str
    client_id: str
    users: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""
    inbox: str = ""
    own_accounts: bool = True
    buttons: bool = False
    issuer: str = ""
    groups_claim: str = "groups"
    name: str = ""
    file: str = ""

    def having(self, role: str) -> frozenset[str]:
        """Return the logins and organizations that have a role."""
        return frozenset(name for name, given in self.roles.items() if given == role)

    @property
    def apart(self) -> "ConsoleSettings":
        """The part that the environment holds when the settings' file is in the function's layer."""
        return ConsoleSettings(self.provider, self.client_id, file=FILE)

    def dumps(self) -> str:
        """Serialise for an environment variable, or for the file."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def loads(cls, document: str) -> "ConsoleSettings":
        """Read what `dumps` wrote, of this version or another."""
        raw: dict[str, Any] = known_fields(cls, json.loads(document))
        listed: dict[str, Any] = {name: tuple(raw[name]) for name in ("users", "organizations") if name in raw}
        return cls(**{**raw, **listed})


def of_group(name: str) -> str:
    """Return what a group of an OpenID provider is called here: letter by letter, as others could differ in case."""
    return f"{GROUP_PREFIX}{name}"


def of_domain(name: str) -> str:
    """Return what a domain of verified e-mail addresses is called here."""
    return f"{DOMAIN_PREFIX}{name.lower()}"
