"""What an organization asks of every resource: tags, a bound on each role, a topic of its own, traces."""

import json
from typing import Any, Final

import pytest

from infra.building.governance import INTERFACES
from infra.lint import examples, templates
from infra.settings import SettingsError, read
from tests.infra.conftest import SETTINGS, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, text

EU: Final = examples()["eu"]
THIRTY: Final = examples()["thirty"]
TAGGED: Final = ("DynamoDB::Table", "IAM::Role", "Lambda::Function", "S3::Bucket", "SecretsManager::Secret")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def all_of_eu() -> list[Template]:
    """The stack's template and those that are nested in it."""
    return [Template(json.loads(x.read_text("utf-8"))) for x in templates(synthesised(read(EU)).parent)]


def test_each_role_is_bounded_also_in_nested_stacks(all_of_eu: list[Template]) -> None:
    roles = [role for template in all_of_eu for role in template.of("IAM::Role").values()]
    assert len(all_of_eu) > 1
    assert {role.get("PermissionsBoundary") for role in roles} == {EU["permissions_boundary_arn"]}


@pytest.mark.parametrize("kind", TAGGED)
def test_each_resource_is_tagged(all_of_eu: list[Template], kind: str) -> None:
    rows = [row for template in all_of_eu for row in template.of(kind).values()]
    tags = [{t["Key"]: t["Value"] for t in row.get("Tags", ())} for row in rows]
    assert tags
    assert all(EU["tags"].items() <= each.items() for each in tags)


def test_alarms_go_to_the_topic_that_is_given(all_of_eu: list[Template]) -> None:
    main = all_of_eu[0]
    alarms = main.of("CloudWatch::Alarm").values()
    assert alarms
    assert all(row[x] == [EU["alarm_topic_arn"]] for row in alarms for x in ("AlarmActions", "OKActions"))
    assert main.raw["Outputs"]["AlarmTopicArn"]["Value"] == EU["alarm_topic_arn"]
    topics = {row["TopicName"] for row in main.of("SNS::Topic").values()}
    assert "posthaste-prod-eu-alarms" not in topics
    assert not main.of("KMS::Key")


def test_each_function_is_traced_and_may_write_traces(all_of_eu: list[Template]) -> None:
    for template in all_of_eu:
        for name, row in template.functions().items():
            assert row["TracingConfig"] == {"Mode": "Active"}, name
            (statement,) = [x for x in template.statements(name) if "xray:PutTraceSegments" in x.actions]
            assert statement.resources == {"*"}


@pytest.fixture(scope="module")
def all_of_thirty() -> list[Template]:
    return [Template(json.loads(x.read_text("utf-8"))) for x in templates(synthesised(read(THIRTY)).parent)]


def test_each_function_is_in_the_network_and_its_code_is_checked(all_of_thirty: list[Template]) -> None:
    vpc = THIRTY["vpc"]
    rows = [row for template in all_of_thirty for row in template.of("Lambda::Function").values()]
    assert len(rows) > 30
    for row in rows:
        assert row["VpcConfig"] == {
            "SubnetIds": vpc["subnet_ids"],
            "SecurityGroupIds": vpc["security_group_ids"],
            "Ipv6AllowedForDualStack": True,
        }
        assert row["CodeSigningConfigArn"] == THIRTY["code_signing_config_arn"]


def test_lambda_makes_interfaces_and_code_in_a_function_does_not(all_of_thirty: list[Template]) -> None:
    main = next(x for x in all_of_thirty if x.of("DynamoDB::Table"))
    (policy,) = (p for p in main.of("IAM::ManagedPolicy").values() if "interfaces" in p["Description"])
    allowed, refused = policy["PolicyDocument"]["Statement"]
    assert (allowed["Effect"], refused["Effect"]) == ("Allow", "Deny")
    assert set(allowed["Action"]) == set(refused["Action"]) == set(INTERFACES)
    assert "Condition" not in allowed
    ((operator, keys),) = refused["Condition"].items()
    assert (operator, list(keys)) == ("ArnLike", ["lambda:SourceFunctionArn"])
    assert text(keys["lambda:SourceFunctionArn"]).endswith(":lambda:*:*:function:*")
    roles = [role for template in all_of_thirty for role in template.of("IAM::Role").values()]
    with_it = [role for role in roles if len(role.get("ManagedPolicyArns", ())) == 1]
    assert len(with_it) == sum(len(template.functions()) for template in all_of_thirty)


KEPT = ("posthaste-prod/unsubscribe", "posthaste-prod/addresses", "posthaste-prod/console")
"""Secrets under AWS' key: another property could make them anew."""
KEYS = {
    "Logs::LogGroup": "KmsKeyId",
    "SNS::Topic": "KmsMasterKeyId",
    "SQS::Queue": "KmsMasterKeyId",
    "Lambda::Function": "KmsKeyArn",
    "SecretsManager::Secret": "KmsKeyId",
}


def test_the_customer_s_key_encrypts_all_that_takes_one(all_of_thirty: list[Template]) -> None:
    arn = THIRTY["kms_key_arn"]
    for kind, name in KEYS.items():
        rows = [row for template in all_of_thirty for row in template.of(kind).values()]
        assert rows, kind
        assert all(row.get(name) == arn for row in rows if row.get("Name") not in KEPT), kind
    for template in all_of_thirty:
        assert all(x["SSESpecification"]["KMSMasterKeyId"] == arn for x in template.of("DynamoDB::Table").values())
        for bucket in template.of("S3::Bucket").values():
            (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == arn
        others = {r["Type"] for r in template.resources.values() if "Kms" in json.dumps(r.get("Properties", {}))}
        assert {x.removeprefix("AWS::") for x in others} <= {*KEYS, "DynamoDB::Table", "S3::Bucket"}


def test_without_these_settings_nothing_is_traced_bounded_or_tagged(main: Template) -> None:
    assert not any("TracingConfig" in row for row in main.functions().values())
    assert not any("PermissionsBoundary" in row for row in main.of("IAM::Role").values())
    assert not any("KmsKeyId" in row for row in main.of("Logs::LogGroup").values())
    assert not any("VpcConfig" in row or "CodeSigningConfigArn" in row for row in main.functions().values())
    assert not any(row.get("Tags") for row in main.of("Lambda::Function").values())


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"alarm_email": "", "alarm_topic_arn": "operations"}, "alarm_topic_arn: 'operations' is not the ARN of"),
        (
            {"alarm_email": "", "alarm_topic_arn": "arn:aws:sns:eu-west-1:111122223333:operations.fifo"},
            "is not the ARN of a standard topic",
        ),
        ({"alarm_topic_arn": "arn:aws:sns:eu-west-1:111122223333:operations"}, "leave one out"),
        ({"permissions_boundary_arn": "arn:aws:iam::111122223333:role/x"}, "is not the ARN of a managed policy"),
        ({"kms_everywhere": True}, "kms_everywhere: it is about kms_key_arn, and there is none"),
        ({"vpc": {"subnet_ids": [], "security_group_ids": ["sg-0a1b2c3d"]}}, "vpc.subnet_ids"),
        ({"vpc": {"subnet_ids": ["vpc-0a1b2c3d"], "security_group_ids": ["sg-0a1b2c3d"]}}, "vpc.subnet_ids"),
        ({"vpc": {"subnet_ids": ["subnet-0a1b2c3d"]}}, "vpc.security_group_ids"),
        ({"code_signing_config_arn": "csc-1"}, "is not the ARN of a code signing configuration of Lambda"),
        ({"tags": {"aws:x": "y"}}, "tags"),
        ({"tags": {"x": "y" * 257}}, "tags"),
        ({"tags": {f"k{n}": "v" for n in range(41)}}, "tags"),
        ({"tags": {"x": "a;b"}}, "tags"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(changes: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        deployment(**changes)
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_of_aws_may_be_the_boundary() -> None:
    arn = "arn:aws:iam::aws:policy/PowerUserAccess"
    assert read({**SETTINGS, "permissions_boundary_arn": arn}, known=["sendgrid"]).permissions_boundary_arn == arn
