"""Limits of AWS that a template can exceed, each with its source. `infra.fitting` holds templates against them.

Quotas that AWS raises on request count with their defaults. CloudWatch publishes no size of a dashboard's body: its
widgets and metrics bound it.
"""

from dataclasses import dataclass
from typing import Final

_AWS: Final = "https://docs.aws.amazon.com"
CLOUDFORMATION: Final = f"{_AWS}/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html"
LAMBDA: Final = f"{_AWS}/lambda/latest/dg/gettingstarted-limits.html"
LAMBDA_VPC: Final = f"{_AWS}/lambda/latest/api/API_VpcConfig.html"
STREAMS: Final = f"{_AWS}/amazondynamodb/latest/developerguide/Streams.html"
FILTERING: Final = f"{_AWS}/lambda/latest/dg/invocation-eventfiltering.html"
IAM: Final = f"{_AWS}/IAM/latest/UserGuide/reference_iam-quotas.html"
SQS_QUEUES: Final = f"{_AWS}/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html"
SQS_POLICIES: Final = f"{_AWS}/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html"
SNS: Final = f"{_AWS}/sns/latest/api/API_CreateTopic.html"
SNS_POLICIES: Final = f"{_AWS}/sns/latest/dg/sns-access-policy-language-api-permissions-reference.html"
KMS: Final = f"{_AWS}/kms/latest/developerguide/resource-limits.html"
S3_POLICIES: Final = f"{_AWS}/AmazonS3/latest/userguide/bucket-policies.html"
S3_RULES: Final = f"{_AWS}/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html"
SECRETS: Final = f"{_AWS}/secretsmanager/latest/userguide/reference_limits.html"
LOGS: Final = f"{_AWS}/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html"
ALARMS: Final = f"{_AWS}/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"
EXPRESSIONS: Final = f"{_AWS}/AmazonCloudWatch/latest/APIReference/API_MetricDataQuery.html"
CLOUDWATCH: Final = f"{_AWS}/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html"
DASHBOARDS: Final = f"{_AWS}/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html"
EVENTBRIDGE: Final = f"{_AWS}/eventbridge/latest/userguide/eb-quota.html"
SCHEDULER: Final = f"{_AWS}/scheduler/latest/APIReference/API_CreateScheduleGroup.html"
SCHEDULES: Final = f"{_AWS}/scheduler/latest/APIReference/API_CreateSchedule.html"
SCHEDULER_QUOTAS: Final = f"{_AWS}/scheduler/latest/UserGuide/scheduler-quotas.html"
HTTP_APIS: Final = f"{_AWS}/apigateway/latest/developerguide/http-api-quotas.html"
CLOUDFRONT: Final = f"{_AWS}/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html"
DYNAMODB: Final = f"{_AWS}/amazondynamodb/latest/developerguide/ServiceQuotas.html"
SES: Final = f"{_AWS}/ses/latest/APIReference-V2/API_CreateConfigurationSet.html"
SMS: Final = f"{_AWS}/pinpoint/latest/apireference_smsvoicev2/API_CreateConfigurationSet.html"


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound of AWS.

    Attributes:
        most: what AWS still takes.
        what: is counted, in the plural.
        source: the page of AWS that names it.
        setting: of `cdk.json`, which makes the number smaller.
    """

    most: int
    what: str
    source: str
    setting: str = "credentials"


TEMPLATE_RESOURCES: Final = Limit(500, "resources of a template", CLOUDFORMATION)
TEMPLATE_BYTES: Final = Limit(1_000_000, "bytes of a template", CLOUDFORMATION)
TEMPLATE_PARAMETERS: Final = Limit(200, "parameters of a template", CLOUDFORMATION)
TEMPLATE_OUTPUTS: Final = Limit(200, "outputs of a template", CLOUDFORMATION)
TEMPLATE_DESCRIPTION: Final = Limit(1024, "bytes of a template's description", CLOUDFORMATION, "stage")
STACK_NAME: Final = Limit(128, "characters of a stack's name", CLOUDFORMATION, "stage")
LOGICAL_ID: Final = Limit(255, "characters of a logical id", CLOUDFORMATION)

ENVIRONMENT: Final = Limit(4096, "bytes of a function's environment", LAMBDA)
LAYERS: Final = Limit(5, "layers of a function", LAMBDA, "console")
ASSET: Final = Limit(250 * 1024 * 1024, "bytes of a function's code and layers", LAMBDA, "console")
FUNCTION_SECONDS: Final = Limit(900, "seconds of a function's time-out", LAMBDA)
FUNCTION_MB: Final = Limit(10_240, "MB of a function's memory", LAMBDA)
FUNCTION_POLICY: Final = Limit(20 * 1024, "bytes of a function's policy of callers", LAMBDA)
FILTERS: Final = Limit(5, "filters of an event source", FILTERING)
FILTER: Final = Limit(4096, "characters of an event source's filter", FILTERING)
EXECUTIONS: Final = Limit(1000, "executions at once, of what functions reserve and of queues beside it", LAMBDA)
STREAM_READERS: Final = Limit(2, "readers of a table's stream", STREAMS)
SOURCE_CONCURRENCY: Final = Limit(1000, "invocations at once of an event source", LAMBDA)

SUBNETS: Final = Limit(16, "subnets of a function", LAMBDA_VPC, "vpc")
SECURITY_GROUPS: Final = Limit(5, "security groups of a function", LAMBDA_VPC, "vpc")

INLINE_POLICIES: Final = Limit(10_240, "characters of a role's inline policies", IAM)
TRUST_POLICY: Final = Limit(2048, "characters of a role's trust policy", IAM)

QUEUE_NAME: Final = Limit(80, "characters of a queue's name", SQS_QUEUES)
QUEUE_POLICY: Final = Limit(8192, "bytes of a queue's policy", SQS_POLICIES)
QUEUE_STATEMENTS: Final = Limit(20, "statements of a queue's policy", SQS_POLICIES)
QUEUE_ACTIONS: Final = Limit(7, "actions of a statement of a queue's policy", SQS_POLICIES)
TOPIC_NAME: Final = Limit(256, "characters of a topic's name", SNS, "stage")
TOPIC_POLICY: Final = Limit(30 * 1024, "bytes of a topic's policy", SNS_POLICIES)
TOPIC_STATEMENTS: Final = Limit(100, "statements of a topic's policy", SNS_POLICIES)
KEY_POLICY: Final = Limit(32 * 1024, "bytes of a key's policy", KMS)
BUCKET_POLICY: Final = Limit(20 * 1024, "bytes of a bucket's policy", S3_POLICIES)
BUCKET_RULES: Final = Limit(1000, "lifecycle rules of a bucket", S3_RULES, "retention")
SECRET_NAME: Final = Limit(512, "characters of a secret's name", SECRETS)
LOG_GROUP_NAME: Final = Limit(512, "characters of a log group's name", LOGS, "stage")

ALARM_NAME: Final = Limit(255, "characters of an alarm's name", ALARMS)
ALARM_DESCRIPTION: Final = Limit(1024, "characters of an alarm's description", ALARMS)
ALARM_ACTIONS: Final = Limit(5, "actions of an alarm's state", ALARMS)
ALARM_METRICS: Final = Limit(10, "metrics of an alarm's expression", CLOUDWATCH)
EXPRESSION: Final = Limit(2048, "characters of a metric expression", EXPRESSIONS)
DASHBOARD_WIDGETS: Final = Limit(500, "widgets of a dashboard", DASHBOARDS)
DASHBOARD_METRICS: Final = Limit(2500, "metrics of a dashboard", CLOUDWATCH)
WIDGET_METRICS: Final = Limit(500, "metrics of a widget", CLOUDWATCH)
WIDGET_ALARMS: Final = Limit(100, "alarms of a widget", DASHBOARDS)

RULE_PATTERN: Final = Limit(2048, "characters of a rule's pattern", EVENTBRIDGE)
RULE_TARGETS: Final = Limit(5, "targets of a rule", EVENTBRIDGE)
GROUP_NAME: Final = Limit(64, "characters of a schedule group's name", SCHEDULER, "stage")
SCHEDULE_NAME: Final = Limit(64, "characters of a schedule's name", SCHEDULES, "stage")
SCHEDULES_KEPT: Final = 1_000_000
"""Schedules of an account in a region. Ours delete themselves (`ActionAfterCompletion`). Source: `SCHEDULER_QUOTAS`."""
SCHEDULES_MADE: Final = 250
"""Schedules that an account makes in a second, in the smaller regions. Source: `SCHEDULER_QUOTAS`."""
ROUTES: Final = Limit(300, "routes of an API", HTTP_APIS)
ROUTE_RATE: Final = Limit(10_000, "requests a second of an API's routes", HTTP_APIS, "console")
ROUTE_BURST: Final = Limit(5_000, "requests at once of an API's routes", HTTP_APIS, "console")
ALIASES: Final = Limit(100, "names of a distribution", CLOUDFRONT, "edge")
BEHAVIORS: Final = Limit(75, "cache behaviors of a distribution", CLOUDFRONT, "edge")
ORIGIN_SECONDS: Final = Limit(120, "seconds for which a distribution waits for its origin", CLOUDFRONT, "edge")
TABLE_INDEXES: Final = Limit(20, "indexes of a table", DYNAMODB)
TABLE_PROJECTED: Final = Limit(100, "attributes that the indexes of a table name", DYNAMODB)
SES_SET_NAME: Final = Limit(64, "characters of a configuration set's name", SES)
SMS_SET_NAME: Final = Limit(64, "characters of a configuration set's name", SMS)
