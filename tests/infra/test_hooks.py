"""What posts webhooks to accounts: a nested stack on AWS, with few rights for what talks to strangers."""

import json
import string
from typing import Any

import pytest

from shared import contracts
from tests.infra.conftest import HOOK_KEY_ID, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, target, text

QUEUES = {"posthaste-dev-hooks", "posthaste-dev-calls", "posthaste-dev-calls-slow"}
REPORTS = {"posthaste-dev-gather_hooks-dlq", "posthaste-dev-call_hooks-dlq"}
ARN = "arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:"
RECORDS = "<referencetoposthastedevStorageRecords91787B66Arn>"
OPS = "<referencetoposthastedevStorageOpsD51E712CArn>"
AUDIT = "<referencetoposthastedevStorageAudit97A2CE87Arn>"
KEY = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:posthaste-dev/hooks-??????"
WRITES = {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"}
ANYWHERE = ("J#1", "SYS", "T#1", "A#acc_1", "A#acc_1#SUP", "D#1#00001", "X#1", "I#acc_1", "U#1", "M#1")


@pytest.fixture(params=["hooks", "local_hooks"])
def either(request: pytest.FixtureRequest) -> Template:
    found: Template = request.getfixturevalue(request.param)
    return found


def names(template: Template) -> dict[str, str]:
    return {k: q["QueueName"] for k, q in template.of("SQS::Queue").items() if k.startswith("AccountHooks")}


def sources(template: Template, service: str) -> list[dict[str, Any]]:
    every = template.of("Lambda::EventSourceMapping").values()
    return [x for x in every if template.service(x["FunctionName"]) == service]


def may(template: Template, service: str, action: str, table: str, partition: str) -> bool:
    denied = any(s.about(action, table, partition) for s in template.denials(service))
    return not denied and any(s.about(action, table, partition) for s in template.statements(service))


def test_each_queue_has_its_dead_letters_and_they_go_with_the_stack(either: Template) -> None:
    found = names(either)
    assert set(found.values()) == QUEUES | {f"{q}-dlq" for q in QUEUES} | REPORTS
    for key, name in found.items():
        queue = either.resources[key]
        assert queue["DeletionPolicy"] == "Delete"
        if name in QUEUES:
            dead = target(queue["Properties"]["RedrivePolicy"]["deadLetterTargetArn"])
            assert found[dead] == f"{name}-dlq"
            assert queue["Properties"]["VisibilityTimeout"] == 6 * 60
        else:
            assert queue["Properties"]["MessageRetentionPeriod"] == 14 * 86_400


def test_endpoints_that_hang_take_no_worker_from_the_others(hooks: Template) -> None:
    found = names(hooks)
    workers = {found[target(x["EventSourceArn"])]: x for x in sources(hooks, "call_hooks")}
    assert set(workers) == {"posthaste-dev-calls", "posthaste-dev-calls-slow"}
    most = [x["ScalingConfig"]["MaximumConcurrency"] for x in workers.values()]
    reserved = hooks.functions()["call_hooks"]["ReservedConcurrentExecutions"]
    assert (sum(most), reserved) == (30, 31), "full queues leave one to the walk of every minute"
    assert {x["BatchSize"] for x in workers.values()} == {1}


@pytest.mark.slow
def test_nothing_is_reserved_for_webhooks_when_there_is_nothing_to_reserve() -> None:
    (file,) = synthesised(deployment(reserved="none")).parent.glob("*Hooks*.nested.template.json")
    functions = Template(json.loads(file.read_text("utf-8"))).functions()
    assert all("ReservedConcurrentExecutions" not in x for x in functions.values())


def test_both_streams_are_read_and_records_are_not_given_up_for_hours(either: Template, hooks: Template) -> None:
    streams = [x for x in sources(either, "gather_hooks") if "StartingPosition" in x]
    patterns = sorted(json.dumps([json.loads(f["Pattern"]) for f in x["FilterCriteria"]["Filters"]]) for x in streams)
    filters = json.dumps([contracts.HOOKS_RECORDS_FILTERS, contracts.HOOKS_OPS_FILTERS])
    if either is not hooks:
        filters = filters.replace('{"BOOL": [{"exists": false}]}', '[{"exists": false}]')
    assert patterns == sorted(map(json.dumps, json.loads(filters))), "the local cloud reads absence one level higher"
    for stream in streams:
        assert len(stream["FilterCriteria"]["Filters"]) <= 5, "AWS allows no more"
        assert stream["MaximumRecordAgeInSeconds"] == 6 * 3600
        assert stream["MaximumRetryAttempts"] == 50
        assert stream["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        dead = target(stream["DestinationConfig"]["OnFailure"]["Destination"])
        assert names(either)[dead] == "posthaste-dev-gather_hooks-dlq"


def test_endpoints_are_looked_for_every_minute_and_alarms_are_heard(
    either: Template, hooks: Template, aws: Template
) -> None:
    rules = {k: r for k, r in either.of("Events::Rule").items() if k.startswith("AccountHooks")}
    (minute,) = [r for r in rules.values() if "ScheduleExpression" in r]
    assert minute["ScheduleExpression"] == "rate(1 minute)"
    assert either.service(minute["Targets"][0]["Arn"]) == "call_hooks"
    heard = [r for r in rules.values() if "EventPattern" in r]
    assert len(heard) == (1 if either is hooks else 0), "the local cloud has no alarms"
    for rule in heard:
        assert set(rule["EventPattern"]["detail"]["alarmName"]) == {
            a["AlarmName"] for a in aws.of("CloudWatch::Alarm").values()
        }
        assert either.service(rule["Targets"][0]["Arn"]) == "gather_hooks"


def test_a_change_of_an_alarm_that_cannot_be_handled_is_kept(hooks: Template) -> None:
    (rule,) = [r for r in hooks.of("Events::Rule").values() if "EventPattern" in r]
    (heard,) = rule["Targets"]
    configured = hooks.of("Lambda::EventInvokeConfig").values()
    (invoke,) = [x for x in configured if hooks.service(x["FunctionName"]) == "gather_hooks"]
    for dead in (heard["DeadLetterConfig"]["Arn"], invoke["DestinationConfig"]["OnFailure"]["Destination"]):
        assert names(hooks)[target(dead)] == "posthaste-dev-gather_hooks-dlq"
    assert heard["RetryPolicy"] == {"MaximumEventAgeInSeconds": 6 * 3600, "MaximumRetryAttempts": 2}
    assert (invoke["MaximumEventAgeInSeconds"], invoke["MaximumRetryAttempts"]) == (6 * 3600, 2)


@pytest.mark.promise(9)
def test_what_talks_to_strangers_reads_only_what_it_posts(hooks: Template) -> None:
    for partition in ("HE#hook_1", "HW#hook_1", "HQ#hook_1", "HL#hook_1", "HN#acc_1", "HS#00", "J#1"):
        assert may(hooks, "call_hooks", "dynamodb:GetItem", RECORDS, partition)
    for partition in ("A#acc_1", "A#acc_1#SUP", "SYS", "T#1", "D#1#00001", "I#acc_1", "K#1", "X#1"):
        assert not may(hooks, "call_hooks", "dynamodb:GetItem", RECORDS, partition), partition
    tables = {r for s in hooks.statements("call_hooks") for r in s.resources if "Storage" in r}
    assert tables == {RECORDS, AUDIT, f"{RECORDS}/index/open"}
    (index,) = [s for s in hooks.statements("call_hooks") if f"{RECORDS}/index/open" in s.resources]
    assert index.partitions == ("hooks#*",)
    assert not any(a.startswith(("s3:", "iam:", "scheduler:", "lambda:")) for a in hooks.actions("call_hooks"))


@pytest.mark.promise(9)
def test_what_talks_to_strangers_writes_only_endpoints_and_deliveries(hooks: Template) -> None:
    for action in WRITES:
        for partition in ("HE#hook_1", "HW#hook_1", "HQ#hook_1", "HL#hook_1"):
            assert may(hooks, "call_hooks", action, RECORDS, partition), (action, partition)
        for partition in ANYWHERE:
            assert not may(hooks, "call_hooks", action, RECORDS, partition), (action, partition)
        assert not may(hooks, "call_hooks", action, OPS, "J#1")
    assert may(hooks, "call_hooks", "dynamodb:UpdateItem", RECORDS, "HS#00"), "an old listener leaves it"


@pytest.mark.promise(9)
def test_what_makes_deliveries_changes_nothing_else(hooks: Template) -> None:
    for action in WRITES - {"dynamodb:DeleteItem"}:
        for partition in ("HC#1#00001", "HT#evt_1", "HQ#hook_1", "HW#hook_1"):
            assert may(hooks, "gather_hooks", action, RECORDS, partition), (action, partition)
    for action in WRITES:
        for partition in ANYWHERE:
            assert not may(hooks, "gather_hooks", action, RECORDS, partition), (action, partition)
        assert not may(hooks, "gather_hooks", action, OPS, "J#1")
    assert "secretsmanager:GetSecretValue" not in hooks.actions("gather_hooks")


@pytest.mark.promise(9)
def test_queues_of_webhooks_have_their_producers(hooks: Template, aws: Template, local_hooks: Template) -> None:
    feeders: dict[str, set[str]] = {}
    for template in (hooks, aws, local_hooks):
        for service in template.functions():
            for statement in template.statements(service):
                if any(a.startswith("sqs:SendMessage") for a in statement.actions):
                    for resource in statement.resources:
                        feeders.setdefault(resource, set()).add(service)
    redrives = "operate"
    assert feeders[f"{ARN}posthaste-dev-hooks"] == {"plan", "log", "sweep", "gather_hooks", redrives}
    assert feeders[f"{ARN}posthaste-dev-calls"] == {"api", "gather_hooks", "call_hooks", redrives}
    assert feeders[f"{ARN}posthaste-dev-calls-slow"] == {"api", "gather_hooks", "call_hooks", redrives}


@pytest.mark.promise(9)
def test_only_what_signs_reads_the_key_of_endpoints(hooks: Template, aws: Template) -> None:
    readers = {
        service
        for template in (hooks, aws)
        for service in template.functions()
        for s in template.statements(service)
        if KEY in s.resources
    }
    assert readers == {"api", "call_hooks", "operate"}


@pytest.mark.promise(9)
def test_the_key_of_endpoints_is_made_with_the_stack_and_never_again(aws: Template, local: Template) -> None:
    for template in (aws, local):
        secret = template.of("SecretsManager::Secret")[HOOK_KEY_ID]
        assert secret["Name"] == contracts.hooks_secret_name("dev")
        assert "SecretString" not in secret
        made = secret["GenerateSecretString"]
        assert (made["SecretStringTemplate"], made["GenerateStringKey"], made["PasswordLength"]) == (
            "{}",
            "current",
            64,
        )
        assert set(made["ExcludeCharacters"]) == {*string.punctuation, " "}


def test_only_the_local_cloud_posts_to_this_machine(hooks: Template, local_hooks: Template) -> None:
    assert contracts.ENV_LOOPBACK not in hooks.functions()["call_hooks"]["Environment"]["Variables"]
    assert local_hooks.functions()["call_hooks"]["Environment"]["Variables"][contracts.ENV_LOOPBACK]


def test_queues_and_functions_are_those_of_the_contracts(hooks: Template) -> None:
    lanes = "https://sqs.eu-central-1.amazonaws.com/1/posthaste-dev-lane-"
    urls = {
        contracts.hooks_queue_url(lanes),
        contracts.calls_queue_url(lanes),
        contracts.calls_queue_url(lanes, apart=True),
    }
    assert {u.rpartition("/")[2] for u in urls} == QUEUES
    handlers = {service: text(x["Handler"]) for service, x in hooks.functions().items()}
    assert handlers == {x: contracts.HANDLERS[x] for x in ("gather_hooks", "call_hooks")}


def test_no_stream_has_more_readers_than_dynamodb_allows(local_hooks: Template) -> None:
    streams = [json.dumps(x["EventSourceArn"]) for x in local_hooks.of("Lambda::EventSourceMapping").values()]
    read = ["Records" if "Records" in x else "Ops" for x in streams if "StreamArn" in x]
    assert sorted(read) == ["Ops", "Ops", "Records", "Records"]
