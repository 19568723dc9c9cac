"""Rules of an organization for every resource of every construct: tags, bounds of roles, network and signed code."""

from typing import Final

from aws_cdk import Stack, Tags
from aws_cdk.aws_iam import Effect, ManagedPolicy, PermissionsBoundary, PolicyStatement
from aws_cdk.aws_lambda import CfnFunction
from aws_cdk.aws_logs import CfnLogGroup
from aws_cdk.aws_sns import CfnTopic

from infra.building.function import Function
from infra.serving import VpcFields
from infra.settings import DeploymentSettings

INTERFACES: Final = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""Lambda makes a function's interfaces by the function's role, and asks for these on all resources."""

INTERFACES_ID: Final = "Interfaces"


def govern(stack: Stack, deployment: DeploymentSettings) -> None:
    """Tag all that a stack and its nested ones contain, bound their roles, and place and check their functions."""
    for key, value in deployment.tags.items():
        Tags.of(stack).add(key, value)
    if deployment.permissions_boundary_arn:
        boundary = ManagedPolicy.from_managed_policy_arn(stack, "Boundary", deployment.permissions_boundary_arn)
        PermissionsBoundary.of(stack).apply(boundary)
    _govern_functions(stack, deployment)
    if deployment.kms_everywhere:
        _encrypt(stack, deployment.kms_key_arn)


def _encrypt(stack: Stack, key: str) -> None:
    """Let the customer's key encrypt the rest of a stack: logs, topics and environments of functions."""
    for construct in stack.node.find_all():
        if isinstance(construct, CfnLogGroup):
            construct.kms_key_id = key
        elif isinstance(construct, CfnTopic):
            construct.kms_master_key_id = key
        elif isinstance(construct, CfnFunction):
            construct.kms_key_arn = key


def _govern_functions(stack: Stack, deployment: DeploymentSettings) -> None:
    interfaces = _interfaces(stack) if deployment.vpc is not None else None
    for function in [x for x in stack.node.find_all() if isinstance(x, Function)]:
        bare = function.function.node.default_child
        if not isinstance(bare, CfnFunction):
            raise TypeError(f"a function is made of {type(bare)}")
        if deployment.code_signing_config_arn:
            bare.code_signing_config_arn = deployment.code_signing_config_arn
        if deployment.vpc is not None and interfaces is not None:
            bare.vpc_config = _place(deployment.vpc)
            function.role.add_managed_policy(interfaces)


def _interfaces(stack: Stack) -> ManagedPolicy:
    """Create the policy of all roles in a network: they may make interfaces, and code in a function may not.

    Calls of that code name the function. Those that Lambda makes for it do not (Lambda Developer Guide, "Using source
    function ARN to control function access behavior"). An inline policy has no room for this.
    """
    own = stack.format_arn(service="lambda", region="*", account="*", resource="function:*")
    return ManagedPolicy(
        stack,
        INTERFACES_ID,
        description="Posthaste: interfaces of functions in the network",
        statements=[
            PolicyStatement(actions=list(INTERFACES), resources=["*"]),
            PolicyStatement(
                effect=Effect.DENY,
                actions=list(INTERFACES),
                resources=["*"],
                conditions={"ArnLike": {"lambda:SourceFunctionArn": own}},
            ),
        ],
    )


def _place(vpc: VpcFields) -> CfnFunction.VpcConfigProperty:
    return CfnFunction.VpcConfigProperty(
        subnet_ids=vpc.subnet_ids, security_group_ids=vpc.security_group_ids, ipv6_allowed_for_dual_stack=vpc.ipv6
    )
