"""A function's rights on the local cloud end where those on AWS do: at partitions of a table, and at senders."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from infra.local import emulator
from shared import contracts
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed


def as_function(inside: Inside, function: str) -> boto3.Session:
    """Return a session with the rights of a function, as its role has them."""
    name = inside.names[contracts.HANDLERS[function]]
    role = inside.functions.get_function_configuration(FunctionName=name)["Role"]
    sts = emulator.session().client("sts", endpoint_url=emulator.url(inside.port))
    found = sts.assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    return boto3.Session(
        aws_access_key_id=found["AccessKeyId"],
        aws_secret_access_key=found["SecretAccessKey"],
        aws_session_token=found["SessionToken"],
        region_name=emulator.REGION,
    )


def allowed(call: Callable[..., Any], **parameters: Any) -> bool:
    """Tell whether a call is allowed."""
    try:
        call(**parameters)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("partition", "may"), [("J#job_of_a_test", True), ("HQ#of_a_test", True), ("A#acc_of_a_test", False)]
)
def test_the_console_writes_several_rows_at_once_only_where_it_may(
    inside: Inside, tag: str, partition: str, *, may: bool
) -> None:
    dynamo = as_function(inside, "console").client("dynamodb", endpoint_url=emulator.url(inside.port))
    key = {"pk": {"S": partition}, "sk": {"S": tag}}
    table = inside.deployment.environment[contracts.ENV_RECORDS_TABLE]
    put = {table: [{"PutRequest": {"Item": {**key, "ttl": {"N": "1"}}}}]}
    assert allowed(dynamo.batch_write_item, RequestItems=put) is may
    both = {table: [*put[table], {"PutRequest": {"Item": {**key, "pk": {"S": "A#acc_of_a_test"}, "ttl": {"N": "1"}}}}]}
    assert not allowed(dynamo.batch_write_item, RequestItems=both)


def test_a_transaction_is_judged_by_the_rows_of_each_of_its_actions(inside: Inside, tag: str) -> None:
    dynamo = as_function(inside, "console").client("dynamodb", endpoint_url=emulator.url(inside.port))
    table = inside.deployment.environment[contracts.ENV_RECORDS_TABLE]
    put = {"Put": {"TableName": table, "Item": {"pk": {"S": "A#acc_of_a_test"}, "sk": {"S": tag}}}}
    delete = {"Delete": {"TableName": table, "Key": {"pk": {"S": "T#of_a_test"}, "sk": {"S": tag}}}}
    other = {"Delete": {"TableName": table, "Key": {"pk": {"S": "A#acc_of_a_test"}, "sk": {"S": f"{tag}-2"}}}}
    assert allowed(dynamo.transact_write_items, TransactItems=[put, delete])
    assert not allowed(dynamo.transact_write_items, TransactItems=[put, other])


@pytest.mark.parametrize(("partition", "may"), [("ACCOUNTS", True), ("A#acc_of_a_test", True), ("K#of_a_test", False)])
def test_a_query_is_judged_by_the_partition_that_it_names(inside: Inside, partition: str, *, may: bool) -> None:
    dynamo = as_function(inside, "console").client("dynamodb", endpoint_url=emulator.url(inside.port))
    found = allowed(
        dynamo.query,
        TableName=inside.deployment.environment[contracts.ENV_IDENTITIES_TABLE],
        KeyConditionExpression="#p = :p",
        ExpressionAttributeNames={"#p": "pk"},
        ExpressionAttributeValues={":p": {"S": partition}},
    )
    assert found is may
