"""Rules of an organization for every resource of every construct: tags, and a bound on each role."""

from aws_cdk import Stack, Tags
from aws_cdk.aws_iam import ManagedPolicy, PermissionsBoundary

from infra.settings import DeploymentSettings


def govern(stack: Stack, deployment: DeploymentSettings) -> None:
    """Tag all that a stack and its nested ones contain, and bound their roles."""
    for key, value in deployment.tags.items():
        Tags.of(stack).add(key, value)
    if deployment.permissions_boundary_arn:
        boundary = ManagedPolicy.from_managed_policy_arn(stack, "Boundary", deployment.permissions_boundary_arn)
        PermissionsBoundary.of(stack).apply(boundary)
