"""The stack of a router: one function, one table, one HTTP API, two alarms."""

import json
from typing import Final

from aws_cdk import Acknowledgment, CfnOutput, Duration, RemovalPolicy, Stack, Tags, Validations
from aws_cdk.aws_apigatewayv2 import (
    CfnStage,
    DomainMappingOptions,
    DomainName,
    HttpApi,
    HttpMethod,
    HttpStage,
    SecurityPolicy,
)
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from aws_cdk.aws_certificatemanager import Certificate
from aws_cdk.aws_cloudwatch import Alarm, IMetric, TreatMissingData
from aws_cdk.aws_cloudwatch_actions import SnsAction
from aws_cdk.aws_dynamodb import Attribute, AttributeType, Billing, TableEncryptionV2, TableV2
from aws_cdk.aws_iam import (
    ManagedPolicy,
    PermissionsBoundary,
    PolicyDocument,
    PolicyStatement,
    Role,
    ServicePrincipal,
)
from aws_cdk.aws_lambda import Architecture, Function, LoggingFormat, Runtime, SystemLogLevel
from aws_cdk.aws_logs import LogGroup
from aws_cdk.aws_sns import Topic
from constructs import Construct

from infra.building import bundling
from infra.building.function import RETENTION
from infra.functions.api import CLIENTS, LOG_LINE, SECONDS
from infra.router.settings import RouterSettings
from infra.settings import DeployTarget
from shared import contracts

HANDLER: Final = "functions.router.handler.handler"
MEMORY_MB: Final = 512
"""It waits for most of its time. Its own work is under 5 ms."""
FAULTS: Final = 5
"""Answers of status 5xx in five minutes, the cells' own included."""
KEPT: Final = {
    "AwsSolutions::AwsSolutions-L1": "Python 3.13 is what the locked wheels are chosen and tested for.",
    "Serverless::Serverless-LambdaLatestVersion": "Python 3.13 is what the locked wheels are chosen and tested for.",
    "Serverless::Serverless-LambdaDLQ": "API Gateway waits for its answer.",
    "Serverless::Serverless-LambdaTracing": "A request has one step here; the cell's lines have the rest.",
    "AwsSolutions::AwsSolutions-APIG4": "The cells check keys and signatures. A request without one gets no further.",
    "AwsSolutions::AwsSolutions-DDB3": "Routes are hints, which the router learns again.",
}


class RouterStack(Stack):
    """A router: it passes requests on to the cell of their key."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: RouterSettings) -> None:
        super().__init__(scope, construct_id, description="Posthaste: the router before several cells")
        self._settings = settings
        table = TableV2(
            self,
            "Routes",
            partition_key=Attribute(name="pk", type=AttributeType.STRING),
            billing=Billing.on_demand(),
            encryption=TableEncryptionV2.dynamo_owned_key(),
            time_to_live_attribute="ttl",
            removal_policy=RemovalPolicy.DESTROY,
        )
        function = self._function(table)
        api = self._api(function)
        self._alarms(api, function)
        for key, value in settings.tags.items():
            Tags.of(self).add(key, value)
        if settings.permissions_boundary_arn:
            boundary = ManagedPolicy.from_managed_policy_arn(self, "Boundary", settings.permissions_boundary_arn)
            PermissionsBoundary.of(self).apply(boundary)
        self._check()

    def _function(self, table: TableV2) -> Function:
        logs = self._logs("Logs")
        rights = {
            "access": PolicyDocument(
                statements=[
                    PolicyStatement(
                        actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[logs.log_group_arn]
                    ),
                    PolicyStatement(actions=["dynamodb:GetItem", "dynamodb:PutItem"], resources=[table.table_arn]),
                ]
            )
        }
        role = Role(self, "Role", assumed_by=ServicePrincipal("lambda.amazonaws.com"), inline_policies=rights)
        return Function(
            self,
            "Serve",
            runtime=Runtime.PYTHON_3_13,
            architecture=Architecture.ARM_64,
            code=bundling.asset(DeployTarget.AWS),
            handler=HANDLER,
            role=role.without_policy_updates(),
            timeout=Duration.seconds(SECONDS),
            memory_size=MEMORY_MB,
            reserved_concurrent_executions=self._settings.reserved,
            environment={
                "POWERTOOLS_SERVICE_NAME": "router",
                contracts.ENV_CELLS: json.dumps(self._settings.addresses),
                contracts.ENV_ROUTES_TABLE: table.table_name,
            },
            log_group=logs,
            logging_format=LoggingFormat.JSON,
            system_log_level_v2=SystemLogLevel.WARN,
        )

    def _logs(self, name: str, physical: str | None = None) -> LogGroup:
        days = RETENTION[self._settings.logs_days]
        return LogGroup(self, name, log_group_name=physical, retention=days, removal_policy=RemovalPolicy.DESTROY)

    def _api(self, function: Function) -> HttpApi:
        domain = self._settings.domain
        api = HttpApi(
            self,
            "Http",
            api_name=self.stack_name,
            description="Posthaste's router",
            create_default_stage=False,
            disable_execute_api_endpoint=domain is not None and domain.close_default_endpoint,
        )
        ours = HttpLambdaIntegration("Serve", function)
        api.add_routes(path="/", methods=[HttpMethod.ANY], integration=ours)
        api.add_routes(path="/{proxy+}", methods=[HttpMethod.ANY], integration=ours)
        made = None
        if domain is not None:
            made = DomainName(
                self,
                "Domain",
                domain_name=domain.name,
                certificate=Certificate.from_certificate_arn(self, "Certificate", domain.certificate_arn),
                security_policy=SecurityPolicy.TLS_1_2,
            )
            CfnOutput(self, "DomainTarget", value=made.regional_domain_name)
        stage = HttpStage(
            self,
            "Stage",
            http_api=api,
            stage_name="$default",
            auto_deploy=True,
            throttle=CLIENTS,
            domain_mapping=DomainMappingOptions(domain_name=made) if made else None,
        )
        bare = stage.node.default_child
        if not isinstance(bare, CfnStage):
            raise TypeError(f"an HTTP stage is made of {type(bare)}")
        logs = self._logs("AccessLogs", f"/aws/vendedlogs/{self.stack_name}-api")
        bare.access_log_settings = CfnStage.AccessLogSettingsProperty(
            destination_arn=logs.log_group_arn, format=json.dumps(LOG_LINE)
        )
        CfnOutput(self, "RouterUrl", value=f"https://{domain.name}" if domain else api.api_endpoint)
        return api

    def _alarms(self, api: HttpApi, function: Function) -> None:
        """Create the alarms, of which the runbook docs/cells.md#alarms-of-the-router says what to do."""
        five = Duration.minutes(5)
        self._alarm("errors", "Answers of the router fail.", api.metric_server_error(period=five, statistic="Sum"))
        self._alarm("throttled", "Lambda refuses requests.", function.metric_throttles(period=five, statistic="Sum"))

    def _alarm(self, name: str, says: str, metric: IMetric) -> None:
        made = Alarm(
            self,
            f"Alarm-{name}",
            alarm_name=f"{self.stack_name}-{name}",
            alarm_description=f"{says} docs/cells.md#alarms-of-the-router",
            metric=metric,
            threshold=FAULTS,
            evaluation_periods=1,
            treat_missing_data=TreatMissingData.NOT_BREACHING,
        )
        if self._settings.alarm_topic_arn:
            made.add_alarm_action(
                SnsAction(Topic.from_topic_arn(self, f"Topic-{name}", self._settings.alarm_topic_arn))
            )

    def _check(self) -> None:
        """Let the synth fail on any finding of cdk-nag that is not acknowledged here."""
        from cdk_nag import AwsSolutionsChecks, ServerlessChecks  # noqa: PLC0415 - a second, which only a synth needs

        rules = [Acknowledgment(id=finding, reason=reason) for finding, reason in KEPT.items()]
        Validations.of(self).acknowledge(*rules)
        Validations.of(self).add_plugins(AwsSolutionsChecks(self), ServerlessChecks(self))
