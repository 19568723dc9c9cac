"""Secrets that begin with a random key."""

import string
from collections.abc import Callable
from typing import ClassVar, Final

from aws_cdk.aws_secretsmanager import CfnSecret
from constructs import Construct

from infra.settings import DeploymentSettings
from shared import contracts

KEY_LENGTH: Final = 64
"""Letters and digits: 380 bits."""


class KeySecret(Construct):
    """A secret of the stage whose first key, `current`, no person has seen. Its kinds declare what differs.

    CloudFormation makes a key anew whenever these properties change: they stay as they are.
    """

    name: ClassVar[Callable[[str], str]]
    """Stage → the secret's name."""
    description: ClassVar[str]
    customers: ClassVar[bool] = False
    """Whether the customer's own key encrypts it, where the settings name one."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self.secret = CfnSecret(
            self,
            "Secret",
            name=type(self).name(deployment.stage),
            description=f"Posthaste: {self.description}",
            kms_key_id=(deployment.kms_key_arn or None) if self.customers else None,
            generate_secret_string=CfnSecret.GenerateSecretStringProperty(
                secret_string_template="{}",  # noqa: S106 - the object that the key is put into
                generate_string_key="current",
                password_length=KEY_LENGTH,
                exclude_characters=string.punctuation + " ",
            ),
        )
        self.secret.apply_removal_policy(deployment.named_removal)


class LinkKeys(KeySecret):
    """Signs unsubscription links. A new key would forget every link that was ever sent.

    An operator rotates by hand, and keeps the former keys (docs/unsubscribe.md).
    """

    name = contracts.unsubscribe_secret_name
    description = "what signs unsubscription links; keep former keys in `previous`"


class AddressKey(KeySecret):
    """Keys hashes of addresses. With a new key no one who is suppressed would be recognised, so nothing is sent then.

    An operator adds a key by hand after a theft, and keeps the former ones (docs/incidents.md).
    """

    name = contracts.addresses_secret_name
    description = "what hashes of addresses are keyed by; keep former keys in `previous`"


class HookKey(KeySecret):
    """All endpoints' secrets are derived from it. With a new key every receiver would refuse each post."""

    name = contracts.hooks_secret_name
    description = "what the secrets of webhook endpoints are derived from; never change it"
    customers = True


class ConsoleKey(KeySecret):
    """Signs the console's cookies. A new key would end all sessions, and take away an operator's `client_secret`."""

    name = contracts.console_secret_name
    description = "what signs the console's cookies; add `client_secret`, and keep the keys"


class EdgeKey(KeySecret):
    """The edge sends it with each request. Another key is added by hand, and the setting `edge.key` names it."""

    name = contracts.edge_secret_name
    description = "what proves that a request came by the edge; any of its keys is valid"
    customers = True


def make_keys(scope: Construct, deployment: DeploymentSettings) -> None:
    """Make the keys that each deployment has."""
    for kind in (LinkKeys, HookKey, AddressKey):
        kind(scope, kind.__name__, deployment=deployment)
