"""The edge before the API: a distribution of CloudFront, which asks a firewall and proves itself by a key.

A function of each group checks the key (`shared/web/access/edge.py`), so API Gateway's own names lead nowhere.
"""

from typing import Final

from aws_cdk import Duration, SecretValue
from aws_cdk.aws_apigatewayv2 import DomainName
from aws_cdk.aws_certificatemanager import Certificate
from aws_cdk.aws_cloudfront import (
    AllowedMethods,
    BehaviorOptions,
    CachePolicy,
    Distribution,
    ErrorResponse,
    HttpVersion,
    OriginProtocolPolicy,
    OriginRequestCookieBehavior,
    OriginRequestHeaderBehavior,
    OriginRequestPolicy,
    OriginRequestQueryStringBehavior,
    OriginSslPolicy,
    SecurityPolicyProtocol,
    SSLMethod,
    ViewerProtocolPolicy,
)
from aws_cdk.aws_cloudfront_origins import HttpOrigin
from constructs import Construct

from infra.resources.keys import EdgeKey
from infra.serving import EdgeFields
from infra.settings import DeploymentSettings
from shared import contracts

READ_SECONDS: Final = Duration.seconds(30)
"""API Gateway gives up first."""
ERRORS: Final = (400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504)
"""Statuses that CloudFront keeps for ten seconds, caching or not, unless a time is set."""
STATIC: Final = "/console/static/*"
"""Files under the hash of their content."""
LOOKS: Final = f"/{contracts.IMAGES}*/*"
"""Pictures, but not what the API says about them."""
PAGES: Final = "/console*"


class EdgeConstruct(Construct):
    """The distribution and its key. Operators point their DNS at `target`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        edge: EdgeFields,
        domain: DomainName,
        console: bool,
        pictures: bool,
    ) -> None:
        """Create both.

        Args:
            domain: the API's own, which takes requests of the same name.
            console: whether there is a console, whose files can be kept.
            pictures: whether there are pictures, which can also be kept.
        """
        super().__init__(scope, construct_id)
        self.key = EdgeKey(self, "Key", deployment=deployment)
        name = contracts.edge_secret_name(deployment.stage)
        sent = SecretValue.secrets_manager(name, json_field=edge.key).unsafe_unwrap()
        origin = HttpOrigin(
            domain.regional_domain_name,
            protocol_policy=OriginProtocolPolicy.HTTPS_ONLY,
            origin_ssl_protocols=[OriginSslPolicy.TLS_V1_2],
            read_timeout=READ_SECONDS,
            custom_headers={contracts.EDGE_HEADER: sent},
        )
        # The client's Host is forwarded: signatures of requests cover it, and API Gateway knows its domain by it.
        asked = OriginRequestPolicy(
            self,
            "Asked",
            origin_request_policy_name=f"{contracts.prefix(deployment.stage)}-edge",
            comment="All that a client says, and its address",
            header_behavior=OriginRequestHeaderBehavior.all("CloudFront-Viewer-Address"),
            cookie_behavior=OriginRequestCookieBehavior.all(),
            query_string_behavior=OriginRequestQueryStringBehavior.all(),
        )

        def behaves(viewer: ViewerProtocolPolicy, cache: CachePolicy = CachePolicy.CACHING_DISABLED) -> BehaviorOptions:
            return BehaviorOptions(
                origin=origin,
                allowed_methods=AllowedMethods.ALLOW_ALL,
                cache_policy=cache,
                origin_request_policy=asked,
                viewer_protocol_policy=viewer,
                compress=False,
            )

        # A key in a plain request has leaked already: clients are refused, not redirected. People type names.
        browsers = ViewerProtocolPolicy.REDIRECT_TO_HTTPS
        pages = {STATIC: behaves(browsers, CachePolicy.CACHING_OPTIMIZED), PAGES: behaves(browsers)}
        looks = {LOOKS: behaves(browsers, CachePolicy.CACHING_OPTIMIZED)}
        self.distribution = Distribution(
            self,
            "Distribution",
            comment=f"Posthaste: stage {deployment.stage}",
            domain_names=[deployment.domain.name] if deployment.domain else None,
            certificate=Certificate.from_certificate_arn(self, "Certificate", edge.certificate_arn),
            web_acl_id=edge.web_acl_arn or None,
            default_behavior=behaves(ViewerProtocolPolicy.HTTPS_ONLY),
            additional_behaviors={**(pages if console else {}), **(looks if pictures else {})},
            error_responses=[ErrorResponse(http_status=status, ttl=Duration.seconds(0)) for status in ERRORS],
            http_version=HttpVersion.HTTP2_AND_3,
            minimum_protocol_version=SecurityPolicyProtocol.TLS_V1_2_2021,
            ssl_support_method=SSLMethod.SNI,
            enable_ipv6=True,
        )
        self.distribution.node.add_dependency(self.key)
        self.target = str(self.distribution.distribution_domain_name)
