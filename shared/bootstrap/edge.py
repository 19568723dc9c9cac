"""Whether requests come only by the edge, and the keys by which that is known."""

from collections.abc import Mapping
from typing import Any

from shared import contracts
from shared.adapters.aws import Aws
from shared.adapters.secrets import Secrets
from shared.contracts import Settings
from shared.web.access.edge import Edge, edge_by


def edge_of(env: Mapping[str, str], client: Any = None) -> Edge:
    """Return the edge of a function's environment.

    Args:
        client: of Secrets Manager; None makes one at the first request.
    """
    made: list[Secrets] = []

    def keys() -> Mapping[str, str]:
        if not made:
            stage = Settings.loads(env[contracts.ENV_SETTINGS]).stage
            made.append(Secrets(client or Aws().client("secretsmanager"), stage))
        return made[0].edge()

    return edge_by(env.get(contracts.ENV_EDGE, ""), keys)
