"""The operators' function, its routes behind IAM, and the policies that grant them.

On AWS they are in a nested stack, so that they take no room from the lanes. The stack itself has their outputs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from aws_cdk import CfnOutput, Stack
from aws_cdk.aws_apigatewayv2 import HttpMethod, HttpRoute, HttpRouteKey
from aws_cdk.aws_apigatewayv2_authorizers import HttpIamAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_iam import ManagedPolicy, PolicyStatement
from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.functions.api import OPERATORS, SECONDS, Api
from infra.settings import DeploymentSettings
from shared import contracts

MEMORY_MB: Final = 1024
POLICIES: Final[Mapping[str, Sequence[str]]] = {
    "Viewer": ("GET/operate/*",),
    "Operator": (
        "GET/operate/*",
        "*/operate/queues/*",
        "*/operate/switches/*",
        "*/operate/jobs/*",
        "*/operate/accounts/*",
        "*/operate/senders/*",
        "*/operate/hooks/*",
        "*/operate/hashes/*",
    ),
    "Eraser": ("GET/operate/*", "*/operate/erase/*"),
    "KeyAdmin": (
        "GET/operate/*",
        "*/operate/keys/*",
        "*/operate/members/*",
        "*/operate/notifiers/*",
        "*/operate/secrets/*",
        "POST/operate/jobs/stop",
    ),
}
"""Policy → the methods and paths that it grants."""
RESTORER: Final = "Restorer"
"""The policy for `posthaste restore`, which works on the tables: operators' function may lack what it reads."""
RESTORED: Final = (
    "dynamodb:BatchGetItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DescribeContinuousBackups",
    "dynamodb:DescribeTable",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:RestoreTableToPointInTime",
    "dynamodb:Scan",
    "dynamodb:UpdateItem",
)
"""The rights of a restore on a table of the stage: nothing is deleted."""
COPIED: Final = (
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:DescribeTable",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:RestoreTableToPointInTime",
    "dynamodb:Scan",
    "dynamodb:UpdateItem",
)
"""The rights that DynamoDB asks for where it makes a copy, and those that read the copy."""


WITH_MFA: Final[Mapping[str, Mapping[str, str]]] = {"Bool": {"aws:MultiFactorAuthPresent": "true"}}
"""IAM's condition that the session began with a second factor. A request by a long-lived key has no such value, and is
refused, and so is a session of a federated sign-in."""


def own_stack(stack: Stack, deployment: DeploymentSettings) -> str:
    """Return the ARN of the stack, by which the command finds the API's address, as IAM knows it by its name."""
    return stack.format_arn(
        service="cloudformation", resource="stack", resource_name=f"{contracts.prefix(deployment.stage)}/*"
    )


def operating(
    scope: Construct,
    deployment: DeploymentSettings,
    code: Code,
    name: str,
    environment: Mapping[str, str],
    *,
    again: Sequence[Function],
) -> Function:
    """Create a function that does what operators ask for.

    Args:
        name: as in `contracts.HANDLERS`.
        environment: the variables that every function has.
        again: the sweeper and the one that gathers webhooks' events: reports of failed runs have them run once more.
    """
    sweep, gather = (x.function.function_arn for x in again)
    return Function(
        scope,
        "Serve",
        deployment=deployment,
        code=code,
        name=name,
        seconds=SECONDS,
        memory=MEMORY_MB,
        environment={**environment, contracts.ENV_SWEEP_FUNCTION: sweep, contracts.ENV_GATHER_FUNCTION: gather},
    )


class OperatorsConstruct(Construct):
    """The function, and a managed policy for each kind of operator.

    API Gateway identifies the caller by the request's signature, and asks IAM whether they may call the method and
    path. So an operator needs no right on a table, a queue or a secret.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        environment: Mapping[str, str],
        api: Api,
        sweep: Function,
        gather: Function,
        tables: Sequence[Table],
    ) -> None:
        """Create them.

        Args:
            scope: the stack, nested on AWS.
            code: the common asset, as one of that stack.
            api: of the stack itself, which has the outputs.
        """
        super().__init__(scope, construct_id)
        self.serve = operating(self, deployment, code, "operate", environment, again=(sweep, gather))
        route = HttpRoute(
            self,
            "Route",
            http_api=api.http,
            route_key=HttpRouteKey.with_(contracts.OPERATE_PATH, HttpMethod.ANY),
            integration=HttpLambdaIntegration("Operators", self.serve.function),
            authorizer=HttpIamAuthorizer(),
        )
        api.limit(route, to=OPERATORS)
        stack = Stack.of(self)
        for name, routes in POLICIES.items():
            paths = [
                stack.format_arn(service="execute-api", resource=api.http.api_id, resource_name=f"$default/{route}")
                for route in routes
            ]
            self._policy(name, deployment, api, [(("execute-api:Invoke",), paths)])
        arns = [table.table_arn for table in tables]
        copies = [f"{arn}{contracts.COPY_ENDING}*" for arn in arns]
        self._policy(RESTORER, deployment, api, [(RESTORED, arns), (COPIED, copies)])

    def _policy(
        self,
        name: str,
        deployment: DeploymentSettings,
        api: Api,
        rights: Sequence[tuple[Sequence[str], Sequence[str]]],
    ) -> None:
        """Create a managed policy, and its output. `rights`: actions, each with the ARNs on which they are granted."""
        stack = Stack.of(self)
        policy = ManagedPolicy(
            self,
            name,
            description=f"Posthaste, stage {deployment.stage}: {name} of the deployment",
            statements=[
                *(
                    PolicyStatement(
                        actions=[*actions],
                        resources=[*resources],
                        conditions=WITH_MFA if deployment.operators_mfa else None,
                    )
                    for actions, resources in rights
                ),
                PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=[own_stack(stack, deployment)]),
            ],
        )
        CfnOutput(Stack.of(api), f"{name}Policy", value=policy.managed_policy_arn)
