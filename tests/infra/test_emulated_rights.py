"""The local cloud's IAM judges the rows and senders that a request names, as that of AWS does."""

import json
from typing import Any

import pytest
from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb_streams

from infra.grants import HOOK_CALLED, SEARCHED
from infra.local.emulated import rights
from infra.settings import DeployTarget
from shared.adapters.dynamo.audit import puts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import Homes
from shared.contracts import HELD_BACK, RESUMED
from shared.domain.audit import Act, Event
from tests.infra.conftest import deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template
from tests.infra.test_console import CONSOLE


def hash_of(table: str, index: str) -> str:
    return {"mine": "mine_pk"}.get(index, "pk") if table in {"records", "ops"} else ""


def key(partition: str) -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {"S": "x"}}


BATCH = {"RequestItems": {"records": [{"PutRequest": {"Item": key("J#1")}}, {"DeleteRequest": {"Key": key("HE#2")}}]}}
GET = {"RequestItems": {"records": {"Keys": [key("A#1"), key("A#2"), key("A#1")]}, "ops": {"Keys": [key("D#3")]}}}
TRANSACTION = {
    "TransactItems": [
        {"Put": {"TableName": "records", "Item": key("J#1")}},
        {"Put": {"TableName": "ops", "Item": key("J#2")}},
        {"Delete": {"TableName": "records", "Key": key("M#3")}},
        {"ConditionCheck": {"TableName": "records", "Key": key("A#4")}},
    ]
}
QUERY = {
    "TableName": "records",
    "KeyConditionExpression": "begins_with(sk, :s) AND #p = :p",
    "ExpressionAttributeNames": {"#p": "pk"},
    "ExpressionAttributeValues": {":s": {"S": "x"}, ":p": {"S": "A#7"}},
}
INDEX = {**QUERY, "IndexName": "mine", "ExpressionAttributeNames": {"#p": "mine_pk"}}


@pytest.mark.parametrize(
    ("request_", "table", "action", "found"),
    [
        ({"TableName": "records", "Key": key("A#1")}, "records", "dynamodb:GetItem", ["A#1"]),
        ({"TableName": "records", "Item": key("A#1")}, "records", "dynamodb:PutItem", ["A#1"]),
        (BATCH, "records", "dynamodb:BatchWriteItem", ["HE#2", "J#1"]),
        (BATCH, "ops", "dynamodb:BatchWriteItem", []),
        (GET, "records", "dynamodb:BatchGetItem", ["A#1", "A#2"]),
        (GET, "ops", "dynamodb:BatchGetItem", ["D#3"]),
        (TRANSACTION, "records", "dynamodb:PutItem", ["J#1"]),
        (TRANSACTION, "ops", "dynamodb:PutItem", ["J#2"]),
        (TRANSACTION, "records", "dynamodb:DeleteItem", ["M#3"]),
        (TRANSACTION, "records", "dynamodb:ConditionCheckItem", ["A#4"]),
        (QUERY, "records", "dynamodb:Query", ["A#7"]),
        (INDEX, "records", "dynamodb:Query", ["A#7"]),
        ({"TableName": "records"}, "records", "dynamodb:Scan", []),
        ({"TableName": "gone", "Key": key("A#1")}, "gone", "dynamodb:GetItem", []),
    ],
)
def test_a_request_touches_the_partitions_that_it_names(
    request_: dict[str, Any], table: str, action: str, found: list[str]
) -> None:
    assert rights.leading_keys(request_, table, action, hash_of) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"FromEmailAddress": "Shop <shop@example.com>"}, "shop@example.com"),
        ({"FromEmailAddress": "shop@example.com"}, "shop@example.com"),
        ({}, ""),
        ([], ""),
    ],
)
def test_a_mail_is_from_the_address_that_it_names(body: Any, found: str) -> None:
    assert rights.sender(json.dumps(body).encode()) == found


@pytest.mark.parametrize("body", [b"", b"no json"])
def test_a_body_that_is_no_json_names_no_sender(body: bytes) -> None:
    assert rights.sender(body) == ""


def test_the_emulator_has_the_functions_that_are_wrapped() -> None:
    """Each is looked up by its name: under another one no condition would be judged, and everything refused."""
    assert callable(iam_actions.dynamodb_service_context)
    assert callable(iam_evaluator.enforce)
    assert callable(app._enforce_ses_v2)
    assert rights._hash_of("no such table", "") == ""


def allowed(template: Template, service: str) -> set[tuple[str, str, tuple[str, ...]]]:
    """Return what a function may do: action, resource, partitions."""
    return {
        (action.removesuffix("*"), resource.replace("/default/", "/posthaste-dev/"), statement.partitions)
        for statement in template.statements(service)
        for action in statement.actions
        for resource in statement.resources
    }


@pytest.mark.slow
def test_a_function_may_do_the_same_on_the_local_cloud_as_on_aws_with_the_same_conditions() -> None:
    """What the local cloud lacks is in no test there; the rest is what its functions are judged by."""
    made = [synthesised(deployment(target, console=CONSOLE)) for target in (DeployTarget.AWS, DeployTarget.LOCAL)]
    aws, local = (Template(json.loads(file.read_text("utf-8"))) for file in made)
    assert set(aws.functions()) <= set(local.functions()), "webhooks to accounts are in a nested stack on AWS"
    for service in aws.functions():
        # The function that hears of alarms is nested on AWS, and has another ARN.
        differing = allowed(aws, service) - allowed(local, service)
        only = {x for x in differing if not x[0].startswith("logs:") and "AccountHooksGather" not in str(x)}
        assert {action for action, *_ in only} <= {"cloudwatch:DescribeAlarms"}, service
        assert aws.denials(service) == local.denials(service)


def test_the_console_writes_content_and_ledgers_of_jobs_at_once_and_nothing_else() -> None:
    """Its campaigns and their tests are jobs; it sends what its users listen for."""
    template = Template(json.loads(synthesised(deployment(console=CONSOLE)).read_text("utf-8")))
    for table, patterns in (
        ("StorageRecords0990588D", {"J#*", *HOOK_CALLED, *SEARCHED}),
        ("StorageOps44DC74F0", {"J#*"}),
    ):
        found = [s for s in template.statements("console") if "dynamodb:BatchWriteItem" in s.actions]
        assert {p for s in found if f"<{table}.Arn>" in s.resources for p in s.partitions} == patterns
        assert all(s.partitions for s in found)
        assert template.may("console", "dynamodb:BatchWriteItem", table, "J#job_1")


@pytest.mark.parametrize("kind", [*RESUMED, *HELD_BACK])
def test_what_wakes_the_planner_is_where_the_console_may_write_it(kind: str) -> None:
    template = Template(json.loads(synthesised(deployment(console=CONSOLE)).read_text("utf-8")))
    db = Dynamo(None, sleep=lambda _: None, homes=Homes("identities", "audit"))
    made = [x["Put"] for x in puts(db, "records", Event("acc_1", 1, "acc_1", Act(kind), "user:1", {"reason": "x"}))]
    tables = {"records": "StorageRecords0990588D", "audit": "StorageAudit9012A908"}
    placed = [(x["TableName"], x["Item"]["pk"]["S"], x["Item"]["kind"]["S"]) for x in made]
    assert ("records", "A#acc_1#WAKE", kind) in placed, "its stream record wakes what waits"
    for table, partition, _ in placed:
        assert table == "audit" or template.may("console", "dynamodb:PutItem", tables[table], partition), partition


PLACE = dynamodb_streams._encode_iterator("ops", "s", 0, stream_arn="arn:x")


@pytest.mark.parametrize(
    ("body", "arn"),
    [
        (b'{"StreamArn": "arn:aws:dynamodb:r:1:table/ops/stream/x"}', "arn:aws:dynamodb:r:1:table/ops/stream/x"),
        (
            json.dumps(
                {"ShardIterator": dynamodb_streams._encode_iterator("ops", "s", 0, stream_arn="arn:x")}
            ).encode(),
            "arn:x",
        ),
        (b'{"ShardIterator": "nonsense"}', ""),
        (b"", ""),
        (b"[]", ""),
        (b"no JSON", ""),
    ],
)
def test_a_request_for_records_names_its_stream(body: bytes, arn: str) -> None:
    assert rights.stream(body) == arn
