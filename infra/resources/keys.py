"""A secret that begins with a random key."""

import string
from typing import Final

from aws_cdk.aws_secretsmanager import CfnSecret
from constructs import Construct

from infra.settings import DeploymentSettings

KEY_LENGTH: Final = 64
"""Letters and digits: 380 bits."""


class KeySecret(Construct):
    """A secret of the stage whose first key, `current`, no person has seen.

    CloudFormation makes a key anew whenever these properties change: they stay as they are.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        name: str,
        description: str,
        kms_key_id: str | None = None,
    ) -> None:
        """Create it.

        Args:
            kms_key_id: the ARN of what encrypts it; None: AWS' own key.
        """
        super().__init__(scope, construct_id)
        self.secret = CfnSecret(
            self,
            "Secret",
            name=name,
            description=description,
            kms_key_id=kms_key_id,
            generate_secret_string=CfnSecret.GenerateSecretStringProperty(
                secret_string_template="{}",  # noqa: S106 - the object that the key is put into
                generate_string_key="current",
                password_length=KEY_LENGTH,
                exclude_characters=string.punctuation + " ",
            ),
        )
        self.secret.apply_removal_policy(deployment.named_removal)
