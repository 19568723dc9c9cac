"""Shared by the services of AWS: keys, regions and addresses."""

from collections.abc import Callable
from typing import Final

from shared.providers._vendor import lacking
from shared.providers.registry import Needs, SecretField
from shared.sigv4 import AwsKeys

NO_KEYS: Final = lacking("no_aws_keys")
SECRET_FIELDS: Final = (
    SecretField("access_key_id", "an access key of another AWS account; else the sender's role signs", required=False),
    SecretField("secret_access_key", "its secret key", required=False),
    SecretField("session_token", "its session token, if it is temporary", required=False),
    SecretField("region", "its region, if it is not that of the settings", required=False),
    SecretField(
        "topic_arn", "the SNS topic of another account whose posts are believed", required=False, feedback=True
    ),
    SecretField(
        "signing_certificate",
        "the only certificate to trust, PEM; else the one AWS names",
        required=False,
        feedback=True,
    ),
)
"""Fields of a secret that AWS services share."""


def region_of(needs: Needs) -> str:
    """Return the region: of the settings, else of the secret, else of the deployment; empty if there is none."""
    declared = needs.credential.region if needs.credential else ""
    return declared or needs.secret.get("region", "").strip() or (needs.aws.region if needs.aws else "")


def keys_of(needs: Needs) -> Callable[[], AwsKeys | None]:
    """Return what returns the keys that sign: those of the secret, else those of the function's role."""
    secret = needs.secret
    access, private = secret.get("access_key_id", "").strip(), secret.get("secret_access_key", "").strip()
    if access and private:
        keys = AwsKeys(access, private, secret.get("session_token", "").strip())
        return lambda: keys
    return needs.aws.keys if needs.aws else lambda: None


def endpoint(needs: Needs, service: str, region: str) -> str:
    """Return the address of a service's API, without a slash at its end.

    Args:
        needs: what the provider is built from; its base URL goes before AWS's own address.
        service: first part of the host's name.
    """
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return (needs.base_url or f"https://{service}.{region}.{domain}").rstrip("/")
