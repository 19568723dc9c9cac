"""What signs unsubscription links."""

import string
from typing import Final

from aws_cdk.aws_secretsmanager import CfnSecret
from constructs import Construct

from infra.settings import DeploymentSettings
from shared import contracts

KEY_LENGTH: Final = 64
"""Letters and digits: 380 bits."""


class LinkKeys(Construct):
    """The secret of a stage, with a first key that nobody has ever seen.

    CloudFormation makes a key anew whenever these properties change, and with it every link that was ever sent would be
    forgotten: they stay as they are. An operator rotates by hand, and keeps the former keys (docs/unsubscribe.md).
    """

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self.secret = CfnSecret(
            self,
            "Secret",
            name=contracts.unsubscribe_secret_name(deployment.stage),
            description="Posthaste: what signs unsubscription links; keep former keys in `previous`",
            generate_secret_string=CfnSecret.GenerateSecretStringProperty(
                secret_string_template="{}",  # noqa: S106 - the object that the key is put into
                generate_string_key="current",
                password_length=KEY_LENGTH,
                exclude_characters=string.punctuation + " ",
            ),
        )
        self.secret.apply_removal_policy(deployment.named_removal)
