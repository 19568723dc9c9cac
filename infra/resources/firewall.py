"""The firewall of the edge: a stack of its own, since a web ACL for CloudFront exists only in us-east-1."""

from typing import Any, Final

from aws_cdk import CfnOutput, Environment, Stack, Tags
from aws_cdk.aws_wafv2 import CfnWebACL
from constructs import Construct

from infra.serving import EdgeFields
from infra.settings import DeploymentSettings
from shared import contracts

REGION: Final = "us-east-1"
KNOWN: Final = "AWSManagedRulesKnownBadInputsRuleSet"
COUNTED: Final = ("Log4JRCE_BODY", "JavaDeserializationRCE_BODY", "ReactJSRCE_BODY")
"""Rules about bodies. A newsletter about an attack quotes it, and must be sent: they count, and do not block."""
UNITS: Final = {KNOWN: 200}
"""Web ACL capacity units of groups of AWS (AWS WAF Developer Guide, "Baseline rule groups")."""
WINDOW_SECONDS: Final = 300
TOO_MANY: Final = 429


class FirewallStack(Stack):
    """A web ACL with a rule of the rate of each address, and AWS's rules of known attacks."""

    def __init__(
        self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings, edge: EdgeFields
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Posthaste: firewall of stage {deployment.stage}",
            env=Environment(region=REGION),
            termination_protection=deployment.production and deployment.protect,
        )
        name = f"{contracts.prefix(deployment.stage)}-edge"
        acl = CfnWebACL(
            self,
            "Acl",
            name=name,
            description="Posthaste: before the API",
            scope="CLOUDFRONT",
            default_action=CfnWebACL.DefaultActionProperty(allow=CfnWebACL.AllowActionProperty()),
            visibility_config=_seen(name),
            custom_response_bodies={
                "Busy": CfnWebACL.CustomResponseBodyProperty(
                    content="Too many requests from this address. Try again in five minutes.",
                    content_type="TEXT_PLAIN",
                )
            },
            rules=[_rate(edge), _known()],
        )
        for key, value in deployment.tags.items():
            Tags.of(self).add(key, value)
        CfnOutput(self, "WebAclArn", value=acl.attr_arn)


def _seen(name: str) -> CfnWebACL.VisibilityConfigProperty:
    return CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=False
    )


def _rate(edge: EdgeFields) -> CfnWebACL.RuleProperty:
    """Return the rule of the rate of an address. Providers post from few addresses, so their path is left out."""
    posts = CfnWebACL.ByteMatchStatementProperty(
        field_to_match=CfnWebACL.FieldToMatchProperty(uri_path={}),
        positional_constraint="STARTS_WITH",
        search_string=contracts.WEBHOOK_PATH.partition("{")[0],
        text_transformations=[CfnWebACL.TextTransformationProperty(priority=0, type="NONE")],
    )
    others = CfnWebACL.StatementProperty(
        not_statement=CfnWebACL.NotStatementProperty(statement=CfnWebACL.StatementProperty(byte_match_statement=posts))
    )
    return CfnWebACL.RuleProperty(
        name="rate",
        priority=0,
        action=CfnWebACL.RuleActionProperty(
            block=CfnWebACL.BlockActionProperty(
                custom_response=CfnWebACL.CustomResponseProperty(
                    response_code=TOO_MANY,
                    custom_response_body_key="Busy",
                    response_headers=[
                        CfnWebACL.CustomHTTPHeaderProperty(name="Retry-After", value=str(WINDOW_SECONDS))
                    ],
                )
            )
        ),
        statement=CfnWebACL.StatementProperty(
            rate_based_statement=CfnWebACL.RateBasedStatementProperty(
                aggregate_key_type="IP",
                evaluation_window_sec=WINDOW_SECONDS,
                limit=edge.requests_per_5_minutes,
                scope_down_statement=others,
            )
        ),
        visibility_config=_seen("rate"),
    )


def _known() -> CfnWebACL.RuleProperty:
    count: Any = CfnWebACL.RuleActionProperty(count={})
    return CfnWebACL.RuleProperty(
        name="known",
        priority=1,
        override_action=CfnWebACL.OverrideActionProperty(none={}),
        statement=CfnWebACL.StatementProperty(
            managed_rule_group_statement=CfnWebACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name=KNOWN,
                rule_action_overrides=[
                    CfnWebACL.RuleActionOverrideProperty(name=rule, action_to_use=count) for rule in COUNTED
                ],
            )
        ),
        visibility_config=_seen("known"),
    )
