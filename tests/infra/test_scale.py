"""Many lanes: those of a nested stack are the same lanes, and everything stays within CloudFormation's limits."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.limits import TEMPLATE_RESOURCES, WIDGET_ALARMS
from infra.lint import examples, templates
from infra.settings import MAX_SETTINGS, DeployTarget, SettingsError, read
from shared import contracts
from tests.infra.conftest import SETTINGS
from tests.infra.synthesis import synthesised
from tests.infra.template import Statement, Template, text
from tests.infra.test_limits import large

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

BYTES, PARAMETERS, OUTPUTS = 1_000_000, 200, 200
"""CloudFormation's other quotas of one template."""


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """The templates of thirty credentials in two stacks; synthesis fails on any finding of cdk-nag."""
    return templates(synthesised(read(examples()["thirty"])).parent)


@pytest.fixture(scope="module")
def stacks(files: list[Path]) -> dict[str, Template]:
    """Name of the nested stack, or nothing for the stack itself → template."""
    found = [Template(json.loads(f.read_text("utf-8"))) for f in files]
    names = [_name(f) for f in files]
    return dict(zip(names, found, strict=True))


def _name(file: Path) -> str:
    known = [name for name in ("express", "hooks", "operate") if name.capitalize() in file.name]
    return known[0] if known else "second" if "nested" in file.name else ""


def test_every_template_is_within_the_quotas(files: list[Path], stacks: dict[str, Template]) -> None:
    assert len(files) == len(stacks) == 5
    for file, template in zip(files, stacks.values(), strict=True):
        assert file.stat().st_size < BYTES
        assert len(template.resources) <= TEMPLATE_RESOURCES.most
        assert len(template.raw.get("Parameters", {})) <= PARAMETERS
        assert len(template.raw.get("Outputs", {})) <= OUTPUTS


def test_names_do_not_depend_on_the_stack(stacks: dict[str, Template]) -> None:
    settings = read(examples()["thirty"]).settings
    lanes = {contracts.lane_queue_name("prod", c.id) for c in settings.credentials}
    lanes.add(contracts.lane_queue_name("prod", contracts.TEST_CREDENTIAL))
    queues = [q["QueueName"] for t in stacks.values() for q in t.of("SQS::Queue").values()]
    assert len(set(queues)) == len(queues)
    express = {name + contracts.EXPRESS_SUFFIX for name in lanes}
    assert {q for q in queues if "-lane-" in q} == lanes | express | {f"{name}-dlq" for name in lanes}
    secrets = {s["Name"] for t in stacks.values() for s in t.of("SecretsManager::Secret").values()}
    assert secrets >= {contracts.secret_name("prod", c.id) for c in settings.credentials}


def test_a_lane_in_a_nested_stack_is_like_any_other(stacks: dict[str, Template]) -> None:
    """Same rights, same settings; what it needs of the stack comes by parameters."""
    here, there = stacks[""], stacks["second"]
    assert len(there.functions()) == 12
    assert set(there.functions()).isdisjoint(here.functions())
    one, other = here.functions()["send-cards-mailgun"], there.functions()["send-private-mailgun"]
    assert set(one["Environment"]["Variables"]) == set(other["Environment"]["Variables"])
    assert one["ReservedConcurrentExecutions"] == other["ReservedConcurrentExecutions"]
    assert [sorted(s.actions) for s in here.statements("send-cards-mailgun")] == [
        sorted(s.actions) for s in there.statements("send-private-mailgun")
    ]
    assert len(list(there.sources())) == 12


def test_lanes_in_nested_stacks_are_watched_like_the_others(stacks: dict[str, Template]) -> None:
    """Metrics name their queues and functions: those of the nested stack by its outputs."""
    watched: dict[str, set[str]] = {}
    for alarm in stacks[""].of("CloudWatch::Alarm").values():
        for row in alarm.get("Metrics", []):
            if "MetricStat" in row:
                metric = row["MetricStat"]["Metric"]
                watched.setdefault(metric["MetricName"], set()).update(text(d["Value"]) for d in metric["Dimensions"])
    queues = [q for t in stacks.values() for q in t.of("SQS::Queue").values()]
    assert len(watched["ApproximateNumberOfMessagesVisible"]) == sum("-dlq" in q["QueueName"] for q in queues)
    assert len(watched["NumberOfMessagesDeleted"]) == 2 * 31
    assert len(watched["Errors"]) == sum(len(t.functions()) for t in stacks.values())


def test_the_dashboard_is_within_the_limits(stacks: dict[str, Template]) -> None:
    """Source: CloudWatch's quotas of dashboards, metric math and alarm widgets."""
    (board,) = stacks[""].of("CloudWatch::Dashboard").values()
    widgets = json.loads(text(board["DashboardBody"]))["widgets"]
    shown = [widget["properties"].get("metrics", []) for widget in widgets]
    assert max(map(len, shown)) <= 500
    assert sum(map(len, shown)) <= 2500
    assert max(len(widget["properties"].get("alarms", [])) for widget in widgets) <= WIDGET_ALARMS.most
    expressions = [row[0]["expression"] for rows in shown for row in rows if isinstance(row[0], dict)]
    assert len(expressions) > 10
    assert max(map(len, expressions)) <= 2048
    assert not re.search(r"\de", " ".join(expressions)), "numbers are plain"


def test_a_hundred_credentials_have_all_their_alarms_on_the_dashboard() -> None:
    file = synthesised(large())
    template = Template(json.loads(file.read_text("utf-8")))
    (board,) = template.of("CloudWatch::Dashboard").values()
    widgets = json.loads(text(board["DashboardBody"]))["widgets"]
    shown = [widget["properties"]["alarms"] for widget in widgets if "alarms" in widget["properties"]]
    assert [len(some) for some in shown][:-1] == [WIDGET_ALARMS.most] * (len(shown) - 1)
    assert len(shown[-1]) <= WIDGET_ALARMS.most
    assert len(template.of("CloudWatch::Alarm")) == sum(map(len, shown)) > WIDGET_ALARMS.most


def test_settings_and_addresses_fit_a_function_s_environment(stacks: dict[str, Template]) -> None:
    """Addresses that are made at deployment have less than a hundred characters."""
    for template in stacks.values():
        for name, function in template.functions().items():
            variables = function["Environment"]["Variables"]
            others = [(k, v) for k, v in variables.items() if k != contracts.ENV_SETTINGS]
            size = sum(len(k) + _longest(v, template) for k, v in others)
            assert size + len(contracts.ENV_SETTINGS) + MAX_SETTINGS <= 4096, name


def test_the_local_cloud_has_one_flat_stack() -> None:
    rows = [{**SETTINGS["credentials"][0], "stack": "second"}]
    settings = {**SETTINGS, "credentials": rows, "routes": {}}
    assert read(settings).stacks == {"sendgrid-main": "second"}
    assert read(settings, target=DeployTarget.LOCAL).stacks == {}


@pytest.mark.parametrize("name", ["Second", "2nd", "a" * 21, "a_b"])
def test_a_nested_stack_s_name_is_checked(name: str) -> None:
    rows = [{**SETTINGS["credentials"][0], "stack": name}]
    with pytest.raises(SettingsError, match=r"credentials\[0\].stack: .* is not a letter followed by"):
        read({**SETTINGS, "credentials": rows, "routes": {}})


def test_the_archive_is_written_by_exports_alone_and_asked_for_by_the_sweeper(stacks: dict[str, Template]) -> None:
    main = stacks[""]
    who = {
        action: {name for name in main.functions() for s in main.statements(name) if _archives(s, action)}
        for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject")
    }
    assert who == {"s3:GetObject": {"export"}, "s3:PutObject": {"export"}, "s3:DeleteObject": set()}
    environment = main.functions()["sweep"]["Environment"]["Variables"]
    url = environment[contracts.ENV_EXPORT_QUEUE_URL]
    assert url == main.functions()["export"]["Environment"]["Variables"][contracts.ENV_EXPORT_QUEUE_URL]
    queue = text({"Fn::GetAtt": [url["Ref"], "Arn"]})
    assert any(queue in s.resources and "sqs:SendMessage" in s.actions for s in main.statements("sweep"))
    assert contracts.Settings.loads(read(examples()["thirty"]).settings.dumps()).archive_days == 1096


def _longest(value: Any, template: Template) -> int:
    """Return how long a variable may be: CloudFormation names a table after the stack, its logical id and 13 more."""
    if isinstance(value, str):
        return len(value)
    kind = template.resources.get(value.get("Ref", ""), {}).get("Type")
    if kind == "AWS::DynamoDB::Table":
        return len(f"{contracts.prefix('s' * 20)}-{value['Ref']}-") + 13
    return 63 if kind == "AWS::S3::Bucket" else 100


def _archives(statement: Statement, action: str) -> bool:
    return action in statement.actions and any(r.endswith("/archive/*") for r in statement.resources)


def test_the_customer_s_key_is_everywhere_and_everybody_may_use_it(stacks: dict[str, Template]) -> None:
    """A bank's own key, in both stacks; who reads or writes is let use it, and no more is asked of it."""
    settings = read(examples()["thirty"])
    arn = settings.kms_key_arn
    assert arn
    main = stacks[""]
    for template in stacks.values():
        assert all(q.get("KmsMasterKeyId") == arn for q in template.of("SQS::Queue").values())
        credentials = [s for s in template.of("SecretsManager::Secret").values() if "/credential/" in s["Name"]]
        lanes = any(name.startswith("send-") for name in template.functions())
        assert {s["KmsKeyId"] for s in credentials} == ({arn} if lanes else set())
        roles = [r for r in template.of("IAM::Role").values() if r.get("Policies")]
        for role in roles:
            rights = [s for p in role["Policies"] for s in p["PolicyDocument"]["Statement"] if s["Resource"] == arn]
            assert len(rights) == 1, role
            assert {"kms:Decrypt", "kms:GenerateDataKey"} <= set(rights[0]["Action"])
            assert not any("*" in action for action in rights[0]["Action"])
    for table in main.of("DynamoDB::Table").values():
        assert table["SSESpecification"]["KMSMasterKeyId"] == arn
        assert table["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 14
    (bucket,) = main.of("S3::Bucket").values()
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["BucketKeyEnabled"]
    assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == arn
    rules = {r["Id"]: r["ExpirationInDays"] for r in bucket["LifecycleConfiguration"]["Rules"] if "Prefix" in r}
    contents = {f"contents-{wait}": 90 + wait for wait in (1, 8, 31, 92)}
    mails = {"mail-uploads": 1, "mails": 7}
    others = {"uploads": 2, "exports": 7, "inbox": 30, "archive": 1096, "contents": 90 + 366}
    assert rules == {**others, **mails, **contents}
