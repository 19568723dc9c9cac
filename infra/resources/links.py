"""What signs unsubscription links."""

from constructs import Construct

from infra.resources.keys import KeySecret
from infra.settings import DeploymentSettings
from shared import contracts


class LinkKeys(KeySecret):
    """The secret of a stage. A new key would forget every link that was ever sent.

    An operator rotates by hand, and keeps the former keys (docs/unsubscribe.md).
    """

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(
            scope,
            construct_id,
            deployment=deployment,
            name=contracts.unsubscribe_secret_name(deployment.stage),
            description="Posthaste: what signs unsubscription links; keep former keys in `previous`",
        )
