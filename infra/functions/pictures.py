"""The function that serves pictures of messages to the public; only where `cdk.json` has `images`."""

from typing import Final

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.resources.storage import Storage
from infra.settings import DeploymentSettings
from shared import contracts

SECONDS: Final = 10
MEMORY_MB: Final = 512


def served(scope: Construct, deployment: DeploymentSettings, code: Code, storage: Storage) -> Function:
    """Create the function. It knows the bucket, and neither tables nor settings."""
    return Function(
        scope,
        "Pictures",
        deployment=deployment,
        code=code,
        name="pictures",
        seconds=SECONDS,
        memory=MEMORY_MB,
        environment={contracts.ENV_BUCKET: storage.bucket.bucket_name},
    )
