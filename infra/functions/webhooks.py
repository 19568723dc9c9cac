"""The function that takes the providers' webhooks: verify, normalise, enqueue, answer."""

from collections.abc import Mapping

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.settings import DeploymentSettings


def webhooks(stack: Construct, deployment: DeploymentSettings, code: Code, environment: Mapping[str, str]) -> Function:
    """Create the function; its route is the API's."""
    return Function(
        Construct(stack, "Webhooks"),
        "Receive",
        deployment=deployment,
        code=code,
        name="webhooks",
        seconds=10,  # providers wait no longer, and post again
        memory=512,
        environment=environment,
    )
