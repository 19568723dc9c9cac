"""Signing in to the local cloud's console: by the simulator's GitHub, whose page lets one choose who to be."""

from typing import Any, Final

CLIENT_ID: Final = "posthaste"
CLIENT_SECRET: Final = "simulated"  # noqa: S105 - of the simulator
OPERATOR: Final = "octocat"
"""Sees every account of the local cloud, and has every button."""
ORGANIZATION: Final = "posthaste"
"""Its members may sign in."""


def settings(simulator: str) -> dict[str, Any]:
    """Return the settings of the console. `simulator`: its address."""
    return {
        "provider": "github",
        "client_id": CLIENT_ID,
        "allowed": {"organizations": [ORGANIZATION]},
        "roles": {OPERATOR: "key-admin"},
        "buttons": True,
        "base_url": f"{simulator}/github",
        "inbox": simulator,
    }


def app(api: str) -> dict[str, str]:
    """Return the OAuth app as the simulator has it. `api`: the API's address, below which the console is."""
    return {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "callback": f"{api}/console/signed-in"}
