"""The HTTP API: one function for everything of ours, another for the providers' webhooks."""

import json
from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_apigatewayv2 import (
    CfnRoute,
    CfnStage,
    DomainMappingOptions,
    DomainName,
    HttpApi,
    HttpMethod,
    HttpRoute,
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
CLIENTS: Final = ThrottleSettings(rate_limit=5000, burst_limit=2500)
PROVIDERS: Final = ThrottleSettings(rate_limit=4500, burst_limit=2250)
PEOPLE: Final = ThrottleSettings(rate_limit=400, burst_limit=200)
OPERATORS: Final = ThrottleSettings(rate_limit=100, burst_limit=50)
"""Requests per second of each of these routes. Together they are an account's default quota: none takes from another.
Clients cannot keep an operator from the switch that stops them."""
CLIENTS_BESIDE: Final = ThrottleSettings(rate_limit=4000, burst_limit=2000)
PROVIDERS_BESIDE: Final = ThrottleSettings(rate_limit=4000, burst_limit=2000)
SHARES: Final = {False: (CLIENTS, PROVIDERS), True: (CLIENTS_BESIDE, PROVIDERS_BESIDE)}
"""Whether there are pictures → the throttles of clients and of providers."""
LOOKS: Final = ThrottleSettings(rate_limit=1400, burst_limit=700)
HEADS: Final = ThrottleSettings(rate_limit=100, burst_limit=50)
"""The same where there are pictures, which strangers look at: some 40 executions at once, at 30 ms each."""
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
            reserved=deployment.at_once.api if deployment.at_once else None,
        )
        ours = HttpLambdaIntegration("Ours", self.serve.function)
        for path in ("/", "/{proxy+}"):
            self.http.add_routes(path=path, methods=[HttpMethod.ANY], integration=ours)
        posts = self.http.add_routes(
            path=contracts.WEBHOOK_PATH,
            methods=[HttpMethod.POST],
            integration=HttpLambdaIntegration("Theirs", webhooks.function),
        )
        clients, providers = SHARES[pictures is not None]
        stage = HttpStage(
            self,
            "Stage",
            http_api=self.http,
            stage_name="$default",
            auto_deploy=True,
            throttle=clients,
            domain_mapping=DomainMappingOptions(domain_name=self.domain) if self.domain else None,
        )
        bare = stage.node.default_child
        if not isinstance(bare, CfnStage):
            raise TypeError(f"an HTTP stage is made of {type(bare)}")
        self._stage = bare
        self._limits: dict[str, dict[str, float | None]] = {}
        self.limit(*posts, to=providers)
        self._serve(pictures)
        # Other names go into a resource policy of 5,120 characters, which a crowded account has used up.
        logs = log_group(self, deployment, f"/aws/vendedlogs/{contracts.prefix(deployment.stage)}-api")
        bare.access_log_settings = CfnStage.AccessLogSettingsProperty(
            destination_arn=logs.log_group_arn, format=json.dumps(LOG_LINE)
        )

    def _serve(self, pictures: Function | None) -> None:
        """Add the routes of pictures, if there are any."""
        if pictures is None:
            return
        integration = HttpLambdaIntegration("Pictures", pictures.function)
        for method, most in ((HttpMethod.GET, LOOKS), (HttpMethod.HEAD, HEADS)):
            self.limit(
                *self.http.add_routes(path=contracts.IMAGE_PATH, methods=[method], integration=integration), to=most
            )

    def limit(self, *routes: HttpRoute, to: ThrottleSettings) -> None:
        """Give each of these routes a throttle of its own, which other routes do not use up.

        API Gateway refuses a stage that names a route which is not there yet.
        """
        for route in routes:
            bare = route.node.default_child
            if not isinstance(bare, CfnRoute):
                raise TypeError(f"an HTTP route is made of {type(bare)}")
            self._limits[bare.route_key] = {
                "ThrottlingRateLimit": to.rate_limit,
                "ThrottlingBurstLimit": to.burst_limit,
            }
            self._stage.node.add_dependency(route)
        self._stage.route_settings = dict(self._limits)


def _domain(scope: Construct, domain: ApiDomain) -> DomainName:
    """Create the API's own domain, to which operators point their DNS."""
    return DomainName(
        scope,
        "Domain",
        domain_name=domain.name,
        certificate=Certificate.from_certificate_arn(scope, "Certificate", domain.certificate_arn),
        security_policy=SecurityPolicy.TLS_1_2,
    )
