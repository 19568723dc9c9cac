"""The properties of the template that keep promises."""

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from infra.functions.operators import POLICIES, RESTORER
from shared import contracts
from shared.domain.times import FUTURE
from tests.infra.conftest import DOMAIN, HOOK_KEY_ID, LINK_KEYS_ID, SENDERS, TABLES, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, target, text
from tests.infra.test_ses import CONSOLE

QUEUES = {
    "FeedbackWorkQueue0B2BF44F": "posthaste-dev-feedback",
    "FeedbackWorkDeadQueue9AA4E594": "posthaste-dev-feedback-dlq",
    "LanesendgridmainWorkQueue49F0F9E4": "posthaste-dev-lane-sendgrid-main",
    "LanesendgridmainWorkDeadQueueC508E0DB": "posthaste-dev-lane-sendgrid-main-dlq",
    "LanetestWorkQueueA9B69AD3": "posthaste-dev-lane-test",
    "LanetestWorkDeadQueue9E7B2446": "posthaste-dev-lane-test-dlq",
    "DispatchPlanDeadQueueC239C62C": "posthaste-dev-plan-dlq",
    "DispatchLogDeadQueueB08AF4BF": "posthaste-dev-log-dlq",
    "DispatchSweepDeadQueue54760AE6": "posthaste-dev-sweep-dlq",
    "NoticesRunDeadQueueBD27E83A": "posthaste-dev-notices-dlq",
    "ListsWorkQueueA9241155": "posthaste-dev-ingest",
    "ListsWorkDeadQueueEC5A5700": "posthaste-dev-ingest-dlq",
    "ExportsWorkQueueC2A68AB4": "posthaste-dev-export",
    "ExportsWorkDeadQueue56E15DB3": "posthaste-dev-export-dlq",
    "InboxWorkQueueD11F9CB0": "posthaste-dev-inbox",
    "InboxWorkDeadQueue903CFCD1": "posthaste-dev-inbox-dlq",
    "DigestWorkQueue4C8C5716": "posthaste-dev-digest",
    "DigestWorkDeadQueue441A9BA9": "posthaste-dev-digest-dlq",
    "SchedulesWorkQueue98D66C13": "posthaste-dev-due",
    "SchedulesWorkDeadQueue46AD2113": "posthaste-dev-due-dlq",
}
"""A logical id that changes makes CloudFormation replace the resource, and lose what is in it."""


GATHER = re.compile(
    r'\["\w+", "(?:Outputs\.\w+)?AccountHooksGatherFunction\w+"\]|\["AccountHooksGatherFunction\w+", "Arn"\]'
)
"""The function that hears of alarms is in a nested stack on AWS."""
EMULATED = {
    ":schedule/default/*": ":schedule/posthaste-dev/*",
    ":log-group:/aws/cloudformation/posthaste-dev/*": ":log-group:posthaste-dev-*",
}
"""Names that the emulator judges by → names on AWS."""


def test_what_holds_data_keeps_its_logical_id(template: Template) -> None:
    assert set(template.of("DynamoDB::Table")) == set(TABLES)
    assert set(template.of("S3::Bucket")) == {"StorageBucket5CB7C8EA"}
    named = {k: q["QueueName"] for k, q in template.of("SQS::Queue").items()}
    assert QUEUES.items() <= named.items()
    lanes = {k: q for k, q in named.items() if not q.endswith("_express")}
    assert len(lanes) == len(QUEUES) + 4, "two queues for each of the other two lanes"
    assert {"LanesendgridmainSecretC0C4D890", LINK_KEYS_ID, HOOK_KEY_ID} <= set(template.of("SecretsManager::Secret"))


def test_tables(template: Template) -> None:
    for name, table in template.of("DynamoDB::Table").items():
        assert table["KeySchema"] == [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ]
        assert {a["AttributeType"] for a in table["AttributeDefinitions"]} == {"S"}
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["SSESpecification"] == {"SSEEnabled": False}, "the key that AWS owns, which costs nothing"
        stream = {"StreamViewType": "NEW_IMAGE"} if TABLES[name] in ("records", "ops") else None
        assert table.get("StreamSpecification") == stream
        assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def test_the_table_s_capacity_and_that_of_its_indexes_follow_their_use() -> None:
    asked = {"writes": [100, 4000], "reads": [40, 900], "use": 80}
    found = Template(json.loads(synthesised(deployment(capacity=asked)).read_text("utf-8")))
    tables = found.of("DynamoDB::Table")
    modes = {TABLES[name]: x.get("BillingMode", "PROVISIONED") for name, x in tables.items()}
    on_demand = dict.fromkeys(("ops", "identities", "audit"), "PAY_PER_REQUEST")
    assert modes == {"records": "PROVISIONED", **on_demand}, "the others cost little"
    (records,) = (x for name, x in tables.items() if TABLES[name] == "records")
    assert records["ProvisionedThroughput"] == {"WriteCapacityUnits": 100, "ReadCapacityUnits": 40}
    begins = {x["IndexName"]: x["ProvisionedThroughput"] for x in records["GlobalSecondaryIndexes"]}
    assert begins == {
        "open": {"WriteCapacityUnits": 25, "ReadCapacityUnits": 10},
        "mine": {"WriteCapacityUnits": 13, "ReadCapacityUnits": 5},
    }
    targets = found.of("ApplicationAutoScaling::ScalableTarget").values()
    bounds = {
        (x["ScalableDimension"], "open" in json.dumps(x["ResourceId"])): (x["MinCapacity"], x["MaxCapacity"])
        for x in targets
    }
    assert len(targets) == 6
    assert bounds == {
        ("dynamodb:table:WriteCapacityUnits", False): (100, 4000),
        ("dynamodb:table:ReadCapacityUnits", False): (40, 900),
        ("dynamodb:index:WriteCapacityUnits", True): (25, 4000),
        ("dynamodb:index:ReadCapacityUnits", True): (10, 900),
        ("dynamodb:index:WriteCapacityUnits", False): (13, 4000),
        ("dynamodb:index:ReadCapacityUnits", False): (5, 900),
    }
    policies = found.of("ApplicationAutoScaling::ScalingPolicy").values()
    assert [x["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] for x in policies] == [80] * 6
    (alarm,) = (x for x in found.of("CloudWatch::Alarm").values() if x["AlarmName"].endswith("-throttles-records"))
    assert len([x for x in alarm["Metrics"] if "MetricStat" in x]) == 6, "a full index refuses the table's writes"
    assert "runbooks/throttles-records" in alarm["AlarmDescription"]


def test_indexes_are_those_of_the_contract(template: Template) -> None:
    records = template.of("DynamoDB::Table")["StorageRecords0990588D"]
    found = {
        i["IndexName"]: ([k["AttributeName"] for k in i["KeySchema"]], i["Projection"])
        for i in records["GlobalSecondaryIndexes"]
    }
    assert found == {
        "open": (
            ["open_pk", "open_sk"],
            {"NonKeyAttributes": ["not_before", "campaign", "job"], "ProjectionType": "INCLUDE"},
        ),
        "mine": (["mine_pk", "mine_sk"], {"ProjectionType": "KEYS_ONLY"}),
    }
    assert "GlobalSecondaryIndexes" not in template.of("DynamoDB::Table")["StorageOps44DC74F0"]


def test_bucket(template: Template) -> None:
    (bucket,) = template.of("S3::Bucket").values()
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    algorithm = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["ServerSideEncryptionByDefault"]
    assert algorithm == {"SSEAlgorithm": "AES256"}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    rules = {r["Id"]: r for r in bucket["LifecycleConfiguration"]["Rules"]}
    assert rules["leftovers"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "Prefix" not in rules["leftovers"]
    assert rules["leftovers"]["ExpiredObjectDeleteMarker"] is True
    assert rules["leftovers"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 7}
    assert (rules["uploads"]["Prefix"], rules["uploads"]["ExpirationInDays"]) == ("uploads/", 7)


def test_large_contents_go_with_their_jobs_and_no_sooner(template: Template) -> None:
    """Jobs are kept for 30 days after the time that they waited for; where two rules fit, S3 takes the shorter."""
    (bucket,) = template.of("S3::Bucket").values()
    rules = {r["Prefix"]: r["ExpirationInDays"] for r in bucket["LifecycleConfiguration"]["Rules"] if "Prefix" in r}
    folders = {f"contents/{wait}/": 30 + wait for wait in (1, 8, 31, 92)}
    expected = {**folders, "contents/": 30 + 366, "contents/mails/": 7}
    assert {p: d for p, d in rules.items() if p.startswith("contents")} == expected
    assert rules["mail-uploads/"] == 1
    assert contracts.CONTENT_WAITS[-1] * 86_400 >= FUTURE, "the API takes no job that waits longer"
    assert deployment(retention={"jobs_days": 7, "logs_days": 30}).settings.kept_days == 30


@pytest.mark.slow
def test_data_is_kept_in_production_only(aws: Template) -> None:
    """Queues and secrets have fixed names: those that a failed deploy has just made go with it."""
    unnamed, named = {"AWS::DynamoDB::Table", "AWS::S3::Bucket"}, {"AWS::SQS::Queue", "AWS::SecretsManager::Secret"}
    prod = Template(json.loads(synthesised(deployment(stage="prod")).read_text("utf-8")))
    for template, kinds, policies in (
        (aws, unnamed | named, ("Delete", "Delete")),
        (prod, unnamed, ("Retain", "Retain")),
        (prod, named, ("RetainExceptOnCreate", "Retain")),
    ):
        found = [r for r in template.resources.values() if r["Type"] in kinds]
        assert {r["Type"] for r in found} == kinds
        assert {(r["DeletionPolicy"], r["UpdateReplacePolicy"]) for r in found} == {policies}
    assert {t["DeletionProtectionEnabled"] for t in prod.of("DynamoDB::Table").values()} == {True}


def test_streams_are_bounded_and_what_they_drop_is_kept(template: Template) -> None:
    streams = {service: source for service, table, source in template.sources() if table in TABLES}
    assert {s: table for s, table, _ in template.sources() if table in TABLES} == {
        "plan": "StorageRecords0990588D",
        "log": "StorageOps44DC74F0",
    }
    for service, source in streams.items():
        assert source["EventSourceArn"]["Fn::GetAtt"][1] == "StreamArn"
        assert source["BisectBatchOnFunctionError"] is True
        assert 0 < source["MaximumRetryAttempts"] <= 10
        assert 60 <= source["MaximumRecordAgeInSeconds"] <= 3600
        dead = template.resources[target(source["DestinationConfig"]["OnFailure"]["Destination"])]["Properties"]
        assert dead["QueueName"] == f"posthaste-dev-{service}-dlq"
    filters = {s: [json.loads(f["Pattern"]) for f in x["FilterCriteria"]["Filters"]] for s, x in streams.items()}
    assert filters == {"plan": list(contracts.PLAN_STREAM_FILTERS), "log": [contracts.LOG_STREAM_FILTER]}


def test_the_sweeper_has_a_schedule_of_the_stage_s_group_and_keeps_its_failures(template: Template) -> None:
    (made,) = template.of("Scheduler::Schedule").values()
    assert template.resources[target(made["GroupName"])]["Properties"]["Name"] == "posthaste-dev"
    assert (made["Name"], made["ScheduleExpression"]) == ("posthaste-dev-sweep", "rate(1 minute)")
    assert made["FlexibleTimeWindow"] == {"Mode": "OFF"}
    what = made["Target"]
    assert template.service(what["Arn"]) == "sweep"
    assert what["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    dead = template.resources[target(what["DeadLetterConfig"]["Arn"])]["Properties"]["QueueName"]
    assert dead == "posthaste-dev-sweep-dlq"
    role = template.resources[target(what["RoleArn"])]["Properties"]
    (policy,) = role["Policies"]
    allowed = {
        (action, target(on))
        for row in policy["PolicyDocument"]["Statement"]
        for action in ([row["Action"]] if isinstance(row["Action"], str) else row["Action"])
        for on in (row["Resource"] if isinstance(row["Resource"], list) else [row["Resource"]])
    }
    wanted = {
        ("lambda:InvokeFunction", target(what["Arn"])),
        ("sqs:SendMessage", target(what["DeadLetterConfig"]["Arn"])),
    }
    assert allowed == wanted


def test_the_function_of_notices_is_woken_by_that_of_what_is_due_and_keeps_its_failures(template: Template) -> None:
    assert template.of("Events::Rule") == {}, "nothing but the sweeper runs if nothing is due"
    (row,) = [x for x in template.statements("due") if "lambda:InvokeFunction" in x.actions]
    (notices,) = [k for k in template.of("Lambda::Function") if k.startswith("NoticesRun")]
    assert list(row.resources) == [f"<{notices}.Arn>"]
    configured = template.of("Lambda::EventInvokeConfig").values()
    (invoke,) = [x for x in configured if template.service(x["FunctionName"]) == "notices"]
    dead = invoke["DestinationConfig"]["OnFailure"]["Destination"]
    assert template.resources[target(dead)]["Properties"]["QueueName"] == "posthaste-dev-notices-dlq"
    assert (invoke["MaximumEventAgeInSeconds"], invoke["MaximumRetryAttempts"]) == (60, 0)


def test_functions(template: Template) -> None:
    functions = template.functions()
    others = {"api", "webhooks", "plan", "log", "track", "due", "ingest", "export", "take", "operate", "digest"}
    assert set(functions) == {*SENDERS, *others, "sweep", "notices"}
    for function in functions.values():
        assert function["Runtime"] == "python3.13"
        assert function["Architectures"] == ["arm64"]
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
    assert len({json.dumps(f["Code"]) for f in functions.values()}) == 1, "one asset"
    assert len({target(f["Role"]) for f in functions.values()}) == len(functions), "one role each"


def test_lambda_s_own_lines_are_left_out_where_each_message_would_pay_for_them(template: Template) -> None:
    levels = {name: f["LoggingConfig"].get("SystemLogLevel") for name, f in template.functions().items()}
    quiet = {name for name, level in levels.items() if level == "WARN"}
    assert quiet == {*SENDERS, "api", "webhooks", "track"}
    assert {levels[name] for name in set(levels) - quiet} == {None}, "runbooks read the lines of the others"


def test_time_limits(aws: Template, local: Template) -> None:
    expected = {"api": 29, "webhooks": 10, "plan": 60, "log": 60, "track": 60, "sweep": 60, "due": 60, "export": 900}
    expected |= {"notices": 60, "take": 60, "digest": 120, "operate": 29}
    for template, sender, ingest in ((aws, 120, 900), (local, 20, 12)):
        own = {**dict.fromkeys(SENDERS, sender), "ingest": ingest}
        assert {s: f["Timeout"] for s, f in template.functions().items()} == expected | own
        for name in SENDERS:
            assert template.functions()[name]["Environment"]["Variables"][contracts.ENV_LEASE_MARGIN] == "5"


def test_environment(template: Template) -> None:
    for service, function in template.functions().items():
        variables = function["Environment"]["Variables"]
        settings = contracts.Settings.loads(variables[contracts.ENV_SETTINGS])
        assert settings.stage == "dev"
        assert text(variables[contracts.ENV_RECORDS_TABLE]) == "<StorageRecords0990588D>"
        assert text(variables[contracts.ENV_OPS_TABLE]) == "<StorageOps44DC74F0>"
        assert text(variables[contracts.ENV_BUCKET]) == "<StorageBucket5CB7C8EA>"
        assert text(variables[contracts.ENV_FEEDBACK_QUEUE_URL]) == "<FeedbackWorkQueue0B2BF44F>"
        assert variables.get(contracts.ENV_LANE, "") == (service.removeprefix("send-") if service in SENDERS else "")


def test_intake_and_sweeper_may_send_lists_to_their_queue(template: Template) -> None:
    queue = "ListsWorkQueueA9241155"
    knowing = {s for s, f in template.functions().items() if contracts.ENV_INGEST_QUEUE_URL in _variables(f)}
    assert knowing >= {"api", "sweep", "ingest"}
    for service in ("api", "sweep", "ingest"):
        assert target(_variables(template.functions()[service])[contracts.ENV_INGEST_QUEUE_URL]) == queue
        allowed = {
            a.rstrip("*") for s in template.statements(service) if f"<{queue}.Arn>" in s.resources for a in s.actions
        }
        assert "sqs:SendMessage" in allowed
    (source,) = (x for s, _, x in template.sources() if s == "ingest")
    assert source["BatchSize"] == 1, "a list takes all the time there is"


def test_the_sweeper_reads_what_is_reported_of_dropped_folds(template: Template) -> None:
    (log,) = (x for service, _, x in template.sources() if service == "log")
    reports = target(log["DestinationConfig"]["OnFailure"]["Destination"])
    assert target(_variables(template.functions()["sweep"])[contracts.ENV_LOG_REPORTS_URL]) == reports
    allowed = {
        (resource, action) for s in template.statements("sweep") for resource in s.resources for action in s.actions
    }
    stream = text(log["EventSourceArn"])
    assert {(f"<{reports}.Arn>", f"sqs:{a}Message") for a in ("Receive", "Delete")} <= allowed
    assert {(stream, "dynamodb:GetRecords"), (stream, "dynamodb:GetShardIterator")} <= allowed


def _variables(function: Any) -> Any:
    return function["Environment"]["Variables"]


def test_a_lane_s_address_is_the_prefix_and_its_name(template: Template) -> None:
    prefix = template.functions()["plan"]["Environment"]["Variables"][contracts.ENV_LANE_URL_PREFIX]
    queue = "LanetestWorkQueueA9B69AD3"
    name = template.resources[queue]["Properties"]["QueueName"]
    host = {"Fn::Select": [0, {"Fn::Split": [name, {"Ref": queue}]}]}
    assert prefix == {"Fn::Join": ["", [host, name.removesuffix("test")]]}
    assert name == contracts.lane_queue_name("dev", "test")


def test_logs_end(template: Template) -> None:
    groups = template.of("Logs::LogGroup")
    assert {g["RetentionInDays"] for g in groups.values()} == {30}
    used = [target(f["LoggingConfig"]["LogGroup"]) for f in template.functions().values()]
    (stage,) = template.of("ApiGatewayV2::Stage").values()
    used.append(target(stage["AccessLogSettings"]["DestinationArn"]))
    assert sorted(used) == sorted(groups), "each group is somebody's, and nobody writes to one without retention"


@pytest.mark.promise(9)
def test_the_access_log_names_no_recipient(template: Template) -> None:
    (stage,) = template.of("ApiGatewayV2::Stage").values()
    line = json.loads(stage["AccessLogSettings"]["Format"])
    assert line["route"] == "$context.routeKey"
    assert not {"$context.path", "$context.identity.sourceIp", "$context.requestPath"} & set(line.values())


def test_routes(template: Template) -> None:
    found = {}
    for route in template.of("ApiGatewayV2::Route").values():
        integration = template.resources[target(route["Target"]["Fn::Join"][1][1])]["Properties"]
        assert integration["PayloadFormatVersion"] == "2.0"
        found[route["RouteKey"]] = template.service(integration["IntegrationUri"])
    assert found == {
        "ANY /": "api",
        "ANY /{proxy+}": "api",
        "ANY /operate/{proxy+}": "operate",
        "POST /webhooks/{provider}/{credential_id}": "webhooks",
    }
    (stage,) = template.of("ApiGatewayV2::Stage").values()
    assert (stage["StageName"], stage["AutoDeploy"]) == ("$default", True)
    assert 0 < stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] <= 5000
    assert 0 < stage["DefaultRouteSettings"]["ThrottlingRateLimit"] <= 10_000
    assert set(stage["RouteSettings"]) == {"POST /webhooks/{provider}/{credential_id}", "ANY /operate/{proxy+}"}


@pytest.mark.slow
def test_no_group_of_routes_uses_up_what_another_has() -> None:
    """Together they are what an account's default quota lets through, so the quota takes from none."""
    found = Template(json.loads(synthesised(deployment(console=CONSOLE)).read_text("utf-8")))
    ((key, stage),) = found.of("ApiGatewayV2::Stage").items()
    apart = stage["RouteSettings"]
    assert set(apart) == {
        *("POST /webhooks/{provider}/{credential_id}", "ANY /operate/{proxy+}"),
        *("ANY /console", "ANY /console/{proxy+}"),
    }
    groups = [stage["DefaultRouteSettings"], *(row for name, row in apart.items() if name != "ANY /console")]
    assert sum(row["ThrottlingRateLimit"] for row in groups) <= 10_000
    assert sum(row["ThrottlingBurstLimit"] for row in groups) <= 5_000
    assert min(row["ThrottlingBurstLimit"] for row in groups) > 0
    # API Gateway refuses a stage with settings of a route that is not there yet.
    routes = {row["RouteKey"]: name for name, row in found.of("ApiGatewayV2::Route").items()}
    needed = {routes[name] for name in apart if name in routes}
    nested = next(k for k, r in found.resources.items() if r["Type"].endswith("Stack") and k.startswith("Operate"))
    assert {*needed, nested} <= set(found.resources[key]["DependsOn"])


@pytest.mark.slow
def test_what_is_behind_the_api_has_bounds_if_asked_for(template: Template) -> None:
    assert not {"api", "webhooks", "sweep"} & set(_reserving(template))
    bounds = {"api": 300, "webhooks": 60, "console": 20}
    given = deployment(console=CONSOLE, at_once=bounds)
    whole = Template(json.loads(synthesised(given).read_text("utf-8")))
    found = _reserving(whole)
    assert {name: found[name] for name in (*bounds, "sweep")} == {**bounds, "sweep": 1}
    assert given.concurrency == deployment().concurrency + 300 + 60 + 20 + 1
    most = [(s, x["ScalingConfig"]["MaximumConcurrency"]) for s, _, x in whole.sources() if "ScalingConfig" in x]
    assert 20 < sum(n for s, n in most if s not in found) <= 50, "of the 100 that Lambda keeps, half are for streams"


def _reserving(template: Template) -> dict[str, int]:
    rows = template.functions().items()
    return {s: f["ReservedConcurrentExecutions"] for s, f in rows if "ReservedConcurrentExecutions" in f}


def test_posts_of_providers_have_an_address_of_their_own_if_asked_for(template: Template) -> None:
    assert not template.of("Lambda::Url"), "the API's route is the only one"
    assert "ReservedConcurrentExecutions" not in template.functions()["webhooks"]
    found = Template(json.loads(synthesised(deployment(webhooks_at_once=50)).read_text("utf-8")))
    (made,) = found.of("Lambda::Url").values()
    function = target(made["TargetFunctionArn"])
    assert (made["AuthType"], found.service(made["TargetFunctionArn"])) == ("NONE", "webhooks")
    assert found.functions()["webhooks"]["ReservedConcurrentExecutions"] == 50, "strangers' posts have a bound"
    public = [x for x in found.of("Lambda::Permission").values() if x["Principal"] == "*"]
    assert {target(x["FunctionName"]) for x in public} == {function}
    assert {(x["Action"], x.get("FunctionUrlAuthType"), x.get("InvokedViaFunctionUrl")) for x in public} == {
        ("lambda:InvokeFunctionUrl", "NONE", None),
        ("lambda:InvokeFunction", None, True),
    }
    assert "WebhooksUrl" in found.raw["Outputs"]
    assert "POST /webhooks/{provider}/{credential_id}" in {
        x["RouteKey"] for x in found.of("ApiGatewayV2::Route").values()
    }
    (alarm,) = (x for x in found.of("CloudWatch::Alarm").values() if x["AlarmName"].endswith("-api-errors"))
    names = {x["MetricStat"]["Metric"]["MetricName"] for x in alarm["Metrics"] if "MetricStat" in x}
    assert names == {"5xx", "Url5xxCount"}


def test_the_api_has_a_domain_of_its_own_and_no_other_address() -> None:
    own: dict[str, Any] = {"domain": {**DOMAIN, "close_default_endpoint": True}, "console": CONSOLE}
    found = Template(json.loads(synthesised(deployment(**own)).read_text("utf-8")))
    ((key, domain),) = found.of("ApiGatewayV2::DomainName").items()
    assert domain["DomainName"] == DOMAIN["name"]
    assert [x["CertificateArn"] for x in domain["DomainNameConfigurations"]] == [DOMAIN["certificate_arn"]]
    (mapping,) = found.of("ApiGatewayV2::ApiMapping").values()
    assert (target(mapping["ApiId"]), target(mapping["DomainName"])) == ("ApiHttp17514DA7", key)
    (api,) = found.of("ApiGatewayV2::Api").values()
    assert api["DisableExecuteApiEndpoint"] is True
    outputs = {k: text(v["Value"]) for k, v in found.raw["Outputs"].items()}
    assert outputs["ApiUrl"] == f"https://{DOMAIN['name']}"
    assert outputs["ApiTarget"] == f"<{key}.RegionalDomainName>"
    told = [f["Environment"]["Variables"].get("POSTHASTE_API_URL") for f in found.of("Lambda::Function").values()]
    assert {x for x in told if x} == {f"https://{DOMAIN['name']}"}
    rules = [r for b in found.of("S3::Bucket").values() for r in b.get("CorsConfiguration", {}).get("CorsRules", ())]
    assert {x for rule in rules for x in rule["AllowedOrigins"]} == {f"https://{DOMAIN['name']}"}


def test_the_local_cloud_differs_only_where_it_must(aws: Template, local: Template) -> None:
    """See the emulator's limits: TLS-only policies deny everyone there; windows and long ages only slow a laptop.

    Nor has it metrics, so that it has no alarms. Its webhooks may be posted to this machine.
    """
    missing = {k: r["Type"] for k, r in aws.resources.items() if k not in local.resources}
    nested = [k for k, kind in missing.items() if kind == "AWS::CloudFormation::Stack"]
    assert sorted(k[:5] for k in nested) == ["Expre", "Hooks"]
    for key in nested:
        missing.pop(key)
    express = {k for k in local.resources if k.startswith("Express")}
    assert len(express) == 8, "a queue and an event source for each lane"
    assert {t for k, t in missing.items() if not k.startswith("Monitoring")} == {
        "AWS::SQS::QueuePolicy",
        "AWS::S3::BucketPolicy",
    }
    assert set(local.resources) - express <= set(aws.resources)
    paths: set[str] = set()
    for name in sorted(set(local.resources) - express):
        resource = local.resources[name]
        kind = resource["Type"].rpartition("::")[2]
        # The emulator asks for sqs:SendMessageBatch beside sqs:SendMessage, which on AWS are one action.
        # And it judges every schedule as one of the group `default`, and has names of its own for log groups.
        text_of = re.sub(r'("sqs:\w+)\*"', r'\1"', json.dumps(resource["Properties"]))
        properties = json.loads(
            GATHER.sub("[]", text_of)
            .replace(":schedule/default/*", ":schedule/posthaste-dev/*")
            .replace(":log-group:/aws/cloudformation/posthaste-dev/*", ":log-group:posthaste-dev-*")
        )
        on_aws = json.loads(GATHER.sub("[]", json.dumps(aws.resources[name]["Properties"])))
        for path, here, there in _differences(_plain(properties), _plain(on_aws)):
            if not path.startswith(("Code.", "Environment.Variables.POSTHASTE_LEASE_MARGIN")):
                paths.add(f"{kind}.{path}")
            assert here != there
    assert paths == {
        "Function.Timeout",
        "Function.Environment.Variables.POSTHASTE_LOOPBACK",
        "EventSourceMapping.BatchSize",
        "Queue.VisibilityTimeout",
        "EventSourceMapping.MaximumRecordAgeInSeconds",
        "EventSourceMapping.MaximumBatchingWindowInSeconds",
        "EventSourceMapping.ScalingConfig.MaximumConcurrency",
    }


def test_outputs(template: Template, local: Template) -> None:
    found = {k: text(v["Value"]) for k, v in template.raw["Outputs"].items()}
    assert set(found) == {
        *("ApiId", "ApiUrl", "RecordsTable", "OpsTable", "BucketName", "FeedbackQueueUrl", "LaneUrlPrefix"),
        *("AuditDays", "IdentitiesTable", "AuditTable", *(f"{name}Policy" for name in (*POLICIES, RESTORER))),
        *(() if template is local else ("AlarmTopicArn",)),
    }
    assert found["ApiId"] == "<ApiHttp17514DA7>"
    assert found["RecordsTable"] == "<StorageRecords0990588D>"


def _plain(properties: dict[str, Any]) -> dict[str, Any]:
    """Return a role with its rights one by one, each with its effect and conditions."""
    for policy in properties.get("Policies", ()):
        document = policy["PolicyDocument"]
        document["Statement"] = sorted({right for statement in document["Statement"] for right in _rights(statement)})
    return properties


def _rights(statement: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield each action of a statement with each resource, as texts."""
    actions, resources = (v if isinstance(v, list) else [v] for v in (statement["Action"], statement["Resource"]))
    for action, resource in product(actions, resources):
        said = (resource, statement.get("Condition", {}))
        yield statement["Effect"], action, *(json.dumps(x, sort_keys=True) for x in said)


def _differences(here: Any, there: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    if isinstance(here, dict) and isinstance(there, dict):
        return [
            d
            for key in sorted({*here, *there})
            for d in _differences(here.get(key), there.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if here == there else [(path, here, there)]


def test_addresses_of_queues_follow_from_the_prefix_of_the_lanes(template: Template) -> None:
    """So they take no room in the environments of functions."""
    names = [q["QueueName"] for q in template.of("SQS::Queue").values()]
    start = "https://sqs.eu-west-1.amazonaws.com/123456789012/"
    found = contracts.inbox_queue_url(start + contracts.lane_queue_name("dev", ""))
    assert found.removeprefix(start) in names
    assert found == start + contracts.inbox_queue_name("dev")
    found = contracts.digest_queue_url(start + contracts.lane_queue_name("dev", ""))
    assert found.removeprefix(start) in names
    assert found == start + contracts.digest_queue_name("dev")
