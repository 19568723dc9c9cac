"""What `cdk.json` declares of the console, as its function is given it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from shared.contracts.settings import known_fields

OPERATOR: Final = "operator"
"""The role of people who look after the whole deployment."""


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """Who may sign in, and by whom.

    Attributes:
        provider: of identities, as in `github`.
        client_id: by which the provider knows this deployment; its secret is in Secrets Manager.
        users: logins that may sign in, in lower case.
        organizations: whose members may sign in, in lower case.
        roles: login or organization, in lower case → role in the whole deployment.
        base_url: the provider's own address, if it is not the public one; without a slash at its end.
        inbox: where the simulator shows what its providers took, without a slash at its end; empty on AWS.
        own_accounts: whether people may make an account of their own.
    """

    provider: str
    client_id: str
    users: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""
    inbox: str = ""
    own_accounts: bool = True

    def having(self, role: str) -> frozenset[str]:
        """Return the logins and organizations that have a role."""
        return frozenset(name for name, given in self.roles.items() if given == role)

    def dumps(self) -> str:
        """Serialise for an environment variable."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def loads(cls, document: str) -> "ConsoleSettings":
        """Read what `dumps` wrote, of this version or another."""
        raw: dict[str, Any] = known_fields(cls, json.loads(document))
        listed: dict[str, Any] = {name: tuple(raw[name]) for name in ("users", "organizations") if name in raw}
        return cls(**{**raw, **listed})
