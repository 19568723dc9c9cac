"""The HTTP API: one function for everything of ours, another for the providers' webhooks."""

import json
from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_apigatewayv2 import (
    CfnStage,
    DomainMappingOptions,
    DomainName,
    HttpApi,
    HttpMethod,
    HttpStage,
    SecurityPolicy,
    ThrottleSettings,
)
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from aws_cdk.aws_certificatemanager import Certificate
from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function, log_group
from infra.settings import ApiDomain, DeploymentSettings
from shared import contracts

SECONDS: Final = 29
"""API Gateway gives up after 30."""
MEMORY_MB: Final = 1024
RATE: Final = 5000
BURST: Final = 2500
"""Half of an account's default quota of requests per second: for clients, and apart from these for providers' posts."""
LOOKS_RATE: Final = 2500
LOOKS_BURST: Final = 1250
"""For pictures, which strangers may ask for: so they never take more than some 80 executions at once."""
LOG_LINE: Final = {
    "requestId": "$context.requestId",
    "time": "$context.requestTimeEpoch",
    "route": "$context.routeKey",
    "method": "$context.httpMethod",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "ms": "$context.responseLatency",
    "error": "$context.integrationErrorMessage",
}
"""No path and no client: paths name recipients (`/suppressions/{address}`)."""


class Api(Construct):
    """The API's function, the API and its routes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        environment: Mapping[str, str],
        webhooks: Function,
        pictures: Function | None = None,
    ) -> None:
        """Create them.

        Args:
            webhooks: what providers' posts go to.
            pictures: what serves pictures; None: there are none.
        """
        super().__init__(scope, construct_id)
        domain = deployment.domain
        self.posted = webhooks if deployment.settings.webhooks_at_once else None
        """The function for providers' posts, if it has an address of its own."""
        self.pictures = pictures
        self.http = HttpApi(
            self,
            "Http",
            api_name=contracts.prefix(deployment.stage),
            description="Posthaste",
            create_default_stage=False,
            disable_execute_api_endpoint=domain is not None and domain.close_default_endpoint,
        )
        self.domain = _domain(self, domain) if domain is not None else None
        self.address = f"https://{domain.name}" if domain else self.http.api_endpoint
        """Where clients find it."""
        self.serve = Function(
            self,
            "Serve",
            deployment=deployment,
            code=code,
            name="api",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment={**environment, contracts.ENV_API_URL: self.address},
        )
        ours = HttpLambdaIntegration("Ours", self.serve.function)
        self.routes = [
            *self.http.add_routes(path="/", methods=[HttpMethod.ANY], integration=ours),
            *self.http.add_routes(path="/{proxy+}", methods=[HttpMethod.ANY], integration=ours),
            *self.http.add_routes(
                path=contracts.WEBHOOK_PATH,
                methods=[HttpMethod.POST],
                integration=HttpLambdaIntegration("Theirs", webhooks.function),
            ),
        ]
        if pictures is not None:
            self.routes += self.http.add_routes(
                path=contracts.IMAGE_PATH,
                methods=[HttpMethod.GET, HttpMethod.HEAD],
                integration=HttpLambdaIntegration("Pictures", pictures.function),
            )
        stage = HttpStage(
            self,
            "Stage",
            http_api=self.http,
            stage_name="$default",
            auto_deploy=True,
            throttle=ThrottleSettings(rate_limit=RATE, burst_limit=BURST),
            domain_mapping=DomainMappingOptions(domain_name=self.domain) if self.domain else None,
        )
        bare = stage.node.default_child
        if not isinstance(bare, CfnStage):
            raise TypeError(f"an HTTP stage is made of {type(bare)}")
        own = {"ThrottlingRateLimit": RATE, "ThrottlingBurstLimit": BURST}
        bare.route_settings = {f"POST {contracts.WEBHOOK_PATH}": own}
        if pictures is not None:
            looks = {"ThrottlingRateLimit": LOOKS_RATE, "ThrottlingBurstLimit": LOOKS_BURST}
            bare.route_settings |= {f"{x} {contracts.IMAGE_PATH}": looks for x in ("GET", "HEAD")}
        # Other names go into a resource policy of 5,120 characters, which a crowded account has used up.
        logs = log_group(self, deployment, f"/aws/vendedlogs/{contracts.prefix(deployment.stage)}-api")
        bare.access_log_settings = CfnStage.AccessLogSettingsProperty(
            destination_arn=logs.log_group_arn, format=json.dumps(LOG_LINE)
        )


def _domain(scope: Construct, domain: ApiDomain) -> DomainName:
    """Create the API's own domain, to which operators point their DNS."""
    return DomainName(
        scope,
        "Domain",
        domain_name=domain.name,
        certificate=Certificate.from_certificate_arn(scope, "Certificate", domain.certificate_arn),
        security_policy=SecurityPolicy.TLS_1_2,
    )
